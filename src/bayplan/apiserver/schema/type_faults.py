"""What is wrong with a document that does not fit its type, field by field and in the order of the text.

Takes JSON text or a document, and its type; gives `TypeFaults` in the words of the server's decoder: unknown fields and
fields given twice with their paths, and the first value of a wrong type as Go's JSON decoder names it. Thorough and
slow: `strictness` asks only about documents that are known to be unusual.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bayplan.apiserver.schema.go_times import time_fault
from bayplan.apiserver.schema.messages import Field, Message, message
from bayplan.model.quantity import FORMAT_MESSAGE, parse_quantity

# Upstream: sigs.k8s.io/json, kubernetes_patch.go: no more are collected.
STRICT_FAULTS_MAX = 100
_GO_NAMES = {
    "Time": "v1.Time",
    "MicroTime": "v1.MicroTime",
    "bytes": "[]uint8",
    "double": "float64",
    "ExtraValue": "v1.ExtraValue",
    "Quantity": "resource.Quantity",
}
INT_BITS = {"int32": 32, "int64": 64}
_OPAQUE = frozenset({"FieldsV1", "JSON", "RawExtension"})
SCHEMA_TYPE = "apiextensions.v1.JSONSchemaProps"
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/=\r\n]")


class TypeFaults(msgspec.Struct, frozen=True):
    wrong_type: str = ""  # refused always: "json: cannot unmarshal number into Go struct field …"
    strict: tuple[str, ...] = ()  # refused or warned about as the client asks: 'unknown field "spec.nope"'


def faults_in_text(text: bytes, whole: Message) -> TypeFaults:
    """Of a body that is valid JSON."""
    pairs = json.loads(text, object_pairs_hook=_pairs, parse_float=_Float)
    return _faults(pairs, whole)


def faults_in_document(document: dict[str, Any], whole: Message) -> TypeFaults:
    return _faults(document, whole)


def repeated_in_text(text: bytes) -> tuple[str, ...]:
    """What is said of fields given twice, in JSON of any type."""
    judge = _Judge()
    judge.anything(json.loads(text, object_pairs_hook=_pairs), _Place())
    return tuple(judge.strict)


class _Pairs(list[tuple[str, Any]]):
    """An object with all its keys, also those that come twice."""


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    """The same: each call of it lets other threads go on, while a large text is read."""
    return _Pairs(pairs)


class _Float(float):
    """A number with its text, which messages quote."""

    def __new__(cls, text: str) -> "_Float":
        made = super().__new__(cls, text)
        made.text = text
        return made

    text: str


class _Place(msgspec.Struct, frozen=True):
    """Where in a document: for strict faults with indices and keys, for Go's with the names of fields only."""

    path: str = ""
    go_path: tuple[str, ...] = ()
    struct: str = ""  # Go's name of the type that has the field

    def field(self, owner: Message, name: str) -> "_Place":
        short_name = owner.name.rpartition(".")[2]
        return _Place(self._below(name), (*self.go_path, *_inlined_in(owner, name), name), short_name)

    def key(self, key: str) -> "_Place":
        return msgspec.structs.replace(self, path=self._below(key))

    def index(self, index: int) -> "_Place":
        return msgspec.structs.replace(self, path=f"{self.path}[{index}]")

    def _below(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


class _Fatal(Exception):  # noqa: N818
    """Decoding ends here: types that decode themselves fail at once, all others when everything is read."""


def _faults(value: Any, whole: Message) -> TypeFaults:
    judge = _Judge()
    try:
        judge.message(value, whole, _Place())
    except _Fatal as fatal:
        return TypeFaults(wrong_type=str(fatal))
    return TypeFaults(judge.wrong_type, tuple(judge.strict))


class _Judge:
    def __init__(self) -> None:
        self.wrong_type = ""
        self.strict: dict[str, None] = {}  # in order, each once

    def message(self, value: Any, whole: Message, place: _Place) -> None:
        if not isinstance(value, (dict, _Pairs)):
            self._wrong(value, place, _go_name(whole.name))
            return
        for name, item, is_repeated in _entries(value):
            field = whole.fields.get(name)
            below = place.field(whole, name)
            if field is None:
                self._strict("unknown", below)
            else:
                if is_repeated:
                    self._strict("duplicate", below)
                self._field(item, field, below)

    def anything(self, value: Any, place: _Place) -> None:
        """Fields that are given twice, of a value whose type is not known."""
        if isinstance(value, _Pairs):
            for name, item, is_repeated in _entries(value):
                below = place.key(name)
                if is_repeated:
                    self._strict("duplicate", below)
                self.anything(item, below)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.anything(item, place.index(index))

    def _field(self, value: Any, field: Field, place: _Place) -> None:
        if value is None:
            return
        item_go_type = _go_type_of_items(field)
        if field.container == "list":
            self._list(value, field, place, item_go_type)
        elif field.container == "map":
            self._map(value, field, place, item_go_type)
        else:
            self._value(value, field.type, place, item_go_type)

    def _list(self, value: Any, field: Field, place: _Place, item_go_type: str) -> None:
        if isinstance(value, _Pairs) or not isinstance(value, list):
            self._wrong(value, place, field.go_type or f"[]{item_go_type}")
            return
        self.items(value, field.type, place, item_go_type)

    def items(self, values: list[Any], type_name: str, place: _Place, go_type: str = "") -> None:
        for index, item in enumerate(values):
            self._value(item, type_name, place.index(index), go_type or _go_name(type_name))

    def _map(self, value: Any, field: Field, place: _Place, item_go_type: str) -> None:
        if not isinstance(value, (dict, _Pairs)):
            self._wrong(value, place, field.go_type or f"map[string]{item_go_type}")
            return
        for key, item, is_repeated in _entries(value):
            below = place.key(key)
            if is_repeated:
                self._strict("duplicate", below)
            self._value(item, field.type, below, item_go_type)

    def _value(self, value: Any, type_name: str, place: _Place, go_type: str) -> None:
        if value is None or type_name in _OPAQUE:
            return
        if type_name in {"Quantity", "IntOrString", "Time", "MicroTime"}:
            _decode_itself(value, type_name, place)
        elif type_name.startswith("JSONSchemaPropsOr"):
            _decode_schema(value, type_name, place)
        elif type_name in _SCALAR_RULES:
            self._scalar(value, type_name, place, go_type)
        elif type_name == "ExtraValue":
            self._list(value, Field("", "string", go_type=go_type), place, "string")
        else:
            self.message(value, message(type_name), place)

    def _scalar(self, value: Any, type_name: str, place: _Place, go_type: str) -> None:
        if type_name == "bytes" and isinstance(value, list) and not isinstance(value, _Pairs):
            self._bytes(value, place)
        elif type(value) not in _SCALAR_RULES[type_name]:
            self._wrong(value, place, go_type)
        elif type_name in INT_BITS and not _fits_bits(value, INT_BITS[type_name]):
            self._wrong(value, place, go_type, number_text=_number_text(value))
        elif type_name == "bytes":
            self.wrong_type = self.wrong_type or base64_fault(value)

    def _bytes(self, values: list[Any], place: _Place) -> None:
        """Written one by one, as Go takes them too."""
        for index, value in enumerate(values):
            if type(value) is not int and value is not None:
                text = _number_text(value) if _kind(value) == "number" else ""
                self._wrong(value, place.index(index), "uint8", number_text=text)
            elif value is not None and not 0 <= value < 256:
                self._wrong(value, place.index(index), "uint8", number_text=_number_text(value))

    def _wrong(self, value: Any, place: _Place, go_type: str, number_text: str = "") -> None:
        self.wrong_type = self.wrong_type or _cannot_unmarshal(value, place, go_type, number_text)

    def _strict(self, why: str, place: _Place) -> None:
        if len(self.strict) < STRICT_FAULTS_MAX:
            self.strict[f"{why} field {json.dumps(place.path, ensure_ascii=False)}"] = None


_SCALAR_RULES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "bool": (bool,),
    "int32": (int, float, _Float),
    "int64": (int, float, _Float),
    "double": (int, float, _Float),
    "bytes": (str,),
}


