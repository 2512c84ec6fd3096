"""What an API server refuses to change about an object that exists, as far as it matters here.

Takes an object before and after; gives faults, each with the field and a way out. What a manifest leaves out does not
change, so of a pod only what the new one says is compared. Not looked at: whether the new object would be valid alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bayplan.admission.priority import check_classes
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Container, Pod, PodSpec
from bayplan.model.quantity import parse_quantity
from bayplan.model.workloads import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet

_REFUSED = f"{IMMUTABLE}; to create the object again, delete it in the same change (--delete)"
#: Fields of a pod that decide where it may run.
_OF_PODS = {
    "node_name": "nodeName",
    "scheduler_name": "schedulerName",
    "priority_class_name": "priorityClassName",
    "overhead": "overhead",
    "topology_spread_constraints": "topologySpreadConstraints",
    "host_network": "hostNetwork",
    "resource_claims": "resourceClaims",
}
#: Those that may be narrowed down as long as the pod is gated.
_UNTIL_UNGATED = {"node_selector": "nodeSelector", "affinity": "affinity"}


def refusals(old: Object, new: Object) -> list[Fault]:
    """All faults of one update."""
    name = f"{type(new).__name__} {object_key(new).removeprefix('/')}"
    return [Fault("", name, field, message) for field, message in _refusals(old, new)]


def _refusals(old: Object, new: Object) -> Iterator[tuple[str, str]]:
    if isinstance(old, PriorityClass) and isinstance(new, PriorityClass):
        yield from (refusal for _, refusal in check_classes([old, new]))
    elif isinstance(old, Pod) and isinstance(new, Pod):
        is_gated = bool(old.spec.scheduling_gates)
        for field in _changed_fields(old.spec, new.spec, _OF_PODS if is_gated else _OF_PODS | _UNTIL_UNGATED):
            yield f"spec.{field}", _REFUSED
    elif isinstance(old, Job) and isinstance(new, Job):
        for field in _changed_fields(old.spec.template.spec, new.spec.template.spec, _OF_PODS | _UNTIL_UNGATED):
            yield f"spec.template.spec.{field}", _REFUSED
    elif isinstance(old, Deployment | ReplicaSet | DaemonSet | StatefulSet) and isinstance(new, type(old)):
        if old.spec.selector != new.spec.selector:
            yield "spec.selector", _REFUSED
        if isinstance(old, StatefulSet) and isinstance(new, StatefulSet) and _claims(old) != _claims(new):
            yield "spec.volumeClaimTemplates", _REFUSED


def _changed_fields(old: PodSpec, new: PodSpec, names: Mapping[str, str]) -> Iterator[str]:
    for name, field in names.items():
        value = getattr(new, name)
        if value and value != getattr(old, name):
            yield field
    for field, before, after in (
        ("containers", old.containers, new.containers),
        ("initContainers", old.init_containers, new.init_containers),
    ):
        known = _requests(before)
        for position, (name, amounts) in enumerate(_requests(after).items()):
            if known.get(name) is None or amounts.items() - known[name].items():
                yield f"{field}[{position}].resources.requests"


def _requests(containers: Iterable[Container]) -> dict[str, dict[str, int]]:
    """Container -> what it asks for; a limit stands for a request that is not given."""
    return {each.name: _amounts({**each.resources.limits, **each.resources.requests}) for each in containers}


def _amounts(quantities: Mapping[str, RawQuantity]) -> dict[str, int]:
    return {name: parse_quantity(quantity) for name, quantity in quantities.items()}


def _claims(workload: StatefulSet) -> list[tuple[str, dict[str, int]]]:
    """Name and size; the rest may have been filled in by a server."""
    templates = workload.spec.volume_claim_templates
    return [(claim.metadata.name, _amounts(claim.spec.resources.requests)) for claim in templates]
