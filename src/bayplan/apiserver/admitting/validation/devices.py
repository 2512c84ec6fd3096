"""Checks of resource.k8s.io: claims, their templates, classes and slices of devices.

Requests are looked at for what they ask; expressions that select devices are checked by whoever compiles them.
Upstream: pkg/apis/resource/validation/validation.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import NOT_POSITIVE, Faults
from bayplan.apiserver.admitting.validation.names import label_faults, subdomain_faults
from bayplan.model.resource_claims import EXACT_COUNT

_MODES = ("All", EXACT_COUNT)
_REQUESTS_MAX = 32


def check_claim(claim: Document, faults: Faults) -> None:
    _check_spec(claim["spec"], faults, "spec")


def check_claim_update(new: Document, old: Document, faults: Faults) -> None:
    faults.immutable("spec", new["spec"], old["spec"])
    check_claim(new, faults)


def check_claim_template(template: Document, faults: Faults) -> None:
    _check_spec(template["spec"]["spec"], faults, "spec.spec")


def check_claim_template_update(new: Document, old: Document, faults: Faults) -> None:
    check_claim_template(new, faults)
    faults.immutable("spec", new["spec"], old["spec"])


def _check_spec(spec: Document, faults: Faults, path: Path) -> None:
    requests = spec.get("devices", {}).get("requests") or ()
    if len(requests) > _REQUESTS_MAX:
        faults.too_many(f"{path}.devices.requests", len(requests), _REQUESTS_MAX)
    names: set[str] = set()
    for position, request in enumerate(requests):
        at = f"{path}.devices.requests[{position}]"
        name = request["name"]
        if not name:
            faults.required(f"{at}.name")
        else:
            faults.all_invalid(f"{at}.name", name, label_faults(name))
        if name in names:
            faults.duplicate(f"{at}.name", name)
        names.add(name)
        _check_request(request, faults, at)


def _check_request(request: Document, faults: Faults, path: Path) -> None:
    alternatives = request.get("firstAvailable", ())
    if "exactly" in request and alternatives:
        faults.invalid(
            path, None, "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set"
        )
    elif "exactly" in request:
        _check_asked(request["exactly"], faults, f"{path}.exactly")
    elif not alternatives:
        faults.required(path, "exactly one of `exactly` or `firstAvailable` is required")
    for position, asked in enumerate(alternatives):
        _check_asked(asked, faults, f"{path}.firstAvailable[{position}]")


def _check_asked(asked: Document, faults: Faults, path: Path) -> None:
    class_name = asked.get("deviceClassName")
    if not class_name:
        faults.required(f"{path}.deviceClassName")
    else:
        faults.all_invalid(f"{path}.deviceClassName", class_name, subdomain_faults(class_name))
    mode = asked.get("allocationMode")
    if mode not in _MODES:
        faults.unsupported(f"{path}.allocationMode", mode, _MODES)
    elif mode == EXACT_COUNT and asked.get("count", 0) <= 0:
        faults.invalid(f"{path}.count", asked.get("count", 0), NOT_POSITIVE)
    elif mode == "All" and asked.get("count"):
        text = f"must not be specified when allocationMode is '{mode}'"
        faults.invalid(f"{path}.count", asked["count"], text)


def check_device_class(device_class: Document, faults: Faults) -> None:
    for position, selector in enumerate(device_class["spec"].get("selectors", ())):
        if "cel" not in selector:
            faults.required(f"spec.selectors[{position}].cel")


def check_slice(resource_slice: Document, faults: Faults) -> None:
    spec = resource_slice["spec"]
    if not spec["driver"]:
        faults.required("spec.driver")
    else:
        faults.all_invalid("spec.driver", spec["driver"], subdomain_faults(spec["driver"]))
    if not spec["pool"]["name"]:
        faults.required("spec.pool.name")
    names: set[str] = set()
    for position, device in enumerate(spec.get("devices", ())):
        at = f"spec.devices[{position}].name"
        faults.all_invalid(at, device["name"], label_faults(device["name"]))
        if device["name"] in names:
            faults.duplicate(at, device["name"])
        names.add(device["name"])
