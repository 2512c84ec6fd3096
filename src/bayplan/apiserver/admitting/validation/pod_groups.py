"""Checks of pod groups and workloads.

Upstream: pkg/apis/scheduling/validation, and the declarative rules of staging/src/k8s.io/api/scheduling (v1.37).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.admission.priority import HIGHEST_USER_VALUE
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.pods.spec import PREEMPTION_POLICIES
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults

_TEMPLATES_MAX: Final = 8
_CLAIMS_MAX: Final = 4
_TOPOLOGIES_MAX: Final = 1
_IMMUTABLE: Final = (
    "workloadRef",
    "schedulingConstraints",
    "resourceClaims",
    "disruptionMode",
    "priorityClassName",
    "priority",
    "preemptionPolicy",
)


def check_pod_group(group: Document, faults: Faults) -> None:
    spec = group["spec"]
    reference = spec.get("workloadRef")
    if reference is not None:
        faults.named("spec.workloadRef.workloadName", reference.get("workloadName"), subdomain_faults)
        faults.named("spec.workloadRef.templateName", reference.get("templateName"), label_faults)
    _check_common(spec, faults, "spec")


def check_pod_group_update(new: Document, old: Document, faults: Faults) -> None:
    """Only how many pods a gang needs may change."""
    check_pod_group(new, faults)
    spec, before = new["spec"], old["spec"]
    _check_policy_update(spec, before, faults, "spec")
    for field in _IMMUTABLE:
        faults.immutable(f"spec.{field}", spec.get(field), before.get(field))


def check_pod_group_status(new: Document, _old: Document, faults: Faults) -> None:
    status = new["status"]
    check_conditions(status.get("conditions") or [], faults, "status.conditions")
    known = {claim["name"] for claim in new["spec"].get("resourceClaims") or ()}
    for position, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        if claim["name"] not in known:
            path = f"status.resourceClaimStatuses[{position}].name"
            faults.invalid(path, claim["name"], "must match the name of an entry in `spec.resourceClaims`")


def check_workload(workload: Document, faults: Faults) -> None:
    spec = workload["spec"]
    controller = spec.get("controllerRef")
    if controller is not None:
        faults.named_if_given("spec.controllerRef.apiGroup", controller.get("apiGroup"), subdomain_faults)
        for field in ("kind", "name"):
            faults.named(f"spec.controllerRef.{field}", controller.get(field), path_segment_faults)
    templates = spec.get("podGroupTemplates") or []
    if not templates:
        faults.invalid("spec", "", _one_of("podGroupTemplates", "compositePodGroupTemplates"))
    if len(templates) > _TEMPLATES_MAX:
        faults.too_many("spec.podGroupTemplates", len(templates), _TEMPLATES_MAX)
    _check_names(templates, faults, "spec.podGroupTemplates", label_faults)
    for position, template in enumerate(templates):
        _check_common(template, faults, f"spec.podGroupTemplates[{position}]")


def check_workload_update(new: Document, old: Document, faults: Faults) -> None:
    """Templates can neither be added nor removed; of those there are a gang may need another number of pods."""
    check_workload(new, faults)
    spec, before = new["spec"], old["spec"]
    faults.immutable("spec.controllerRef", spec.get("controllerRef"), before.get("controllerRef"))
    templates, known = ({each["name"]: each for each in part.get("podGroupTemplates") or ()} for part in (spec, before))
    if templates.keys() != known.keys():
        faults.invalid_whole("spec.podGroupTemplates", "items may not be added or removed")
    for position, template in enumerate(spec.get("podGroupTemplates") or ()):
        standing, path = known.get(template["name"]), f"spec.podGroupTemplates[{position}]"
        if standing is not None:
            _check_policy_update(template, standing, faults, path)
            for field in _IMMUTABLE:
                faults.immutable(f"{path}.{field}", template.get(field), standing.get(field))


def _check_common(spec: Document, faults: Faults, path: Path) -> None:
    """Of a group, or of a template of groups."""
    check_union(spec["schedulingPolicy"], ("basic", "gang"), faults, f"{path}.schedulingPolicy")
    gang = spec["schedulingPolicy"].get("gang")
    if gang is not None:
        _check_min_count(gang, faults, f"{path}.schedulingPolicy.gang.minCount")
    check_topology(spec.get("schedulingConstraints") or {}, faults, f"{path}.schedulingConstraints")
    check_claims(spec.get("resourceClaims") or [], faults, f"{path}.resourceClaims")
    if spec.get("disruptionMode") is not None:
        check_union(spec["disruptionMode"], ("single", "all"), faults, f"{path}.disruptionMode")
    faults.named_if_given(f"{path}.priorityClassName", spec.get("priorityClassName"), subdomain_faults)
    priority = spec.get("priority")
    if priority is not None and not spec.get("priorityClassName") and priority > HIGHEST_USER_VALUE:
        faults.invalid(f"{path}.priority", priority, f"must be less than or equal to {HIGHEST_USER_VALUE}")
    faults.supported(f"{path}.preemptionPolicy", spec.get("preemptionPolicy"), PREEMPTION_POLICIES)


def check_topology(constraints: Document, faults: Faults, path: Path) -> None:
    topology = constraints.get("topology") or []
    if len(topology) > _TOPOLOGIES_MAX:
        faults.too_many(f"{path}.topology", len(topology), _TOPOLOGIES_MAX)
    for position, constraint in enumerate(topology):
        faults.named(f"{path}.topology[{position}].key", constraint.get("key"), label_key_faults)


def _check_min_count(gang: Document, faults: Faults, path: Path) -> None:
    count = gang.get("minCount")
    if not count:
        faults.required(path)
    elif count < 1:
        faults.invalid(path, count, "must be greater than or equal to 1")


def check_claims(claims: list[Document], faults: Faults, path: Path) -> None:
    if len(claims) > _CLAIMS_MAX:
        faults.too_many(path, len(claims), _CLAIMS_MAX)
    _check_names(claims, faults, path, label_faults)
    for position, claim in enumerate(claims):
        check_union(claim, ("resourceClaimName", "resourceClaimTemplateName"), faults, f"{path}[{position}]")


def _check_names(items: list[Document], faults: Faults, path: Path, rule: Callable[[str], tuple[str, ...]]) -> None:
    seen: set[str] = set()
    for position, item in enumerate(items):
        name = item.get("name", "")
        faults.named(f"{path}[{position}].name", name, rule)
        if name in seen:
            faults.duplicate(f"{path}[{position}]", {"name": name})
        seen.add(name)


def _check_policy_update(spec: Document, before: Document, faults: Faults, path: Path) -> None:
    """Gangs stay gangs."""
    if spec["schedulingPolicy"].keys() != before["schedulingPolicy"].keys():
        faults.immutable(f"{path}.schedulingPolicy", spec["schedulingPolicy"], before["schedulingPolicy"])


def check_union(part: Document, members: tuple[str, ...], faults: Faults, path: Path) -> None:
    given = [member for member in members if part.get(member) is not None]
    if not given:
        faults.invalid(path, "", _one_of(*members))
    elif len(given) > 1:
        faults.invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {_quoted(members)}")


def _one_of(*members: str) -> str:
    return f"must specify one of: {_quoted(members)}"


def _quoted(members: tuple[str, ...]) -> str:
    return ", ".join(f"`{member}`" for member in members)
