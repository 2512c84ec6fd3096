"""Checks of one schema of a definition: what it may say, its defaults, and then its rules.

Takes `openAPIV3Schema` as a definition holds it. Upstream:
apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go and
apiserver/schema/defaulting/validation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.lists import embedded_faults
from bayplan.apiserver.custom_resources.pruning import has_unknown_fields
from bayplan.apiserver.custom_resources.rule_checks import rule_causes
from bayplan.apiserver.custom_resources.rules import rule_faults
from bayplan.apiserver.custom_resources.structural import Schema
from bayplan.apiserver.custom_resources.structure import EMBEDDED, KEEPS_UNKNOWN, Source, schema_part, structure_faults
from bayplan.apiserver.custom_resources.validation import schema_faults
from bayplan.store.errors import StatusCause

_SCHEMA: Final = "JSONSchemaProps"
_IF_STATUS: Final = "if the status subresource is enabled"
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
#: What else the root may say where there is a status: by Go's names, in the order in which Go walks them.
_AT_ROOT: Final = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum", "ExclusiveMinimum"),
    *("MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems", "MultipleOf", "Required", "Items"),
    *("Properties", "ExternalDocs", "Example", "XPreserveUnknownFields", "XValidations"),
)
_OF_EVERY_OBJECT: Final = ("metadata", "kind", "apiVersion")
#: Fields of JSON schema that definitions cannot have, in upstream's order.
_UNSUPPORTED: Final = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")


def schema_causes(schema: Source, path: str, *, has_status: bool, checks_rules: bool) -> list[StatusCause]:
    """Everything that is wrong with a schema; of its rules, if these are new."""
    causes = [*_root_faults(schema, path, has_status=has_status)]
    unreadable = _unreadable(schema)
    structural = [] if unreadable else structure_faults(schema, path) or [*_default_faults(schema, path, is_root=True)]
    found = [*_openapi_faults(schema, path, _Place(is_root=True))]
    causes += [*structural, *found]
    if not unreadable and not structural and checks_rules:
        causes += rule_causes(schema, path, {cause.field for cause in found})
    if unreadable and not causes:
        causes.append(faults.invalid(path, "", f"OpenAPIV3Schema '{unreadable}' is not supported"))
    return causes


def _root_faults(schema: Source, path: str, *, has_status: bool) -> Iterator[StatusCause]:
    if has_status:
        for name, value in internal({**schema}, _SCHEMA).items():
            if not value and value != {}:
                continue
            if name == "Type" and value != "object":
                text = 'only "object" is allowed as the type at the root of the schema'
                yield faults.invalid(f"{path}.type", value, f"{text} {_IF_STATUS}")
                break
            if name not in _AT_ROOT:
                text = f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema"
                yield faults.invalid_internal(path, {**schema}, _SCHEMA, f"{text} {_IF_STATUS}")
                break
    if schema.get("nullable"):
        yield faults.forbidden(f"{path}.nullable", "nullable cannot be true at the root")


def _inner(schema: Source) -> Iterator[tuple[str, Source]]:
    """The schemas inside that say what parts of a value are."""
    for name, part in (schema.get("properties") or {}).items():
        yield f"properties[{name}]", part
    for field in ("items", "additionalProperties"):
        part = schema_part(schema, field)
        if part is not None:
            yield field, part


def _unreadable(schema: Source) -> str:
    """The first field, here or below, of which upstream can make nothing; "" if there is none."""
    for field in ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"):
        if schema.get(field):
            return field.removeprefix("$") if field == "$schema" else field
    if isinstance(schema.get("items"), list):
        return "items"
    return next((found for _, part in _inner(schema) if (found := _unreadable(part))), "")


# -- defaults


def _default_faults(schema: Source, path: str, *, is_root: bool = False) -> Iterator[StatusCause]:
    """Of defaults that their own schema refuses; those in maps are forbidden anyway."""
    if schema.get("default") is not None:
        yield from _faults_of_default(schema["default"], Schema(schema), f"{path}.default")
    items = schema_part(schema, "items")
    if items is not None:
        yield from _default_faults(items, f"{path}.items")
    is_object = is_root or bool(schema.get(EMBEDDED))
    for name, part in (schema.get("properties") or {}).items():
        if not (is_object and name in _OF_EVERY_OBJECT):
            yield from _default_faults(part, f"{path}.properties[{name}]")


def _faults_of_default(value: Any, schema: Schema, path: str) -> Iterator[StatusCause]:
    if has_unknown_fields(value, schema):
        yield faults.invalid(path, value, "must not have unknown fields")
    found = [*embedded_faults(value, schema)] or schema_faults(value, schema) or [*rule_faults(value, schema)]
    for cause in found:
        inside = "" if cause.field == faults.WHOLE else f".{cause.field}"
        yield cause._replace(field=f"{path}{inside}")


# -- what schemas may say


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a schema stands."""

    is_root: bool = False
    in_metadata: bool = False
    no_defaults: str | None = None
    """Why there may be no default, if there may be none."""

    def inside(self) -> _Place:
        return replace(self, is_root=False)


