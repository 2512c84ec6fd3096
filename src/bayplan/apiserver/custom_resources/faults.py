"""Faults of custom resources as causes, in the words of the API server.

A path is written as clients know it (`spec.ports[0]`); the object as a whole is `<nil>`, as upstream writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import shown as shown_as_json
from bayplan.apiserver.json_paths import value_text
from bayplan.store.errors import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    UNSUPPORTED,
    StatusCause,
    field_cause,
)

TYPE_INVALID: Final = "FieldValueTypeInvalid"
WHOLE: Final = "<nil>"
"""Where a fault is that concerns the object as a whole."""


def shown(value: Any) -> str:
    """A value in a message: text in quotes, numbers as they are, anything else as JSON."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "null" if value is None else value_text(value)


def _at(path: str) -> str:
    return path.removeprefix(".") or WHOLE


def invalid(path: str, value: Any, detail: str) -> StatusCause:
    return field_cause(INVALID, _at(path), f"{shown(value)}: {detail}")


def invalid_internal(path: str, part: dict[str, Any], type_name: str, detail: str) -> StatusCause:
    """Of a part of a definition, which is shown as the server's own type."""
    return field_cause(INVALID, _at(path), f"{shown_as_json(internal(part, type_name))}: {detail}")


def invalid_part(path: str, detail: str) -> StatusCause:
    """Of an object or a list, which is not shown."""
    return field_cause(INVALID, _at(path), detail)


def type_invalid(path: str, value: str, detail: str) -> StatusCause:
    return StatusCause(TYPE_INVALID, f"Invalid value: {shown(value)}: {detail}", _at(path))


def required(path: str, detail: str = "") -> StatusCause:
    return StatusCause(REQUIRED, f"Required value: {detail}" if detail else "Required value", _at(path))


def forbidden(path: str, detail: str) -> StatusCause:
    return field_cause(FORBIDDEN, _at(path), detail)


def unsupported(path: str, value: Any, supported: Iterable[Any]) -> StatusCause:
    texts = (item if isinstance(item, str) else value_text(item) for item in supported)
    listed = ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    return StatusCause(UNSUPPORTED, f"Unsupported value: {shown(value)}: supported values: {listed}", _at(path))


def too_long(path: str, length_max: int) -> StatusCause:
    unit = "byte" if length_max == 1 else "bytes"
    return StatusCause(TOO_LONG, f"Too long: may not be more than {length_max} {unit}", _at(path))


def too_many(path: str, count: int, count_max: int) -> StatusCause:
    unit = "item" if count_max == 1 else "items"
    return StatusCause(TOO_MANY, f"Too many: {count}: must have at most {count_max} {unit}", _at(path))


def duplicate(path: str, value: Any) -> StatusCause:
    return StatusCause(DUPLICATE, f"Duplicate value: {shown(value)}", _at(path))
