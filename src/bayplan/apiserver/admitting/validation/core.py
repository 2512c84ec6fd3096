"""Checks of ConfigMaps, Secrets, Namespaces, Nodes, quotas, limit ranges and leases.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/coordination/validation (v1.36).
"""

from __future__ import annotations

import base64
import binascii
import json

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.plugins.quota_usage import STANDARD_NAMES
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import config_key_faults, is_network
from bayplan.apiserver.admitting.validation.pods.resources import (
    check_amount_value,
    check_container_resource,
    check_qualified_resource,
)
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.well_known import TAINT_EFFECTS

_DATA_MAX = 1024 * 1024
_IMMUTABLE_DATA = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
# Types of secrets, with keys of which each must hold something.
_SECRET_KEYS = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SECRET_JSON = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
    "VolumeAttributesClass",
)
_CIDR_FIXED = 'node updates may not change podCIDR except from "" to valid'


def check_config_map(config_map: Document, faults: Faults) -> None:
    size = 0
    binary = config_map.get("binaryData", {})
    for key, value in config_map.get("data", {}).items():
        faults.all_invalid(f"data[{key}]", key, config_key_faults(key))
        if key in binary:
            faults.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += len(value) if value.isascii() else len(value.encode())
    for key, value in binary.items():
        faults.all_invalid(f"binaryData[{key}]", key, config_key_faults(key))
        size += _decoded_length(value)
    if size > _DATA_MAX:
        faults.too_long("[]", _DATA_MAX)


def _decoded_length(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def check_config_map_update(new: Document, old: Document, faults: Faults) -> None:
    _check_immutable_data(new, old, ("data", "binaryData"), faults)
    check_config_map(new, faults)


def _check_immutable_data(new: Document, old: Document, fields: tuple[str, ...], faults: Faults) -> None:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        faults.forbidden("immutable", _IMMUTABLE_DATA)
    for field in fields:
        if new.get(field) != old.get(field):
            faults.forbidden(field, _IMMUTABLE_DATA)


def check_secret(secret: Document, faults: Faults) -> None:
    data = secret.get("data", {})
    for key in data:
        faults.all_invalid(f"data[{key}]", key, config_key_faults(key))
    if sum(_decoded_length(value) for value in data.values()) > _DATA_MAX:
        faults.too_long("data", _DATA_MAX)
    kind = secret.get("type", "")
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            faults.required(f"data[{key}]")
    if kind in _SECRET_JSON:
        _check_json_data(data, _SECRET_JSON[kind], faults)
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        faults.required("data[username]")
        faults.required("data[password]")
    annotations = secret["metadata"].get("annotations", {})
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT_NAME):
        faults.required(f"metadata.annotations[{_ACCOUNT_NAME}]")


def _check_json_data(data: dict[str, str], key: str, faults: Faults) -> None:
    if key not in data:
        faults.required(f"data[{key}]")
        return
    try:
        json.loads(base64.b64decode(data[key]))
    except (ValueError, binascii.Error):
        faults.invalid(f"data[{key}]", _REDACTED, "invalid character looking for beginning of value")


def check_secret_update(new: Document, old: Document, faults: Faults) -> None:
    faults.immutable("type", new.get("type"), old.get("type"))
    _check_immutable_data(new, old, ("data",), faults)
    check_secret(new, faults)


def check_node(node: Document, faults: Faults) -> None:
    spec = node["spec"]
    _check_taints(spec.get("taints", ()), faults)
    for position, cidr in enumerate(spec.get("podCIDRs", ())):
        check_network(cidr, faults, f"spec.podCIDRs[{position}]")


def check_network(text: str, faults: Faults, path: Path) -> None:
    """Of a range of addresses."""
    if not is_network(text):
        faults.invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def _check_taints(taints: list[Document], faults: Faults) -> None:
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        # The real server looks for taints among the metadata.
        at = f"metadata.taints[{position}]"
        key, effect, value = taint["key"], taint["effect"], taint.get("value", "")
        faults.all_invalid(f"{at}.key", key, label_key_faults(key))
        if label_value_faults(value):
            faults.invalid(f"{at}.value", value, ";".join(label_value_faults(value)))
        faults.one_of(f"{at}.effect", effect, TAINT_EFFECTS)
        if (key, effect) in seen:
            faults.duplicate(at, internal(taint, "Taint"), "taints must be unique by key and effect pair")
        seen.add((key, effect))


