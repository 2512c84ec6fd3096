"""What a pod asks for in all: its containers, its sidecars, the neediest moment of its start, its overhead.

Takes the spec of a pod document and gives quantities by resource, as texts or in nano units. Which class of
service follows from them is `qos_class`. Resizing in place is not considered: what is asked for counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.admission.resources import needed_together
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.quantities import added, written
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import parse_quantity

QOS_RESOURCES = ("cpu", "memory")


def container_totals(spec: Document, which: str) -> dict[str, str]:
    """The `requests` or `limits` of all containers together, in the notation of the first of each resource."""
    containers, starting = spec.get("containers") or (), spec.get("initContainers") or ()
    notations: dict[str, RawQuantity] = {}
    for container in (*containers, *starting):
        notations = {**_amounts(container, which), **notations}
    totals = needed_together(
        (_amounts(container, which) for container in containers),
        ((_amounts(container, which), container.get("restartPolicy") == "Always") for container in starting),
    )
    return {name: written(nano, like=notations[name]) for name, nano in totals.items()}


def pod_totals(spec: Document, which: str) -> dict[str, str]:
    """What the pod as a whole says for itself, else its containers, and its overhead on top."""
    totals = container_totals(spec, which)
    totals.update((spec.get("resources") or {}).get(which, {}))
    for name, raw in (spec.get("overhead") or {}).items():
        # Overhead counts against a limit only where there is one.
        if which == "requests" or parse_quantity(totals.get(name, "0")):
            totals[name] = added(totals.get(name, "0"), raw)
    return totals


def _amounts(container: Document, which: str) -> dict[str, RawQuantity]:
    amounts: dict[str, RawQuantity] = container.get("resources", {}).get(which, {})
    return amounts


def qos_class(spec: Document) -> str:
    """Guaranteed, Burstable or BestEffort."""
    # Upstream: pkg/apis/core/v1/helper/qos/qos.go ComputePodQOS (v1.36).
    resources = [spec["resources"]] if "resources" in spec else [*_of_containers(spec)]
    asked = [*_counted(resources, "requests")]
    limited = [*_counted(resources, "limits")]
    if not asked and not limited:
        return "BestEffort"
    is_guaranteed = all(_limits_all(given) for given in resources)
    same = _totals(asked) == _totals(limited)
    return "Guaranteed" if is_guaranteed and same else "Burstable"


def _of_containers(spec: Document) -> Iterable[Document]:
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            yield container.get("resources", {})


def _counted(resources: Iterable[Document], which: str) -> Iterable[tuple[str, int]]:
    for given in resources:
        for name, raw in given.get(which, {}).items():
            nano = parse_quantity(raw)
            if name in QOS_RESOURCES and nano > 0:
                yield name, nano


def _limits_all(given: Document) -> bool:
    limits = given.get("limits", {})
    return all(name in limits and parse_quantity(limits[name]) > 0 for name in QOS_RESOURCES)


def _totals(amounts: Iterable[tuple[str, int]]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for name, nano in amounts:
        totals[name] = totals.get(name, 0) + nano
    return totals
