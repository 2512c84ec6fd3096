"""Defaults that a schema declares, filled in where a custom resource says nothing.

A default applies where its key is absent, or null although it may not be; defaults inside of defaults follow. Documents
are not modified: what changes is copied.
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.custom_resources.structural import UNSET, Schema


def with_defaults(value: Any, schema: Schema | None) -> Any:
    """The value with every default that applies."""
    if schema is None:
        return value
    if isinstance(value, dict):
        return _object_with_defaults(value, schema)
    if isinstance(value, list):
        return [with_defaults(_filled(item, schema.items), schema.items) for item in value]
    return value


def _object_with_defaults(value: dict[str, Any], schema: Schema) -> dict[str, Any]:
    filled = {key: with_defaults(_filled(item, inner := schema.of_field(key)), inner) for key, item in value.items()}
    for key, inner in schema.properties.items():
        if key not in filled and inner.default is not UNSET and inner.default is not None:
            filled[key] = with_defaults(inner.default, inner)
    return filled


def _filled(item: Any, schema: Schema | None) -> Any:
    if item is None and schema is not None and not schema.is_nullable and schema.default is not UNSET:
        return schema.default
    return item
