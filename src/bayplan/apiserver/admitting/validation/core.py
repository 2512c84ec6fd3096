"""Checks of ConfigMaps, Secrets, Namespaces, Nodes, quotas, limit ranges and leases.

Upstream: pkg/apis/core/validation/validation.go, pkg/apis/coordination/validation (v1.36).
"""

from __future__ import annotations

import base64

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.plugins.quota_usage import STANDARD_NAMES
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.apiserver.admitting.validation.metadata import NOT_QUALIFIED, STANDARD_FINALIZERS
from bayplan.apiserver.admitting.validation.names import config_key_faults, network_faults
from bayplan.apiserver.admitting.validation.pods.resources import (
    allows_overcommit,
    check_amount_value,
    check_container_resource,
    check_qualified_resource,
)
from bayplan.apiserver.schema.go_syntax import syntax_fault
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.quantity import NANO_PER_UNIT, milli_value, parse_quantity, whole_value
from bayplan.model.well_known import TAINT_EFFECTS

_DATA_MAX = 1024 * 1024
# Beyond this many units the server does not count in thousandths.
_MILLI_VALUE_MAX = (2**63 - 1) // 1000
_IMMUTABLE_DATA = "field is immutable when `immutable` is set"
_REDACTED = "<secret contents redacted>"
_ACCOUNT_NAME = "kubernetes.io/service-account.name"
# Types of secrets, with keys of which each must hold something.
TLS_SECRET = "kubernetes.io/tls"
_SECRET_KEYS = {
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    TLS_SECRET: ("tls.crt", "tls.key"),
}
_SECRET_JSON = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"),
    "VolumeAttributesClass",
)
_CONFLICTING_SCOPES = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_SCOPES_WITHOUT_VALUES = (
    *("BestEffort", "NotBestEffort", "Terminating", "NotTerminating"),
    "CrossNamespacePodAffinity",
)
_ONLY_EXISTS = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)
_MISPLACED_SCOPE = "unsupported scope applied to resource"
_OF_PODS = ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_RESOURCES_OF_SCOPES = {
    **dict.fromkeys(("Terminating", "NotTerminating", "NotBestEffort"), _OF_PODS),
    **dict.fromkeys(("PriorityClass", "CrossNamespacePodAffinity"), _OF_PODS),
    "BestEffort": ("pods",),
    "VolumeAttributesClass": ("persistentvolumeclaims", "requests.storage"),
}
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
    fault = syntax_fault(base64.b64decode(data[key]))
    if fault:
        faults.invalid(f"data[{key}]", _REDACTED, fault)


def check_secret_update(new: Document, old: Document, faults: Faults) -> None:
    faults.immutable("type", new.get("type"), old.get("type"))
    _check_immutable_data(new, old, ("data",), faults)


def check_node(node: Document, faults: Faults) -> None:
    spec = node["spec"]
    _check_taints(spec.get("taints", ()), faults)
    _check_node_resources(node, faults)
    ranges = spec.get("podCIDRs", [])
    for position, cidr in enumerate(ranges):
        check_network(cidr, faults, f"spec.podCIDRs[{position}]")
    if len(ranges) > len({":" in cidr for cidr in ranges}) and not any(map(network_faults, ranges)):
        faults.invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def _check_node_resources(node: Document, faults: Faults) -> None:
    for field in ("capacity", "allocatable"):
        for name, raw in sorted(node.get("status", {}).get(field, {}).items()):
            check_amount_value(name, raw, faults, f"status.{field}.{name}")


