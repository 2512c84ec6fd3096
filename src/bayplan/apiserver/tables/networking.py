"""Rows of services, endpoints, ingresses, network policies and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.tables.ages import UNKNOWN, age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, wide
from bayplan.apiserver.tables.wording import NONE, cut_list, labels_text, selector_text
from bayplan.model.well_known import DEFAULT_INGRESS_CLASS

_HOSTS_MAX = 3


def _service_cells(service: Document, now: int) -> Cells:
    spec = service.get("spec") or {}
    return [
        service["metadata"].get("name", ""),
        spec.get("type", ""),
        (spec.get("clusterIPs") or [NONE])[0],
        _external_addresses(service),
        ",".join(_port(port) for port in spec.get("ports") or ()) or NONE,
        age(service, now),
        labels_text(spec.get("selector")),
    ]


def _external_addresses(service: Document) -> str:
    spec = service.get("spec") or {}
    given = ",".join(spec.get("externalIPs") or ())
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return given or NONE
        case "LoadBalancer":
            return ",".join(filter(None, (_balancer_addresses(service), given))) or "<pending>"
        case "ExternalName":
            return str(spec.get("externalName", ""))
    return UNKNOWN


def _balancer_addresses(document: Document) -> str:
    points = ((document.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    addresses = {point.get("ip") or point.get("hostname") for point in points}
    return ",".join(sorted(filter(None, addresses)))


def _port(port: Mapping[str, Any]) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', '')}"


def _endpoints_cells(endpoints: Document, now: int) -> Cells:
    subsets = endpoints.get("subsets") or ()
    addresses = [address for subset in subsets for address in _subset_addresses(subset)]
    # Upstream shows nothing at all for subsets without addresses.
    return [endpoints["metadata"].get("name", ""), cut_list(addresses, "" if subsets else NONE), age(endpoints, now)]


def _subset_addresses(subset: Mapping[str, Any]) -> Iterator[str]:
    addresses = [address.get("ip", "") for address in subset.get("addresses") or ()]
    ports = subset.get("ports") or ()
    if not ports:
        yield from addresses
    for port in ports:
        yield from (_host_port(address, port["port"]) for address in addresses)


def _host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _endpoint_slice_cells(endpoint_slice: Document, now: int) -> Cells:
    endpoints = endpoint_slice.get("endpoints") or ()
    return [
        endpoint_slice["metadata"].get("name", ""),
        endpoint_slice.get("addressType", ""),
        cut_list(_slice_port(port) for port in endpoint_slice.get("ports") or ()),
        cut_list(address for endpoint in endpoints for address in endpoint.get("addresses") or ()),
        age(endpoint_slice, now),
    ]


def _slice_port(port: Mapping[str, Any]) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


def _ingress_cells(ingress: Document, now: int) -> Cells:
    spec = ingress.get("spec") or {}
    return [
        ingress["metadata"].get("name", ""),
        NONE if spec.get("ingressClassName") is None else spec["ingressClassName"],
        _hosts(spec.get("rules") or []),
        _balancer_addresses(ingress),
        "80, 443" if spec.get("tls") else "80",
        age(ingress, now),
    ]


def _hosts(rules: list[Mapping[str, Any]]) -> str:
    """Rules without a host are skipped, yet counted among those that are left out."""
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == _HOSTS_MAX:
            return f"{','.join(hosts)} + {len(rules) - _HOSTS_MAX} more..."
        if rule.get("host"):
            hosts.append(rule["host"])
    return ",".join(hosts) or "*"


def _ingress_class_cells(ingress_class: Document, now: int) -> Cells:
    metadata, spec = ingress_class["metadata"], ingress_class.get("spec") or {}
    is_default = (metadata.get("annotations") or {}).get(DEFAULT_INGRESS_CLASS) == "true"
    name = metadata.get("name", "")
    return [
        f"{name} (default)" if is_default else name,
        spec.get("controller", ""),
        _parameters(spec.get("parameters")),
        age(ingress_class, now),
    ]


def _parameters(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return NONE
    group = reference.get("apiGroup")
    kind = reference.get("kind", "") if group is None else f"{reference.get('kind', '')}.{group}"
    return f"{kind}/{reference.get('name', '')}"


def _network_policy_cells(policy: Document, now: int) -> Cells:
    selector = (policy.get("spec") or {}).get("podSelector")
    return [policy["metadata"].get("name", ""), selector_text(selector) or NONE, age(policy, now)]


def _service_cidr_cells(service_cidr: Document, now: int) -> Cells:
    cidrs = (service_cidr.get("spec") or {}).get("cidrs") or ()
    return [service_cidr["metadata"].get("name", ""), ",".join(cidrs), age(service_cidr, now)]


def _ip_address_cells(address: Document, now: int) -> Cells:
    # Upstream adds the age although there is no column for it.
    reference = (address.get("spec") or {}).get("parentRef")
    return [address["metadata"].get("name", ""), _parent(reference), age(address, now)]


def _parent(reference: Mapping[str, Any] | None) -> str:
    if reference is None:
        return NONE
    group, resource = reference.get("group"), reference.get("resource", "")
    parts = (f"{resource}.{group}".lower() if group else resource.lower(), reference.get("namespace"))
    return "/".join([*filter(None, parts), reference.get("name", "")])


SERVICES = Printer(
    (
        NAME,
        Column("Type", "How the service can be reached."),
        Column("Cluster-IP", "Address inside the cluster."),
        Column("External-IP", "Addresses from outside."),
        Column("Port(s)", "Ports of the service."),
        AGE,
        wide("Selector", "Labels of the pods behind the service."),
    ),
    _service_cells,
)
ENDPOINTS = Printer((NAME, Column("Endpoints", "Addresses behind the service."), AGE), _endpoints_cells)
ENDPOINT_SLICES = Printer(
    (
        NAME,
        Column("AddressType", "Kind of the addresses."),
        Column("Ports", "Ports of the endpoints."),
        Column("Endpoints", "Addresses of the endpoints."),
        AGE,
    ),
    _endpoint_slice_cells,
)
INGRESSES = Printer(
    (
        NAME,
        Column("Class", "Class of the ingress, which says who serves it."),
        Column("Hosts", "Hosts that the rules are for."),
        Column("Address", "Addresses at which the ingress can be reached."),
        Column("Ports", "Ports that are open; 443 if there is TLS."),
        AGE,
    ),
    _ingress_cells,
)
INGRESS_CLASSES = Printer(
    (
        NAME,
        Column("Controller", "Who serves ingresses of this class."),
        Column("Parameters", "Object with further settings."),
        AGE,
    ),
    _ingress_class_cells,
)
NETWORK_POLICIES = Printer(
    (NAME, Column("Pod-Selector", "Labels of the pods that the policy is for."), AGE), _network_policy_cells
)
SERVICE_CIDRS = Printer((NAME, Column("CIDRs", "Ranges that service addresses come from."), AGE), _service_cidr_cells)
IP_ADDRESSES = Printer((NAME, Column("ParentRef", "Object that holds the address.")), _ip_address_cells)
