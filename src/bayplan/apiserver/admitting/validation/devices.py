"""Checks of resource.k8s.io: claims, their templates, classes and slices of devices.

Requests are looked at for what they ask; expressions that select devices are checked by whoever compiles them.
Upstream: pkg/apis/resource/validation/validation.go (v1.36).
"""

from __future__ import annotations

import re

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.metadata import check_template_metadata
from bayplan.apiserver.admitting.validation.pods.placement import check_node_selector
from bayplan.apiserver.admitting.validation.volume_sources import check_declared_driver_name
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults, label_value_faults
from bayplan.model.resource_claims import EXACT_COUNT

_MODES = ("All", EXACT_COUNT)
_REQUESTS_MAX, _SELECTORS_MAX = 32, 32
_REFERENCE_PARTS = 2
_DRIVER_MAX = 63
_VALUE_MAX = 64
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
_ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_VALUES = ("bool", "int", "string", "version", "bools", "ints", "strings", "versions")
_VERSION = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?"
)


def check_claim(claim: Document, faults: Faults) -> None:
    _check_spec(claim["spec"], faults, "spec")


def check_claim_update(new: Document, old: Document, faults: Faults) -> None:
    faults.declared.immutable("spec", new["spec"], old["spec"], internal(new["spec"], "ResourceClaimSpec"))


def check_claim_status(new: Document, _old: Document, faults: Faults) -> None:
    status, names = new["status"], _request_names(new["spec"])
    for position, user in enumerate(status.get("reservedFor", ())):
        for field in ("resource", "name", "uid"):
            if not user[field]:
                faults.required(f"status.reservedFor[{position}].{field}")
    allocation = status.get("allocation")
    if allocation is None:
        if status.get("reservedFor"):
            faults.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
        return
    for position, result in enumerate(allocation.get("devices", {}).get("results") or ()):
        path = f"status.allocation.devices.results[{position}]"
        _check_request_reference(result["request"], names, faults, f"{path}.request")
        check_declared_driver_name(result["driver"], faults, f"{path}.driver", _check_driver)
        faults.all_invalid(f"{path}.device", result["device"], label_faults(result["device"]))
    if "nodeSelector" in allocation:
        check_node_selector(allocation["nodeSelector"], faults, "status.allocation.nodeSelector")


def check_claim_template(template: Document, faults: Faults) -> None:
    check_template_metadata(template["spec"].get("metadata", {}), faults, "spec.metadata")
    _check_spec(template["spec"]["spec"], faults, "spec.spec")


def check_claim_template_update(new: Document, old: Document, faults: Faults) -> None:
    check_claim_template(new, faults)
    if new["spec"] != old["spec"]:
        faults.invalid("spec", internal(new["spec"], "ResourceClaimTemplateSpec"), IMMUTABLE)


def _check_spec(spec: Document, faults: Faults, path: Path) -> None:
    requests = spec.get("devices", {}).get("requests") or ()
    if len(requests) > _REQUESTS_MAX:
        faults.declared.too_many(f"{path}.devices.requests", len(requests), _REQUESTS_MAX)
    names: set[str] = set()
    for position, request in enumerate(requests):
        at = f"{path}.devices.requests[{position}]"
        name = request["name"]
        if not name:
            faults.required(f"{at}.name")
        else:
            faults.all_invalid(f"{at}.name", name, label_faults(name))
        if name in names:
            faults.declared.duplicate(at, request if admission_release().declarations_report else name)
        names.add(name)
        _check_request(request, faults, at)
    known = _request_names(spec)
    for position, constraint in enumerate(spec.get("devices", {}).get("constraints", ())):
        for place, name in enumerate(constraint.get("requests", ())):
            at = f"{path}.devices.constraints[{position}].requests[{place}]"
            _check_request_reference(name, known, faults, at)
    for position, config in enumerate(spec.get("devices", {}).get("config", ())):
        at = f"{path}.devices.config[{position}]"
        for place, name in enumerate(config.get("requests", ())):
            _check_request_reference(name, known, faults, f"{at}.requests[{place}]")
        _check_opaque(config, faults, at)


def _request_names(spec: Document) -> set[str]:
    """What allocations and constraints may call requests: by name, or by name and alternative."""
    names = set()
    for request in spec.get("devices", {}).get("requests") or ():
        names.add(request["name"])
        names |= {f"{request['name']}/{one['name']}" for one in request.get("firstAvailable", ())}
    return names


def _check_request_reference(name: str, names: set[str], faults: Faults, path: Path) -> None:
    parts = name.split("/")
    if len(parts) <= _REFERENCE_PARTS:
        for part in parts:
            faults.all_invalid(path, part, label_faults(part))
    if len(parts) > _REFERENCE_PARTS or name not in names:
        faults.invalid(path, name, _NO_REQUEST)


def _check_opaque(config: Document, faults: Faults, path: Path) -> None:
    if "opaque" not in config:
        faults.required(f"{path}.opaque")
    else:
        check_declared_driver_name(config["opaque"]["driver"], faults, f"{path}.opaque.driver", _check_driver)


def _check_driver(name: str, faults: Faults, path: Path) -> None:
    if not name:
        faults.required(path)
        return
    if len(name) > _DRIVER_MAX:
        faults.too_long(path, _DRIVER_MAX)
    faults.all_invalid(path, name, subdomain_faults(name))


def _check_request(request: Document, faults: Faults, path: Path) -> None:
    alternatives = request.get("firstAvailable", ())
    if "exactly" in request and alternatives:
        faults.invalid(
            path, None, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        )
    elif "exactly" in request:
        _check_class_name(request["exactly"], faults, f"{path}.exactly")
        _check_asked(request["exactly"], faults, f"{path}.exactly")
    elif not alternatives:
        faults.required(path, "exactly one of `exactly` or `firstAvailable` is required")
    for position, asked in enumerate(alternatives):
        name = asked.get("name", "")
        faults.all_invalid(f"{path}.firstAvailable[{position}].name", name, label_faults(name))
        _check_class_name(asked, faults.declared, f"{path}.firstAvailable[{position}]")
        _check_asked(asked, faults, f"{path}.firstAvailable[{position}]")


