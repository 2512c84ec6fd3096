"""Checks of EndpointSlices and Endpoints.

Upstream: pkg/apis/discovery/validation and pkg/apis/core/validation (v1.36).
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import NameRule
from bayplan.apiserver.admitting.validation.names import address_faults, loose_address_faults, port_number_faults
from bayplan.apiserver.admitting.validation.pods.containers import PROTOCOLS
from bayplan.apiserver.admitting.validation.pods.spec import check_address
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.well_known import DEFAULT_NAMESPACE

_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_LOCAL_MULTICAST: Final = (ip_network("224.0.0.0/24"), ip_network("ff02::/16"))
_ENDPOINTS_MAX, _ADDRESSES_MAX, _PORTS_MAX, _HINTS_MAX = 1000, 100, 20_000, 8


def check_endpoint_slice(endpoint_slice: Document, faults: Faults) -> None:
    kind = endpoint_slice["addressType"]
    faults.declared.one_of("addressType", kind, _TYPES)
    _check_ports(endpoint_slice["ports"] or [], faults)
    if not _is_servers_own(endpoint_slice["metadata"]):
        _check_endpoints(endpoint_slice["endpoints"] or [], kind, faults)


def _is_servers_own(metadata: Document) -> bool:
    """Whether these are the addresses of the API, which may be served on the loopback only."""
    return (metadata.get("namespace"), metadata.get("name")) == (DEFAULT_NAMESPACE, "kubernetes")


def check_endpoint_slice_update(new: Document, old: Document, faults: Faults) -> None:
    kind = new["addressType"]
    faults.declared.one_of("addressType", kind, _TYPES)
    _check_ports(new["ports"] or [], faults)
    if new["endpoints"] != old["endpoints"]:
        _check_endpoints(new["endpoints"] or [], kind, faults)
    faults.declared.immutable("addressType", kind, old["addressType"])


def _check_ports(ports: list[Document], faults: Faults) -> None:
    if len(ports) > _PORTS_MAX:
        faults.too_many("ports", len(ports), _PORTS_MAX)
        return
    names: set[str] = set()
    for position, port in enumerate(ports):
        path, name = f"ports[{position}]", port.get("name", "")
        faults.named_if_given(f"{path}.name", name, label_faults)
        if name in names:
            faults.duplicate(f"{path}.name", name)
        names.add(name)
        faults.supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
        if port.get("appProtocol") is not None:
            faults.all_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_faults(port["appProtocol"]))


def _check_endpoints(endpoints: list[Document], kind: str, faults: Faults) -> None:
    if len(endpoints) > _ENDPOINTS_MAX:
        faults.too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)
        return
    for position, endpoint in enumerate(endpoints):
        _check_endpoint(endpoint, kind, faults, f"endpoints[{position}]")


def _check_endpoint(endpoint: Document, kind: str, faults: Faults, path: Path) -> None:
    addresses = endpoint["addresses"] or []
    if not addresses:
        faults.declared.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(addresses) > _ADDRESSES_MAX:
        faults.declared.too_many(f"{path}.addresses", len(addresses), _ADDRESSES_MAX)
    for position, address in enumerate(addresses):
        _check_endpoint_address(address, kind, faults, f"{path}.addresses", position)
    if endpoint.get("nodeName") is not None:
        faults.all_invalid(f"{path}.nodeName", endpoint["nodeName"], subdomain_faults(endpoint["nodeName"]))
    if endpoint.get("hostname") is not None:
        faults.all_invalid(f"{path}.hostname", endpoint["hostname"], label_faults(endpoint["hostname"]))
    for field, rule in (("forZones", label_value_faults), ("forNodes", subdomain_faults)):
        _check_hints(endpoint.get("hints", {}).get(field, []), rule, faults, f"{path}.hints.{field}")


def _check_hints(hints: list[Document], rule: NameRule, faults: Faults, path: Path) -> None:
    if len(hints) > _HINTS_MAX:
        faults.too_many(path, len(hints), _HINTS_MAX)
        return
    names: set[str] = set()
    for position, hint in enumerate(hints):
        if hint["name"] in names:
            faults.duplicate(f"{path}[{position}].name", hint["name"])
        names.add(hint["name"])
        faults.all_invalid(f"{path}[{position}].name", hint["name"], rule(hint["name"]))


def _check_endpoint_address(address: str, kind: str, faults: Faults, path: Path, position: int) -> None:
    at = f"{path}[{position}]"
    if kind == "FQDN":
        _check_domain(address, faults, at)
    elif kind in _TYPES:
        wrong = address_faults(address) if kind == "IPv6" else loose_address_faults(address)
        faults.all_invalid(at, address, wrong)
        if not wrong:
            if (":" in address) != (kind == "IPv6"):
                faults.invalid(path, address, f"must be an {kind} address")
            check_endpoint_address(address, faults, at)


def _check_domain(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
        return
    bare = name.removesuffix(".")
    if subdomain_faults(bare):
        faults.all_invalid(path, bare, subdomain_faults(bare))
    elif "." not in bare:
        faults.invalid(path, name, "should be a domain with at least two segments separated by dots")


def check_endpoint_address(address: str, faults: Faults, path: Path) -> None:
    """Of the address of a pod, which cannot be one that means something else."""
    given = ip_address(address)
    if given.is_unspecified:
        faults.invalid(path, address, f"may not be unspecified ({address})")
    if given.is_loopback:
        faults.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if given.is_link_local:
        faults.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if any(given in network for network in _LOCAL_MULTICAST):
        faults.invalid(path, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def check_endpoints(endpoints: Document, faults: Faults) -> None:
    """Of the older kind."""
    if _is_servers_own(endpoints["metadata"]):
        return
    for position, subset in enumerate(endpoints.get("subsets", ())):
        path = f"subsets[{position}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            faults.required(path, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(subset.get(field, ())):
                _check_subset_address(address, faults, f"{path}.{field}[{place}]")
        ports = subset.get("ports", ())
        for place, port in enumerate(ports):
            _check_subset_port(port, len(ports) > 1, faults, f"{path}.ports[{place}]")


def _check_subset_address(address: Document, faults: Faults, path: Path) -> None:
    count = len(faults)
    check_address(address["ip"], faults, f"{path}.ip")
    is_valid = len(faults) == count
    faults.named_if_given(f"{path}.hostname", address.get("hostname"), label_faults)
    if address.get("nodeName") is not None:
        faults.all_invalid(f"{path}.nodeName", address["nodeName"], subdomain_faults(address["nodeName"]))
    if is_valid:
        check_endpoint_address(address["ip"], faults, f"{path}.ip")
    else:
        faults.invalid(f"{path}.ip", address["ip"], "must be a valid IP address")


def _check_subset_port(port: Document, needs_name: bool, faults: Faults, path: Path) -> None:
    name = port.get("name", "")
    if needs_name and not name:
        faults.required(f"{path}.name")
    faults.named_if_given(f"{path}.name", name, label_faults)
    faults.all_invalid(f"{path}.port", port["port"], port_number_faults(port["port"]))
    faults.one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    if port.get("appProtocol") is not None:
        faults.all_invalid(f"{path}.appProtocol", port["appProtocol"], label_key_faults(port["appProtocol"]))