def check_node_update(new: Document, old: Document, faults: Faults) -> None:
    check_node(new, faults)
    spec, before = new["spec"], old["spec"]
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        faults.forbidden("spec.podCIDRs", _CIDR_FIXED)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        faults.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    _check_taints(spec.get("taints", ()), faults)


def check_quota(quota: Document, faults: Faults) -> None:
    spec = quota["spec"]
    for name, raw in spec.get("hard", {}).items():
        path = f"spec.hard[{name}]"
        check_qualified_resource(name, faults, path)
        if "/" not in name and name not in STANDARD_NAMES and "hugepages-" not in name:
            faults.invalid(path, name, "must be a standard resource for quota")
        check_amount_value(name, raw, faults, path)
    _check_scopes(spec.get("scopes", []), faults)


def _check_scopes(scopes: list[str], faults: Faults) -> None:
    for scope in scopes:
        if scope not in _SCOPES:
            faults.invalid("spec.scopes", scopes, "unsupported scope")
    for pair in ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}):
        if pair <= {*scopes}:
            faults.invalid("spec.scopes", scopes, "conflicting scopes")


def check_quota_update(new: Document, old: Document, faults: Faults) -> None:
    check_quota(new, faults)
    scopes = new["spec"].get("scopes", [])
    faults.immutable("spec.scopes", {*scopes}, {*old["spec"].get("scopes", [])}, scopes)


def check_limit_range(limit_range: Document, faults: Faults) -> None:
    seen: set[str] = set()
    for position, item in enumerate(limit_range["spec"]["limits"] or ()):
        path = f"spec.limits[{position}]"
        kind = item["type"]
        if "/" not in kind and kind not in _LIMIT_TYPES:
            faults.invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        if kind in seen:
            faults.duplicate(f"{path}.type", kind)
        seen.add(kind)
        _check_limit_names(item, faults, path)
        if kind == "PersistentVolumeClaim" and not {"storage"} & {*item.get("min", ()), *item.get("max", ())}:
            text = "either minimum or maximum storage value is required, but neither was provided"
            faults.required(f"{path}.limits", text)
        for name in sorted(
            {name for field in ("max", "min", "default", "defaultRequest") for name in item.get(field, ())}
        ):
            _check_limit_order(item, name, faults, path)
        for name in item.get("maxLimitRequestRatio", ()):
            _check_ratio(item, name, faults, path)


def _check_limit_names(item: Document, faults: Faults, path: Path) -> None:
    check = check_container_resource if item["type"] in ("Pod", "Container") else check_qualified_resource
    for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
        if item["type"] == "Pod" and field in ("default", "defaultRequest"):
            if item.get(field):
                faults.forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
            continue
        for name in item.get(field, ()):
            check(name, faults, f"{path}.{field}[{name}]")


def _check_limit_order(item: Document, name: str, faults: Faults, path: Path) -> None:
    """Of four bounds, each must be at most the next: min, default request, default limit, max."""
    shown = {"min": "min", "defaultRequest": "default request", "default": "default", "max": "max"}
    for field, bound in (
        ("min", "max"),
        ("defaultRequest", "min"),
        ("defaultRequest", "max"),
        ("defaultRequest", "default"),
        ("default", "min"),
        ("default", "max"),
    ):
        value, other = item.get(field, {}).get(name), item.get(bound, {}).get(name)
        if value is None or other is None:
            continue
        if bound == "min" and parse_quantity(other) > parse_quantity(value):
            text = f"min value {other} is greater than {shown[field]} value {value}"
            faults.invalid(f"{path}.{field}[{name}]", other if field == "default" else value, text)
        elif bound != "min" and parse_quantity(value) > parse_quantity(other):
            bound_name = "default limit" if bound == "default" else shown[bound]
            text = f"{shown[field]} value {value} is greater than {bound_name} value {other}"
            faults.invalid(f"{path}.{field}[{name}]", other if field == "default" else value, text)


def _check_ratio(item: Document, name: str, faults: Faults, path: Path) -> None:
    ratio = item["maxLimitRequestRatio"][name]
    if parse_quantity(ratio) < NANO_PER_UNIT:
        faults.invalid(f"{path}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1")


def check_lease(lease: Document, faults: Faults) -> None:
    spec = lease["spec"]
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        faults.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    faults.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        faults.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")
