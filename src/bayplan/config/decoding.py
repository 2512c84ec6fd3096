"""Plain data to structs, strictly, with every fault and its path.

Takes what a YAML or JSON document holds and a msgspec struct type, gives an instance. msgspec's own
conversion stops at the first fault and drops unknown fields of the model's structs; this one goes on with
the default value, so that all faults are found in one pass, and refuses every unknown field. An explicit
null means "not given", as in Go. What values mean is not checked here.
"""

from __future__ import annotations

import base64
import binascii
import types
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET

from bayplan.config.faults import Faults, child, element
from bayplan.model.durations import Duration, parse_duration

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

StructT = TypeVar("StructT", bound=msgspec.Struct)


def decode_struct(struct: type[StructT], data: Any, path: str, faults: Faults) -> StructT:
    """An instance of `struct`; what could not be read has its default value and a fault."""
    if not isinstance(data, dict):
        faults.add(path, _expected("object", data))
        return struct()
    known = {field.encode_name: field for field in msgspec.structs.fields(struct)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        field = known.get(key)
        if field is None:
            faults.add(child(path, str(key)), "unknown field")
        elif value is not None:
            decoded = _decode(field.type, value, child(path, key), faults)
            if decoded is not UNSET:
                values[field.name] = decoded
    return struct(**values)


def _decode(kind: Any, value: Any, path: str, faults: Faults) -> Any:
    """The value as `kind`, or UNSET where that is impossible."""
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin is Annotated:
        base, *notes = get_args(kind)
        return _within(notes, _decode(base, value, path, faults), path, faults)
    if origin in (Union, types.UnionType):
        return _decode(_without_none(kind), value, path, faults)
    if origin in (list, tuple):
        return _decode_list(kind, value, path, faults)
    if origin is dict:
        return _decode_map(kind, value, path, faults)
    if issubclass(kind, msgspec.Struct):
        return (
            decode_struct(kind, value, path, faults)
            if isinstance(value, dict)
            else _wrong("object", value, path, faults)
        )
    return _SCALARS[kind](value, path, faults)


def _decode_list(kind: Any, value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, list | tuple):
        return _wrong("list", value, path, faults)
    item_kind = get_args(kind)[0]
    decoded = [_decode(item_kind, item, element(path, i), faults) for i, item in enumerate(value)]
    return get_origin(kind)(item for item in decoded if item is not UNSET)


def _decode_map(kind: Any, value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, dict):
        return _wrong("object", value, path, faults)
    value_kind = get_args(kind)[1]
    decoded = {str(key): _decode(value_kind, item, child(path, str(key)), faults) for key, item in value.items()}
    return {key: item for key, item in decoded.items() if item is not UNSET}


def _decode_string(value: Any, path: str, faults: Faults) -> Any:
    return value if isinstance(value, str) else _wrong("string", value, path, faults)


def _decode_bool(value: Any, path: str, faults: Faults) -> Any:
    return value if isinstance(value, bool) else _wrong("boolean", value, path, faults)


def _decode_int(value: Any, path: str, faults: Faults) -> Any:
    # bool is a kind of int in Python, but not in JSON.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return _wrong("integer", value, path, faults)


def _decode_float(value: Any, path: str, faults: Faults) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return _wrong("number", value, path, faults)


def _decode_duration(value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, str):
        return _wrong("duration such as 10s", value, path, faults)
    try:
        return parse_duration(value)
    except ValueError as error:
        faults.add(path, str(error))
        return UNSET


def _decode_bytes(value: Any, path: str, faults: Faults) -> Any:
    if not isinstance(value, str):
        return _wrong("base64 string", value, path, faults)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error:
        faults.add(path, "not base64")
        return UNSET


_SCALARS: dict[Any, Callable[[Any, str, Faults], Any]] = {
    str: _decode_string,
    bool: _decode_bool,
    int: _decode_int,
    float: _decode_float,
    bytes: _decode_bytes,
    Duration: _decode_duration,
}


def _within(notes: list[Any], value: Any, path: str, faults: Faults) -> Any:
    for note in notes:
        if value is UNSET or not isinstance(note, msgspec.Meta):
            continue
        too_small = note.ge is not None and value < note.ge
        too_large = note.le is not None and value > note.le
        if too_small or too_large:
            faults.invalid(path, value, f"not in valid range [{note.ge}, {note.le}]")
            return UNSET
    return value


def _without_none(union: Any) -> Any:
    (kind,) = [option for option in get_args(union) if option is not type(None)]
    return kind


def _wrong(expected: str, value: Any, path: str, faults: Faults) -> Any:
    faults.add(path, _expected(expected, value))
    return UNSET


def _expected(expected: str, value: Any) -> str:
    return f"expected {expected}, got {_json_type(value)}"


def _json_type(value: Any) -> str:
    names = {dict: "object", list: "list", str: "string", bool: "boolean", int: "integer", float: "number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
