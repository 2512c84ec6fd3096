"""Plain values (maps, lists, scalars) as structs, with every mismatch reported at its path.

`Conversion` walks a value along a struct's types and goes on after a mismatch, so that all are found in one pass; a
null field is as good as absent, as in Go. What counts as a mismatch beyond that, and how it is put, is for its
subclasses: the one here reads objects, `config.decoding` has the one for configurations. What values mean is not
checked here.
"""

import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET

from bayplan.model.near_matches import did_you_mean, near

FieldFault = tuple[str, str]
"""Where in the object, such as `spec.containers[0].image`, and what is wrong there."""

S = TypeVar("S", bound=msgspec.Struct)


def convert(value: Any, struct: type[S]) -> tuple[S, list[FieldFault]]:
    """The value as an object, and all its faults; with faults, the zero of its type stands for each wrong value."""
    try:
        # Fast, but stops at the first mismatch and knows no nulls where Kubernetes allows them.
        return msgspec.convert(value, struct), []
    except (msgspec.ValidationError, TypeError):
        faults: list[FieldFault] = []
        found = _ObjectConversion(lambda path, message: faults.append((path, message))).struct(struct, value, "")
        return found, faults


class Conversion:
    """A walk along the types of a struct.

    Args:
        report: takes the path and the message of each mismatch.
    """

    type_names: ClassVar[dict[type, str]]
    """What messages call the types that a value may have."""
    nulls_are_zeros: ClassVar[bool] = False
    """Whether a null in a list or map, and what could not be read, is the zero of its type; else it is left out."""

    def __init__(self, report: Callable[[str, str], None]) -> None:
        self._report = report

    def struct(self, struct: type[S], value: Any, path: str) -> S:
        """An instance of the struct; what could not be read has the zero of its type, or its default."""
        if not isinstance(value, dict):
            self._report(path, self._mismatch((dict,), value))
            return struct()
        known = _fields(struct)
        values: dict[str, Any] = {}
        for name, item in value.items():
            field = known.get(name)
            if field is None:
                self.report_unknown(child(path, str(name)))
            elif item is not None:
                values[field.name] = self._value(field.type, item, child(path, name))
        return struct(**{name: item for name, item in values.items() if item is not UNSET})

    def report_unknown(self, path: str) -> None:
        """A field that the struct does not have; ignored unless a subclass says otherwise."""

    def scalar(self, wanted: type, value: Any) -> Any:
        """The value as a scalar type, or UNSET where it is of another; ValueError says what is wrong with it."""
        if isinstance(value, bool) is not (wanted is bool):
            return UNSET
        if wanted is float and isinstance(value, int):
            return float(value)
        return value if isinstance(value, wanted) else UNSET

    def out_of_range(self, number: int, least: int, most: int) -> str:
        """The message for an integer beyond its bounds."""
        return f"{number} is not in the range {least} to {most}"

    def described(self, value: Any) -> str:
        """What a value is, for a message."""
        return self.type_names.get(type(value), type(value).__name__)

    def _value(self, wanted: Any, value: Any, path: str) -> Any:
        if wanted is Any:
            return value
        origin = get_origin(wanted)
        if origin in (list, tuple):
            return self._list(wanted, value, path)
        if origin is dict:
            return self._map(wanted, value, path)
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self.struct(wanted, value, path) if isinstance(value, dict) else self._wrong(wanted, value, path)
        members = get_args(wanted) if origin in (Union, types.UnionType) else (wanted,)
        present = [member for member in members if member is not types.NoneType]
        if len(present) == 1 and present[0] is not wanted:
            return self._value(present[0], value, path)
        return self._any_scalar(present, wanted, value, path)

    def _any_scalar(self, members: list[Any], wanted: Any, value: Any, path: str) -> Any:
        # A value that is of one of the types as it stands is not read as another.
        for member in sorted(members, key=lambda member: _base(member) is not type(value)):
            try:
                found = self.scalar(_base(member), value)
            except ValueError as error:
                self._report(path, str(error))
                return self._gap(wanted)
            if found is not UNSET:
                return self._bounded(member, found, path)
        return self._wrong(wanted, value, path)

    def _bounded(self, wanted: Any, number: Any, path: str) -> Any:
        bounds = wanted.__metadata__[0] if get_origin(wanted) is Annotated else None
        if bounds is None or bounds.ge <= number <= bounds.le:
            return number
        self._report(path, self.out_of_range(number, bounds.ge, bounds.le))
        return self._gap(wanted)

    def _list(self, wanted: Any, value: Any, path: str) -> Any:
        if not isinstance(value, list | tuple):
            return self._wrong(wanted, value, path)
        items = (self._item(get_args(wanted)[0], item, f"{path}[{i}]") for i, item in enumerate(value))
        return get_origin(wanted)([item for item in items if item is not UNSET])

    def _map(self, wanted: Any, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            return self._wrong(wanted, value, path)
        found = {}
        for key, item in value.items():
            if isinstance(key, str):
                found[key] = self._item(get_args(wanted)[1], item, f"{path}[{key}]")
            else:
                self._report(path, f"expected a string as the key, got {self.described(key)}")
        return {key: item for key, item in found.items() if item is not UNSET}

    def _item(self, wanted: Any, value: Any, path: str) -> Any:
        is_zero = value is None and self.nulls_are_zeros
        return _zero(wanted) if is_zero else self._value(wanted, value, path)

    def _gap(self, wanted: Any) -> Any:
        """What stands for a value that could not be read; UNSET leaves it out."""
        return _zero(wanted) if self.nulls_are_zeros else UNSET

    def _wrong(self, wanted: Any, value: Any, path: str) -> Any:
        members = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
        self._report(path, self._mismatch(tuple(map(_base, members)), value))
        return self._gap(wanted)

    def _mismatch(self, wanted: tuple[type, ...], value: Any) -> str:
        expected = " or ".join(self.type_names[kind] for kind in wanted if kind is not types.NoneType)
        return f"expected {expected}, got {self.described(value)}"


class _ObjectConversion(Conversion):
    """Of Kubernetes objects: a null in a map or list is the zero of its type, as Go decodes it."""

    type_names: ClassVar[dict[type, str]] = {
        str: "a string",
        int: "an integer",
        float: "a number",
        bool: "true or false",
        dict: "an object",
        list: "a list",
        types.NoneType: "null",
    }

    nulls_are_zeros: ClassVar[bool] = True

    def struct(self, struct: type[S], value: Any, path: str) -> S:
        if struct.__struct_config__.forbid_unknown_fields and isinstance(value, dict):
            known = _fields(struct)
            for name in value:
                if name not in known:
                    self._report(child(path, str(name)), f"unknown field{did_you_mean(near(str(name), known))}")
        return super().struct(struct, value, path)

    def scalar(self, wanted: type, value: Any) -> Any:
        if wanted is int and isinstance(value, float) and value.is_integer():
            return int(value)
        # Other YAML readers turn times into datetime objects; ours never does, but objects may come from elsewhere.
        if wanted is str and hasattr(value, "isoformat"):
            text = str(value.isoformat())
            return text if getattr(value, "tzinfo", None) is not None else f"{text}Z"
        return super().scalar(wanted, value)

    def described(self, value: Any) -> str:
        return described(value)


def described(value: Any) -> str:
    """What a value is, for a message about an object: `a list`, `an integer (5)`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    name = _ObjectConversion.type_names.get(type(value), type(value).__name__)
    if isinstance(value, str | int | float):
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:60]}…"
        return f"{name} ({shown})"
    return name


def child(path: str, name: str) -> str:
    """The path of a field of the object at `path`."""
    return f"{path}.{name}" if path else name


def _base(wanted: Any) -> Any:
    """The plain type of what may be bounded, parametrised or a struct."""
    if get_origin(wanted) is Annotated:
        return get_args(wanted)[0]
    origin = get_origin(wanted) or wanted
    if origin is tuple:
        return list
    return dict if issubclass(origin, msgspec.Struct) else origin


def _zero(wanted: Any) -> Any:
    origin = get_origin(wanted)
    if origin in (Union, types.UnionType):
        # The zero of a quantity is a number, as empty text is none.
        return None if types.NoneType in get_args(wanted) else 0
    return 0 if origin is Annotated else (origin or wanted)()


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(struct)}
