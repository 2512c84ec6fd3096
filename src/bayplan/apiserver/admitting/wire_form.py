"""What remains of a client's document once it has been read into a server's types and written out again.

Takes a document and the name of its message; gives a new document, sharing nothing that can change with the old
one, so that whoever gets it may complete it in place. Fields that are unknown or null go, and so do zero values that
the type leaves out (`hostNetwork: false`); those that it always shows are added (`resources: {}`). Quantities
and times get their one way of being written. That the types are right is checked before
(`apiserver.schema.strictness`).
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from bayplan.apiserver.admitting.documents import Document, Sparse
from bayplan.apiserver.admitting.quantities import canonical, canonical_amount
from bayplan.apiserver.schema.messages import ZERO_OF_SCALAR, Field, message
from bayplan.apiserver.schema.versions import cached_by_version
from bayplan.model.timestamps import format_time, parse_time

_LEFT_OUT = object()
_SECONDS_LENGTH = len("2006-01-02T15:04:05Z")
_RECURSIVE = frozenset({"apiextensions.v1.JSONSchemaProps"})
_ZERO_TEXTS = {"Quantity": "0", "Duration": "0s", "bytes": ""}

_Action: TypeAlias = Callable[[Any], Any]


class _Form(NamedTuple):
    """How a message is written: what happens to each field, and what is shown of those that are missing."""

    actions: dict[str, _Action]
    always: tuple[tuple[str, Callable[[], Any]], ...]


def in_wire_form(document: Document, message_name: str) -> Document:
    """The document as a server would write it."""
    return _written(document, _form(message_name))


def _written(document: Document, form: _Form) -> Document:
    made: Document = {}
    emptied = [*document.emptied] if isinstance(document, Sparse) else []
    actions = form.actions
    for name, value in document.items():
        if value is not None:
            action = actions.get(name)
            if action is not None:
                kept = action(value)
                if kept is not _LEFT_OUT:
                    made[name] = kept
                elif isinstance(value, list | dict):
                    emptied.append(name)
    if emptied:
        made = Sparse(made, frozenset(emptied))
    for name, make in form.always:
        if name not in made:
            made[name] = make()
    return made


@cached_by_version
def _form(message_name: str) -> _Form:
    fields = {name: field for name, field in message(message_name).fields.items() if not field.is_off}
    actions = {name: _action(field) for name, field in fields.items()}
    always = tuple((name, _absent(field)) for name, field in fields.items() if field.always_present)
    return _Form(actions, always)


def _absent(field: Field) -> Callable[[], Any]:
    value = field.absent_value
    if value is not None:
        value = _ZERO_TEXTS.get(field.type, value)
    if value == {}:
        return lambda: _written({}, _form(field.type))
    return lambda: value


def _action(field: Field) -> _Action:
    if field.container == "list":
        return _list_action(_one(field), _zero(field), [] if field.always_present else _LEFT_OUT)
    if field.container == "map":
        one = canonical_amount if field.type == "Quantity" else _one(field)
        return _map_action(one, _zero(field), {} if field.always_present else _LEFT_OUT)
    one = _one(field)
    if field.pointer or field.always_present:
        return one or _same
    return _omitting(one)


def _one(field: Field) -> _Action | None:
    """What happens to one value of the field's type; None if nothing does."""
    if field.type == "Quantity":
        return canonical
    if field.type == "Time":
        return _time
    if field.type == "bytes":
        return _encoded
    if not field.is_message:
        return None
    name = field.type
    return lambda value: _written(value, _form(name))


def empty_as_null(document: Document, message_name: str) -> None:
    """Makes null, in place, of lists and maps that are always shown and have nothing in them, as storing them does."""
    for name, is_always, below in _shown_containers(message_name):
        value = document.get(name)
        if value is None:
            continue
        if is_always and not value:
            document[name] = None
        elif below and isinstance(value, list):
            for item in value:
                empty_as_null(item, below)
        elif below:
            empty_as_null(value, below)


@cached_by_version
def _shown_containers(message_name: str) -> tuple[tuple[str, bool, str], ...]:
    """Fields of a message that are, or contain, lists and maps that are always shown: name, whether it is one, type."""
    found = []
    for name, field in message(message_name).fields.items():
        is_always = bool(field.container) and field.always_present
        # No type that contains itself has such a field below, and no map of messages.
        leads_on = field.is_message and field.container != "map" and field.type not in _RECURSIVE
        below = field.type if leads_on and _shown_containers(field.type) else ""
        if is_always or below:
            found.append((name, is_always, below))
    return tuple(found)


def _same(value: Any) -> Any:
    return value


def _omitting(one: _Action | None) -> _Action:
    if one is None:
        return lambda value: value or _LEFT_OUT
    return lambda value: one(value) or _LEFT_OUT


def _zero(field: Field) -> Any:
    """What null is read as where it stands among others: the zero of their type."""
    return {} if field.is_message else _ZERO_TEXTS.get(field.type, ZERO_OF_SCALAR.get(field.type))


def _list_action(one: _Action | None, zero: Any, empty: Any) -> _Action:
    if one is None:
        return lambda values: [zero if value is None else value for value in values] if values else empty
    return lambda values: [one(zero if value is None else value) for value in values] if values else empty


def _map_action(one: _Action | None, zero: Any, empty: Any) -> _Action:
    if one is None:
        return lambda values: (
            {key: zero if value is None else value for key, value in values.items()} if values else empty
        )
    return lambda values: (
        {key: one(zero if value is None else value) for key, value in values.items()} if values else empty
    )


def _encoded(value: str | list[int | None]) -> str:
    """Bytes as text, if they were written one by one."""
    if isinstance(value, str):
        return value
    return base64.b64encode(bytes(one or 0 for one in value)).decode()


def _time(text: str) -> str:
    if len(text) == _SECONDS_LENGTH and text[-1] == "Z":
        return text
    return format_time(parse_time(text))
