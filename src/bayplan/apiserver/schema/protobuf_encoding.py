"""Documents as protobuf bodies, for clients that accept nothing else.

Takes documents of built-in types, as they are served; gives the bytes that a Go server would send, but that Go also
writes empty strings and zeros, which say nothing. Fields that a type does not have are left out. What is not built in
has no protobuf: `is_encodable` tells.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from bayplan.apiserver.schema.messages import Field, message, message_of
from bayplan.apiserver.schema.protobuf import PREFIX
from bayplan.apiserver.schema.protobuf_types import SPECIAL_PREFIX, class_of, own_fields
from bayplan.apiserver.schema.type_faults import SCHEMA_TYPE
from bayplan.apiserver.storage.entries import Document, encode_json
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time

_Made: TypeAlias = Any
"""A protobuf message; what its class is, is known only when the program runs."""


def is_encodable(api_version: str, kind: str) -> bool:
    """Whether objects of that type can be sent as protobuf."""
    return message_of(api_version, kind) is not None


def encode(document: Document) -> bytes:
    """The document in its envelope, which names its type."""
    found = message_of(document["apiVersion"], document["kind"])
    assert found is not None
    envelope: _Made = class_of(f"{SPECIAL_PREFIX}.Unknown")()
    envelope.f1.f1, envelope.f1.f2 = document["apiVersion"], document["kind"]
    envelope.f2 = _message(found.name, document)
    return PREFIX + bytes(envelope.SerializeToString())


def watch_frame(event: Document) -> bytes:
    """One event of a watch, with its length in front."""
    shown = event["object"]
    made: _Made = class_of("meta.v1.WatchEvent")()
    made.f1 = event["type"]
    made.f2.f1 = encode(shown) if is_encodable(shown["apiVersion"], shown["kind"]) else encode_json(shown)
    body = bytes(made.SerializeToString())
    return len(body).to_bytes(4, "big") + body


def _message(name: str, document: Document) -> bytes:
    made: _Made = class_of(name)()
    _fill(made, name, document)
    return bytes(made.SerializeToString())


def _fill(made: _Made, name: str, document: Document) -> None:
    whole = message(name)
    for field in own_fields(whole):
        value = document.get(field.name)
        if value is not None:
            _set(made, field, value)
    for inlined in whole.inlined:
        inner = getattr(made, f"f{inlined.number}")
        inner.SetInParent()
        _fill(inner, inlined.type, document)


def _set(made: _Made, field: Field, value: Any) -> None:
    attribute = f"f{field.number}"
    scalar, special = _SCALARS.get(field.type), _SPECIAL.get(field.type)

    def fill(inner: _Made, item: Any) -> None:
        inner.SetInParent()
        if special is None:
            _fill(inner, field.type, item)
        else:
            special(inner, item)

    if field.container == "list":
        items = getattr(made, attribute)
        if scalar is not None:
            items.extend(scalar(item) for item in value)
        else:
            for item in value:
                fill(items.add(), {} if item is None and special is None else item)
    elif field.container == "map":
        entries = getattr(made, attribute)
        for key, item in value.items():
            if scalar is not None:
                entries[key] = scalar(item)
            else:
                fill(entries[key], item)
    elif scalar is not None:
        setattr(made, attribute, scalar(value))
    else:
        fill(getattr(made, attribute), value)


def _fill_time(inner: _Made, text: str) -> None:
    seconds, nanoseconds = divmod(parse_time(text), SECOND)
    inner.f1, inner.f2 = seconds, nanoseconds


def _fill_number_or_text(inner: _Made, value: int | str) -> None:
    if isinstance(value, str):
        inner.f1, inner.f3 = 1, value
    else:
        inner.f2 = value


def _fill_text(inner: _Made, value: Any) -> None:
    inner.f1 = str(value)


def _fill_json(inner: _Made, value: Any) -> None:
    inner.f1 = encode_json(value)


def _fill_texts(inner: _Made, values: list[str]) -> None:
    inner.f1.extend(values)


def _fill_schemas(inner: _Made, value: Any) -> None:
    if isinstance(value, dict):
        _fill(inner.f1, SCHEMA_TYPE, value)
        return
    for each in value:
        _fill(inner.f2.add(), SCHEMA_TYPE, each)


def _fill_schema_or_bool(inner: _Made, value: Any) -> None:
    inner.f1 = value is not False
    if isinstance(value, dict):
        inner.f2.SetInParent()
        _fill(inner.f2, SCHEMA_TYPE, value)


def _fill_schema_or_texts(inner: _Made, value: Any) -> None:
    if isinstance(value, dict):
        _fill(inner.f1, SCHEMA_TYPE, value)
    else:
        inner.f2.extend(value)


_SCALARS: Final[dict[str, Callable[[Any], Any]]] = {
    "string": str,
    "bool": bool,
    "int32": int,
    "int64": int,
    "double": float,
    "bytes": base64.b64decode,
}
_SPECIAL: Final[dict[str, Callable[[_Made, Any], None]]] = {
    "ExtraValue": _fill_texts,
    "FieldsV1": _fill_json,
    "IntOrString": _fill_number_or_text,
    "JSON": _fill_json,
    "JSONSchemaPropsOrArray": _fill_schemas,
    "JSONSchemaPropsOrBool": _fill_schema_or_bool,
    "JSONSchemaPropsOrStringArray": _fill_schema_or_texts,
    "MicroTime": _fill_time,
    "Quantity": _fill_text,
    "RawExtension": _fill_json,
    "Time": _fill_time,
}