def check_network(text: str, faults: Faults, path: Path) -> None:
    """Of a range of addresses."""
    faults.all_invalid(path, text, network_faults(text))


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
    """Of a write to the node or to its status."""
    _check_node_resources(new, faults)
    addresses = new.get("status", {}).get("addresses", [])
    for position, address in enumerate(addresses):
        if address in addresses[:position]:
            shown = {"Type": address["type"], "Address": address["address"]}
            faults.duplicate(f"status.addresses[{position}]", shown)
    spec, before = new["spec"], old["spec"]
    if before.get("podCIDRs") and spec.get("podCIDRs") != before["podCIDRs"]:
        faults.forbidden("spec.podCIDRs", _CIDR_FIXED)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        if admission_release().explains_fixed_provider:
            done = "modified" if spec.get("providerID") else "cleared"
            faults.invalid("spec.providerID", None, f"field cannot be {done} once set")
        else:
            faults.forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    _check_taints(spec.get("taints", ()), faults)


def check_namespace(namespace: Document, faults: Faults) -> None:
    for finalizer in namespace["spec"].get("finalizers") or ():
        faults.all_invalid("spec.finalizers", finalizer, label_key_faults(finalizer))
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            faults.invalid("spec.finalizers", finalizer, NOT_QUALIFIED)


def check_namespace_status(new: Document, _old: Document, faults: Faults) -> None:
    phase, is_going = new["status"].get("phase", ""), "deletionTimestamp" in new["metadata"]
    if phase != ("Terminating" if is_going else "Active"):
        text = (
            "'Terminating' if `deletionTimestamp` is not empty"
            if is_going
            else "'Active' if `deletionTimestamp` is empty"
        )
        faults.invalid("status.Phase", phase, f"may only be {text}")


def check_quota(quota: Document, faults: Faults) -> None:
    spec = quota["spec"]
    _check_quota_amounts(spec.get("hard", {}), faults, "spec.hard")
    _check_scopes(spec.get("scopes", []), spec.get("hard", {}), faults)
    if "scopeSelector" in spec:
        _check_scope_selector(spec, faults, "spec.scopeSelector.matchExpressions")


def check_quota_status(new: Document, _old: Document, faults: Faults) -> None:
    for field in ("hard", "used"):
        _check_quota_amounts(new["status"].get(field, {}), faults, f"status.{field}")


def _check_quota_amounts(amounts: Document, faults: Faults, path: Path) -> None:
    for name, raw in amounts.items():
        at = f"{path}[{name}]"
        check_qualified_resource(name, faults, at)
        if "/" not in name and name not in STANDARD_NAMES and "hugepages-" not in name:
            faults.invalid(at, name, "must be a standard resource for quota")
        check_amount_value(name, raw, faults, at)


def _misfits(scope: str, hard: Document) -> list[str]:
    """Resources that the scope says nothing about."""
    fitting = _RESOURCES_OF_SCOPES.get(scope)
    if fitting is None:
        return []
    standard = (name for name in sorted(hard) if name in STANDARD_NAMES or "hugepages-" in name)
    return [name for name in standard if name not in fitting]


def _check_scope_selector(spec: Document, faults: Faults, path: Path) -> None:
    selector, hard = spec["scopeSelector"], spec.get("hard", {})
    requirements = selector.get("matchExpressions") or []
    for requirement in requirements:
        scope, operator, values = requirement["scopeName"], requirement["operator"], requirement.get("values")
        if scope not in _SCOPES:
            faults.invalid(f"{path}.scopeName", scope, "unsupported scope")
        for _ in _misfits(scope, hard):
            faults.invalid(path, internal(selector, "ScopeSelector"), _MISPLACED_SCOPE)
        if scope in _SCOPES_WITHOUT_VALUES and operator != "Exists":
            faults.invalid(f"{path}.operator", operator, _ONLY_EXISTS)
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                faults.required(f"{path}.values", text)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                faults.invalid(f"{path}.values", values, text)
        else:
            faults.invalid(f"{path}.operator", operator, "not a valid selector operator")
    scopes = {requirement["scopeName"] for requirement in requirements}
    for pair in _CONFLICTING_SCOPES:
        if pair <= scopes:
            faults.invalid(path, spec.get("scopes"), "conflicting scopes")


