"""Lowering what a pod asks for: which containers ask for how much less, so that the pod's total is a given amount.

The largest requests are lowered first, down to a common level; what is left over goes to the first of them. A request
for the pod as a whole is lowered itself. Overhead stays. Of resources that are not shared (devices, huge pages) the
limit follows, as it must equal the request.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from bayplan.core.columns.resources import BASIC_NAMES, CPU_NAME, amount, pod_requests
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Pod, PodSpec, ResourceRequirements
from bayplan.model.quantity import parse_quantity

_BINARY_UNITS = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))

#: Where a request is: `containers` or `init_containers` with the position, or the pod as a whole.
Place = tuple[str, int]
POD_LEVEL: Place = ("", 0)


@dataclass(frozen=True, slots=True)
class Lowered:
    """New requests of one resource."""

    resource: str
    requests: tuple[tuple[Place, int], ...]

    def apply(self, changed: PodSpec) -> None:
        for place, value in self.requests:
            resources = _resources(changed, place)
            resources.requests[self.resource] = quantity(self.resource, value)
            if self.resource not in BASIC_NAMES and self.resource in resources.limits:
                resources.limits[self.resource] = quantity(self.resource, value)


def asked(spec: PodSpec, gates: FeatureGates) -> dict[str, int]:
    """What the pod asks for in total."""
    return pod_requests(Pod(spec=spec), gates).asked


def lowest(spec: PodSpec, resource: str) -> int:
    """What is left when all requests that can be changed are 0."""
    raw = spec.overhead.get(resource, 0)
    return amount(resource, parse_quantity(raw))


def lowered(spec: PodSpec, resource: str, target: int, gates: FeatureGates) -> Lowered:
    """Requests with which the total is `target`, which must be between `lowest` and what is asked for now."""
    now = _requests(spec, resource)
    if POD_LEVEL in now:
        target -= lowest(spec, resource)
        capped = {place: min(value, target) for place, value in now.items()}
        return _changes(resource, now, capped | {POD_LEVEL: target})

    trial = deepcopy(spec)

    def total(requests: dict[Place, int]) -> int:
        Lowered(resource, tuple(requests.items())).apply(trial)
        return asked(trial, gates).get(resource, 0)

    low, high = 0, max(now.values(), default=0)
    while low < high:  # the highest level for which the total is not too large
        middle = (low + high + 1) // 2
        if total({place: min(value, middle) for place, value in now.items()}) <= target:
            low = middle
        else:
            high = middle - 1
    requests = {place: min(value, low) for place, value in now.items()}
    for place, value in now.items():
        more = requests | {place: min(value, low + 1)}
        if total(more) <= target:
            requests = more
    return _changes(resource, now, requests)


def _changes(resource: str, now: dict[Place, int], then: dict[Place, int]) -> Lowered:
    return Lowered(resource, tuple((place, then[place]) for place, value in now.items() if then[place] != value))


def _requests(spec: PodSpec, resource: str) -> dict[Place, int]:
    places: list[Place] = [("containers", position) for position in range(len(spec.containers))]
    places += [("init_containers", position) for position in range(len(spec.init_containers))]
    if spec.resources is not None and resource in spec.resources.requests:
        places.append(POD_LEVEL)
    found = {place: _resources(spec, place).requests.get(resource) for place in places}
    return {place: amount(resource, parse_quantity(raw)) for place, raw in found.items() if raw is not None}


def _resources(spec: PodSpec, place: Place) -> ResourceRequirements:
    group, position = place
    if place == POD_LEVEL:
        assert spec.resources is not None
        return spec.resources
    containers = spec.containers if group == "containers" else spec.init_containers
    return containers[position].resources


def quantity(resource: str, value: int) -> RawQuantity:
    """An amount in the unit of its column, exactly, as a manifest has it."""
    if resource == CPU_NAME:
        return f"{value}m" if value % 1000 else str(value // 1000)
    if value:
        for unit, size in _BINARY_UNITS:
            if resource in BASIC_NAMES and value % size == 0:
                return f"{value // size}{unit}"
    return str(value)
