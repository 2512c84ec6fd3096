"""Cluster IPs and node ports of services: the lowest that no other service has, within the usual ranges.

`allocate` completes a service in place, `keep_addresses` lets an update have those that it does not mention. What
cannot be had is returned as causes. A real server draws at random; here the same services always get the same ones.
One family of addresses, IPv4. Upstream: pkg/registry/core/service/storage (v1.36).
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network, ip_address

from bayplan.apiserver.admitting.cluster import SERVICES, ClusterView
from bayplan.apiserver.admitting.defaults.services import (
    EXTERNAL_NAME,
    LOAD_BALANCER,
    NODE_PORT,
    is_externally_accessible,
    needs_health_check,
)
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.services import check_cluster_addresses
from bayplan.store.errors import INVALID, StatusCause, field_cause

SERVICE_RANGE = IPv4Network("10.96.0.0/12")
# The lower part of each range is left to those who ask for a certain address.
_FIRST_FREE_ADDRESS = int(SERVICE_RANGE.network_address) + 257
_PORT_MIN, _PORT_MAX = 30_000, 32_767
_FIRST_FREE_PORT = 30_086
_HEADLESS = "None"
_FAMILY, _OTHER_FAMILY, _SINGLE = "IPv4", "IPv6", "SingleStack"
_REQUIRE_BOTH = "RequireDualStack"
_NOT_CONFIGURED = "not configured on this cluster"
_TAKEN = "provided IP is already allocated"


def allocate(service: Document, old: Document | None, cluster: ClusterView) -> list[StatusCause]:
    """Gives the service what it lacks; what it asks for and cannot have is returned."""
    spec = service["spec"]
    if spec["type"] == EXTERNAL_NAME:
        return []
    faults = Faults()
    spec.setdefault("ipFamilyPolicy", _policy(spec, old))
    check_cluster_addresses(spec, faults)
    if not faults:
        _settle_families(spec, faults)
    if faults:
        return faults
    others = [
        other["spec"]
        for other in cluster.list(SERVICES, "")
        if (other["metadata"]["namespace"], other["metadata"]["name"])
        != (service["metadata"]["namespace"], service["metadata"].get("name"))
    ]
    standing = old["spec"].get("clusterIP") if old is not None else None
    causes = _allocate_address(spec, {other.get("clusterIP") for other in others}, standing, service["metadata"])
    if not causes and _needs_node_ports(spec):
        causes = _allocate_ports(spec, others)
    if not causes and needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        taken = {other.get("healthCheckNodePort") for other in others} | _node_ports([spec, *others])
        spec["healthCheckNodePort"] = _free_port(taken)
    return causes


def _policy(spec: Document, old: Document | None) -> str:
    """How many kinds of addresses a service is to have that does not say so itself."""
    if old is not None and old["spec"].get("ipFamilyPolicy"):
        return str(old["spec"]["ipFamilyPolicy"])
    return _REQUIRE_BOTH if spec.get("clusterIP") == _HEADLESS and not spec.get("selector") else _SINGLE


def _settle_families(spec: Document, faults: Faults) -> None:
    """Which kinds of addresses the service has; this cluster has one kind."""
    policy, addresses, families = spec["ipFamilyPolicy"], spec.get("clusterIPs", []), [*spec.get("ipFamilies", ())]
    for what, given in (("cluster IPs", addresses), ("IP families", families)):
        if policy == _SINGLE and len(given) > 1:
            text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified"
            faults.invalid("spec.ipFamilyPolicy", policy, text)
    for position, address in enumerate(addresses if addresses[:1] != [_HEADLESS] else ()):
        if position >= len(families):
            if ":" in address:
                faults.invalid(f"spec.clusterIPs[{position}]", addresses, f"{_OTHER_FAMILY} is {_NOT_CONFIGURED}")
            else:
                families.append(_FAMILY)
    if faults:
        return
    if spec.get("clusterIP") == _HEADLESS and not spec.get("selector"):
        # Nobody gives it addresses, so it may have any.
        families = families or [_FAMILY]
        if policy != _SINGLE and len(families) == 1:
            families.append(_OTHER_FAMILY if families[0] == _FAMILY else _FAMILY)
    else:
        _check_configured(policy, families, faults)
    spec["ipFamilies"] = families or [_FAMILY]


def _check_configured(policy: str, families: list[str], faults: Faults) -> None:
    if policy == _REQUIRE_BOTH:
        text = "this cluster is not configured for dual-stack services"
        faults.invalid("spec.ipFamilyPolicy", policy, text)
    for position, family in enumerate(families):
        if family == _OTHER_FAMILY:
            faults.invalid(f"spec.ipFamilies[{position}]", family, _NOT_CONFIGURED)


def _allocate_address(
    spec: Document, taken: set[str | None], standing: str | None, metadata: Document
) -> list[StatusCause]:
    wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs", ())), "")
    if not wanted:
        wanted = _free_address(taken)
        wrong = path_segment_faults(metadata.get("name", ""))
        if wrong:
            # Addresses are objects that name their service, and so are the first to complain.
            why = f'spec.parentRef.name: Invalid value: "{metadata["name"]}": {wrong[0]}'
            text = f'failed to allocate IP: IPAddress.networking.k8s.io "{wanted}" is invalid: {why}'
            return [field_cause(INVALID, "spec.clusterIPs", f'[""]: {text}')]
    elif wanted not in (_HEADLESS, standing):
        why = _why_not(wanted, taken)
        if why:
            text = f"failed to allocate IP {wanted}: {why}"
            return [field_cause(INVALID, "spec.clusterIPs", f"{json.dumps([wanted])}: {text}")]
    spec["clusterIP"] = wanted
    spec.setdefault("clusterIPs", [wanted])
    return []


def _why_not(wanted: str, taken: set[str | None]) -> str:
    address = ip_address(wanted)
    if address not in SERVICE_RANGE or address in (SERVICE_RANGE.network_address, SERVICE_RANGE.broadcast_address):
        return "the provided network does not match the current range"
    return _TAKEN if wanted in taken else ""


def _free_address(taken: set[str | None]) -> str:
    number = _FIRST_FREE_ADDRESS
    while str(IPv4Address(number)) in taken:
        number += 1
    return str(IPv4Address(number))


def _needs_node_ports(spec: Document) -> bool:
    kind = spec["type"]
    return kind == NODE_PORT or (kind == LOAD_BALANCER and bool(spec.get("allocateLoadBalancerNodePorts", True)))


def _allocate_ports(spec: Document, others: list[Document]) -> list[StatusCause]:
    taken = _node_ports(others)
    asked = {port["nodePort"]: port["protocol"] for port in spec.get("ports", ()) if port.get("nodePort")}
    for position, port in enumerate(spec.get("ports", ())):
        number = port.get("nodePort")
        path = f"spec.ports[{position}].nodePort"
        if not number:
            port["nodePort"] = _free_port(taken | asked.keys())
            asked[port["nodePort"]] = port["protocol"]
        elif not _PORT_MIN <= number <= _PORT_MAX:
            text = f"provided port is not in the valid range. The range of valid ports is {_PORT_MIN}-{_PORT_MAX}"
            return [field_cause(INVALID, path, f"{number}: {text}")]
        elif number in taken:
            return [field_cause(INVALID, path, f"{number}: provided port is already allocated")]
    return []


def _node_ports(specs: list[Document]) -> set[int | None]:
    return {port.get("nodePort") for spec in specs for port in spec.get("ports", ())}


def _free_port(taken: set[int | None]) -> int:
    number = _FIRST_FREE_PORT
    while number in taken:
        number += 1
    return number


def keep_addresses(service: Document, old: Document | None) -> None:
    """An update that leaves out addresses keeps them; a change of type gives up what the new type has no use for."""
    spec = service["spec"]
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])
    if old is None:
        return
    before = old["spec"]
    _drop_useless(spec, before)
    address, addresses = spec.get("clusterIP"), spec.get("clusterIPs", [])
    if address and address != before.get("clusterIP") and addresses == before.get("clusterIPs"):
        # Whoever changes the one address means the list too.
        spec["clusterIPs"] = [address, *addresses[1:]]
    if needs_health_check(spec) and needs_health_check(before) and before.get("healthCheckNodePort"):
        spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    if EXTERNAL_NAME in (spec["type"], before["type"]):
        _give_up_addresses(spec, before)
        return
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        for name in ("clusterIP", "clusterIPs"):
            if name in before:
                spec[name] = before[name]
    for name in ("ipFamilies", "ipFamilyPolicy"):
        if name in before:
            spec.setdefault(name, before[name])
    _keep_node_ports(spec, before)


def _drop_useless(spec: Document, before: Document) -> None:
    """What was not changed along with the type, and means nothing for the new one."""
    useless = []
    if before["type"] == LOAD_BALANCER != spec["type"]:
        useless += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if is_externally_accessible(before) and not is_externally_accessible(spec):
        useless.append("externalTrafficPolicy")
    if needs_health_check(before) and not needs_health_check(spec):
        useless.append("healthCheckNodePort")
    for name in useless:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def _give_up_addresses(spec: Document, before: Document) -> None:
    if spec["type"] == EXTERNAL_NAME:
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) == before.get(name):
                spec.pop(name, None)


def _keep_node_ports(spec: Document, before: Document) -> None:
    known = {(port["protocol"], port["port"]): port.get("nodePort") for port in before.get("ports", ())}
    if _needs_node_ports(spec):
        used = {port.get("nodePort") for port in spec.get("ports", ())}
        for port in spec.get("ports", ()):
            number = known.get((port["protocol"], port["port"]))
            if number and number not in used:
                port.setdefault("nodePort", number)
    elif _needs_node_ports(before):
        for port in spec.get("ports", ()):
            if port.get("nodePort") in known.values():
                port.pop("nodePort", None)
