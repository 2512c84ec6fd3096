"""Checks of resource.k8s.io: classes and slices of devices, taint rules, and what claims share with them.

Claims and their templates are in `device_claims`. Upstream: pkg/apis/resource/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from bayplan.apiserver.admitting.documents import Document, Path, is_emptied
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.quantities import added
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.pods.placement import check_node_selector
from bayplan.apiserver.admitting.validation.volume_sources import check_declared_driver_name, check_driver_name
from bayplan.apiserver.schema.gates import gate_is_on
from bayplan.apiserver.storage.entries import encode_json
from bayplan.model.device_selectors import DeviceSelectorError, compile_device_selector
from bayplan.model.dns_names import label_faults, regex_error, subdomain_faults
from bayplan.model.names import extended_resource_faults, label_key_faults, label_value_faults
from bayplan.model.quantity import parse_quantity, whole_value

_DRIVER_MAX = 63
_POOL_MAX = 253
_VALUE_MAX = 64
_IDENTIFIER_MAX = 32
_SELECTORS_MAX, _EXPRESSION_MAX = 32, 10 * 1024
CONFIGS_MAX = 32
_PARAMETERS_MAX = 10 * 1024
_DEVICES_MAX, _ADVANCED_DEVICES_MAX = 128, 64
_COUNTER_SETS_MAX, _COUNTERS_MAX, _CONSUMPTIONS_MAX = 8, 32, 2
_PROPERTIES_MAX, _ATTRIBUTE_VALUES_MAX = 32, 48
_TAINTS_MAX, _CONDITIONS_MAX, _OPTIONS_MAX = 16, 4, 10
_KEY_SHOWN_MAX = _DRIVER_MAX + 1 + _IDENTIFIER_MAX
_LABEL_SHOWN_MAX = 63
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_ONE_PLACE_OF_DEVICE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_NO_PLACE_OF_DEVICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)
_TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_OPERATORS = ("Equal", "Exists")
_VALUES = ("bool", "int", "string", "version")
_LISTS = ("bools", "ints", "strings", "versions")
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_ERROR = regex_error(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'",
    _IDENTIFIER,
    "my_name",
    "MY_NAME",
    "MyName",
)
_is_identifier = re.compile(_IDENTIFIER).fullmatch


# -- shared parts


def check_each(
    items: list[Any], most: int, check: Callable[[Any, Faults, Path], None], faults: Faults, path: Path
) -> bool:
    """Each item for itself, unless there are too many to look at; says whether there are not."""
    if len(items) > most >= 0:
        faults.declared.too_many(path, len(items), most)
        return False
    for position, item in enumerate(items):
        check(item, faults, f"{path}[{position}]")
    return True


def check_unique(keys: Iterable[Any], faults: Faults, path: Path) -> None:
    """That no key comes twice."""
    seen: set[Any] = set()
    for position, key in enumerate(keys):
        if key in seen:
            faults.declared.duplicate(f"{path}[{position}]", key)
        seen.add(key)


def check_driver(name: str, faults: Faults, path: Path) -> None:
    check_driver_name(name, faults, path)


def check_label(name: str, faults: Faults, path: Path) -> None:
    """Of a name that is an RFC 1123 label."""
    faults.all_invalid(path, name, label_faults(name))


def check_pool_name(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
        return
    if len(name) > _POOL_MAX:
        faults.too_long(path, _POOL_MAX)
    for part in name.split("/"):
        faults.all_invalid(path, part, subdomain_faults(part))


def check_selectors(selectors: list[Document], faults: Faults, path: Path) -> None:
    check_each(selectors, _SELECTORS_MAX, _check_selector, faults, path)


def _check_selector(selector: Document, faults: Faults, path: Path) -> None:
    if "cel" not in selector:
        faults.required(f"{path}.cel")
        return
    at, expression = f"{path}.cel.expression", selector["cel"]["expression"]
    if len(expression.encode()) > _EXPRESSION_MAX:
        faults.too_long(at, _EXPRESSION_MAX)
        return
    try:
        compile_device_selector(expression)
    except DeviceSelectorError as error:
        faults.invalid(at, expression, str(error))


def check_configuration(config: Document, faults: Faults, path: Path) -> None:
    """Of a driver's own parameters."""
    if "opaque" not in config:
        faults.required(f"{path}.opaque")
        return
    opaque = config["opaque"]
    check_declared_driver_name(opaque["driver"], faults, f"{path}.opaque.driver", check_driver)
    check_raw(opaque.get("parameters"), faults, f"{path}.opaque.parameters")


