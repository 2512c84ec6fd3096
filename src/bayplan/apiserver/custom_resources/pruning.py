"""Unknown fields and needless nulls are taken out of a custom resource before it is stored.

A field is unknown if its schema has neither a property of that name nor additional properties; below
`x-kubernetes-preserve-unknown-fields` everything is kept. The parts that say what an object is (apiVersion, kind,
metadata) stay, at the top and in embedded objects. Documents are not modified: what changes is copied.
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.custom_resources.structural import UNSET, Schema
from bayplan.apiserver.schema.messages import message
from bayplan.apiserver.schema.pruning import pruned
from bayplan.apiserver.schema.strictness import check

_OF_EVERY_OBJECT = ("apiVersion", "kind", "metadata")
_METADATA = message("meta.v1.ObjectMeta")


def prune(document: dict[str, Any], schema: Schema) -> tuple[dict[str, Any], list[str]]:
    """The document without unknown fields, and their paths in alphabetical order."""
    unknown: list[str] = []
    return _pruned(document, schema, "", unknown, is_object=True), sorted(unknown)


def has_unknown_fields(value: Any, schema: Schema) -> bool:
    """Whether pruning would take something out of a value that is no object of its own."""
    unknown: list[str] = []
    _pruned(value, schema, "", unknown)
    return bool(unknown)


def _pruned(value: Any, schema: Schema | None, path: str, unknown: list[str], *, is_object: bool = False) -> Any:
    if isinstance(value, dict):
        return _pruned_object(value, schema, path, unknown, is_object=is_object)
    if isinstance(value, list):
        of_items = None if schema is None else schema.items
        if schema is not None and schema.keeps_unknown and of_items is None:
            return value
        keeps = schema is not None and schema.keeps_unknown
        return [
            _pruned_item(item, of_items, f"{path}[{position}]", unknown, keeps=keeps)
            for position, item in enumerate(value)
        ]
    return value


def _pruned_item(item: Any, schema: Schema | None, path: str, unknown: list[str], *, keeps: bool) -> Any:
    """Where a list keeps unknown fields, its items do so as well, whatever their schema says."""
    if keeps and isinstance(item, dict) and schema is not None:
        return _pruned_object(item, schema, path, unknown, keeps=True)
    return _pruned(item, schema, path, unknown)


def _pruned_object(
    value: dict[str, Any],
    schema: Schema | None,
    path: str,
    unknown: list[str],
    *,
    is_object: bool = False,
    keeps: bool = False,
) -> dict[str, Any]:
    is_object = is_object or (schema is not None and schema.is_embedded)
    keeps = keeps or (schema is not None and schema.keeps_unknown)
    kept: dict[str, Any] = {}
    for key, item in value.items():
        inner = None if schema is None else schema.of_field(key)
        if is_object and key in _OF_EVERY_OBJECT:
            kept[key] = _pruned_metadata(item, path, unknown) if key == "metadata" else item
        elif inner is not None:
            kept[key] = _pruned(item, inner, f"{path}.{key}" if path else key, unknown)
        elif keeps:
            kept[key] = item
        else:
            unknown.append(f"{path}.{key}" if path else key)
    return kept


def _pruned_metadata(metadata: Any, path: str, unknown: list[str]) -> Any:
    if not isinstance(metadata, dict):
        return metadata
    strange = check(metadata, _METADATA).strict
    if not strange:
        return metadata
    prefix = f"{path}.metadata." if path else "metadata."
    unknown.extend(prefix + fault.removeprefix('unknown field "').removesuffix('"') for fault in strange)
    return pruned(metadata, _METADATA)


def without_nulls(value: Any, schema: Schema | None) -> Any:
    """Without nulls under keys that may not be null and have no default to take their place."""
    if schema is None:
        return value
    if isinstance(value, dict):
        return {
            key: without_nulls(item, schema.of_field(key))
            for key, item in value.items()
            if not (item is None and _drops_null(schema.of_field(key)))
        }
    return [without_nulls(item, schema.items) for item in value] if isinstance(value, list) else value


def _drops_null(schema: Schema | None) -> bool:
    return schema is not None and not schema.is_nullable and schema.default in (UNSET, None)
