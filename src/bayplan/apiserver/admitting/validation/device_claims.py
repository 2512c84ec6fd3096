"""Checks of ResourceClaims and their templates: what they ask for, and what they were given.

Upstream: pkg/apis/resource/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Final, TypeAlias

from bayplan.apiserver.admitting.cluster import NAMESPACES, ClusterView
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.conditions import check_conditions
from bayplan.apiserver.admitting.validation.devices import (
    CONFIGS_MAX,
    check_binding_conditions,
    check_configuration,
    check_driver,
    check_each,
    check_label,
    check_pool_name,
    check_qualified_name,
    check_raw,
    check_selectors,
    check_tolerations,
    check_unique,
)
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_template_metadata
from bayplan.apiserver.admitting.validation.names import interface_address_faults
from bayplan.apiserver.admitting.validation.pods.placement import check_node_selector
from bayplan.apiserver.admitting.validation.volume_sources import check_declared_driver_name
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.resource_claims import EXACT_COUNT
from bayplan.store.errors import FORBIDDEN, StatusCause, field_cause

#: The names of a claim's requests, and of the alternatives of each.
_Names: TypeAlias = Mapping[str, Set[str]]

_MODES = ("All", EXACT_COUNT)
_SOURCES = ("FromClaim", "FromClass")
_REQUESTS_MAX, _CONSTRAINTS_MAX, _ALTERNATIVES_MAX = 32, 32, 8
_RESULTS_MAX, _USERS_MAX = 32, 256
_CONDITIONS_MAX, _IPS_MAX, _INTERFACE_MAX, _HARDWARE_MAX = 8, 16, 256, 128
_REFERENCE_PARTS = 2
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ONE_OF_TWO = "exactly one of `exactly` or `firstAvailable` is required"
_ONE_ATTRIBUTE = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
_ADMIN_LABEL: Final = "resource.kubernetes.io/admin-access"
_UID: Final = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_NORMAL_UID: Final = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)


def permit_claim(claim: Document, cluster: ClusterView) -> list[StatusCause]:
    return _admin_faults(claim["spec"], claim["metadata"].get("namespace", ""), cluster)


def permit_claim_template(template: Document, cluster: ClusterView) -> list[StatusCause]:
    return _admin_faults(template["spec"]["spec"], template["metadata"].get("namespace", ""), cluster)


def _admin_faults(spec: Document, namespace: str, cluster: ClusterView) -> list[StatusCause]:
    """Whoever wants devices for administration may have them in namespaces made for that."""
    for position, request in enumerate(spec.get("devices", {}).get("requests") or ()):
        if not request.get("exactly", {}).get("adminAccess"):
            continue
        found = cluster.find(NAMESPACES, "", namespace)
        labels = {} if found is None else found["metadata"].get("labels") or {}
        if labels.get(_ADMIN_LABEL) == "true":
            return []
        text = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
        return [field_cause(FORBIDDEN, f"spec.devices.requests[{position}].adminAccess", text)]
    return []


def check_claim(claim: Document, faults: Faults) -> None:
    _check_spec(claim["spec"], faults, "spec")


def check_claim_update(new: Document, old: Document, faults: Faults) -> None:
    faults.declared.immutable("spec", new["spec"], old["spec"], internal(new["spec"], "ResourceClaimSpec"))


def check_claim_template(template: Document, faults: Faults) -> None:
    check_template_metadata(template["spec"].get("metadata", {}), faults, "spec.metadata")
    _check_spec(template["spec"]["spec"], faults, "spec.spec")


def check_claim_template_update(new: Document, old: Document, faults: Faults) -> None:
    check_claim_template(new, faults)
    if new["spec"] != old["spec"]:
        faults.invalid("spec", internal(new["spec"], "ResourceClaimTemplateSpec"), IMMUTABLE)


# -- what is asked for


def _check_spec(spec: Document, faults: Faults, path: Path) -> None:
    devices, at = spec.get("devices") or {}, f"{path}.devices"
    requests, known = devices.get("requests") or [], _request_names(spec)
    if check_each(requests, _REQUESTS_MAX, _check_request, faults, f"{at}.requests"):
        _check_names_once(requests, faults, f"{at}.requests")

    def check_constraint(constraint: Document, faults: Faults, path: Path) -> None:
        _check_references(constraint, known, faults, f"{path}.requests")
        _check_constraint(constraint, faults, path)

    def check_config(config: Document, faults: Faults, path: Path) -> None:
        _check_references(config, known, faults, f"{path}.requests")
        check_configuration(config, faults, path)

    constraints = devices.get("constraints") or []
    check_each(constraints, _CONSTRAINTS_MAX, check_constraint, faults, f"{at}.constraints")
    check_each(devices.get("config") or [], CONFIGS_MAX, check_config, faults, f"{at}.config")


def _check_names_once(requests: list[Document], faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, request in enumerate(requests):
        if request["name"] in seen:
            shown = request if admission_release().declarations_report else request["name"]
            faults.declared.duplicate(f"{path}[{position}]", shown)
        seen.add(request["name"])


def _request_names(spec: Document) -> dict[str, set[str]]:
    requests = (spec.get("devices") or {}).get("requests") or ()
    return {request["name"]: {one["name"] for one in request.get("firstAvailable") or ()} for request in requests}


def _check_references(part: Document, known: _Names, faults: Faults, path: Path) -> None:
    def check(name: str, faults: Faults, path: Path) -> None:
        _check_request_reference(name, known, faults, path)

    names = part.get("requests") or []
    if check_each(names, _REQUESTS_MAX, check, faults, path):
        check_unique(names, faults, path)


def _check_request_reference(name: str, known: _Names, faults: Faults, path: Path) -> None:
    parts = name.split("/")
    if len(parts) > _REFERENCE_PARTS:
        faults.invalid(path, name, _NO_REQUEST)
        return
    for part in parts:
        faults.all_invalid(path, part, label_faults(part))
    if parts[0] not in known or (len(parts) > 1 and parts[1] not in known[parts[0]]):
        faults.invalid(path, name, _NO_REQUEST)


def _check_constraint(constraint: Document, faults: Faults, path: Path) -> None:
    for field, found in (("matchAttribute", faults.declared), ("distinctAttribute", faults)):
        name = constraint.get(field)
        if name is not None:
            _check_full_name(name, found, f"{path}.{field}")
            return
    faults.required(path, _ONE_ATTRIBUTE)


def _check_full_name(name: str, faults: Faults, path: Path) -> None:
    check_qualified_name(name, faults, path)
    if "/" not in name:
        faults.invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")


def _check_request(request: Document, faults: Faults, path: Path) -> None:
    check_label(request["name"], faults, f"{path}.name")
    alternatives = request.get("firstAvailable") or []
    if "exactly" in request and alternatives:
        faults.invalid(path, None, f"{_ONE_OF_TWO}, but multiple fields are set")
    elif "exactly" in request:
        _check_asked(request["exactly"], faults, faults, f"{path}.exactly")
    elif not alternatives:
        faults.required(path, _ONE_OF_TWO)
    elif check_each(alternatives, _ALTERNATIVES_MAX, _check_alternative, faults, f"{path}.firstAvailable"):
        check_unique((one["name"] for one in alternatives), faults, f"{path}.firstAvailable")


def _check_alternative(asked: Document, faults: Faults, path: Path) -> None:
    check_label(asked["name"], faults, f"{path}.name")
    _check_asked(asked, faults, faults.declared, path)


def _check_asked(asked: Document, faults: Faults, of_class: Faults, path: Path) -> None:
    of_class.named(f"{path}.deviceClassName", asked.get("deviceClassName"), subdomain_faults)
    check_selectors(asked.get("selectors") or [], faults, f"{path}.selectors")
    mode, count = asked.get("allocationMode"), asked.get("count", 0)
    if mode not in _MODES:
        faults.declared.unsupported(f"{path}.allocationMode", mode, _MODES)
    elif mode == EXACT_COUNT and count <= 0:
        faults.invalid(f"{path}.count", count, NOT_POSITIVE)
    elif mode == "All" and count:
        faults.invalid(f"{path}.count", count, f"must not be specified when allocationMode is '{mode}'")
    check_tolerations(asked.get("tolerations") or (), faults, f"{path}.tolerations")


# -- what was given


def check_claim_status(new: Document, old: Document, faults: Faults) -> None:
    status, before, names = new["status"], old.get("status") or {}, _request_names(new["spec"])
    users, allocation = status.get("reservedFor") or [], status.get("allocation")
    if check_each(users, _USERS_MAX, _check_user, faults, "status.reservedFor"):
        check_unique((user["uid"] for user in users), faults, "status.reservedFor")
    _check_device_statuses(status.get("devices") or [], allocation or {}, faults, "status.devices")
    if users:
        _check_users(new, users, before.get("reservedFor") or [], faults)
    if allocation is None:
        return
    if before.get("allocation") is not None:
        shown = internal(allocation, "AllocationResult") if allocation != before["allocation"] else None
        faults.declared.immutable("status.allocation", allocation, before["allocation"], shown)
    else:
        _check_allocation(allocation, names, faults, "status.allocation")


def _check_user(user: Document, faults: Faults, path: Path) -> None:
    for field in ("resource", "name", "uid"):
        if not user[field]:
            faults.required(f"{path}.{field}")


def _check_users(claim: Document, users: list[Document], before: list[Document], faults: Faults) -> None:
    if claim["status"].get("allocation") is None:
        faults.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in claim["metadata"] and any(user not in before for user in users):
        text = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        faults.forbidden("status.reservedFor", text)


def _check_device_statuses(devices: list[Document], allocation: Document, faults: Faults, path: Path) -> None:
    allocated = [_shared_id(result) for result in (allocation.get("devices") or {}).get("results") or ()]
    for position, device in enumerate(devices):
        _check_device_status(device, allocated, faults, f"{path}[{position}]")
    identities = [_shared_id(device) for device in devices]
    for position, identity in enumerate(identities):
        if identity in identities[:position]:
            faults.declared.duplicate(f"{path}[{position}]", identity)


def _shared_id(device: Document) -> dict[str, str]:
    """What tells one device that was allocated from all others, as refusals show it."""
    fields = ("driver", "pool", "device", "shareID")
    return {f"{field[0].upper()}{field[1:]}": device.get(field) or "" for field in fields}


def _check_device_status(device: Document, allocated: list[dict[str, str]], faults: Faults, path: Path) -> None:
    check_driver(device["driver"], faults, f"{path}.driver")
    check_pool_name(device["pool"], faults, f"{path}.pool")
    check_label(device["device"], faults, f"{path}.device")
    _check_share(device.get("shareID"), faults, f"{path}.shareID")
    if _shared_id(device) not in allocated:
        faults.invalid(path, _shared_id(device), "must be an allocated device in the claim")
    conditions = device.get("conditions") or []
    if len(conditions) > _CONDITIONS_MAX:
        faults.too_many(f"{path}.conditions", len(conditions), _CONDITIONS_MAX)
    check_conditions(conditions, faults, f"{path}.conditions")
    if device.get("data") is not None:
        check_raw(device["data"], faults, f"{path}.data")
    _check_network_data(device.get("networkData") or {}, faults, f"{path}.networkData")


def _check_network_data(data: Document, faults: Faults, path: Path) -> None:
    for field, most in (("interfaceName", _INTERFACE_MAX), ("hardwareAddress", _HARDWARE_MAX)):
        if len((data.get(field) or "").encode()) > most:
            faults.declared.too_long(f"{path}.{field}", most)

    def check(address: str, faults: Faults, path: Path) -> None:
        faults.all_invalid(path, address, interface_address_faults(address))

    addresses = data.get("ips") or []
    if check_each(addresses, _IPS_MAX, check, faults, f"{path}.ips"):
        check_unique(addresses, faults, f"{path}.ips")


def _check_allocation(allocation: Document, names: _Names, faults: Faults, path: Path) -> None:
    devices = allocation.get("devices") or {}

    def check_result(result: Document, faults: Faults, path: Path) -> None:
        _check_result(result, names, faults, path)

    def check_config(config: Document, faults: Faults, path: Path) -> None:
        faults.declared.one_of(f"{path}.source", config.get("source"), _SOURCES)
        _check_references(config, names, faults, f"{path}.requests")
        check_configuration(config, faults, path)

    check_each(devices.get("results") or [], _RESULTS_MAX, check_result, faults, f"{path}.devices.results")
    check_each(devices.get("config") or [], 2 * CONFIGS_MAX, check_config, faults, f"{path}.devices.config")
    if "nodeSelector" in allocation:
        check_node_selector(allocation["nodeSelector"], faults, f"{path}.nodeSelector")


def _check_result(result: Document, names: _Names, faults: Faults, path: Path) -> None:
    _check_request_reference(result["request"], names, faults, f"{path}.request")
    check_declared_driver_name(result["driver"], faults, f"{path}.driver", check_driver)
    check_pool_name(result["pool"], faults.declared, f"{path}.pool")
    check_label(result["device"], faults, f"{path}.device")
    check_binding_conditions(result, faults, path)
    _check_share(result.get("shareID"), faults.declared, f"{path}.shareID")


def _check_share(uid: str | None, faults: Faults, path: Path) -> None:
    if uid is None:
        return
    if not _UID.fullmatch(uid):
        faults.invalid(path, uid, f"error validating uid: {_uid_fault(uid)}")
    elif uid != uid.lower():
        faults.invalid(path, uid, _NORMAL_UID)


def _uid_fault(uid: str) -> str:
    """What the server's library says of a text that is no UUID."""
    is_of_length = len(uid.encode()) in (32, 36, 38, 45)
    return "invalid UUID format" if is_of_length else f"invalid UUID length: {len(uid.encode())}"
