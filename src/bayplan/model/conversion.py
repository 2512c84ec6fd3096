"""Plain values (maps, lists, scalars) as structs, with every mismatch reported at its path.

msgspec converts what is right, fast; it stops at the first mismatch and knows no nulls where Kubernetes allows
them. Only then is the value walked here along the struct's types: a null field is as good as absent, a null in
a map or list is the zero of its type, as Go decodes it, and each value of a wrong type becomes a fault.
"""

import types
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

FieldFault = tuple[str, str]
"""Where in the object, such as `spec.containers[0].image`, and what is wrong there."""

S = TypeVar("S", bound=msgspec.Struct)


def convert(value: Any, struct: type[S]) -> tuple[S, list[FieldFault]]:
    """The value as a struct, and all its faults; with faults, wrong values are left at their defaults."""
    try:
        return msgspec.convert(value, struct), []
    except (msgspec.ValidationError, TypeError):
        faults: list[FieldFault] = []
        return msgspec.convert(_cleaned(value, struct, "", faults), struct), faults


def _cleaned(value: Any, wanted: Any, path: str, faults: list[FieldFault]) -> Any:
    """The value as msgspec will accept it; a value of the wrong type is reported and replaced by its zero."""
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _cleaned_struct(value, wanted, path, faults)
    origin = get_origin(wanted)
    if origin is list:
        return _cleaned_list(value, get_args(wanted)[0], path, faults)
    if origin is dict:
        return _cleaned_map(value, get_args(wanted)[1], path, faults)
    if origin is Annotated:
        return _cleaned_integer(value, wanted, path, faults)
    if origin in (Union, types.UnionType):
        return _cleaned_union(value, get_args(wanted), path, faults)
    return _cleaned_scalar(value, (wanted,), path, faults)


def _cleaned_struct(value: Any, struct: type[msgspec.Struct], path: str, faults: list[FieldFault]) -> Any:
    if not isinstance(value, dict):
        faults.append((path, f"expected an object, got {described(value)}"))
        return {}
    known = _fields(struct)
    return {
        name: _cleaned(item, known[name], f"{path}.{name}" if path else name, faults)
        for name, item in value.items()
        if name in known and item is not None
    }


def _cleaned_list(value: Any, wanted: Any, path: str, faults: list[FieldFault]) -> list[Any]:
    if not isinstance(value, list | tuple):
        faults.append((path, f"expected a list, got {described(value)}"))
        return []
    return [
        _zero(wanted) if item is None else _cleaned(item, wanted, f"{path}[{position}]", faults)
        for position, item in enumerate(value)
    ]


def _cleaned_map(value: Any, wanted: Any, path: str, faults: list[FieldFault]) -> dict[str, Any]:
    if not isinstance(value, dict):
        faults.append((path, f"expected an object, got {described(value)}"))
        return {}
    cleaned = {}
    for key, item in value.items():
        if not isinstance(key, str):
            faults.append((path, f"expected a string as the key, got {described(key)}"))
        elif item is None:
            cleaned[key] = _zero(wanted)
        else:
            cleaned[key] = _cleaned(item, wanted, f"{path}[{key}]", faults)
    return cleaned


def _cleaned_integer(value: Any, wanted: Any, path: str, faults: list[FieldFault]) -> Any:
    number = _cleaned_scalar(value, (int,), path, faults)
    bounds = wanted.__metadata__[0]
    if bounds.ge <= number <= bounds.le:
        return number
    faults.append((path, f"{number} is not in the range {bounds.ge} to {bounds.le}"))
    return 0


def _cleaned_union(value: Any, members: tuple[Any, ...], path: str, faults: list[FieldFault]) -> Any:
    present = tuple(member for member in members if member is not type(None))
    if len(present) == 1:
        return _cleaned(value, present[0], path, faults)
    scalars = tuple(int if get_origin(member) is Annotated else member for member in present)
    return _cleaned_scalar(value, scalars, path, faults)


def _cleaned_scalar(value: Any, wanted: tuple[type, ...], path: str, faults: list[FieldFault]) -> Any:
    if type(value) in wanted:
        return value
    if int in wanted and isinstance(value, float) and value.is_integer():
        return int(value)
    # Other YAML readers turn times into datetime objects; ours never does, but objects may come from elsewhere.
    if str in wanted and hasattr(value, "isoformat"):
        text = str(value.isoformat())
        return text if getattr(value, "tzinfo", None) is not None else f"{text}Z"
    expected = " or ".join(_TYPE_NAMES[kind] for kind in wanted)
    faults.append((path, f"expected {expected}, got {described(value)}"))
    return _zero(wanted[0])


_TYPE_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    dict: "an object",
    list: "a list",
    type(None): "null",
}


def described(value: Any) -> str:
    """What a value is, for a message: `a list`, `an integer (5)`."""
    name = _TYPE_NAMES.get(type(value), type(value).__name__)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
        return f"{name} ({shown})"
    return name


def _zero(wanted: Any) -> Any:
    origin = get_origin(wanted)
    if origin is Annotated:
        return 0
    if origin in (Union, types.UnionType):
        members = get_args(wanted)
        # The zero of a quantity is a number, as empty text is none.
        return None if type(None) in members else 0
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return {}
    return (origin or wanted)()


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
