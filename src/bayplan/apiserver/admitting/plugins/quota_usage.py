"""How much a document uses of what ResourceQuotas count: pods by their requests and limits, others by their number.

Takes documents, gives quantities by the names that quotas have for them (`requests.cpu`, `count/deployments.apps`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bayplan.admission.resources import HUGEPAGES_PREFIX
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.pod_resources import pod_totals
from bayplan.apiserver.admitting.quantities import written
from bayplan.apiserver.schema.resources import RESOURCES, Resource
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import BETA_STORAGE_CLASS

_REQUESTS = "requests."
LIMITS_PREFIX = "limits."
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_POD_NAMES = frozenset(
    {"count/pods", "pods", *_COMPUTE, *(p + n for p in (_REQUESTS, LIMITS_PREFIX) for n in _COMPUTE)}
)
_SERVICE_NAMES = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_CLAIM_NAMES = ("persistentvolumeclaims", "requests.storage")
_BY_CLASS = ".storageclass.storage.k8s.io/"
_BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"
#: So many devices a claim may get that asks for all; quotas count on it.
_DEVICES_MAX = 32
# Counted by their plain names as well, as quotas did before they could count anything.
_OLD_NAMES = frozenset({"replicationcontrollers", "resourcequotas", "secrets", "configmaps"})
STANDARD_NAMES = frozenset(
    {*_POD_NAMES, *_SERVICE_NAMES, *_CLAIM_NAMES, *_OLD_NAMES} - {"count/pods", "count/services"}
)
"""All that a quota can count by a name of its own."""
_COUNTABLE = {resource.qualified_resource: resource for resource in RESOURCES if resource.namespaced}


def counted_resources(resource: Resource, names: Iterable[str]) -> list[str]:
    """Which of a quota's names count documents of the resource."""
    if resource.qualified_resource == "pods":
        return [name for name in names if name in _POD_NAMES or _is_pod_amount(name)]
    if resource.qualified_resource == "services":
        return [name for name in names if name in _SERVICE_NAMES]
    counted = [f"count/{resource.qualified_resource}"]
    if resource.qualified_resource == "persistentvolumeclaims":
        suffixes = tuple(_BY_CLASS + name for name in _CLAIM_NAMES)
        return [name for name in names if name in (*counted, *_CLAIM_NAMES) or name.endswith(suffixes)]
    if resource.qualified_resource == "resourceclaims.resource.k8s.io":
        return [name for name in names if name in counted or name.endswith(_BY_DEVICE_CLASS)]
    if resource.qualified_resource in _OLD_NAMES:
        counted.append(resource.qualified_resource)
    return [name for name in names if name in counted]


def _is_pod_amount(name: str) -> bool:
    """Huge pages, and extended resources such as `requests.example.com/gpu`."""
    if name.startswith((HUGEPAGES_PREFIX, _REQUESTS + HUGEPAGES_PREFIX)):
        return True
    is_native = "/" not in name or "kubernetes.io/" in name
    return name.startswith(_REQUESTS) and not is_native


def resource_counting(names: Iterable[str]) -> list[Resource]:
    """The resources that any of the names counts, each once."""
    given = [*names]
    found = {resource.qualified_resource: resource for resource in _COUNTABLE.values()}
    return [resource for resource in found.values() if counted_resources(resource, given)]


def usage_of(resource: Resource, document: Document, now: int) -> dict[str, str]:
    """What one document uses."""
    count = {f"count/{resource.qualified_resource}": "1"}
    if resource.qualified_resource == "pods":
        return {**count, **_pod_usage(document, now)}
    if resource.qualified_resource == "services":
        return {**count, **_service_usage(document["spec"])}
    if resource.qualified_resource == "persistentvolumeclaims":
        return {**count, **_claim_usage(document)}
    if resource.qualified_resource == "resourceclaims.resource.k8s.io":
        return {**count, **_device_usage(document["spec"])}
    if resource.qualified_resource in _OLD_NAMES:
        count[resource.qualified_resource] = "1"
    return count


def _pod_usage(pod: Document, now: int) -> dict[str, str]:
    if pod.get("status", {}).get("phase") in ("Failed", "Succeeded") or _is_overdue(pod["metadata"], now):
        return {}
    spec = pod["spec"]
    return container_usage(pod_totals(spec, "requests"), pod_totals(spec, "limits"))


def _is_overdue(metadata: Document, now: int) -> bool:
    """Whether the pod should be gone by now: what it held must not keep others from starting."""
    if "deletionTimestamp" not in metadata or metadata.get("deletionGracePeriodSeconds") is None:
        return False
    due: int = parse_time(metadata["deletionTimestamp"]) + metadata["deletionGracePeriodSeconds"] * SECOND
    return now > due


def container_usage(requests: dict[str, str], limits: dict[str, str]) -> dict[str, str]:
    """Requests and limits under the names that quotas have for them."""
    usage = {"pods": "1"}
    for name, amount in requests.items():
        if name in _COMPUTE or name.startswith(HUGEPAGES_PREFIX):
            usage[name] = amount
            usage[_REQUESTS + name] = amount
        elif "/" in name:
            usage[_REQUESTS + name] = amount
    for name, amount in limits.items():
        if name in _COMPUTE:
            usage[LIMITS_PREFIX + name] = amount
    return usage


def _service_usage(spec: Document) -> dict[str, str]:
    kind, ports = spec.get("type"), spec.get("ports", ())
    node_ports = 0
    if kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True)):
        node_ports = len(ports)
    elif kind == "LoadBalancer":
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    balancers = "1" if kind == "LoadBalancer" else "0"
    return {"services": "1", "services.nodeports": str(node_ports), "services.loadbalancers": balancers}


def _claim_usage(claim: Document) -> dict[str, str]:
    spec = claim["spec"]
    usage = {"persistentvolumeclaims": "1"}
    requested = spec.get("resources", {}).get("requests", {}).get("storage")
    if requested is not None:
        whole = -(-parse_quantity(requested) // NANO_PER_UNIT) * NANO_PER_UNIT
        usage["requests.storage"] = written(whole, like=requested)
    class_name = claim["metadata"].get("annotations", {}).get(BETA_STORAGE_CLASS) or spec.get("storageClassName")
    if class_name:
        usage |= {f"{class_name}{_BY_CLASS}{name}": amount for name, amount in usage.items()}
    return usage


def _device_usage(spec: Document) -> dict[str, str]:
    """Devices by class; of alternatives the most that any of them may take of each class."""
    totals: Counter[str] = Counter()
    for request in (spec.get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or [request.get("exactly") or {}]
        most: dict[str, int] = {}
        for each in alternatives:
            name = each.get("deviceClassName", "")
            most[name] = max(most.get(name, 0), _devices(each))
        totals.update(most)
    return {f"{name}{_BY_DEVICE_CLASS}": str(number) for name, number in totals.items()}


def _devices(request: Document) -> int:
    if request.get("allocationMode") == "All":
        return _DEVICES_MAX
    count: int = request.get("count", 0)
    return count
