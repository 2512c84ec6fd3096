"""The tree of an expression, decoded from what the library hands over.

The library (cel-expr-python, the C++ implementation) parses, expands macros and checks types, in cel-go's words. Its
result comes in the protobuf encoding of `cel.expr.CheckedExpr`, of which the few messages that matter are decoded here.
Nothing is evaluated: the library has no place for values of Kubernetes' own types.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from bayplan.model.cel.values import Uint


@dataclass(frozen=True, slots=True)
class Constant:
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    operand: Node
    field: str
    test_only: bool


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    target: Node | None
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ListLiteral:
    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True)
class MapLiteral:
    entries: tuple[tuple[Node, Node, bool], ...]  # key, value, whether the entry is optional


@dataclass(frozen=True, slots=True)
class StructLiteral:
    type_name: str
    entries: tuple[tuple[str, Node, bool], ...]  # field, value, whether the entry is optional


@dataclass(frozen=True, slots=True)
class Comprehension:
    variable: str
    range: Node
    accumulator: str
    initial: Node
    condition: Node
    step: Node
    result: Node


Node: TypeAlias = Constant | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension

_Field: TypeAlias = int | bytes


def decode(checked: bytes) -> Node:
    """The tree in a serialized expression: an `Any` that holds a CheckedExpr."""
    message = _only(checked, 2)
    return _expr(_only(message, 4))


def _expr(data: bytes) -> Node:
    for number, value in _fields(data):
        if number in _DECODERS:
            assert isinstance(value, bytes)
            node: Node = _DECODERS[number](value)
            return node
    raise AssertionError("an expression of an unknown kind")


def _constant(data: bytes) -> Constant:
    number, value = next(_fields(data), (1, 0))
    match number:
        case 2:
            return Constant(bool(value))
        case 3:
            return Constant(_signed(value))
        case 4:
            assert isinstance(value, int)
            return Constant(Uint(value))
        case 5:
            assert isinstance(value, bytes)
            return Constant(struct.unpack("<d", value)[0])
        case 6:
            return Constant(_text(value))
        case 7:
            return Constant(value)
    return Constant(None)


def _ident(data: bytes) -> Ident:
    return Ident(_text(_only(data, 1)))


def _select(data: bytes) -> Select:
    fields = dict(_fields(data))
    return Select(_expr(_bytes(fields[1])), _text(fields[2]), bool(fields.get(3, 0)))


def _call(data: bytes) -> Call:
    target, function, args = None, "", []
    for number, value in _fields(data):
        if number == 1:
            target = _expr(_bytes(value))
        elif number == 2:
            function = _text(value)
        elif number == 3:
            args.append(_expr(_bytes(value)))
    return Call(function, target, tuple(args))


def _list(data: bytes) -> ListLiteral:
    elements: list[Node] = []
    optional: set[int] = set()
    for number, value in _fields(data):
        if number == 1:
            elements.append(_expr(_bytes(value)))
        elif isinstance(value, bytes):
            optional.update(_packed(value))
        else:
            optional.add(value)
    return ListLiteral(tuple(elements), frozenset(optional))


def _struct(data: bytes) -> MapLiteral | StructLiteral:
    fields = [*_fields(data)]
    entries = [dict(_fields(_bytes(value))) for number, value in fields if number == 2]
    type_name = next((_text(value) for number, value in fields if number == 1), "")
    if type_name:
        of_struct = ((_text(entry[2]), _expr(_bytes(entry[4])), bool(entry.get(5, 0))) for entry in entries)
        return StructLiteral(type_name, tuple(of_struct))
    of_map = ((_expr(_bytes(entry[3])), _expr(_bytes(entry[4])), bool(entry.get(5, 0))) for entry in entries)
    return MapLiteral(tuple(of_map))


def _comprehension(data: bytes) -> Comprehension:
    fields = dict(_fields(data))
    return Comprehension(
        variable=_text(fields.get(1, b"")),
        range=_expr(_bytes(fields[2])),
        accumulator=_text(fields[3]),
        initial=_expr(_bytes(fields[4])),
        condition=_expr(_bytes(fields[5])),
        step=_expr(_bytes(fields[6])),
        result=_expr(_bytes(fields[7])),
    )


#: By field number in `cel.expr.Expr`.
_DECODERS: dict[int, Any] = {
    3: _constant,
    4: _ident,
    5: _select,
    6: _call,
    7: _list,
    8: _struct,
    9: _comprehension,
}


def _only(data: bytes, wanted: int) -> bytes:
    return next(_bytes(value) for number, value in _fields(data) if number == wanted)


def _fields(data: bytes) -> Iterator[tuple[int, _Field]]:
    """Field numbers with their values: a number, or the bytes of whatever has a length."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, place = _varint(data, place)
            yield number, value
            continue
        size = 8 if wire_type == 1 else 4
        if wire_type == 2:
            size, place = _varint(data, place)
        yield number, data[place : place + size]
        place += size


def _packed(data: bytes) -> Iterator[int]:
    place = 0
    while place < len(data):
        number, place = _varint(data, place)
        yield number


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[place]
        place += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, place
        shift += 7


def _signed(value: _Field) -> int:
    assert isinstance(value, int)
    return value - (1 << 64) if value >= 1 << 63 else value


def _bytes(value: _Field) -> bytes:
    assert isinstance(value, bytes)
    return value


def _text(value: _Field) -> str:
    return _bytes(value).decode()
