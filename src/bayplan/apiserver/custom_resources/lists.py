"""Lists that are sets or maps hold nothing twice; embedded objects say what they are.

These hold for the whole document, beside what the schema says about values.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bayplan.apiserver.custom_resources.faults import duplicate, invalid, required
from bayplan.apiserver.custom_resources.structural import Schema
from bayplan.store.errors import StatusCause


def list_faults(value: Any, schema: Schema | None, path: str = "") -> Iterator[StatusCause]:
    """Items that a set or a map has twice; each is reported once."""
    if schema is None:
        return
    if isinstance(value, list):
        yield from _repeated(value, schema, path)
    for inner_path, item, inner in _inner(value, schema, path):
        yield from list_faults(item, inner, inner_path)


def embedded_faults(value: Any, schema: Schema | None, path: str = "") -> Iterator[StatusCause]:
    """Embedded objects without apiVersion or kind."""
    if schema is None:
        return
    if schema.is_embedded and isinstance(value, dict):
        yield from (_identity_faults(value, path))
    for inner_path, item, inner in _inner(value, schema, path):
        yield from embedded_faults(item, inner, inner_path)


def _inner(value: Any, schema: Schema, path: str) -> Iterator[tuple[str, Any, Schema | None]]:
    if isinstance(value, dict):
        for key, item in value.items():
            is_property = key in schema.properties
            yield f"{path}.{key}" if is_property else f"{path}[{key}]", item, schema.of_field(key)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield f"{path}[{position}]", item, schema.items


def _identity_faults(value: dict[str, Any], path: str) -> Iterator[StatusCause]:
    for field in ("apiVersion", "kind"):
        if field not in value:
            yield required(f"{path}.{field}")
        elif not isinstance(value[field], str):
            yield invalid(f"{path}.{field}", value[field], "must be a string")
        elif not value[field]:
            yield invalid(f"{path}.{field}", "", "must not be empty")


def _repeated(items: list[Any], schema: Schema, path: str) -> Iterator[StatusCause]:
    if schema.list_type == "set":
        keys = items
    elif schema.list_type == "map":
        strange = next((place for place, item in enumerate(items) if not isinstance(item, dict | None)), None)
        if strange is not None:
            detail = "must be an object for an array of list-type map"
            yield invalid(f"{path}[{strange}]", items[strange], detail)
            return
        keys = [{key: (item or {})[key] for key in schema.list_map_keys if key in (item or {})} for item in items]
    else:
        return
    times: dict[str, int] = {}
    for position, key in enumerate(keys):
        text = json.dumps(key, sort_keys=True)
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:
            yield duplicate(f"{path}[{position}]", key)
