"""Pod Security admission: namespaces say by labels what pods in them may do.

`check_pod_security` refuses a pod that its namespace's enforced level does not allow, and warns of one that the warned
level does not; workloads are only warned of. Whatever version the labels name, the rules are those of v1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.cluster import NAMESPACES, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.pod_security_rules import BASELINE, RESTRICTED, Violation
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Forbidden

_LABEL: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = {"baseline": BASELINE, "restricted": RESTRICTED}
#: Where workloads keep the template of their pods.
_TEMPLATES: Final = {
    **dict.fromkeys(("deployments", "replicasets", "statefulsets", "daemonsets"), ("spec", "template")),
    **dict.fromkeys(("replicationcontrollers", "jobs"), ("spec", "template")),
    "cronjobs": ("spec", "jobTemplate", "spec", "template"),
    "podtemplates": ("template",),
}


def check_pod_security(
    resource: Resource, new: Document, old: Document | None, cluster: ClusterView, warnings: list[str]
) -> None:
    """Raises Forbidden for pods that the namespace's level refuses, and notes what it warns of."""
    is_pod = resource.qualified_resource == "pods"
    if not is_pod and resource.plural not in _TEMPLATES:
        return
    namespace = cluster.find(NAMESPACES, "", new["metadata"].get("namespace", ""))
    labels = (namespace or {}).get("metadata", {}).get("labels", {})
    if not any(label.startswith(_LABEL) for label in labels):
        return
    pod = new if is_pod else _template_of(new, resource.plural)
    if pod is None or (is_pod and old is not None and not _is_significant(new["spec"], old["spec"])):
        return
    if is_pod:
        found = _violations(pod, labels, "enforce")
        if found:
            raise Forbidden.because(resource, new["metadata"].get("name", ""), f"violates PodSecurity {found}")
    # Who says what is refused, and nothing of warnings, is warned of that.
    found = _violations(pod, labels, "warn" if f"{_LABEL}warn" in labels else "enforce")
    if found:
        warnings.append(f"would violate PodSecurity {found}")


def _template_of(document: Document, plural: str) -> Document | None:
    part: Document | None = document
    for step in _TEMPLATES[plural]:
        part = (part or {}).get(step)
    return part


def _is_significant(new: Document, old: Document) -> bool:
    """Whether the change can make a difference; images, deadlines and tolerations do not."""
    return _without_mutable(new) != _without_mutable(old)


def _without_mutable(spec: Document) -> Document:
    made = {name: value for name, value in spec.items() if name not in ("activeDeadlineSeconds", "tolerations")}
    for field in ("containers", "initContainers"):
        made[field] = [{**container, "image": ""} for container in spec.get(field) or ()]
    return made


def _violations(pod: Document, labels: Document, mode: str) -> str:
    """What the level of this mode forbids, as refusals and warnings say it."""
    level = labels.get(_LABEL + mode, "")
    if level not in _LEVELS:
        return ""
    found = [violation for rule in _LEVELS[level] if (violation := rule(pod)) is not None]
    if not found:
        return ""
    version = labels.get(f"{_LABEL}{mode}-version", "latest")
    return f'"{level}:{version}": {", ".join(_worded(found))}'


def _worded(violations: list[Violation]) -> Iterator[str]:
    for reason, detail in violations:
        yield f"{reason} ({detail})" if detail else reason
