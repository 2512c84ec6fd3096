"""Whether schemas of a definition are structural: each value has one type, and alternatives only restrict it.

Takes `openAPIV3Schema` as a definition holds it. Upstream:
apiextensions-apiserver/pkg/apiserver/schema/validation.go and complete.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from bayplan.apiserver.custom_resources import faults
from bayplan.apiserver.custom_resources.formats import pattern_fault
from bayplan.store.errors import StatusCause

Source = Mapping[str, Any]


class _Level(Enum):
    """Where a schema stands, and how upstream calls that."""

    ROOT = "at the root"
    ITEM = "for specified array items"
    FIELD = "for specified object fields"


_ALTERNATIVES: Final = ("anyOf", "allOf", "oneOf")
_INTEGER_OR_STRING: Final = [{"type": "integer"}, {"type": "string"}]
#: What alternatives must not say, in upstream's order, and how it is asked for.
_FORBIDDEN_INSIDE: Final = {
    "type": "empty",
    "additionalProperties": "undefined",
    "default": "undefined",
    "title": "empty",
    "description": "empty",
    "nullable": "false",
    "x-kubernetes-preserve-unknown-fields": "false",
    "x-kubernetes-embedded-resource": "false",
    "x-kubernetes-int-or-string": "false",
    "x-kubernetes-list-map-keys": "empty",
    "x-kubernetes-list-type": "undefined",
    "x-kubernetes-map-type": "undefined",
    "x-kubernetes-validations": "empty",
}
#: What the schema of an object's metadata may say.
_OF_METADATA: Final = frozenset({"type", "default", "properties"})
_METADATA_NAMES: Final = frozenset({"name", "generateName"})
EMBEDDED: Final = "x-kubernetes-embedded-resource"
KEEPS_UNKNOWN: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"


def schema_part(schema: Source, field: str) -> Source | None:
    """The schema under a field that may hold something else, such as a list or a boolean."""
    part = schema.get(field)
    return part if isinstance(part, dict) else None


def structure_faults(schema: Source, path: str) -> list[StatusCause]:
    """What keeps a schema from being structural, in upstream's order: that of the messages."""
    found = [*_invariants(schema, _Level.ROOT, path), *_missing(schema, schema, path, path)]
    return sorted(found, key=lambda cause: f"{cause.field}: {cause.message}")


def _invariants(schema: Source, level: _Level, path: str) -> Iterator[StatusCause]:
    kind, items = schema.get("type", ""), schema_part(schema, "items")
    if kind == "array" and items is None:
        yield faults.required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _invariants(items, _Level.ITEM, f"{path}.items")
    for name, part in (schema.get("properties") or {}).items():
        yield from _invariants(part, _Level.FIELD, f"{path}.properties[{name}]")
    if schema.get("additionalProperties") is not None:
        if level is _Level.ROOT:
            yield faults.forbidden(f"{path}.additionalProperties", "must not be used at the root")
        additional = schema_part(schema, "additionalProperties")
        if additional is not None:
            yield from _invariants(additional, _Level.FIELD, f"{path}.additionalProperties")
    yield from _extension_faults(schema, path)
    yield from _value_faults(schema, path, skips=_stands_for_either(schema))
    yield from _type_faults(schema, level, path)
    yield from _identity_faults(schema, level, path)


def _extension_faults(schema: Source, path: str) -> Iterator[StatusCause]:
    if schema.get(_INT_OR_STRING):
        for field in (KEEPS_UNKNOWN, EMBEDDED):
            if schema.get(field):
                yield faults.invalid(f"{path}.{field}", True, f"must be false if {_INT_OR_STRING} is true")


def _type_faults(schema: Source, level: _Level, path: str) -> Iterator[StatusCause]:
    kind, at = schema.get("type", ""), f"{path}.type"
    if schema.get(EMBEDDED) and kind != "object":
        text = f"must be object if {EMBEDDED} is true"
        yield faults.invalid(at, kind, text) if kind else faults.required(at, text)
    elif not kind and not schema.get(_INT_OR_STRING) and not schema.get(KEEPS_UNKNOWN):
        yield faults.required(at, f"must not be empty {level.value}")
    if schema.get(EMBEDDED) and schema.get("additionalProperties") is not None:
        yield faults.forbidden(f"{path}.additionalProperties", f"must not be used if {EMBEDDED} is set")
    if level is _Level.ROOT and kind not in ("", "object"):
        yield faults.invalid(at, kind, "must be object at the root")