def _openapi_faults(schema: Source, path: str, place: _Place) -> Iterator[StatusCause]:
    yield from _standard_faults(schema, path, place)
    if schema.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield faults.forbidden(f"{path}.uniqueItems", text)
    inside = place.inside()
    yield from _additional_faults(schema, path, place)
    for name, part in (schema.get("properties") or {}).items():
        yield from _openapi_faults(part, f"{path}.properties[{name}]", _of_property(schema, name, place))
    if schema.get("not") is not None:
        yield from _openapi_faults(schema["not"], f"{path}.not", inside)
    for field in ("allOf", "oneOf", "anyOf"):
        for position, part in enumerate(schema.get(field) or ()):
            yield from _openapi_faults(part, f"{path}.{field}[{position}]", inside)
    for name, part in (schema.get("definitions") or {}).items():
        yield from _openapi_faults(part, f"{path}.definitions[{name}]", inside)
    items = schema.get("items")
    if isinstance(items, dict):
        yield from _openapi_faults(items, f"{path}.items", inside)
    elif isinstance(items, list):
        for position, part in enumerate(items):
            yield from _openapi_faults(part, f"{path}.items[{position}]", inside)
    if schema.get(KEEPS_UNKNOWN) is False:
        yield faults.invalid(f"{path}.{KEEPS_UNKNOWN}", False, "must be true or undefined")
    yield from _map_faults(schema, path)
    yield from _list_faults(schema, path)
    yield from _key_faults(schema, path)
    for position, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        yield from _rule_faults(rule, f"{path}.x-kubernetes-validations[{position}]")


def _standard_faults(schema: Source, path: str, place: _Place) -> Iterator[StatusCause]:
    kind = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield faults.unsupported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and place.no_defaults is not None:
        yield faults.forbidden(f"{path}.default", f"must not be set {place.no_defaults}")
    for field in _UNSUPPORTED:
        if schema.get(field):
            yield faults.forbidden(f"{path}.{field}", f"{field} is not supported")
    if kind == "null":
        yield faults.forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.get("items"), list) and schema["items"]:
        yield faults.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and schema.get(EMBEDDED):
        yield faults.forbidden(f"{path}.{EMBEDDED}", "must not be used inside of resource meta")


def _additional_faults(schema: Source, path: str, place: _Place) -> Iterator[StatusCause]:
    additional, at = schema.get("additionalProperties"), f"{path}.additionalProperties"
    if additional is not None and schema.get("properties") and additional is not True:
        yield faults.forbidden(at, "additionalProperties and properties are mutual exclusive")
    if isinstance(additional, dict):
        inside = place.inside()
        if place.in_metadata:
            inside = replace(inside, no_defaults="inside additionalProperties applying to object metadata")
        yield from _openapi_faults(additional, at, inside)


def _of_property(schema: Source, name: str, place: _Place) -> _Place:
    if name not in _OF_EVERY_OBJECT or not (place.is_root or schema.get(EMBEDDED)):
        return place.inside()
    reason = f"in top-level {name}" if place.is_root else place.no_defaults
    return replace(place, is_root=False, in_metadata=True, no_defaults=reason)


def _map_faults(schema: Source, path: str) -> Iterator[StatusCause]:
    map_type = schema.get(_MAP_TYPE)
    if map_type is None:
        return
    yield from _wrong_type(schema, path, "object", f"must be object if {_MAP_TYPE} is specified")
    if map_type not in ("atomic", "granular"):
        yield faults.unsupported(f"{path}.{_MAP_TYPE}", map_type, ("atomic", "granular"))