def _entries(value: "dict[str, Any] | _Pairs") -> Iterator[tuple[str, Any, bool]]:
    """Keys, values, and whether the key has come before."""
    pairs: Iterable[tuple[str, Any]] = value.items() if isinstance(value, dict) else value
    seen = set()
    for key, item in pairs:
        yield key, item, key in seen
        seen.add(key)


def _decode_itself(value: Any, type_name: str, place: _Place) -> None:
    """Types with a decoder of their own in Go, whose errors end everything."""
    if type_name == "Quantity":
        _check_quantity(value)
    elif type_name == "IntOrString":
        if not isinstance(value, str) and not (type(value) is int and _fits_bits(value, 32)):
            text = _number_text(value) if _kind(value) == "number" else ""
            raise _Fatal(_cannot_unmarshal(value, place, "int32", text))
    elif not isinstance(value, str):
        raise _Fatal(_cannot_unmarshal(value, place, "string"))
    elif fault := time_fault(value, micro=type_name == "MicroTime"):
        raise _Fatal(fault)


def _decode_schema(value: Any, type_name: str, place: _Place) -> None:
    """A JSON schema or something else instead; Go decodes these without being strict."""
    judge = _Judge()
    if isinstance(value, (dict, _Pairs)):
        judge.message(value, message(SCHEMA_TYPE), place)
    elif type_name == "JSONSchemaPropsOrBool" and not isinstance(value, bool):
        raise _Fatal("boolean or JSON schema expected")
    elif isinstance(value, list):
        item_type = "string" if type_name == "JSONSchemaPropsOrStringArray" else SCHEMA_TYPE
        judge.items(value, item_type, place)
    if judge.wrong_type:
        raise _Fatal(judge.wrong_type)


