"""Checks of CustomResourceDefinitions: names, versions, what versions have in common, conversion.

What all versions say alike is one thing to upstream, which it looks for, and reports, at `spec` itself. Upstream:
apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and v1/conversion.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from bayplan.apiserver.admitting.documents import Document, Path, part
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.client_configs import check_client, check_review_versions
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.custom_resources.schema_checks import schema_causes
from bayplan.apiserver.custom_resources.structure import Source, schema_part
from bayplan.model.dns_names import dns1035_faults, subdomain_faults
from bayplan.store.errors import StatusCause

_SCOPES: Final = ("Cluster", "Namespaced")
_NO_CONVERSION, _WEBHOOK = "None", "Webhook"
_NAMES: Final = ("plural", "singular", "kind", "listKind")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_TYPES: Final = ("string", "boolean", "integer")
_SELECTABLE_MAX: Final = 8
_WARNING_MAX: Final = 256
_SCHEMA, _COLUMNS, _SELECTABLE = "schema", "additionalPrinterColumns", "selectableFields"
#: What versions may have in common, and what that is called at `spec`.
_COMMON: Final = {_SCHEMA: "validation", "subresources": "subresources", _COLUMNS: _COLUMNS, _SELECTABLE: _SELECTABLE}
_NOT_NAMED: Final = 'must be spec.names.plural+"."+spec.group'
_APPROVAL: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def check_definition(definition: Document, faults: Faults) -> None:
    _check_names_of_object(definition, faults)
    _check_spec(definition["spec"], faults, {})
    _check_status(definition, faults)
    _check_approval(definition, None, faults)


def check_definition_update(new: Document, old: Document, faults: Faults) -> None:
    known = {version["name"]: part(version, _SCHEMA) for version in old["spec"]["versions"] or ()}
    spec, before = new["spec"], old["spec"]
    _check_spec(spec, faults, known)
    faults.immutable("spec.scope", spec["scope"], before["scope"])
    faults.immutable("spec.names.kind", spec["names"]["kind"], before["names"]["kind"])
    faults.immutable("spec.group", spec["group"], before["group"])
    faults.immutable("spec.names.plural", spec["names"]["plural"], before["names"]["plural"])
    _check_status(new, faults)
    _check_approval(new, old, faults)


def check_definition_status(new: Document, old: Document, faults: Faults) -> None:  # noqa: ARG001 - others compare
    _check_names(part(new, "status", "acceptedNames"), faults, "status.acceptedNames")


def _check_names_of_object(definition: Document, faults: Faults) -> None:
    """Its name is that of what it defines, which is said right after what else is wrong with it."""
    metadata, spec = definition["metadata"], definition["spec"]
    expected = f"{spec['names'].get('plural', '')}.{spec['group']}"
    place = 0
    for field in ("generateName", "name"):
        at = f"metadata.{field}"
        place = max([place, *(number + 1 for number, cause in enumerate(faults) if cause.field == at)])
        if metadata.get(field, expected) != expected:
            fault = Faults()
            fault.invalid(at, metadata[field], _NOT_NAMED)
            faults[place:place] = fault
            place += 1


def _check_spec(spec: Document, faults: Faults, known: Mapping[str, Source]) -> None:
    """`known`: the schemas of versions as they were; rules of those that stay are not looked at again."""
    group = spec["group"]
    if not group:
        faults.required("spec.group")
    elif subdomain_faults(group):
        faults.invalid("spec.group", group, ",".join(subdomain_faults(group)))
    elif "." not in group:
        faults.invalid("spec.group", group, "should be a domain with at least one dot")
    faults.one_of("spec.scope", spec["scope"], _SCOPES)
    versions = spec["versions"] or []
    for position, version in enumerate(versions):
        if part(version, _SCHEMA).get("openAPIV3Schema") is None:
            faults.required(f"spec.versions[{position}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(_has_defaults(_schema(version)) for version in versions):
        text = "must be false in order to use defaults in the schema"
        faults.invalid("spec.preserveUnknownFields", True, text)
    common = _common(versions)
    own = [{field: value for field, value in version.items() if field not in common} for version in versions]
    for position, version in enumerate(own):
        path = f"spec.versions[{position}]"
        if dns1035_faults(version["name"]):
            faults.invalid(f"{path}.name", version["name"], ",".join(dns1035_faults(version["name"])))
        _check_warning(version, faults, f"{path}.deprecationWarning")
        has_status = part(versions[position], "subresources").get("status") is not None
        is_known = _schema(version) == known.get(version["name"], {}).get("openAPIV3Schema")
        _check_parts(version, faults, path, _SCHEMA, has_status=has_status, checks_rules=not is_known)
    _check_version_names(spec["versions"], own, faults)
    for field in _NAMES:
        if not spec["names"].get(field):
            faults.required(f"spec.names.{field}")
    _check_names(spec["names"], faults, "spec.names")
    has_status = any(part(version, "subresources").get("status") is not None for version in versions)
    is_known = bool(known) and all(_schema(common) == schema.get("openAPIV3Schema") for schema in known.values())
    moved = {_COMMON[field]: value for field, value in common.items()}
    _check_parts(moved, faults, "spec", _COMMON[_SCHEMA], has_status=has_status, checks_rules=not is_known)
    _check_conversion(spec.get("conversion", {}), faults)
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        faults.invalid("spec.preserveUnknownFields", True, text)


def _common(versions: list[Document]) -> Document:
    """What all versions say alike."""
    if not versions:
        return {}
    first = versions[0]
    return {field: first.get(field) for field in _COMMON if all(one.get(field) == first.get(field) for one in versions)}


def _schema(holder: Source) -> Any:
    return (holder.get(_SCHEMA) or {}).get("openAPIV3Schema")


def _has_defaults(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(_has_defaults(one) for one in schema)
    if not isinstance(schema, dict):
        return False
    inner = [*(schema.get("properties") or {}).values(), *(schema.get(field) for field in ("items", "not"))]
    inner += [schema.get("additionalProperties"), *(schema.get(field) for field in ("allOf", "anyOf", "oneOf"))]
    return schema.get("default") is not None or any(_has_defaults(one) for one in inner)


def _check_warning(version: Document, faults: Faults, path: Path) -> None:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        faults.invalid(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_MAX:
        faults.invalid(path, warning, f"must be <= {_WARNING_MAX} characters long")
    if not warning:
        faults.invalid(path, warning, "must not be an empty string")
    strange = next((place for place, letter in enumerate(warning) if not letter.isprintable()), None)
    if strange is not None:
        place = len(warning[:strange].encode())
        text = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
        faults.invalid(path, warning, text)


def _check_parts(
    holder: Document, faults: Faults, path: Path, field: str, *, has_status: bool, checks_rules: bool
) -> None:
    """Of a version, or of what all versions have in common."""
    schema = (holder.get(field) or {}).get("openAPIV3Schema")
    if schema is not None:
        at = f"{path}.{field}.openAPIV3Schema"
        faults.extend(schema_causes(schema, at, has_status=has_status, checks_rules=checks_rules))
    _check_scale((holder.get("subresources") or {}).get("scale"), faults, f"{path}.subresources.scale")
    for position, column in enumerate(holder.get(_COLUMNS) or ()):
        _check_column(column, faults, f"{path}.{_COLUMNS}[{position}]")
    _check_selectable(holder.get(_SELECTABLE) or [], schema or {}, faults, f"{path}.{_SELECTABLE}")


def _check_scale(scale: Document | None, faults: Faults, path: Path) -> None:
    if scale is None:
        return
    for field, begins in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        at, text = f"{path}.{field}", scale.get(field) or ""
        if not text:
            faults.required(at)
        elif _is_simple_path(text, faults, at) and not text.startswith(f"{begins}."):
            faults.invalid(at, text, f"should be a json path under {begins}")
    at, text = f"{path}.labelSelectorPath", scale.get("labelSelectorPath") or ""
    if text and _is_simple_path(text, faults, at) and not text.startswith((".spec.", ".status.")):
        faults.invalid(at, text, "should be a json path under either .spec or .status")


def _is_simple_path(text: str, faults: Faults, path: Path) -> bool:
    if not text.startswith("."):
        faults.invalid(path, text, "must be a simple json path starting with .")
    return text.startswith(".")


def _check_column(column: Document, faults: Faults, path: Path) -> None:
    if not column.get("name"):
        faults.required(f"{path}.name")
    text = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("type"):
        faults.required(f"{path}.type", text)
    elif column["type"] not in _COLUMN_TYPES:
        faults.invalid(f"{path}.type", column["type"], text)
    form = column.get("format")
    if form and form not in _COLUMN_FORMATS:
        faults.invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not column.get("jsonPath"):
        faults.required(f"{path}.JSONPath")
    else:
        _is_simple_path(column["jsonPath"], faults, f"{path}.JSONPath")


def _check_selectable(fields: list[Document], schema: Source, faults: Faults, path: Path) -> None:
    seen: set[str] = set()
    for position, field in enumerate(fields):
        at, text = f"{path}[{position}].jsonPath", field.get("jsonPath") or ""
        if not text:
            faults.required(at)
            continue
        fault, found = _selected(text, schema)
        if fault:
            faults.invalid(at, text, f"is an invalid path: {fault}")
            continue
        if text.startswith(".metadata"):
            faults.invalid(at, text, "must not point to fields in metadata")
        if found.get("type") not in _SELECTABLE_TYPES:
            wanted = "must point to a field of type string, boolean or integer. Enum string fields and strings with "
            faults.invalid(at, text, f"{wanted}formats are allowed.")
        if text in seen:
            faults.duplicate(at, text)
        seen.add(text)
    if len(seen) > _SELECTABLE_MAX:
        faults.too_many(path, len(seen), _SELECTABLE_MAX)


def _selected(path: str, schema: Source) -> tuple[str, Source]:
    """What is wrong with the path of a field, and the schema that it leads to."""
    if "[" in path:
        return "array notation is not allowed", schema
    if not path.startswith("."):
        return f"expected [ or . but got: {path.partition('.')[0]}", schema
    for name in path[1:].split("."):
        if not name:
            return "unexpected end of JSON path", schema
        inner = (schema.get("properties") or {}).get(name)
        if inner is None and not schema.get("properties"):
            inner = schema_part(schema, "additionalProperties")
        if inner is None:
            return "does not refer to a valid field", schema
        schema = inner
    return "", schema


def _check_version_names(given: Any, own: list[Document], faults: Faults) -> None:
    shown = [internal(version, "CustomResourceDefinitionVersion") for version in own] or given
    names = [version["name"] for version in own]
    if len({*names}) < len(names):
        faults.invalid("spec.versions", shown, "must contain unique version names")
    if sum(1 for version in own if version["storage"]) != 1:
        faults.invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and names[0] and dns1035_faults(names[0]):
        # The field of definitions that had one version; the server still fills it.
        faults.invalid("spec.version", names[0], ",".join(dns1035_faults(names[0])))


def _check_names(names: Document, faults: Faults, path: Path) -> None:
    for field in _NAMES:
        text = names.get(field) or ""
        is_kind = field in ("kind", "listKind")
        wrong = dns1035_faults(text.lower() if is_kind else text)
        if text and wrong:
            mixed = "may have mixed case, but should otherwise match: " if is_kind else ""
            faults.invalid(f"{path}.{field}", text, mixed + ",".join(wrong))
    _check_each_name(names, "shortNames", faults, path)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        faults.invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    _check_each_name(names, "categories", faults, path)


def _check_each_name(names: Document, field: str, faults: Faults, path: Path) -> None:
    for position, text in enumerate(names.get(field) or ()):
        if dns1035_faults(text):
            faults.invalid(f"{path}.{field}[{position}]", text, ",".join(dns1035_faults(text)))


def _check_conversion(conversion: Document, faults: Faults) -> None:
    path, strategy = "spec.conversion", conversion.get("strategy")
    faults.one_of(f"{path}.strategy", strategy, (_NO_CONVERSION, _WEBHOOK))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    at = f"{path}.webhookClientConfig"
    if strategy == _WEBHOOK:
        if client is None:
            faults.required(at, "required when strategy is set to Webhook")
        else:
            check_client(client, faults, at)
        check_review_versions(versions, faults, f"{path}.conversionReviewVersions", "")
        return
    text = "should not be set when strategy is not set to Webhook"
    if client is not None:
        faults.forbidden(at, text)
    if versions:
        faults.forbidden(f"{path}.conversionReviewVersions", text)


def _check_status(definition: Document, faults: Faults) -> None:
    check_definition_status(definition, definition, faults)
    path, stored = "status.storedVersions", part(definition, "status").get("storedVersions")
    if not stored:
        faults.invalid(path, stored or None, "must have at least one stored version")
        return
    versions = definition["spec"]["versions"] or []
    for version in versions:
        if version["storage"] and version["name"] not in stored:
            faults.invalid(path, stored, f"must have the storage version {version['name']}")
    served = [version["name"] for version in versions]
    for position, version in enumerate(stored):
        if version not in served:
            text = (
                f"missing from spec.versions; {version} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {version} and removes "
                f"{version} from status.storedVersions"
            )
            faults.invalid(f"{path}[{position}]", version, text)


def _check_approval(new: Document, old: Document | None, faults: Faults) -> None:
    """Groups of Kubernetes' own need an annotation that says who approved of them."""
    group = new["spec"]["group"]
    fault = _approval_fault(new)
    is_protected = any(group == one or group.endswith(f".{one}") for one in _PROTECTED)
    if fault is None or not is_protected or (old is not None and _approval_fault(old) == fault):
        return
    faults.append(fault)


def _approval_fault(definition: Document) -> StatusCause | None:
    found, path = Faults(), f"metadata.annotations[{_APPROVAL}]"
    value = part(definition, "metadata", "annotations").get(_APPROVAL) or ""
    wanted = f'protected groups must have approval annotation "{_APPROVAL}"'
    link = "see https://github.com/kubernetes/enhancements/pull/1111"
    url = urlsplit(value)
    if not value:
        found.required(path, f"{wanted}, {link}")
    elif not value.startswith("unapproved") and not (url.scheme and url.netloc):
        found.invalid(path, value, f'{wanted} with either a URL or a reason starting with "unapproved", {link}')
    return found[0] if found else None
