"""Cluster IPs and node ports of services: the lowest that no other service has, within the usual ranges.

`allocate` completes a service in place, `keep_addresses` lets an update have those that it does not mention. What
cannot be had is returned as causes. A real server draws at random; here the same services always get the same ones.
One family of addresses, IPv4. Upstream: pkg/registry/core/service/storage (v1.36).
"""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv4Network, ip_address

from bayplan.apiserver.admitting.cluster import SERVICES, ClusterView
from bayplan.apiserver.admitting.defaults.services import EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT
from bayplan.apiserver.admitting.documents import Document
from bayplan.store.errors import INVALID, Cause, field_cause

_RANGE = IPv4Network("10.96.0.0/12")
# The lower part of each range is left to those who ask for a certain address.
_FIRST_FREE_ADDRESS = int(_RANGE.network_address) + 257
_PORT_MIN, _PORT_MAX = 30_000, 32_767
_FIRST_FREE_PORT = 30_086
_HEADLESS = "None"
_TAKEN = "provided IP is already allocated"


def allocate(service: Document, cluster: ClusterView) -> list[Cause]:
    """Gives the service what it lacks; what it asks for and cannot have is returned."""
    spec = service["spec"]
    if spec["type"] == EXTERNAL_NAME:
        return []
    others = [
        other["spec"]
        for other in cluster.list(SERVICES, "")
        if (other["metadata"]["namespace"], other["metadata"]["name"])
        != (service["metadata"]["namespace"], service["metadata"]["name"])
    ]
    causes = _allocate_address(spec, {other.get("clusterIP") for other in others})
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if _needs_node_ports(spec):
        causes += _allocate_ports(spec, others)
    return causes


def _allocate_address(spec: Document, taken: set[str | None]) -> list[Cause]:
    wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs", ())), "")
    if not wanted:
        wanted = _free_address(taken)
    elif wanted != _HEADLESS:
        why = _why_not(wanted, taken)
        if why:
            text = f"failed to allocate IP {wanted}: {why}"
            return [field_cause(INVALID, "spec.clusterIPs", f"{json.dumps([wanted])}: {text}")]
    spec["clusterIP"] = wanted
    spec.setdefault("clusterIPs", [wanted])
    return []


def _why_not(wanted: str, taken: set[str | None]) -> str:
    address = ip_address(wanted)
    if address not in _RANGE or address in (_RANGE.network_address, _RANGE.broadcast_address):
        return f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {_RANGE}"
    return _TAKEN if wanted in taken else ""


def _free_address(taken: set[str | None]) -> str:
    number = _FIRST_FREE_ADDRESS
    while str(IPv4Address(number)) in taken:
        number += 1
    return str(IPv4Address(number))


def _needs_node_ports(spec: Document) -> bool:
    kind = spec["type"]
    return kind == NODE_PORT or (kind == LOAD_BALANCER and bool(spec.get("allocateLoadBalancerNodePorts", True)))


def _allocate_ports(spec: Document, others: list[Document]) -> list[Cause]:
    causes = []
    taken = {port.get("nodePort") for other in others for port in other.get("ports", ())}
    asked = {port["nodePort"]: port["protocol"] for port in spec.get("ports", ()) if port.get("nodePort")}
    for position, port in enumerate(spec.get("ports", ())):
        number = port.get("nodePort")
        path = f"spec.ports[{position}].nodePort"
        if not number:
            port["nodePort"] = _free_port(taken | asked.keys())
            asked[port["nodePort"]] = port["protocol"]
        elif not _PORT_MIN <= number <= _PORT_MAX:
            text = f"provided port is not in the valid range. The range of valid ports is {_PORT_MIN}-{_PORT_MAX}"
            causes.append(field_cause(INVALID, path, f"{number}: {text}"))
        elif number in taken:
            causes.append(field_cause(INVALID, path, f"{number}: provided port is already allocated"))
    return causes


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
