"""Checks of a container's environment variables and where their values come from."""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.names import config_key_faults, variable_faults
from bayplan.apiserver.admitting.validation.volume_sources import check_no_backsteps
from bayplan.model.dns_names import label_faults, subdomain_faults
from bayplan.model.names import label_key_faults
from bayplan.model.quantity import parse_quantity

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_VARIABLE_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
#: Of these, one label or annotation can be shown.
_KEYED_FIELDS = ("metadata.annotations", "metadata.labels")
#: What an old client calls a field, and its name today.
_RENAMED_FIELDS = {"spec.host": "spec.nodeName"}
_READABLE_FIELDS = (
    *_VARIABLE_FIELDS,
    *_KEYED_FIELDS,
    *_RENAMED_FIELDS,
    *("spec.restartPolicy", "spec.schedulerName", "status.phase"),
)
_RESOURCES = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_RESOURCE_PREFIXES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = ("1m", "1")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
#: Resources counted in bytes, as the server speaks of their divisors.
_DIVIDED = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
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


def check_file_volumes(spec: Document, faults: Faults, path: Path) -> None:
    """Files that variables come from are in volumes that live as long as the pod."""
    # Upstream: validateFileKeyRefVolumes in pkg/apis/core/validation/validation.go (v1.36).
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(field) or ()):
            _check_file_volume(container, volumes, faults, f"{path}.{field}[{number}]")


def _check_file_volume(container: Document, volumes: dict[str, Document], faults: Faults, path: Path) -> None:
    for position, variable in enumerate(container.get("env") or ()):
        reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
        if reference is None:
            continue
        name, at = reference["volumeName"], f"{path}.env[{position}].valueFrom.fileKeyRef.volumeName"
        if name not in volumes:
            faults.not_found(at, name)
        elif "emptyDir" not in volumes[name]:
            faults.invalid(at, name, "referenced volume must be of type emptyDir")


def _check_source(variable: Document, faults: Faults, path: Path) -> None:
    source = variable["valueFrom"]
    given = [field for field in _SOURCES if field in source]
    for field in given:
        at = f"{path}.{field}"
        if field == "fieldRef":
            check_field_reference(source[field], _VARIABLE_FIELDS, faults, at)
        elif field == "resourceFieldRef":
            check_resource_reference(source[field], faults, at)
        elif field == "fileKeyRef":
            _check_file_key(source[field], faults, at)
        else:
            _check_key(source[field], faults, at)
    if not given:
        listed = "`, `".join(_SOURCES[:-1])
        faults.invalid(path, "", f"must specify one of: `{listed}` or `{_SOURCES[-1]}`")
    elif variable.get("value"):
        faults.invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        faults.invalid(path, "", _MORE_THAN_ONE)


def check_field_reference(reference: Document, supported: Iterable[str], faults: Faults, path: Path) -> None:
    """Of a field of the pod that a variable or a file shows."""
    version, field = reference.get("apiVersion"), reference["fieldPath"]
    if not version:
        faults.required(f"{path}.apiVersion")
        return
    if not field:
        faults.required(f"{path}.fieldPath")
        return
    base, bracket, key = field.removesuffix("']").partition("['")
    has_key = bool(base and bracket and field.endswith("']"))
    problem = _conversion_problem(version, field, base if has_key else None)
    if problem:
        faults.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif has_key:
        name = key.lower() if base == "metadata.annotations" else key
        faults.all_invalid(path, name, label_key_faults(name))
    else:
        faults.supported(f"{path}.fieldPath", _RENAMED_FIELDS.get(field, field), supported)


def _conversion_problem(version: str, field: str, keyed: str | None) -> str:
    """Why the server cannot read a field of a pod; `keyed` is what stands before a key in brackets."""
    if version != "v1":
        return f"unsupported pod version: {version}"
    if keyed is not None:
        return "" if keyed in _KEYED_FIELDS else f"field label does not support subscript: {field}"
    return "" if field in _READABLE_FIELDS else f"field label not supported: {field}"


def check_resource_reference(reference: Document, faults: Faults, path: Path, *, names_container: bool = False) -> None:
    """Of a container's request or limit that a variable or a file shows."""
    name = reference["resource"]
    if names_container and not reference.get("containerName"):
        faults.required(f"{path}.containerName")
    elif not name:
        faults.required(f"{path}.resource")
    elif name not in _RESOURCES and not name.startswith(_RESOURCE_PREFIXES):
        faults.unsupported(f"{path}.resource", name, _RESOURCES)
    _check_divisor(name, reference.get("divisor", "0"), faults, f"{path}.divisor")


def _check_divisor(name: str, divisor: str, faults: Faults, path: Path) -> None:
    resource = name.partition(".")[2]
    if parse_quantity(divisor) == 0 or (name not in _RESOURCES and not name.startswith(_RESOURCE_PREFIXES)):
        return
    if resource == "cpu":
        if divisor not in _CPU_DIVISORS:
            faults.invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource")
    elif divisor not in _BYTE_DIVISORS:
        shown = _DIVIDED.get(resource, "hugepages")
        text = f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the {shown} resource"
        faults.invalid(path, name, text)


def _check_file_key(reference: Document, faults: Faults, path: Path) -> None:
    """Of a variable in a file of a volume."""
    faults.named(f"{path}.key", reference.get("key"), variable_faults)
    faults.named(f"{path}.volumeName", reference.get("volumeName"), label_faults)
    if not reference.get("path"):
        faults.required(f"{path}.path")
    else:
        check_no_backsteps(reference["path"], faults, f"{path}.path")


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
