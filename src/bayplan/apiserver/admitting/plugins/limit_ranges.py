"""LimitRanges: what containers get that ask for nothing, and how little or much pods and claims may ask for.

`apply_limit_ranges` completes a new pod in place; `check_limit_ranges` raises Forbidden. Both take the LimitRanges
of the document's namespace from the cluster. Upstream: plugin/pkg/admission/limitranger/admission.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.admitting.cluster import LIMIT_RANGES, ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.pod_resources import pod_totals
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.quantity import parse_quantity
from bayplan.store.errors import Forbidden

_ANNOTATION = "kubernetes.io/limit-ranger"


def apply_limit_ranges(pod: Document, cluster: ClusterView) -> None:
    """Requests and limits for containers that have none, with a note of what was set."""
    for limit_range in cluster.list(LIMIT_RANGES, pod["metadata"]["namespace"]):
        items = [item for item in limit_range["spec"]["limits"] or () if item["type"] == "Container"]
        requests = {name: raw for item in items for name, raw in item.get("defaultRequest", {}).items()}
        limits = {name: raw for item in items for name, raw in item.get("default", {}).items()}
        notes = [*_set_defaults(pod["spec"], requests, limits)]
        if notes:
            annotations = pod["metadata"].setdefault("annotations", {})
            annotations[_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)


def _set_defaults(spec: Document, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    for field, called in (("containers", "container"), ("initContainers", "init container")):
        for container in spec.get(field) or ():
            resources = container["resources"]
            set_limits = _set_missing(resources, "limits", limits)
            set_requests = _set_missing(resources, "requests", requests)
            if set_requests:
                yield f"{', '.join(set_requests)} request for {called} {container['name']}"
            if set_limits:
                yield f"{', '.join(set_limits)} limit for {called} {container['name']}"


def _set_missing(resources: Document, which: str, defaults: dict[str, str]) -> list[str]:
    present = resources.get(which, {})
    missing = sorted(name for name in defaults if name not in present)
    if missing:
        resources[which] = {**present, **{name: defaults[name] for name in missing}}
    return missing


def check_limit_ranges(resource: Resource, document: Document, cluster: ClusterView) -> None:
    """Raises Forbidden with everything one LimitRange has against the pod or the claim."""
    metadata = document["metadata"]
    for limit_range in cluster.list(LIMIT_RANGES, metadata["namespace"]):
        faults = [fault for item in limit_range["spec"]["limits"] or () for fault in _faults(item, document)]
        distinct = list(dict.fromkeys(faults))
        if distinct:
            why = distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
            raise Forbidden.because(resource, metadata["name"], why)


def _faults(item: Document, document: Document) -> Iterator[str]:
    kind, spec = item["type"], document["spec"]
    if document["kind"] == "PersistentVolumeClaim":
        if kind == "PersistentVolumeClaim":
            yield from _claim_faults(item, spec["resources"].get("requests", {}))
    elif kind == "Container":
        for container in [*(spec.get("containers") or ()), *spec.get("initContainers", ())]:
            resources = container["resources"]
            yield from _amount_faults(item, resources.get("requests", {}), resources.get("limits", {}))
    elif kind == "Pod":
        without_overhead = {name: value for name, value in spec.items() if name != "overhead"}
        yield from _amount_faults(
            item, pod_totals(without_overhead, "requests"), pod_totals(without_overhead, "limits")
        )


def _claim_faults(item: Document, requests: dict[str, str]) -> Iterator[str]:
    kind = item["type"]
    for name, bound in item.get("min", {}).items():
        yield from _minimum_faults(kind, name, bound, requests, {})
    for name, bound in item.get("max", {}).items():
        usage = f"maximum {name} usage per {kind} is {bound}"
        if name not in requests:
            yield f"{usage}.  No request is specified"
        elif parse_quantity(requests[name]) > parse_quantity(bound):
            yield f"{usage}, but request is {requests[name]}"


def _amount_faults(item: Document, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    kind = item["type"]
    for name, bound in item.get("min", {}).items():
        yield from _minimum_faults(kind, name, bound, requests, limits)
    for name, bound in item.get("max", {}).items():
        yield from _maximum_faults(kind, name, bound, requests, limits)
    for name, bound in item.get("maxLimitRequestRatio", {}).items():
        yield from _ratio_faults(kind, name, bound, requests, limits)


def _minimum_faults(
    kind: str, name: str, bound: str, requests: dict[str, str], limits: dict[str, str]
) -> Iterator[str]:
    usage, least = f"minimum {name} usage per {kind} is {bound}", parse_quantity(bound)
    if name not in requests:
        yield f"{usage}.  No request is specified"
    elif parse_quantity(requests[name]) < least:
        yield f"{usage}, but request is {requests[name]}"
    elif name in limits and parse_quantity(limits[name]) < least:
        yield f"{usage}, but limit is {limits[name]}"


def _maximum_faults(
    kind: str, name: str, bound: str, requests: dict[str, str], limits: dict[str, str]
) -> Iterator[str]:
    usage, most = f"maximum {name} usage per {kind} is {bound}", parse_quantity(bound)
    if name not in limits:
        yield f"{usage}.  No limit is specified"
    elif parse_quantity(limits[name]) > most:
        yield f"{usage}, but limit is {limits[name]}"
    elif name in requests and parse_quantity(requests[name]) > most:
        yield f"{usage}, but request is {requests[name]}"


def _ratio_faults(kind: str, name: str, bound: str, requests: dict[str, str], limits: dict[str, str]) -> Iterator[str]:
    rule = f"{name} max limit to request ratio per {kind} is {bound}"
    request, limit = parse_quantity(requests.get(name, "0")), parse_quantity(limits.get(name, "0"))
    if not request:
        yield f"{rule}, but no request is specified or request is 0"
    elif not limit:
        yield f"{rule}, but no limit is specified or limit is 0"
    elif limit / request > parse_quantity(bound) / parse_quantity("1"):
        yield f"{rule}, but provided ratio is {limit / request:f}"
