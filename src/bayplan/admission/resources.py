"""Requests that an API server derives: of containers from their limits, of pods from their containers.

Takes a pod spec and fills in what is missing, in place. Requests as written are never changed, and quantities
keep the text they were written with; only sums over containers are written again. What this does not do:
LimitRange defaults, and pod-level limits from container limits, which no scheduler reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Container, PodSpec
from bayplan.model.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity

HUGEPAGES_PREFIX = "hugepages-"


def default_requests(spec: PodSpec) -> None:
    """A limit without a request is a request too; then pod-level requests, where these are in use.

    Raises ValueError when a quantity that has to be summed up is malformed.
    """
    for container in spec.containers:
        _request_limits(container)
    for container in spec.init_containers:
        _request_limits(container)
    if spec.resources is not None:
        _default_pod_level(spec)


def _request_limits(container: Container) -> None:
    resources = container.resources
    if resources.limits:
        for name, quantity in resources.limits.items():
            resources.requests.setdefault(name, quantity)


def _default_pod_level(spec: PodSpec) -> None:
    # Upstream: pkg/apis/core/v1/defaults.go, defaultHugePagePodLimits and defaultPodRequests (v1.36).
    resources = spec.resources
    assert resources is not None
    if not resources.limits and not resources.requests:
        return
    for name, total in _sums(spec, lambda container: container.resources.limits).items():
        if name.startswith(HUGEPAGES_PREFIX) and name not in resources.requests:
            resources.limits.setdefault(name, total)
    if not resources.limits:
        return
    # Hugepages cannot be overcommitted: they follow the limit, never the containers' requests.
    for name, total in _sums(spec, lambda container: container.resources.requests).items():
        if name in ("cpu", "memory"):
            resources.requests.setdefault(name, total)
    for name, quantity in resources.limits.items():
        if name in ("cpu", "memory") or name.startswith(HUGEPAGES_PREFIX):
            resources.requests.setdefault(name, quantity)


def _sums(spec: PodSpec, of: Callable[[Container], Mapping[str, RawQuantity]]) -> dict[str, RawQuantity]:
    """What the containers need together: the running ones, or the neediest moment of starting up."""
    starting = [(of(container), container.restart_policy == "Always") for container in spec.init_containers]
    totals = needed_together(map(of, spec.containers), starting)
    return {name: _written(nano) for name, nano in totals.items()}


def needed_together(
    running: Iterable[Mapping[str, RawQuantity]], starting: Iterable[tuple[Mapping[str, RawQuantity], bool]]
) -> dict[str, int]:
    """What containers need at their neediest moment, in nano units.

    Args:
        running: amounts of the containers that run.
        starting: amounts of those that come before, in their order, and whether they go on running beside the others.
    """
    totals: dict[str, int] = {}
    for amounts in running:
        _add(totals, amounts)
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for amounts, is_sidecar in starting:
        needed = dict(sidecars)
        _add(needed, amounts)
        if is_sidecar:
            sidecars = needed
        for name, nano in needed.items():
            peak[name] = max(peak.get(name, 0), nano)
    for name, nano in sidecars.items():
        totals[name] = totals.get(name, 0) + nano
    for name, nano in peak.items():
        totals[name] = max(totals.get(name, 0), nano)
    return totals


def _add(total: dict[str, int], quantities: Mapping[str, RawQuantity]) -> None:
    for name, quantity in quantities.items():
        total[name] = total.get(name, 0) + parse_quantity(quantity)


def _written(nano: int) -> RawQuantity:
    if nano % NANO_PER_UNIT == 0:
        return nano // NANO_PER_UNIT
    return f"{nano // NANO_PER_MILLI}m" if nano % NANO_PER_MILLI == 0 else f"{nano}n"