def _check_scopes(scopes: list[str], hard: Document, faults: Faults) -> None:
    for scope in scopes:
        if scope not in _SCOPES:
            faults.invalid("spec.scopes", scopes, "unsupported scope")
        for _ in _misfits(scope, hard):
            faults.invalid("spec.scopes", scopes, _MISPLACED_SCOPE)
    for pair in _CONFLICTING_SCOPES:
        if pair <= {*scopes}:
            faults.invalid("spec.scopes", scopes, "conflicting scopes")


def check_quota_update(new: Document, old: Document, faults: Faults) -> None:
    check_quota(new, faults)
    scopes = new["spec"].get("scopes", [])
    if {*scopes} != {*old["spec"].get("scopes", [])}:
        faults.invalid("spec.scopes", scopes or None, IMMUTABLE)


def check_limit_range(limit_range: Document, faults: Faults) -> None:
    seen: set[str] = set()
    for position, item in enumerate(limit_range["spec"]["limits"] or ()):
        path = f"spec.limits[{position}]"
        kind = item["type"]
        _check_limit_type(kind, faults, f"{path}.type")
        if kind in seen:
            faults.duplicate(f"{path}.type", kind)
        seen.add(kind)
        _check_limit_names(item, faults, path)
        if kind == "PersistentVolumeClaim" and not {"storage"} & {*item.get("min", ()), *item.get("max", ())}:
            text = "either minimum or maximum storage value is required, but neither was provided"
            faults.required(f"{path}.limits", text)
        # Of pods no defaults are taken, and so none compared.
        bounds = ("max", "min") if kind == "Pod" else ("max", "min", "default", "defaultRequest")
        compared = {field: item.get(field, {}) for field in (*bounds, "maxLimitRequestRatio")}
        for name in sorted({name for amounts in compared.values() for name in amounts}):
            _check_limit_order(compared, name, faults, path)
            _check_ratio(compared, name, faults, path)
            _check_defaults_are_equal(compared, name, faults, path)


def _check_limit_type(kind: str, faults: Faults, path: Path) -> None:
    if label_key_faults(kind):
        faults.all_invalid(path, kind, label_key_faults(kind))
    elif "/" not in kind and kind not in _LIMIT_TYPES:
        faults.invalid(path, kind, "must be a standard limit type or fully qualified")


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
    ratio = item["maxLimitRequestRatio"].get(name)
    if ratio is None:
        return
    at, least, most = (
        f"{path}.maxLimitRequestRatio[{name}]",
        *(item.get(bound, {}).get(name) for bound in ("min", "max")),
    )
    if parse_quantity(ratio) < NANO_PER_UNIT:
        faults.invalid(at, ratio, f"ratio {ratio} is less than 1")
    if least is None or most is None:
        return
    number, low, high = _comparable(parse_quantity(ratio), parse_quantity(least), parse_quantity(most))
    if low and number > high / low:
        faults.invalid(at, ratio, f"ratio {ratio} is greater than max/min = {high / low:f}")


def _comparable(ratio: int, low: int, high: int) -> tuple[float, int, int]:
    """The three as the server compares them: in thousandths, or rounded up to units where those would be too many."""
    values = [whole_value(nano) for nano in (ratio, low, high)]
    if max(values) >= _MILLI_VALUE_MAX:
        return float(values[0]), values[1], values[2]
    milli = [milli_value(nano) for nano in (ratio, low, high)]
    return milli[0] / 1000, milli[1], milli[2]


def _check_defaults_are_equal(item: Document, name: str, faults: Faults, path: Path) -> None:
    """Of what cannot be promised to more than there is for."""
    limit, request = item.get("default", {}).get(name), item.get("defaultRequest", {}).get(name)
    if limit is None or request is None or allows_overcommit(name):
        return
    if parse_quantity(limit) != parse_quantity(request):
        text = f"default value {limit} must equal to defaultRequest value {request} in {name}"
        faults.invalid(f"{path}.defaultRequest[{name}]", request, text)


def check_lease(lease: Document, faults: Faults) -> None:
    spec = lease["spec"]
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        faults.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    faults.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        faults.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")