def _check_quantity(value: Any) -> None:
    if _kind(value) not in {"string", "number"}:
        raise _Fatal(FORMAT_MESSAGE)
    try:
        parse_quantity(value.text if isinstance(value, _Float) else value)
    except ValueError as error:
        raise _Fatal(str(error)) from error


def _cannot_unmarshal(value: Any, place: _Place, go_type: str, number_text: str = "") -> str:
    what = f"number {number_text}" if number_text else _kind(value)
    if not place.go_path:
        return f"json: cannot unmarshal {what} into Go value of type {go_type}"
    return (
        f"json: cannot unmarshal {what} into Go struct field {place.struct}.{'.'.join(place.go_path)} of type {go_type}"
    )


def _kind(value: Any) -> str:
    if isinstance(value, (dict, _Pairs)):
        return "object"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "number"


def _fits_bits(value: Any, bits: int) -> bool:
    return isinstance(value, int) and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _number_text(value: Any) -> str:
    text: str = value.text if isinstance(value, _Float) else str(value)
    return text


def base64_fault(text: str) -> str:
    """What Go says of a text that is not base64; empty if it is."""
    bad = _NOT_BASE64.search(text)
    letters = text.replace("\r", "").replace("\n", "").rstrip("=")
    padding = -len(letters) % 4
    if bad is None and padding < 3 and text.count("=") == padding:
        return ""
    return f"illegal base64 data at input byte {bad.start() if bad else len(letters) // 4 * 4}"


def _go_type_of_items(field: Field) -> str:
    """Go's name of the type of a field, or of its items."""
    if not field.container:
        return field.go_type or _go_name(field.type)
    for start in ("[]", "map[string]"):
        if field.go_type.startswith(start):
            return field.go_type.removeprefix(start)
    return _go_name(field.type)


def _go_name(type_name: str) -> str:
    """ "core.v1.PodSpec" is v1.PodSpec in Go."""
    return _GO_NAMES.get(type_name) or type_name.partition(".")[2] or type_name


def _inlined_in(owner: Message, name: str) -> list[str]:
    """The type whose field this is, if it is an inlined one: Go names it on the way."""
    for one in owner.inlined:
        inner = message(one.type)
        if name in inner.fields:
            return [one.type.rpartition(".")[2], *_inlined_in(inner, name)]
    return []
