"""Checks of a container's environment variables and where their values come from."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import config_key_faults, subdomain_faults, variable_faults
from bayplan.model.names import label_key_faults

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_RESOURCES = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_RESOURCE_PREFIXES = ("limits.hugepages-", "requests.hugepages-")
_MORE_THAN_ONE = "may not have more than one field specified at a time"


def check_environment(container: Document, faults: Faults, path: Path) -> None:
    for position, variable in enumerate(container.get("env", ())):
        at = f"{path}.env[{position}]"
        name = variable["name"]
        if not name:
            faults.required(f"{at}.name")
        elif variable_faults(name):
            faults.all_invalid(f"{at}.name", name, variable_faults(name))
        if "valueFrom" in variable:
            _check_source(variable, faults, f"{at}.valueFrom")
    if "envFrom" in container:
        _check_whole_sources(container["envFrom"], faults, f"{path}.envFrom")


def _check_source(variable: Document, faults: Faults, path: Path) -> None:
    source = variable["valueFrom"]
    given = [field for field in _SOURCES if field in source]
    for field in given:
        at = f"{path}.{field}"
        if field == "fieldRef":
            _check_field(source[field], faults, at)
        elif field == "resourceFieldRef":
            _check_resource(source[field], faults, at)
        elif field in ("configMapKeyRef", "secretKeyRef"):
            _check_key(source[field], faults, at)
    if not given:
        listed = "`, `".join(_SOURCES[:-1])
        faults.invalid(path, "", f"must specify one of: `{listed}` or `{_SOURCES[-1]}`")
    elif variable.get("value"):
        faults.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        faults.invalid(path, "", _MORE_THAN_ONE)


def _check_field(reference: Document, faults: Faults, path: Path) -> None:
    field = reference["fieldPath"]
    if not field:
        faults.required(f"{path}.fieldPath")
        return
    base, bracket, subscript = field.partition("['")
    if bracket and subscript.endswith("']"):
        key = subscript.removesuffix("']")
        if base == "metadata.annotations":
            faults.all_invalid(path, key.lower(), label_key_faults(key.lower()))
        elif base == "metadata.labels":
            faults.all_invalid(path, key, label_key_faults(key))
        else:
            _unknown_field(field, faults, path)
    elif field in ("metadata.annotations", "metadata.labels"):
        faults.unsupported(f"{path}.fieldPath", field, _FIELDS)
    elif field not in _FIELDS:
        _unknown_field(field, faults, path)


def _unknown_field(field: str, faults: Faults, path: Path) -> None:
    text = f"error converting fieldPath: field label not supported: {field}"
    faults.invalid(f"{path}.fieldPath", field, text)


def _check_resource(reference: Document, faults: Faults, path: Path) -> None:
    name = reference["resource"]
    if not name:
        faults.required(f"{path}.resource")
    elif name not in _RESOURCES and not name.startswith(_RESOURCE_PREFIXES):
        faults.unsupported(f"{path}.resource", name, _RESOURCES)


def _check_key(reference: Document, faults: Faults, path: Path) -> None:
    name = reference.get("name", "")
    faults.all_invalid(f"{path}.name", name, subdomain_faults(name))
    if not reference["key"]:
        faults.required(f"{path}.key")
    else:
        faults.all_invalid(f"{path}.key", reference["key"], config_key_faults(reference["key"]))


def _check_whole_sources(sources: list[Document], faults: Faults, path: Path) -> None:
    for position, source in enumerate(sources):
        at = f"{path}[{position}]"
        prefix = source.get("prefix")
        if prefix:
            faults.all_invalid(f"{at}.prefix", prefix, variable_faults(prefix))
        given = [field for field in ("configMapRef", "secretRef") if field in source]
        for field in given:
            if not source[field].get("name"):
                faults.required(f"{at}.{field}.name")
            else:
                faults.all_invalid(f"{at}.{field}.name", source[field]["name"], subdomain_faults(source[field]["name"]))
        if not given:
            faults.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            faults.invalid(path, "", _MORE_THAN_ONE)