def check_raw(value: Any, faults: Faults, path: Path) -> None:
    """Of JSON that only a driver reads: it must be an object."""
    if value is None:
        faults.required(path)
    elif len(encode_json(value)) > _PARAMETERS_MAX:
        faults.too_long(path, _PARAMETERS_MAX)
    elif not isinstance(value, dict):
        faults.invalid(path, "<value omitted>", "must be a valid JSON object")


def check_tolerations(tolerations: Iterable[Document], faults: Faults, path: Path) -> None:
    for position, toleration in enumerate(tolerations):
        _check_toleration(toleration, faults, f"{path}[{position}]")


def _check_toleration(toleration: Document, faults: Faults, path: Path) -> None:
    key, operator, value = (toleration.get(field) or "" for field in ("key", "operator", "value"))
    if key:
        faults.declared.all_invalid(f"{path}.key", key, label_key_faults(key))
    if operator == "Exists":
        if value:
            faults.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        faults.all_invalid(f"{path}.value", value, label_value_faults(value))
    else:
        faults.declared.one_of(f"{path}.operator", operator, _OPERATORS)
    if toleration.get("effect"):
        faults.declared.supported(f"{path}.effect", toleration["effect"], _TAINT_EFFECTS)


def check_qualified_name(name: str, faults: Faults, path: Path) -> None:
    """Of an attribute or a capacity, with or without a domain."""
    domain, slash, identifier = name.partition("/")
    if not slash:
        _check_identifier(name, faults, path)
    elif "/" not in identifier:
        if not domain:
            faults.invalid(path, "", "the domain must not be empty")
        else:
            check_driver(domain, faults, path)
        if not identifier:
            faults.invalid(path, "", "the name must not be empty")
        else:
            _check_identifier(identifier, faults, path)


def _check_identifier(name: str, faults: Faults, path: Path) -> None:
    if len(name) > _IDENTIFIER_MAX:
        faults.too_long(path, _IDENTIFIER_MAX)
    if not _is_identifier(name):
        faults.invalid(path, name, _IDENTIFIER_ERROR)


def check_binding_conditions(part: Document, faults: Faults, path: Path) -> None:
    """Of a device, or of one that was allocated: what it waits for, and what ends that."""
    wanted, failures = part.get("bindingConditions") or [], part.get("bindingFailureConditions") or []
    for field, conditions in (("bindingConditions", wanted), ("bindingFailureConditions", failures)):
        check_each(conditions, _CONDITIONS_MAX, _check_condition, faults, f"{path}.{field}")
    check_unique_by_hand(wanted, faults, f"{path}.bindingConditions")
    for position, condition in enumerate(failures):
        at = f"{path}.bindingFailureConditions[{position}]"
        if condition in failures[:position]:
            faults.duplicate(at, condition)
        if condition in wanted:
            faults.invalid(at, condition, "bindingFailureConditions must not overlap with bindingConditions")
    _check_both(part, "bindingConditions", "bindingFailureConditions", faults, path)
    _check_both(part, "bindingFailureConditions", "bindingConditions", faults, path)


def _check_condition(name: str, faults: Faults, path: Path) -> None:
    faults.all_invalid(path, name, label_key_faults(name))


def check_unique_by_hand(keys: list[str], faults: Faults, path: Path) -> None:
    for position, key in enumerate(keys):
        if key in keys[:position]:
            faults.duplicate(f"{path}[{position}]", key)


def _check_both(part: Document, needed: str, given: str, faults: Faults, path: Path) -> None:
    if part.get(given) and not part.get(needed):
        shown: list[str] | None = [] if is_emptied(part, needed) else None
        faults.invalid(f"{path}.{needed}", shown, f"{needed} are required to use {given}")


# -- classes and taint rules


