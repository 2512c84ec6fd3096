"""Bodies in protobuf, as clients send them with `application/vnd.kubernetes.protobuf`: decoded to documents.

Takes the bytes of a request; gives the document that the same object would be in JSON, apiVersion and kind first. What
a Go client cannot leave out of protobuf (zeros, empty strings) and JSON would not show is left out. Bytes that are no
such body, or of a kind that is not built in, raise `UndecodableBody`. The other way round: `protobuf_encoding`.
"""

import base64
import json
from collections.abc import Callable
from typing import Any

import msgspec
from google.protobuf.message import DecodeError
from google.protobuf.message import Message as ProtobufMessage

from bayplan.apiserver.schema.messages import Field, message, message_of
from bayplan.apiserver.schema.protobuf_types import SPECIAL_PREFIX, class_of, own_fields
from bayplan.apiserver.schema.versions import cached_by_version
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time

PREFIX = b"k8s\x00"
Document = dict[str, Any]
_Converter = Callable[[Any], Any]


class UndecodableBody(ValueError):  # noqa: N818
    """Says why in the server's words; names the object's type if the body got that far."""

    def __init__(self, why: str, api_version: str = "", kind: str = "") -> None:
        super().__init__(why)
        self.api_version = api_version
        self.kind = kind


class _FieldPlan(msgspec.Struct, frozen=True):
    name: str  # in JSON; empty: a message whose fields are among those of the outer one
    convert: _Converter
    drops: tuple[Any, ...] = ()  # values that JSON does not show


def decode(body: bytes, api_version: str = "", kind: str = "") -> Document:
    """The document in this body; apiVersion and kind are taken from the arguments where the body does not say."""
    if not body:
        raise UndecodableBody("empty data")
    if not body.startswith(PREFIX):
        prefix = " ".join(str(byte) for byte in PREFIX)
        why = f"provided data does not appear to be a protobuf message, expected prefix [{prefix}]"
        raise UndecodableBody(why)
    if len(body) == len(PREFIX):
        raise UndecodableBody("empty body")
    envelope = _parse(f"{SPECIAL_PREFIX}.Unknown", body[len(PREFIX) :])
    type_meta, raw = envelope.f1, envelope.f2
    api_version = _text(type_meta.f1) or api_version
    kind = _text(type_meta.f2) or kind
    found = message_of(api_version, kind)
    if found is None:
        raise UndecodableBody(f'no kind "{kind}" is registered for version "{api_version}"', api_version, kind)
    try:
        fields = _object(found.name, _parse(found.name, raw))
    except ValueError as error:  # broken protobuf, a key that is not UTF-8, or JSON inside that is none
        raise UndecodableBody(str(error), api_version, kind) from error
    return {"apiVersion": api_version, "kind": kind, **fields}


def _parse(name: str, data: bytes) -> Any:
    parsed = class_of(name)()
    try:
        parsed.ParseFromString(data)
    except DecodeError as error:
        raise UndecodableBody("unexpected EOF") from error
    return parsed


def _object(name: str, parsed: ProtobufMessage) -> Document:
    plan = _plan(name)
    found: Document = {}
    for descriptor, value in parsed.ListFields():
        field = plan[descriptor.number]
        converted = field.convert(value)
        if not field.name:
            found.update(converted)
        elif converted not in field.drops:
            found[field.name] = converted
    return found


@cached_by_version
def _plan(name: str) -> dict[int, _FieldPlan]:
    """How to convert each field of a type, by its number."""
    whole = message(name)
    plan = {field.number: _FieldPlan(field.name, _converter(field), _drops(field)) for field in own_fields(whole)}
    return plan | {one.number: _FieldPlan("", _item_converter(one.type)) for one in whole.inlined}


def _drops(field: Field) -> tuple[Any, ...]:
    if field.container or field.pointer or field.always_present:
        return ()
    # A time has no zero in JSON but null; the other types have theirs.
    return (None, {}, "", 0, False)


def _converter(field: Field) -> _Converter:
    convert = _item_converter(field.type)
    if field.container == "list":
        return lambda values: [convert(value) for value in values]
    if field.container == "map":
        return lambda values: {_text(key): convert(value) for key, value in sorted(values.items(), key=_first_text)}
    return convert


def _item_converter(type_name: str) -> _Converter:
    if type_name in _CONVERTERS:
        return _CONVERTERS[type_name]
    return lambda value: _object(type_name, value)


def _as_it_is(value: Any) -> Any:
    return value


def _text(value: str | bytes) -> str:
    """Text that is not UTF-8 comes as bytes; Go puts a replacement character for what it cannot read."""
    return value if isinstance(value, str) else value.decode(errors="replace")


def _first_text(entry: tuple[str | bytes, Any]) -> str:
    return _text(entry[0])


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _time(value: Any) -> str | None:
    return format_time(value.f1 * SECOND) if value.f1 or value.f2 else None


def _micro_time(value: Any) -> str | None:
    time = _time(value)
    return time and f"{time[:-1]}.{value.f2 // 1000:06}Z"


def _int_or_string(value: Any) -> int | str:
    number: int = value.f2
    return _text(value.f3) if value.f1 else number


def _raw_json(value: Any) -> Any:
    """A document inside another one: JSON, or protobuf with an envelope of its own."""
    raw: bytes = value.f1
    if raw.startswith(PREFIX):
        return decode(raw)
    return json.loads(raw) if raw else None


def _schema(value: ProtobufMessage) -> Document:
    return _object("apiextensions.v1.JSONSchemaProps", value)


def _schema_or_array(value: Any) -> Any:
    return [_schema(each) for each in value.f2] or (_schema(value.f1) if value.HasField("f1") else None)


def _schema_or_bool(value: Any) -> Any:
    return _schema(value.f2) if value.HasField("f2") else value.f1


def _schema_or_strings(value: Any) -> Any:
    return [_text(item) for item in value.f2] or (_schema(value.f1) if value.HasField("f1") else None)


_CONVERTERS: dict[str, _Converter] = {
    "string": _text,
    "bool": _as_it_is,
    "int32": _as_it_is,
    "int64": _as_it_is,
    "double": _as_it_is,
    "bytes": _base64,
    "ExtraValue": lambda value: [_text(item) for item in value.f1],
    "FieldsV1": _raw_json,
    "IntOrString": _int_or_string,
    "JSON": _raw_json,
    "JSONSchemaPropsOrArray": _schema_or_array,
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrStringArray": _schema_or_strings,
    "MicroTime": _micro_time,
    "Quantity": lambda value: _text(value.f1),
    "RawExtension": _raw_json,
    "Time": _time,
}