def _wrong_type(schema: Source, path: str, wanted: str, text: str) -> Iterator[StatusCause]:
    kind = schema.get("type", "")
    if kind != wanted:
        yield faults.invalid(f"{path}.type", kind, text) if kind else faults.required(f"{path}.type", text)


def _list_faults(schema: Source, path: str) -> Iterator[StatusCause]:
    list_type, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS)
    items = schema_part(schema, "items")
    if list_type is not None:
        yield from _wrong_type(schema, path, "array", f"must be array if {_LIST_TYPE} is specified")
        if list_type == "set" and items is not None and schema.get("type") == "array":
            yield from _set_faults(items, f"{path}.items")
        if list_type not in ("atomic", "set", "map"):
            yield faults.unsupported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map"))
    if keys and list_type != "map":
        text = f"must be map if {_LIST_KEYS} is non-empty"
        at = f"{path}.{_LIST_TYPE}"
        yield faults.required(at, text) if list_type is None else faults.invalid(at, list_type, text)
    if list_type == "map":
        yield from _map_list_faults(schema, keys or [], path)


def _set_faults(items: Source, path: str) -> Iterator[StatusCause]:
    text = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    if items.get("type") == "array" and items.get(_LIST_TYPE, "atomic") != "atomic":
        yield faults.invalid(f"{path}.{_LIST_TYPE}", items[_LIST_TYPE], text)
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        yield faults.invalid(f"{path}.{_MAP_TYPE}", items.get(_LIST_TYPE), text)


def _map_list_faults(schema: Source, keys: list[str], path: str) -> Iterator[StatusCause]:
    if not keys:
        yield faults.required(f"{path}.{_LIST_KEYS}", f"must not be empty if {_LIST_TYPE} is map")
    items = schema_part(schema, "items")
    if schema.get("items") is None:
        yield faults.required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map")
    if items is None:
        return
    if items.get("type", "") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        yield faults.invalid(f"{path}.items.type", items.get("type", ""), text)
        return
    seen: set[str] = set()
    for key in keys:
        part = (items.get("properties") or {}).get(key)
        if part is None:
            yield faults.invalid(f"{path}.{_LIST_KEYS}", keys, "entries must all be names of item properties")
        elif part.get("type") in ("array", "object"):
            text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            yield faults.invalid(f"{path}.items.properties[{key}].type", items["type"], text)
        if key in seen:
            yield faults.invalid(f"{path}.{_LIST_KEYS}", keys, "must not contain duplicate entries")
        seen.add(key)


def _key_faults(schema: Source, path: str) -> Iterator[StatusCause]:
    """Items of sets and maps, and the keys of maps, are always there."""
    list_type, items = schema.get(_LIST_TYPE), schema_part(schema, "items")
    if list_type not in ("set", "map") or items is None:
        return
    if items.get("nullable"):
        yield faults.forbidden(f"{path}.items.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}")
    for key in (schema.get(_LIST_KEYS) or ()) if list_type == "map" else ():
        part, at = (items.get("properties") or {}).get(key), f"{path}.items.properties[{key}]"
        if part is None:
            continue
        if key not in (items.get("required") or ()) and part.get("default") is None:
            text = f"this property is in {_LIST_KEYS}, so it must have a default or be a required property"
            yield faults.required(f"{at}.default", text)
        if part.get("nullable"):
            yield faults.forbidden(f"{at}.nullable", f"this property is in {_LIST_KEYS}, so it cannot be nullable")


def _rule_faults(rule: Source, path: str) -> Iterator[StatusCause]:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield faults.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield faults.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_line_breaks(message.strip()):
        yield faults.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_line_breaks(text.strip()) and not message.strip():
        yield faults.required(f"{path}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        yield faults.required(f"{path}.messageExpression", "messageExpression must be non-empty if specified")
    reason, field = rule.get("reason"), rule.get("fieldPath") or ""
    if reason is not None and reason not in _REASONS:
        yield faults.unsupported(f"{path}.reason", reason, _REASONS)
    if field and not field.strip():
        yield faults.invalid(f"{path}.fieldPath", field, "must be non-empty if specified")
    if _has_line_breaks(field):
        yield faults.invalid(f"{path}.fieldPath", field, "must not contain line breaks")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