def _identity_faults(schema: Source, level: _Level, path: str) -> Iterator[StatusCause]:
    """Of the fields that every object has: only names can be restricted."""
    properties = schema.get("properties") or {}
    is_object = level is _Level.ROOT or bool(schema.get(EMBEDDED))
    for name in ("kind", "apiVersion"):
        if is_object and name in properties and properties[name].get("type", "") != "string":
            yield faults.invalid(f"{path}.properties[{name}].type", properties[name].get("type", ""), "must be string")
    metadata = properties.get("metadata")
    if metadata is not None:
        at = f"{path}.properties[metadata]"
        if is_object and metadata.get("type", "") != "object":
            yield faults.invalid(f"{at}.type", metadata.get("type", ""), "must be object")
        if level is _Level.ROOT and (
            not metadata.keys() <= _OF_METADATA or not (metadata.get("properties") or {}).keys() <= _METADATA_NAMES
        ):
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield faults.forbidden(at, text)
    if schema.get(EMBEDDED) and not schema.get(KEEPS_UNKNOWN) and not properties:
        yield faults.required(f"{path}.properties", f"must not be empty if {EMBEDDED} is true without {KEEPS_UNKNOWN}")


def _stands_for_either(schema: Source) -> str:
    """The field that only says that a value is a number or a text, which upstream lets pass; "" if there is none."""
    if schema.get("anyOf") == _INTEGER_OR_STRING:
        return "anyOf"
    parts = schema.get("allOf") or []
    return "allOf" if parts and parts[0].get("anyOf") == _INTEGER_OR_STRING else ""


def _value_faults(schema: Source, path: str, skips: str = "") -> Iterator[StatusCause]:
    for field in _ALTERNATIVES:
        if field != "anyOf" or skips != field:
            for position, part in enumerate(schema.get(field) or ()):
                skips_inside = "anyOf" if field == skips == "allOf" and position == 0 else ""
                yield from _nested_faults(part, f"{path}.{field}[{position}]", skips_inside)
    if schema.get("not") is not None:
        yield from _nested_faults(schema["not"], f"{path}.not")
    pattern = schema.get("pattern")
    if pattern and (fault := pattern_fault(pattern)):
        yield faults.invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {fault}")


def _nested_faults(schema: Source, path: str, skips: str = "") -> Iterator[StatusCause]:
    yield from _value_faults(schema, path, skips)
    items = schema_part(schema, "items")
    if items is not None:
        yield from _nested_faults(items, f"{path}.items")
    properties = schema.get("properties") or {}
    for name, part in properties.items():
        yield from _nested_faults(part, f"{path}.properties[{name}]")
    for field, wanted in _FORBIDDEN_INSIDE.items():
        if schema.get(field) or (wanted == "undefined" and schema.get(field) is not None):
            yield faults.forbidden(f"{path}.{field}", f"must be {wanted} to be structural")
    if "metadata" in properties:
        yield faults.forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _missing(part: Source, schema: Source, path: str, part_path: str) -> Iterator[StatusCause]:
    """What alternatives restrict although the schema itself does not have it."""
    if part.get("not") is not None:
        yield from _missing_inside(part["not"], schema, path, f"{part_path}.not")
    for field in ("allOf", "anyOf", "oneOf"):
        for position, inner in enumerate(part.get(field) or ()):
            yield from _missing_inside(inner, schema, path, f"{part_path}.{field}[{position}]")


def _missing_inside(part: Source, schema: Source, path: str, part_path: str) -> Iterator[StatusCause]:
    yield from _missing(part, schema, path, part_path)
    pairs = [
        (inner, (schema.get("properties") or {}).get(name), f"properties[{name}]")
        for name, inner in (part.get("properties") or {}).items()
    ]
    if (items := schema_part(part, "items")) is not None:
        pairs.append((items, schema_part(schema, "items"), "items"))
    for inner, known, field in pairs:
        if known is None:
            yield faults.required(f"{path}.{field}", f"because it is defined in {part_path}.{field}")
        else:
            yield from _missing_inside(inner, known, f"{path}.{field}", f"{part_path}.{field}")
