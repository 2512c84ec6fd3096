"""What a patch makes of an object, read into the server's types again, and how it is quoted where that fails.

A strategic merge patch is applied to values in memory, which are then converted (`converted`); the other patches are
applied to JSON (`encoded`), and their outcome is decoded like any body, and quoted whole in the refusal.
"""

from __future__ import annotations

import json
from typing import Any, Final

from bayplan.apiserver.patching.go_values import go_text, json_kind
from bayplan.apiserver.patching.lazy_json import escaped_for_html
from bayplan.apiserver.schema.go_order import in_go_order
from bayplan.apiserver.schema.go_times import time_fault
from bayplan.apiserver.schema.messages import Field, Message, message
from bayplan.apiserver.schema.type_faults import INT_BITS, base64_fault
from bayplan.model.quantity import FORMAT_MESSAGE, parse_quantity
from bayplan.store.errors import INVALID, Invalid, field_cause

_Object = dict[str, Any]

_GO_KINDS: Final = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}


class Inconvertible(ValueError):  # noqa: N818
    """A value that does not become one of the field's type; says so in the server's words."""


def undecodable_patch(shown: str, fault: str) -> Invalid:
    """The refusal of a patch whose outcome is no object of its kind."""
    cause = field_cause(INVALID, "patch", f"{json.dumps(shown, ensure_ascii=False)}: {fault}")
    return Invalid(f' "" is invalid: {cause.field}: {cause.message}', causes=[cause])


def shown_patch(patch: Any) -> str:
    """A strategic merge patch as its refusal quotes it."""
    return go_text(patch)


def converted(document: _Object, kind: Message) -> _Object:
    """The document with numbers that fit their fields; raises Inconvertible for the first value that does not.

    Unlike a decoder of JSON this takes numbers that are too large, and keeps the bits that there is room for.
    """
    # Upstream: apimachinery/pkg/runtime/converter.go fromUnstructured (v1.36).
    if not isinstance(document, dict):
        raise Inconvertible(f"cannot restore struct from: {_go_kind(document)}")
    made = dict(document)
    for name, field in kind.fields.items():
        if document.get(name) is not None:
            made[name] = _field(document[name], field)
    return made


def _field(value: Any, field: Field) -> Any:
    if field.container == "list":
        if not isinstance(value, list):
            raise Inconvertible(f"cannot restore slice from {_go_kind(value)}")
        return [item if item is None else _single(item, field) for item in value]
    if field.container == "map":
        if not isinstance(value, dict):
            raise Inconvertible(f"cannot restore map from {_go_kind(value)}")
        return {key: item if item is None else _single(item, field) for key, item in value.items()}
    return _single(value, field)


def _single(value: Any, field: Field) -> Any:
    if field.is_message:
        return converted(value, message(field.type))
    if field.type in ("string", "bool", "double", *INT_BITS):
        return _scalar(value, field)
    if field.type == "bytes":
        _check_bytes(value)
    elif field.type == "Quantity":
        _check_quantity(value)
    elif field.type in ("Time", "MicroTime"):
        _check_time(value, micro=field.type == "MicroTime")
    elif field.type in ("RawExtension", "JSON"):
        return in_go_order(value, None)
    elif field.type == "IntOrString":
        _check_int_or_string(value)
    return value


def _scalar(value: Any, field: Field) -> Any:
    wanted = "float64" if field.type == "double" else field.type
    match value:
        case bool():
            fits, convertible = wanted == "bool", wanted == "bool"
        case str():
            fits, convertible = wanted == "string", wanted == "string"
        case int():
            # Go makes a text of a number, if asked to: the character with that number.
            fits, convertible = wanted in ("float64", *INT_BITS), wanted != "bool"
        case float():
            fits = wanted == "float64" or (wanted in INT_BITS and value.is_integer())
            convertible = wanted in ("float64", *INT_BITS)
        case _:
            fits = convertible = False
    if fits:
        return _wrapped(int(value), INT_BITS[wanted]) if wanted in INT_BITS else value
    if convertible:
        raise Inconvertible(f"cannot convert {_go_kind(value)} to {field.go_type or wanted}")
    raise Inconvertible(f"unrecognized type: {wanted}")


def _wrapped(number: int, bits: int) -> int:
    half: int = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _check_bytes(value: Any) -> None:
    if isinstance(value, str):
        if fault := base64_fault(value):
            raise Inconvertible(f"error decoding from json: {fault}")
    elif not isinstance(value, list):
        raise Inconvertible(f"cannot restore slice from {_go_kind(value)}")


def _check_quantity(value: Any) -> None:
    if json_kind(value) not in ("string", "number"):
        raise Inconvertible(FORMAT_MESSAGE)
    try:
        parse_quantity(value)
    except ValueError as error:
        raise Inconvertible(str(error)) from None


def _check_time(value: Any, *, micro: bool) -> None:
    if not isinstance(value, str):
        raise Inconvertible(f"json: cannot unmarshal {json_kind(value)} into Go value of type string")
    if fault := time_fault(value, micro=micro):
        raise Inconvertible(fault)


def _check_int_or_string(value: Any) -> None:
    if isinstance(value, str) or (type(value) is int and -(2**31) <= value < 2**31):
        return
    shown = f"number {value}" if json_kind(value) == "number" else json_kind(value)
    raise Inconvertible(f"json: cannot unmarshal {shown} into Go value of type int32")


def _go_kind(value: Any) -> str:
    return _GO_KINDS[type(value)]


def encoded(document: _Object, kind: Message | None) -> str:
    """The document as Go writes its type: fields in the order of the type, keys of maps sorted."""
    return escaped_for_html(json.dumps(in_go_order(document, kind), ensure_ascii=False, separators=(",", ":")))
