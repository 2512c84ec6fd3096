"""Fields that a type does not have, dropped: what is left of a document once it has been decoded into that type."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.schema.messages import SCALARS, SPECIAL_TYPES, Field, Message, message


def pruned(document: dict[str, Any], kind: Message) -> dict[str, Any]:
    """The document without fields that its type does not have, at any depth."""
    return {name: _pruned_value(value, kind.fields[name]) for name, value in document.items() if name in kind.fields}


def _pruned_value(value: Any, field: Field) -> Any:
    if field.type in SCALARS or field.type in SPECIAL_TYPES:
        return value
    kind = message(field.type)
    if field.container == "list" and isinstance(value, list):
        return [_pruned_object(item, kind) for item in value]
    if field.container == "map" and isinstance(value, dict):
        return {key: _pruned_object(item, kind) for key, item in value.items()}
    return _pruned_object(value, kind)


def _pruned_object(value: Any, kind: Message) -> Any:
    return pruned(value, kind) if isinstance(value, dict) else value
