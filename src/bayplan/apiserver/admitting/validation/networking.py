"""Checks of ingresses, network policies, classes and addresses.

Upstream: pkg/apis/networking/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.core import check_network
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import (
    canonical_network_faults,
    is_address,
    is_network,
    is_part_of,
    path_segment_faults,
    port_name_faults,
    port_number_faults,
    wildcard_faults,
)
from bayplan.apiserver.admitting.validation.pods.spec import check_address
from bayplan.apiserver.admitting.validation.services import FAMILIES, check_balancer_host
from bayplan.model.dns_names import label_faults, subdomain_faults

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_BAD_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_BAD_ENDS = ("/..", "/.")
_DIRECTIONS = ("Ingress", "Egress")
_SCOPES = ("Cluster", "Namespace")
_CONTROLLER_MAX = 250
_HTTP_PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
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
        faults.named_if_given(f"spec.tls[{position}].secretName", tls.get("secretName"), subdomain_faults)
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
    elif "resource" in backend:
        _check_resource_backend(backend["resource"], faults, f"{path}.resource")
    else:
        faults.invalid(path, "", "resource or service backend is required")


def _check_resource_backend(resource: Document, faults: Faults, path: Path) -> None:
    group = resource.get("apiGroup")
    if group is not None:
        faults.all_invalid(f"{path}.apiGroup", group, subdomain_faults(group))
    for field in ("kind", "name"):
        faults.named(f"{path}.{field}", resource[field], path_segment_faults)


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
                shown = last if admission_release().shows_end_port else number
                faults.invalid(f"{path}.endPort", shown, "must be greater than or equal to `port`")
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
        _check_block(block, faults, f"{path}.ipBlock")
    if not peer:
        faults.required(path, "must specify a peer")
    elif block is not None and len(peer) > 1:
        faults.forbidden(path, "may not specify both ipBlock and another peer")


def _check_block(block: Document, faults: Faults, path: Path) -> None:
    whole = block["cidr"]
    if not whole:
        faults.declared.required(f"{path}.cidr")
        return
    check_network(whole, faults, f"{path}.cidr")
    if not is_network(whole):
        return
    for position, part in enumerate(block.get("except", ())):
        check_network(part, faults, f"{path}.except[{position}]")
        if is_network(part) and not is_part_of(part, whole):
            faults.invalid(f"{path}.except[{position}]", part, "must be a strict subset of `cidr`")


def check_ingress_status(new: Document, _old: Document, faults: Faults) -> None:
    for position, ingress in enumerate(new["status"].get("loadBalancer", {}).get("ingress") or ()):
        path = f"status.loadBalancer.ingress[{position}]"
        if ingress.get("ip"):
            check_address(ingress["ip"], faults, f"{path}.ip")
        check_balancer_host(ingress.get("hostname"), faults, f"{path}.hostname")


def check_ingress_class(ingress_class: Document, faults: Faults) -> None:
    spec = ingress_class["spec"]
    controller = spec.get("controller", "")
    if len(controller.encode()) > _CONTROLLER_MAX:
        faults.too_long("spec.controller", _CONTROLLER_MAX)
    check_domain_prefixed_path(controller, faults, "spec.controller")
    parameters = spec.get("parameters")
    if parameters is not None:
        _check_class_parameters(parameters, faults, "spec.parameters")


def check_domain_prefixed_path(text: str, faults: Faults, path: Path) -> None:
    """Of a name such as example.com/what."""
    if not text:
        faults.required(path)
        return
    host, _, rest = text.partition("/")
    if not host or not rest:
        faults.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    faults.all_invalid(path, host, subdomain_faults(host))
    if not re.fullmatch(_HTTP_PATH, rest):
        faults.invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


def _check_class_parameters(parameters: Document, faults: Faults, path: Path) -> None:
    group, scope, namespace = (parameters.get(field) for field in ("apiGroup", "scope", "namespace"))
    if group is not None:
        faults.all_invalid(f"{path}.apiGroup", group, subdomain_faults(group))
    for field in ("kind", "name"):
        _check_declared_name(parameters[field], faults, f"{path}.{field}")
    if scope is None:
        faults.required(f"{path}.scope")
    elif scope not in _SCOPES:
        faults.unsupported(f"{path}.scope", scope, _SCOPES)
    elif scope == "Namespace":
        if namespace is None:
            faults.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            faults.all_invalid(f"{path}.namespace", namespace, label_faults(namespace))
    elif namespace is not None:
        faults.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


def check_ingress_class_update(new: Document, old: Document, faults: Faults) -> None:
    faults.immutable("spec.controller", new["spec"].get("controller", ""), old["spec"].get("controller", ""))


def check_ip_address(address: Document, faults: Faults) -> None:
    parent = address["spec"].get("parentRef")
    path = "spec.parentRef"
    if parent is None:
        faults.declared.required(path)
        return
    faults.named_if_given(f"{path}.group", parent.get("group"), subdomain_faults)
    for field in ("resource", "name"):
        _check_declared_name(parent.get(field), faults, f"{path}.{field}")
    faults.named_if_given(f"{path}.namespace", parent.get("namespace"), path_segment_faults)


def _check_declared_name(name: str | None, faults: Faults, path: Path) -> None:
    """Of a name whose absence the type itself refuses."""
    if not name:
        faults.declared.required(path)
    else:
        faults.all_invalid(path, name, path_segment_faults(name))


def check_ip_address_update(new: Document, old: Document, faults: Faults) -> None:
    parent = new["spec"].get("parentRef")
    shown = None if parent is None else internal(parent, "ParentReference")
    faults.declared.immutable("spec.parentRef", parent, old["spec"].get("parentRef"), shown)


def check_service_cidr(cidr: Document, faults: Faults) -> None:
    cidrs = cidr["spec"].get("cidrs") or []
    if not cidrs:
        faults.required("spec.cidrs", "at least one CIDR required")
        return
    if len(cidrs) > len(FAMILIES):
        faults.invalid("spec.cidrs", {"CIDRs": cidrs}, "may only hold up to 2 values")
        return
    for position, each in enumerate(cidrs):
        faults.all_invalid(f"spec.cidrs[{position}]", each, canonical_network_faults(each))
    families = [":" in each for each in cidrs if is_network(each)]
    if len(families) > 1 and families[0] == families[1]:
        text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        faults.invalid("spec.cidrs", cidrs, text)


def check_service_cidr_update(new: Document, old: Document, faults: Faults) -> None:
    cidrs, before = new["spec"].get("cidrs") or [], old["spec"].get("cidrs") or []
    grows = len(before) == 1 and len(cidrs) == len(FAMILIES)
    if len(cidrs) != len(before) and not grows:
        faults.immutable("spec.cidrs", cidrs, before)
        return
    for position, each in enumerate(before):
        faults.immutable(f"spec.cidrs[{position}]", cidrs[position], each)
    if grows:
        check_service_cidr(new, faults)