def _check_class_name(asked: Document, faults: Faults, path: Path) -> None:
    class_name = asked.get("deviceClassName")
    if not class_name:
        faults.required(f"{path}.deviceClassName")
    else:
        faults.all_invalid(f"{path}.deviceClassName", class_name, subdomain_faults(class_name))


def _check_asked(asked: Document, faults: Faults, path: Path) -> None:
    count = len(asked.get("selectors", ()))
    if count > _SELECTORS_MAX:
        faults.declared.too_many(f"{path}.selectors", count, _SELECTORS_MAX)
    for position, selector in enumerate(asked.get("selectors", ())):
        if "cel" not in selector:
            faults.required(f"{path}.selectors[{position}].cel")
    mode = asked.get("allocationMode")
    if mode not in _MODES:
        faults.declared.unsupported(f"{path}.allocationMode", mode, _MODES)
    elif mode == EXACT_COUNT and asked.get("count", 0) <= 0:
        faults.invalid(f"{path}.count", asked.get("count", 0), NOT_POSITIVE)
    elif mode == "All" and asked.get("count"):
        text = f"must not be specified when allocationMode is '{mode}'"
        faults.invalid(f"{path}.count", asked["count"], text)


def check_device_class(device_class: Document, faults: Faults) -> None:
    for position, selector in enumerate(device_class["spec"].get("selectors", ())):
        if "cel" not in selector:
            faults.required(f"spec.selectors[{position}].cel")
    for position, config in enumerate(device_class["spec"].get("config", ())):
        _check_opaque(config, faults, f"spec.config[{position}]")


def check_slice(resource_slice: Document, faults: Faults) -> None:
    _check_slice_spec(resource_slice["spec"], None, faults)


def check_slice_update(new: Document, old: Document, faults: Faults) -> None:
    _check_slice_spec(new["spec"], old["spec"], faults)


def _check_slice_spec(spec: Document, before: Document | None, faults: Faults) -> None:
    _check_driver(spec["driver"], faults, "spec.driver")
    pool = spec["pool"]
    if not pool["name"]:
        faults.required("spec.pool.name")
    else:
        for part in pool["name"].split("/"):
            faults.all_invalid("spec.pool.name", part, subdomain_faults(part))
    if pool["resourceSliceCount"] <= 0:
        faults.invalid("spec.pool.resourceSliceCount", pool["resourceSliceCount"], NOT_POSITIVE)
    if pool["generation"] < 0:
        faults.invalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")
    if before is not None:
        faults.immutable("spec.pool.name", pool["name"], before["pool"]["name"])
        faults.immutable("spec.driver", spec["driver"], before["driver"])
        faults.immutable("spec.nodeName", spec.get("nodeName"), before.get("nodeName"))
    _check_place(spec, faults)
    devices = spec.get("devices", [])
    names: set[str] = set()
    for position, device in enumerate(devices):
        _check_device(device, faults, f"spec.devices[{position}]")
        if device["name"] in names:
            faults.duplicate(f"spec.devices[{position}]", device["name"])
        names.add(device["name"])


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
            faults.invalid(
                "spec.nodeSelector.nodeSelectorTerms", shown or [], "must have exactly one node selector term"
            )
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field) is False:
            faults.invalid(f"spec.{field}", False, "must be either unset or set to true")
    given = [f"`{field}`" for field in _PLACES if spec.get(field)]
    if not given:
        faults.required("spec", _ONE_PLACE)
    elif len(given) > 1:
        shown = "{" + ", ".join(given) + "}"
        faults.invalid("spec", shown, f"{_ONE_PLACE}, but multiple fields are set")


def _check_device(device: Document, faults: Faults, path: Path) -> None:
    faults.all_invalid(f"{path}.name", device["name"], label_faults(device["name"]))
    for name, attribute in sorted(device.get("attributes", {}).items()):
        _check_attribute(attribute, faults, f"{path}.attributes[{name}]")
    for position, taint in enumerate(device.get("taints", ())):
        _check_taint(taint, faults, f"{path}.taints[{position}]")


def _check_taint(taint: Document, faults: Faults, path: Path) -> None:
    faults.all_invalid(f"{path}.key", taint["key"], label_key_faults(taint["key"]))
    faults.all_invalid(f"{path}.value", taint.get("value", ""), label_value_faults(taint.get("value", "")))
    faults.declared.one_of(f"{path}.effect", taint["effect"], _TAINT_EFFECTS)


def check_taint_rule(rule: Document, faults: Faults) -> None:
    selector = rule["spec"].get("deviceSelector") or {}
    if "driver" in selector:
        _check_driver(selector["driver"], faults, "spec.deviceSelector.driver")
    if "device" in selector:
        faults.all_invalid("spec.deviceSelector.device", selector["device"], label_faults(selector["device"]))
    _check_taint(rule["spec"]["taint"], faults, "spec.taint")


def _check_attribute(attribute: Document, faults: Faults, path: Path) -> None:
    version = attribute.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        faults.invalid(f"{path}.version", version, "must be a string compatible with semver.org spec 2.0.0")
    for field in ("string", "version"):
        if len(attribute.get(field, "")) > _VALUE_MAX:
            faults.too_long(f"{path}.{field}", _VALUE_MAX)
    if not any(field in attribute for field in _VALUES):
        faults.invalid(path, "", "exactly one value must be specified")
