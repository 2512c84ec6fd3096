"""Checks of services: types, ports, addresses. Upstream: pkg/apis/core/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.services import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_externally_accessible,
)
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_labels
from bayplan.apiserver.admitting.validation.names import label_faults, port_number_faults, subdomain_faults
from bayplan.apiserver.admitting.validation.pods.containers import PROTOCOLS
from bayplan.apiserver.admitting.validation.pods.probes import check_port
from bayplan.apiserver.admitting.validation.pods.spec import check_address
from bayplan.model.names import label_key_faults

_TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_AFFINITIES = ("ClientIP", "None")
_POLICIES = ("Cluster", "Local")
_HEADLESS = "None"
_BALANCED_ONLY = "may only be used when `type` is 'LoadBalancer'"
_AFFINITY_SECONDS_MAX = 86_400


def check_service(service: Document, faults: Faults) -> None:
    spec = service["spec"]
    kind, ports = spec["type"], spec.get("ports", ())
    headless = spec.get("clusterIPs", [])[:1] == [_HEADLESS]
    if not ports and not headless and kind != EXTERNAL_NAME:
        faults.required("spec.ports")
    _check_type(spec, kind, headless, faults)
    names: set[str] = set()
    for position, port in enumerate(ports):
        _check_port(port, len(ports) > 1, names, faults, f"spec.ports[{position}]")
    check_labels(spec.get("selector", {}), faults, "spec.selector")
    _check_affinity(spec, faults)
    if kind != EXTERNAL_NAME:
        _check_addresses(spec, faults)
    for position, address in enumerate(spec.get("externalIPs", ())):
        check_address(address, faults, f"spec.externalIPs[{position}]")
    faults.one_of("spec.type", kind, _TYPES)
    _check_node_ports(spec, kind, faults)
    if spec.get("loadBalancerSourceRanges") and kind != LOAD_BALANCER:
        faults.forbidden("spec.LoadBalancerSourceRanges", _BALANCED_ONLY)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != LOAD_BALANCER:
        faults.forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED_ONLY)
    if spec.get("loadBalancerClass") is not None and kind != LOAD_BALANCER:
        faults.forbidden("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")
    _check_traffic(spec, faults)


def _check_type(spec: Document, kind: str, headless: bool, faults: Faults) -> None:
    if kind in (LOAD_BALANCER, NODE_PORT):
        if headless:
            faults.invalid("spec.clusterIPs[0]", _HEADLESS, f"may not be set to 'None' for {kind} services")
    elif kind == EXTERNAL_NAME:
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                faults.forbidden(f"spec.{field}", "may not be set for ExternalName services")
        name = spec.get("externalName", "").removesuffix(".")
        if name:
            faults.all_invalid("spec.externalName", name, subdomain_faults(name))
        else:
            faults.required("spec.externalName")


def _check_port(port: Document, needs_name: bool, names: set[str], faults: Faults, path: Path) -> None:
    name = port.get("name", "")
    if needs_name and not name:
        faults.required(f"{path}.name")
    elif name:
        faults.all_invalid(f"{path}.name", name, label_faults(name))
        if name in names:
            faults.duplicate(f"{path}.name", name)
        names.add(name)
    faults.all_invalid(f"{path}.port", port["port"], port_number_faults(port["port"]))
    faults.one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    check_port(port["targetPort"], faults, f"{path}.targetPort")
    if port.get("appProtocol") is not None:
        faults.all_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_faults(port["appProtocol"]))


def _check_affinity(spec: Document, faults: Faults) -> None:
    affinity = spec.get("sessionAffinity")
    faults.one_of("spec.sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _AFFINITY_SECONDS_MAX:
            at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            faults.invalid(at, seconds, f"must be greater than 0 and less than {_AFFINITY_SECONDS_MAX}")


def _check_addresses(spec: Document, faults: Faults) -> None:
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if address and addresses[:1] != [address]:
        faults.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif not address and addresses:
        faults.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    for position, given in enumerate(addresses):
        if position == 0 and given == _HEADLESS:
            if len(addresses) > 1:
                faults.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
            continue
        check_address(given, faults, f"spec.clusterIPs[{position}]")


def _check_node_ports(spec: Document, kind: str, faults: Faults) -> None:
    taken: set[tuple[str, int]] = set()
    ports: set[tuple[str, int]] = set()
    for position, port in enumerate(spec.get("ports", ())):
        path = f"spec.ports[{position}]"
        number, protocol = port.get("nodePort"), port.get("protocol", "")
        if number:
            if kind == CLUSTER_IP:
                faults.forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'")
            if (protocol, number) in taken:
                faults.duplicate(f"{path}.nodePort", number)
            taken.add((protocol, number))
        if (protocol, port["port"]) in ports:
            faults.duplicate(path, internal({"protocol": protocol, "port": port["port"]}, "ServicePort"))
        ports.add((protocol, port["port"]))


def _check_traffic(spec: Document, faults: Faults) -> None:
    external = spec.get("externalTrafficPolicy")
    if not is_externally_accessible(spec):
        if external:
            text = "may only be set for externally-accessible services"
            faults.invalid("spec.externalTrafficPolicy", external, text)
    else:
        faults.one_of("spec.externalTrafficPolicy", external, _POLICIES)
    internally = spec.get("internalTrafficPolicy")
    if internally is not None and internally not in _POLICIES:
        faults.unsupported("spec.internalTrafficPolicy", internally, _POLICIES)


def check_service_update(new: Document, old: Document, faults: Faults) -> None:
    spec, before = new["spec"], old["spec"]
    if EXTERNAL_NAME not in (spec["type"], before["type"]):
        addresses, standing = spec.get("clusterIPs", []), before.get("clusterIPs", [])
        for position, (address, other) in enumerate(zip(addresses, standing, strict=False)):
            if address != other:
                faults.invalid(f"spec.clusterIPs[{position}]", addresses, "may not change once set")
    check_service(new, faults)