def check_device_class(device_class: Document, faults: Faults) -> None:
    spec = device_class["spec"]
    check_selectors(spec.get("selectors", []), faults, "spec.selectors")
    check_each(spec.get("config", []), CONFIGS_MAX, check_configuration, faults, "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and ("/" not in name or extended_resource_faults(name)):
        faults.declared.invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


def check_taint_rule(rule: Document, faults: Faults) -> None:
    selector = rule["spec"].get("deviceSelector") or {}
    for field, check in (("driver", check_driver), ("pool", check_pool_name), ("device", check_label)):
        if field in selector:
            check(selector[field], faults, f"spec.deviceSelector.{field}")
    _check_taint(rule["spec"]["taint"], faults, "spec.taint")


def _check_taint(taint: Document, faults: Faults, path: Path) -> None:
    faults.all_invalid(f"{path}.key", taint["key"], label_key_faults(taint["key"]))
    faults.all_invalid(f"{path}.value", taint.get("value", ""), label_value_faults(taint.get("value", "")))
    faults.declared.one_of(f"{path}.effect", taint["effect"], _TAINT_EFFECTS)


# -- slices


def check_slice(resource_slice: Document, faults: Faults) -> None:
    _check_slice_spec(resource_slice["spec"], None, faults)


def check_slice_update(new: Document, old: Document, faults: Faults) -> None:
    _check_slice_spec(new["spec"], old["spec"], faults)


def _check_slice_spec(spec: Document, before: Document | None, faults: Faults) -> None:
    check_driver(spec["driver"], faults, "spec.driver")
    pool = spec["pool"]
    check_pool_name(pool["name"], faults, "spec.pool.name")
    if pool["resourceSliceCount"] <= 0:
        faults.invalid("spec.pool.resourceSliceCount", pool["resourceSliceCount"], NOT_POSITIVE)
    if pool["generation"] < 0:
        faults.invalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")
    if before is not None:
        faults.immutable("spec.pool.name", pool["name"], before["pool"]["name"])
        faults.immutable("spec.driver", spec["driver"], before["driver"])
        if spec.get("nodeName") != before.get("nodeName"):
            faults.invalid("spec.nodeName", spec.get("nodeName"), IMMUTABLE)
    _check_place(spec, faults)
    counters = spec.get("sharedCounters") or []
    if (counters or is_emptied(spec, "sharedCounters")) and (spec.get("devices") or is_emptied(spec, "devices")):
        faults.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    _check_devices(spec, before, faults, "spec.devices")
    if check_each(counters, _COUNTER_SETS_MAX, _check_counter_set, faults, "spec.sharedCounters"):
        check_unique((each["name"] for each in counters), faults, "spec.sharedCounters")


def _check_devices(spec: Document, before: Document | None, faults: Faults, path: Path) -> None:
    devices = spec.get("devices") or []
    known = {device["name"]: device for device in reversed((before or {}).get("devices") or [])}

    def check(device: Document, faults: Faults, path: Path) -> None:
        _check_device(device, known.get(device["name"]), bool(spec.get("perDeviceNodeSelection")), faults, path)

    most = _ADVANCED_DEVICES_MAX if any(map(_is_advanced, devices)) else _DEVICES_MAX
    if check_each(devices, most, check, faults, path):
        check_unique_by_hand([device["name"] for device in devices], faults, path)


def _is_advanced(device: Document) -> bool:
    lists = any(field in attribute for attribute in device.get("attributes", {}).values() for field in _LISTS)
    return bool(device.get("taints") or device.get("consumesCounters")) or lists


def _check_place(spec: Document, faults: Faults) -> None:
    """Devices are on one node, on some, or on all."""
    node = spec.get("nodeName")
    if node == "":
        faults.invalid("spec.nodeName", node, "must be either unset or set to a non-empty string")
    elif node is not None:
        faults.all_invalid("spec.nodeName", node, subdomain_faults(node))
    if "nodeSelector" in spec:
        check_node_selector(spec["nodeSelector"], faults, "spec.nodeSelector")
        terms = spec["nodeSelector"]["nodeSelectorTerms"] or []
        if len(terms) != 1:
            shown = internal(spec["nodeSelector"], "NodeSelector")["NodeSelectorTerms"]
            faults.invalid("spec.nodeSelector.nodeSelectorTerms", shown, "must have exactly one node selector term")
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            faults.invalid(f"spec.{field}", False, "must be either unset or set to true")
    given = [f"`{field}`" for field in _PLACES if _is_given(spec, field)]
    if not given:
        faults.required("spec", _ONE_PLACE)
    elif len(given) > 1:
        faults.invalid("spec", "{" + ", ".join(given) + "}", f"{_ONE_PLACE}, but multiple fields are set")


def _is_given(part: Document, field: str) -> bool:
    return part.get(field) is not None if field == "nodeSelector" else bool(part.get(field))


def _check_device(device: Document, before: Document | None, chooses_nodes: bool, faults: Faults, path: Path) -> None:
    check_label(device["name"], faults, f"{path}.name")
    attributes, capacity = device.get("attributes", {}), device.get("capacity", {})
    _check_amount_of_properties(attributes, capacity, faults, path)
    _check_map(attributes, check_qualified_name, _check_attribute, _KEY_SHOWN_MAX, faults, f"{path}.attributes")
    check = _check_shared_capacity if device.get("allowMultipleAllocations") else _check_own_capacity
    _check_map(capacity, check_qualified_name, check, _KEY_SHOWN_MAX, faults, f"{path}.capacity")
    if before is None or before.get("taints", []) != device.get("taints", []):
        check_each(device.get("taints", []), _TAINTS_MAX, _check_taint, faults, f"{path}.taints")
    consumed = device.get("consumesCounters") or []
    if check_each(consumed, _CONSUMPTIONS_MAX, _check_consumption, faults, f"{path}.consumesCounters"):
        check_unique((each["counterSet"] for each in consumed), faults, f"{path}.consumesCounters")
    _check_place_of_device(device, chooses_nodes, faults, path)
    check_binding_conditions(device, faults, path)
    if not gate_is_on("DRANodeAllocatableResources"):
        return
    for name, mapping in (device.get("nodeAllocatableResourceMappings") or {}).items():
        _check_mapping(name, mapping, capacity, faults, f"{path}.nodeAllocatableResourceMappings[{name}]")


def _check_amount_of_properties(attributes: Document, capacity: Document, faults: Faults, path: Path) -> None:
    both = len(attributes) + len(capacity)
    if both > _PROPERTIES_MAX:
        text = f"the total number of attributes and capacities must not exceed {_PROPERTIES_MAX}"
        faults.invalid(path, both, text)
    values = sum(sum(len(each.get(field) or ()) for field in _LISTS) or 1 for each in attributes.values())
    if values > _ATTRIBUTE_VALUES_MAX:
        text = f"the total number of attribute values must not exceed {_ATTRIBUTE_VALUES_MAX}"
        faults.invalid(path, values, text)


def _check_map(
    items: Mapping[str, Any],
    check_key: Callable[[str, Faults, Path], None],
    check_item: Callable[[Any, Faults, Path], None],
    shown_max: int,
    faults: Faults,
    path: Path,
) -> None:
    for key, item in sorted(items.items()):
        check_key(key, faults, path)
        check_item(item, faults, f"{path}[{_shortened(key, shown_max)}]")


def _shortened(key: str, most: int) -> str:
    """A long key without its middle."""
    if len(key) <= most:
        return key
    kept = most - len("...")
    return f"{key[: (kept + 1) // 2]}...{key[len(key) - kept // 2 :]}"


def _check_place_of_device(device: Document, chooses_nodes: bool, faults: Faults, path: Path) -> None:
    if not chooses_nodes:
        if any(device.get(field) is not None for field in ("nodeName", "nodeSelector", "allNodes")):
            faults.invalid(path, None, _NO_PLACE_OF_DEVICE)
        return
    node = device.get("nodeName")
    if node == "":
        faults.invalid(f"{path}.nodeName", node, "must not be empty")
    elif node is not None:
        faults.all_invalid(f"{path}.nodeName", node, subdomain_faults(node))
    if "nodeSelector" in device:
        check_node_selector(device["nodeSelector"], faults, f"{path}.nodeSelector")
    if device.get("allNodes") is False:
        faults.invalid(f"{path}.allNodes", False, "must be either unset or set to true")
    given = [f"`{field}`" for field in _PLACES[:3] if _is_given(device, field)]
    if not given:
        faults.required(path, _ONE_PLACE_OF_DEVICE)
    elif len(given) > 1:
        faults.invalid(path, "{" + ", ".join(given) + "}", _ONE_PLACE_OF_DEVICE)


def _check_mapping(name: str, mapping: Document, capacity: Document, faults: Faults, path: Path) -> None:
    if "/" in name and "kubernetes.io/" not in name:
        faults.invalid(path, name, "must be a node allocatable resource name")
    multiplier, key = mapping.get("allocationMultiplier"), mapping.get("capacityKey")
    if multiplier is None and key is None:
        faults.invalid(path, "", "at least one of allocationMultiplier or capacityKey must be set")
    if multiplier is not None and parse_quantity(multiplier) <= 0:
        faults.invalid(f"{path}.allocationMultiplier", multiplier, "must be positive")
    if key == "":
        faults.invalid(f"{path}.capacityKey", "", "capacityKey must not be an empty string")
    elif key is not None and key not in capacity:
        faults.not_found(f"{path}.capacityKey", key)


def _check_counter_set(counter_set: Document, faults: Faults, path: Path) -> None:
    _check_counters(counter_set, "name", faults, path)


def _check_consumption(consumption: Document, faults: Faults, path: Path) -> None:
    _check_counters(consumption, "counterSet", faults, path)


def _check_counters(part: Document, named: str, faults: Faults, path: Path) -> None:
    faults.declared.named(f"{path}.{named}", part.get(named), label_faults)
    counters, at = part.get("counters") or {}, f"{path}.counters"
    if not counters:
        faults.required(at)
    elif len(counters) > _COUNTERS_MAX:
        faults.too_many(at, len(counters), _COUNTERS_MAX)
    else:
        _check_map(counters, check_label, lambda *_: None, _LABEL_SHOWN_MAX, faults, at)


def _check_attribute(attribute: Document, faults: Faults, path: Path) -> None:
    if "string" in attribute:
        _check_value_length(attribute["string"], faults, f"{path}.string")
    if "version" in attribute:
        _check_version(attribute["version"], faults, f"{path}.version")
    given = [field for field in (*_VALUES, *_LISTS) if field in attribute or is_emptied(attribute, field)]
    for field in (field for field in _LISTS if field in given):
        _check_values(field, attribute.get(field) or [], faults, f"{path}.{field}")
    if len(given) != 1:
        shown = internal(attribute, "DeviceAttribute") if given else ""
        faults.declared.invalid(path, shown, "exactly one value must be specified")


def _check_values(field: str, values: list[Any], faults: Faults, path: Path) -> None:
    if not values:
        faults.invalid(path, [], "must not be empty if specified")
    check = {"strings": _check_value_length, "versions": _check_version}.get(field)
    if check is not None:
        check_each(values, -1, check, faults, path)


def _check_value_length(text: str, faults: Faults, path: Path) -> None:
    if len(text.encode()) > _VALUE_MAX:
        faults.too_long(path, _VALUE_MAX)


def _check_version(text: str, faults: Faults, path: Path) -> None:
    if not _VERSION.fullmatch(text):
        faults.invalid(path, text, "must be a string compatible with semver.org spec 2.0.0")
    _check_value_length(text, faults, path)


# -- capacity that requests share


def _check_own_capacity(capacity: Document, faults: Faults, path: Path) -> None:
    if "requestPolicy" in capacity:
        faults.forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def _check_shared_capacity(capacity: Document, faults: Faults, path: Path) -> None:
    policy, at = capacity.get("requestPolicy"), f"{path}.requestPolicy"
    if policy is None:
        return
    values, limits, default = policy.get("validValues") or [], policy.get("validRange"), policy.get("default")
    if values and limits is not None:
        text = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        faults.forbidden(at, text)
    elif values or limits is not None:
        field = "validValues" if values else "validRange"
        if default is None:
            faults.required(f"{at}.default", f"required when {field} is defined")
        elif values:
            _check_options(values, default, capacity["value"], faults, f"{at}.validValues")
        else:
            _check_range(limits, default, capacity["value"], faults, f"{at}.validRange")


def _check_options(values: list[str], default: str, whole: str, faults: Faults, path: Path) -> None:
    amounts = [parse_quantity(value) for value in values]
    for position in range(1, len(values)):
        if amounts[position - 1] > amounts[position]:
            faults.invalid(f"{path}[{position}]", values[position], "values must be sorted in ascending order")

    def check(option: str, faults: Faults, path: Path) -> None:
        if parse_quantity(option) > parse_quantity(whole):
            faults.invalid(path, option, f"option is larger than capacity value: {whole}")

    if check_each(values, _OPTIONS_MAX, check, faults, path):
        check_unique_by_hand([str(whole_value(amount)) for amount in amounts], faults, path)
    if parse_quantity(default) not in amounts or len(values) > _OPTIONS_MAX:
        faults.invalid(path, default, "default value is not valid according to the requestPolicy")


def _check_range(limits: Document, default: str, whole: str, faults: Faults, path: Path) -> None:
    least, most, step = (limits.get(field) for field in ("min", "max", "step"))
    if least is None:
        faults.required(f"{path}.min", "required when validRange is defined")
        return
    for low, high, shown, field, text in (
        (least, whole, least, "min", f"min is larger than capacity value: {whole}"),
        (least, default, default, "min", f"default is less than min: {least}"),
        (least, most, least, "max", f"min is larger than max: {most}"),
        (most, whole, most, "max", f"max is larger than capacity value: {whole}"),
        (default, most, default, "max", f"default is more than max: {most}"),
    ):
        if low is not None and high is not None and parse_quantity(low) > parse_quantity(high):
            faults.invalid(f"{path}.{field}", shown, text)
    if step is None:
        return
    if parse_quantity(least) + parse_quantity(step) > parse_quantity(whole):
        text = f"one step {added(least, step)} is larger than capacity value: {whole}"
        faults.invalid(f"{path}.step", step, text)
    for value in (default, most):
        distance = None if value is None else whole_value(parse_quantity(value)) - whole_value(parse_quantity(least))
        if distance is not None and whole_value(parse_quantity(step)) and distance % whole_value(parse_quantity(step)):
            text = f"value is not a multiple of a given step ({step}) from ({least})"
            faults.invalid(f"{path}.step", value, text)
