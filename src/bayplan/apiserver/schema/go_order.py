"""Documents with their fields in the order in which Go writes them: that of the type, and keys of maps sorted.

Takes a document or a part of one, and its type; gives a new one. Without a type everything is sorted.
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.schema.messages import Field, Message, message


def in_go_order(value: Any, kind: Message | None) -> Any:
    """The value with its fields in the order of their type, and keys of maps sorted."""
    if isinstance(value, list):
        return [in_go_order(item, kind) for item in value]
    if not isinstance(value, dict):
        return value
    if kind is None:
        return _sorted(value)
    made = {}
    for name, field in _fields(kind).items():
        if name in value:
            below = message(field.type) if field.is_message else None
            item = value[name]
            if field.container == "map" and isinstance(item, dict):
                made[name] = {key: in_go_order(item[key], below) for key in sorted(item)}
            else:
                made[name] = in_go_order(item, below)
    return made


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _fields(kind: Message) -> dict[str, Field]:
    """Fields in Go's order: an object inside of another begins with its kind, and then its version."""
    own = [name for name in ("kind", "apiVersion") if name in kind.fields and not kind.fields[name].number]
    return {name: kind.fields[name] for name in (*own, *kind.fields)}
