"""Checks of services: types, ports, addresses. Upstream: pkg/apis/core/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.services import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_externally_accessible,
    needs_health_check,
)
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.core import check_network
from bayplan.apiserver.admitting.validation.endpoint_slices import check_endpoint_address
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_labels
from bayplan.apiserver.admitting.validation.names import is_address, loose_address_faults, port_number_faults
from bayplan.apiserver.admitting.validation.pods.containers import PROTOCOLS
from bayplan.apiserver.admitting.validation.pods.probes import check_port
from bayplan.apiserver.admitting.validation.pods.spec import check_address
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults

_TYPES = (CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT)
_AFFINITIES = ("ClientIP", "None")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
OLD_TOPOLOGY_HINTS, TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_HEADLESS = "None"
FAMILIES, _FAMILIES_MAX = ("IPv4", "IPv6"), 2
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ADDRESS_MODES = ("Proxy", "VIP")
_BALANCED_ONLY = "may only be used when `type` is 'LoadBalancer'"
_AFFINITY_SECONDS_MAX = 86_400


def check_service(service: Document, faults: Faults) -> None:
    spec = service["spec"]
    _check_hints(service["metadata"].get("annotations", {}), faults)
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
        check_cluster_addresses(spec, faults)
    for position, address in enumerate(spec.get("externalIPs", ())):
        path, wrong = f"spec.externalIPs[{position}]", loose_address_faults(address)
        faults.all_invalid(path, address, wrong)
        if not wrong:
            check_endpoint_address(address, faults, path)
    faults.one_of("spec.type", kind, _TYPES)
    _check_node_ports(spec, kind, faults)
    ranges = spec.get("loadBalancerSourceRanges", ())
    if ranges and kind != LOAD_BALANCER:
        faults.forbidden("spec.LoadBalancerSourceRanges", _BALANCED_ONLY)
    for position, text in enumerate(ranges):
        check_network(text.strip(), faults, f"spec.LoadBalancerSourceRanges[{position}]")
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != LOAD_BALANCER:
        faults.forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED_ONLY)
    _check_balancer_class(spec, faults)
    _check_traffic(spec, faults)
    faults.supported("spec.trafficDistribution", spec.get("trafficDistribution"), _DISTRIBUTIONS)


def _check_hints(annotations: dict[str, str], faults: Faults) -> None:
    """Of two annotations that say the same."""
    mode, hints = annotations.get(TOPOLOGY_MODE), annotations.get(OLD_TOPOLOGY_HINTS)
    if None not in (mode, hints) and mode != hints:
        text = f"must match annotations[{OLD_TOPOLOGY_HINTS}] when both are specified"
        faults.invalid(f"metadata.annotations[{TOPOLOGY_MODE}]", mode, text)


def _check_balancer_class(spec: Document, faults: Faults) -> None:
    name = spec.get("loadBalancerClass")
    if name is None:
        return
    if spec["type"] == LOAD_BALANCER:
        faults.all_invalid("spec.loadBalancerClass", name, label_key_faults(name))
    else:
        faults.forbidden("spec.loadBalancerClass", _BALANCED_ONLY)


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


def check_cluster_addresses(spec: Document, faults: Faults) -> None:
    """Of its own addresses and their families."""
    address, addresses = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    if address and addresses[:1] != [address]:
        faults.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif not address and addresses:
        faults.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    _check_families(spec, faults)
    count = len(faults)
    for position, given in enumerate(addresses):
        if position == 0 and given == _HEADLESS:
            if len(addresses) > 1:
                faults.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
            continue
        check_address(given, faults, f"spec.clusterIPs[{position}]")
    are_valid = len(faults) == count
    if len(addresses) > _FAMILIES_MAX:
        faults.invalid("spec.clusterIPs", addresses, f"may only hold up to {_FAMILIES_MAX} values")
    if are_valid:
        _check_families_of(addresses, spec.get("ipFamilies", []), faults)


def _check_families(spec: Document, faults: Faults) -> None:
    seen = set()
    for position, family in enumerate(spec.get("ipFamilies", ())):
        if family not in FAMILIES:
            faults.unsupported(f"spec.ipFamilies[{position}]", family, FAMILIES)
        if family in seen:
            faults.duplicate(f"spec.ipFamilies[{position}]", family)
        seen.add(family)
    faults.supported("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), _FAMILY_POLICIES)


def _check_families_of(addresses: list[str], families: list[str], faults: Faults) -> None:
    found = ["IPv6" if ":" in address else "IPv4" for address in addresses]
    if len(found) > 1 and len({*found}) < len(FAMILIES):
        faults.invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family")
    if addresses[:1] == [_HEADLESS]:
        return
    for position, (address, family, wanted) in enumerate(zip(addresses, found, families, strict=False)):
        if wanted in FAMILIES and family != wanted:
            text = f"expected an {wanted} value as indicated by `ipFamilies[{position}]`"
            faults.invalid(f"spec.clusterIPs[{position}]", address, text)


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
    port = spec.get("healthCheckNodePort", 0)
    if needs_health_check(spec):
        if not port:
            faults.required("spec.healthCheckNodePort")
        else:
            faults.all_invalid("spec.healthCheckNodePort", port, port_number_faults(port))
    elif port:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        faults.invalid("spec.healthCheckNodePort", port, text)
    internally = spec.get("internalTrafficPolicy")
    if internally is not None and internally not in _POLICIES:
        faults.unsupported("spec.internalTrafficPolicy", internally, _POLICIES)


def check_service_update(new: Document, old: Document, faults: Faults) -> None:
    spec, before = new["spec"], old["spec"]
    addresses, standing = spec.get("clusterIPs", []), before.get("clusterIPs", [])
    stays_headless = addresses[:1] == standing[:1] == [_HEADLESS]
    if EXTERNAL_NAME not in (spec["type"], before["type"]) and not stays_headless:
        for position, (address, other) in enumerate(zip(addresses, standing, strict=False)):
            if address != other:
                faults.invalid(f"spec.clusterIPs[{position}]", addresses, "may not change once set")
    if spec["type"] == before["type"] == LOAD_BALANCER:
        name = spec.get("loadBalancerClass")
        if name != before.get("loadBalancerClass"):
            faults.invalid("spec.loadBalancerClass", name, "may not change once set")
    if spec["type"] == LOAD_BALANCER:
        _check_balancer_class(spec, faults)
    if needs_health_check(spec) and needs_health_check(before):
        port, number = spec.get("healthCheckNodePort", 0), before.get("healthCheckNodePort", 0)
        if port != number:
            faults.forbidden("spec.healthCheckNodePort", IMMUTABLE)
    check_service(new, faults)


def check_service_status(new: Document, _old: Document, faults: Faults) -> None:
    ingresses = new["status"].get("loadBalancer", {}).get("ingress", ())
    path = "status.loadBalancer.ingress"
    if ingresses and new["spec"]["type"] != LOAD_BALANCER:
        faults.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for position, ingress in enumerate(ingresses):
        _check_ingress(ingress, faults, f"{path}[{position}]")


def _check_ingress(ingress: Document, faults: Faults, path: Path) -> None:
    address, mode, host = ingress.get("ip"), ingress.get("ipMode"), ingress.get("hostname")
    if address:
        check_address(address, faults, f"{path}.ip")
        if mode is None:
            faults.required(f"{path}.ipMode", "must be specified when `ip` is set")
        faults.supported(f"{path}.ipMode", mode, _ADDRESS_MODES)
    elif mode is not None:
        faults.forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set")
    check_balancer_host(host, faults, f"{path}.hostname")


def check_balancer_host(host: str | None, faults: Faults, path: Path) -> None:
    """Of the name under which a load balancer is reached, if it has one."""
    if host:
        faults.all_invalid(path, host, subdomain_faults(host))
        if is_address(host):
            faults.invalid(path, host, "must be a DNS name, not an IP address")
