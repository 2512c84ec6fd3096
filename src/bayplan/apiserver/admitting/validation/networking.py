"""Checks of ingresses and network policies. Upstream: pkg/apis/networking/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.core import check_network
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import (
    is_address,
    label_faults,
    port_name_faults,
    port_number_faults,
    subdomain_faults,
    wildcard_faults,
)

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_DIRECTIONS = ("Ingress", "Egress")
_PROTOCOLS = ("TCP", "UDP", "SCTP")


def check_ingress(ingress: Document, faults: Faults) -> None:
    spec = ingress["spec"]
    rules = spec.get("rules")
    if not rules and "defaultBackend" not in spec:
        faults.invalid("spec", rules, "either `defaultBackend` or `rules` must be specified")
    if "defaultBackend" in spec:
        _check_backend(spec["defaultBackend"], faults, "spec.defaultBackend")
    for position, rule in enumerate(rules or ()):
        _check_rule(rule, faults, f"spec.rules[{position}]")
    for position, tls in enumerate(spec.get("tls", ())):
        for index, host in enumerate(tls.get("hosts", ())):
            _check_host(host, faults, f"spec.tls[{position}].hosts[{index}]")
    name = spec.get("ingressClassName")
    if name is not None:
        faults.all_invalid("spec.ingressClassName", name, subdomain_faults(name))


def _check_rule(rule: Document, faults: Faults, path: Path) -> None:
    host = rule.get("host")
    if host:
        if is_address(host):
            faults.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        _check_host(host, faults, f"{path}.host")
    if "http" not in rule:
        return
    paths = rule["http"]["paths"] or ()
    if not paths:
        faults.required(f"{path}.http.paths")
    for position, given in enumerate(paths):
        _check_path(given, faults, f"{path}.http.paths[{position}]")


def _check_host(host: str, faults: Faults, path: Path) -> None:
    faults.all_invalid(path, host, wildcard_faults(host) if "*" in host else subdomain_faults(host))


def _check_path(given: Document, faults: Faults, path: Path) -> None:
    kind, text = given.get("pathType"), given.get("path", "")
    if kind is None:
        faults.required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        faults.unsupported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        faults.invalid(f"{path}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for bad in _BAD_PARTS:
            if bad in text:
                faults.invalid(f"{path}.path", text, f"must not contain '{bad}'")
        for bad in _BAD_ENDS:
            if text.endswith(bad):
                faults.invalid(f"{path}.path", text, f"cannot end with '{bad}'")
    _check_backend(given["backend"], faults, f"{path}.backend")


def _check_backend(backend: Document, faults: Faults, path: Path) -> None:
    if "resource" in backend and "service" in backend:
        faults.invalid(path, "", "cannot set both resource and service backends")
    elif "service" in backend:
        _check_service_backend(backend["service"], faults, path)
    elif "resource" not in backend:
        faults.invalid(path, "", "resource or service backend is required")


def _check_service_backend(service: Document, faults: Faults, path: Path) -> None:
    if not service["name"]:
        faults.required(f"{path}.service.name")
    else:
        faults.all_invalid(f"{path}.service.name", service["name"], label_faults(service["name"]))
    name, number = service["port"].get("name"), service["port"].get("number")
    if name and number:
        faults.invalid(path, "", "cannot set both port name & port number")
    elif name:
        faults.all_invalid(f"{path}.service.port.name", name, port_name_faults(name))
    elif number:
        faults.all_invalid(f"{path}.service.port.number", number, port_number_faults(number))
    else:
        faults.required(path, "port name or number is required")


def check_network_policy(policy: Document, faults: Faults) -> None:
    spec = policy["spec"]
    check_label_selector(spec.get("podSelector"), faults, "spec.podSelector")
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for position, rule in enumerate(spec.get(direction, ())):
            path = f"spec.{direction}[{position}]"
            for index, port in enumerate(rule.get("ports", ())):
                _check_policy_port(port, faults, f"{path}.ports[{index}]")
            for index, peer in enumerate(rule.get(peers, ())):
                _check_peer(peer, faults, f"{path}.{peers}[{index}]")
    types = spec.get("policyTypes", [])
    if len(types) > len(_DIRECTIONS):
        faults.invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for position, kind in enumerate(types):
        if kind not in _DIRECTIONS:
            faults.unsupported(f"spec.policyTypes[{position}]", kind, _DIRECTIONS)


def _check_policy_port(port: Document, faults: Faults, path: Path) -> None:
    protocol, number, last = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in _PROTOCOLS:
        faults.unsupported(f"{path}.protocol", protocol, _PROTOCOLS)
    if isinstance(number, int):
        faults.all_invalid(f"{path}.port", number, port_number_faults(number))
        if last is not None:
            if last < number:
                faults.invalid(f"{path}.endPort", number, "must be greater than or equal to `port`")
            faults.all_invalid(f"{path}.endPort", last, port_number_faults(last))
    elif last is not None:
        why = "non-numeric" if number is not None else "not specified"
        faults.invalid(f"{path}.endPort", last, f"may not be specified when `port` is {why}")
    if isinstance(number, str):
        faults.all_invalid(f"{path}.port", number, port_name_faults(number))


def _check_peer(peer: Document, faults: Faults, path: Path) -> None:
    for field in ("podSelector", "namespaceSelector"):
        check_label_selector(peer.get(field), faults, f"{path}.{field}")
    block = peer.get("ipBlock")
    if block is not None:
        if not block["cidr"]:
            faults.required(f"{path}.ipBlock.cidr")
        else:
            check_network(block["cidr"], faults, f"{path}.ipBlock.cidr")
        for position, excepted in enumerate(block.get("except", ())):
            check_network(excepted, faults, f"{path}.ipBlock.except[{position}]")
    if not peer:
        faults.required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        faults.forbidden(path, "may not specify both ipBlock and another peer")
