"""Field validation: what in a document is not a field, is given twice, or has the wrong type, in the server's words.

Takes a document, its type, and the JSON text it was parsed from; gives `TypeFaults`. One quick pass is enough for a
document without faults; only when that stumbles is the text read again with every key kept, to say what is wrong.
Values are not validated, only types; custom resources have their own schemas and are checked elsewhere.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from bayplan.apiserver.schema.go_times import time_fault
from bayplan.apiserver.schema.messages import Field, Message, message
from bayplan.apiserver.schema.type_faults import (
    SCHEMA_TYPE,
    TypeFaults,
    faults_in_document,
    faults_in_text,
    repeated_in_text,
)
from bayplan.apiserver.schema.versions import cached_by_version
from bayplan.model.quantity import parse_quantity

NO_FAULTS = TypeFaults()
_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)
_TYPES_OF_SCALARS = {"string": str, "bool": bool}

# Counts the keys inside a value that is not null and not of the scalar type; raises _Misfit.
_Check = Callable[[Any], int]


class _Misfit(Exception):  # noqa: N818
    """Something is wrong; what, a slower pass will say."""


def check(document: dict[str, Any], whole: Message, text: bytes | None = None) -> TypeFaults:
    """Faults of a document of this type; without its JSON text no field is reported as given twice."""
    try:
        keys = _check_of_message(whole.name)(document)
    except _Misfit:
        return faults_in_text(text, whole) if text is not None else faults_in_document(document, whole)
    if text is None or _keys_written(text) == keys:
        return NO_FAULTS
    return faults_in_text(text, whole)


def repeated_fields(document: dict[str, Any], text: bytes) -> tuple[str, ...]:
    """What is said of fields given twice in a document of any type, in the order of the text."""
    return () if _keys_written(text) == _count_keys(document) else repeated_in_text(text)


def _keys_written(text: bytes) -> int:
    """How many keys a JSON text has, those given twice included; -1 if only a parser can tell."""
    if any(blank_and_colon in text for blank_and_colon in (b" :", b"\t:", b"\n:", b"\r:")):
        return -1
    # JSON inside a string (an annotation of kubectl) has its quotes escaped.
    return text.count(b'":') - text.count(b'\\":')


@cached_by_version
def _check_of_message(name: str) -> _Check:
    # Filled when first used, because types contain themselves.
    checks: dict[str, tuple[type | None, _Check]] = {}

    def check_message(value: Any) -> int:
        if type(value) is not dict:
            raise _Misfit
        if not checks:
            checks.update({field.name: _check_of_field(field) for field in message(name).fields.values()})
        keys = len(value)
        for key, item in value.items():
            found = checks.get(key)
            if found is None:
                raise _Misfit
            scalar_type, check_item = found
            if type(item) is not scalar_type and item is not None:
                keys += check_item(item)
        return keys

    return check_message


def _check_of_field(field: Field) -> tuple[type | None, _Check]:
    scalar_type, check_item = _check_of_type(field.type)
    if field.container == "list":
        return None, _check_of_list(scalar_type, check_item)
    if field.container == "map":
        return None, _check_of_map(scalar_type, check_item)
    return scalar_type, check_item


def _check_of_list(scalar_type: type | None, check_item: _Check) -> _Check:
    def check_list(value: Any) -> int:
        if type(value) is not list:
            raise _Misfit
        keys = 0
        for item in value:
            if type(item) is not scalar_type and item is not None:
                keys += check_item(item)
        return keys

    return check_list


def _check_of_map(scalar_type: type | None, check_item: _Check) -> _Check:
    def check_map(value: Any) -> int:
        if type(value) is not dict:
            raise _Misfit
        keys = len(value)
        for item in value.values():
            if type(item) is not scalar_type and item is not None:
                keys += check_item(item)
        return keys

    return check_map


def _check_of_type(type_name: str) -> tuple[type | None, _Check]:
    """A Python type whose values always pass, and the check for all others."""
    if type_name in _TYPES_OF_SCALARS:
        return _TYPES_OF_SCALARS[type_name], _misfit
    check_special = _CHECKS.get(type_name)
    return None, check_special or _check_of_message(type_name)


def _misfit(_value: Any) -> int:
    raise _Misfit


def _fits_if(fits: Callable[[Any], bool]) -> _Check:
    def check_value(value: Any) -> int:
        if not fits(value):
            raise _Misfit
        return 0

    return check_value


def _is_int32(value: Any) -> bool:
    return type(value) is int and value in _INT32


def _is_quantity(value: Any) -> bool:
    if type(value) not in {str, int, float}:
        return False
    try:
        parse_quantity(value)
    except ValueError:
        return False
    return True


def _is_base64(value: Any) -> bool:
    try:
        msgspec.convert(value, bytes)
    except msgspec.ValidationError:
        return False
    return True


def _count_keys(value: Any) -> int:
    """Of a value that may be any JSON."""
    if type(value) is dict:
        return len(value) + sum([_count_keys(item) for item in value.values() if item])
    return sum([_count_keys(item) for item in value]) if type(value) is list else 0


def _check_schema_or(other_type: type | None, check_other: _Check) -> _Check:
    """A JSON schema, or something else instead."""

    def check_value(value: Any) -> int:
        if type(value) is dict:
            return _check_of_message(SCHEMA_TYPE)(value)
        return check_other(value) if type(value) is not other_type else 0

    return check_value


_CHECKS: dict[str, _Check] = {
    "int32": _fits_if(_is_int32),
    "int64": _fits_if(lambda value: type(value) is int and value in _INT64),
    "double": _fits_if(lambda value: type(value) in {int, float}),
    "bytes": _fits_if(_is_base64),
    "ExtraValue": _check_of_list(str, _misfit),
    "FieldsV1": _count_keys,
    "IntOrString": _fits_if(lambda value: type(value) is str or _is_int32(value)),
    "JSON": _count_keys,
    "JSONSchemaPropsOrArray": _check_schema_or(None, _check_of_list(None, _check_of_message(SCHEMA_TYPE))),
    "JSONSchemaPropsOrBool": _check_schema_or(bool, _misfit),
    "JSONSchemaPropsOrStringArray": _check_schema_or(None, _check_of_list(str, _misfit)),
    "MicroTime": _fits_if(lambda value: type(value) is str and not time_fault(value, micro=True)),
    "Quantity": _fits_if(_is_quantity),
    "RawExtension": _count_keys,
    "Time": _fits_if(lambda value: type(value) is str and not time_fault(value)),
}
