"""From the name of a PriorityClass to the priority of a pod, and what is refused about classes.

Takes documents and the classes of the cluster. The rules and their words are those of `bayplan.admission.priority`;
here they are applied to documents. Raises Forbidden.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.admission.priority import (
    PREEMPT_LOWER_PRIORITY,
    SYSTEM_CLASSES,
    group_priority_contradiction,
    policy_contradiction,
    priority_contradiction,
    second_default,
)
from bayplan.apiserver.admitting.cluster import PRIORITY_CLASSES, ClusterView
from bayplan.apiserver.admitting.documents import Document, name_of
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Forbidden


def resolve_priority(resource: Resource, pod: Document, name: str, cluster: ClusterView) -> None:
    """Writes the pod's class, priority and policy of preemption into it."""
    # Upstream: plugin/pkg/admission/priority/admission.go admitPod (v1.36).
    spec = pod["spec"]
    class_name, value, policy = _class_of(resource, spec.get("priorityClassName", ""), name, cluster)
    if spec.get("priority") is not None and spec["priority"] != value:
        raise Forbidden.because(resource, name, priority_contradiction(spec["priority"], value))
    if spec.get("preemptionPolicy") is not None and spec["preemptionPolicy"] != policy:
        raise Forbidden.because(resource, name, policy_contradiction(spec["preemptionPolicy"], policy))
    if class_name:
        spec["priorityClassName"] = class_name
    spec["priority"], spec["preemptionPolicy"] = value, policy


def _class_of(resource: Resource, class_name: str, name: str, cluster: ClusterView) -> tuple[str, int, str]:
    if class_name:
        found = cluster.find(PRIORITY_CLASSES, "", class_name)
        if found is None:
            if class_name in SYSTEM_CLASSES:
                return class_name, SYSTEM_CLASSES[class_name], PREEMPT_LOWER_PRIORITY
            raise Forbidden.because(resource, name, f"no PriorityClass with name {class_name} was found")
    else:
        found = _default_class(cluster.list(PRIORITY_CLASSES, ""))
        if found is None:
            return "", 0, PREEMPT_LOWER_PRIORITY
    return name_of(found), found["value"], found.get("preemptionPolicy") or PREEMPT_LOWER_PRIORITY


def _default_class(classes: Iterable[Document]) -> Document | None:
    """Of several defaults (two creations may race) the one with the lowest value."""
    defaults = [known for known in classes if known.get("globalDefault")]
    return min(defaults, key=lambda known: int(known["value"]), default=None)


def resolve_group_priority(resource: Resource, group: Document, name: str, cluster: ClusterView) -> None:
    """Writes the class and the priority of a pod group into it."""
    # Upstream: plugin/pkg/admission/priority/admission.go admitPodGroup (v1.37).
    spec = group["spec"]
    class_name, value, _ = _class_of(resource, spec.get("priorityClassName", ""), name, cluster)
    if spec.get("priority") is not None and spec["priority"] != value:
        raise Forbidden.because(resource, name, group_priority_contradiction(spec["priority"], value))
    if class_name:
        spec["priorityClassName"] = class_name
    spec["priority"] = value


def keep_priority(pod: Document, old: Document) -> None:
    """A write that leaves out what admission once computed does not mean to take it away."""
    spec, before = pod["spec"], old["spec"]
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and before.get(name) is not None:
            spec[name] = before[name]


def check_default_class(resource: Resource, priority_class: Document, cluster: ClusterView) -> None:
    """There is one default class at most."""
    if not priority_class.get("globalDefault"):
        return
    name = name_of(priority_class)
    standing = _default_class(cluster.list(PRIORITY_CLASSES, ""))
    if standing is not None and name_of(standing) != name:
        raise Forbidden.because(resource, name, second_default(name_of(standing)))
