"""CEL selectors of devices: compiled once for each expression, then asked about devices.

Takes the expression of a DeviceClass or a request and a device of a driver; says whether the device is meant. What
fails, at compiling or at a device, is a `DeviceSelectorError` with the API server's and cel-go's words. Pure: the same
expression and device give the same answer, so that callers may ask once for each distinct device.
Upstream: dynamic-resource-allocation/cel/compile.go (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bayplan.model.cel.environment import new_environment
from bayplan.model.cel.evaluation import compile_tree
from bayplan.model.cel.extensions import INCLUDES
from bayplan.model.cel.operators import type_name
from bayplan.model.cel.syntax import Call, Comprehension, Constant, Ident, ListLiteral, MapLiteral, Node, Select, decode
from bayplan.model.cel.values import CelError, DefaultMap, Quantity, Semver
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import Device, DeviceAttribute

#: What an expression may look at, by the field of `device`.
SHARED = "allowMultipleAllocations"
FIELDS = ("driver", SHARED, "attributes", "capacity")


class Dialect(NamedTuple):
    """What expressions may use, besides what they always may."""

    shares: bool = True  # whether devices can be shared: `device.allowMultipleAllocations`
    lists: bool = False  # lists as values of attributes, and `includes`

    @property
    def fields(self) -> tuple[str, ...]:
        return FIELDS if self.shares else tuple(field for field in FIELDS if field != SHARED)


DEFAULT_DIALECT = Dialect()


class DeviceSelectorError(Exception):
    """The expression does not compile, or fails on a device."""


class CompiledDeviceSelector:
    """One expression, ready to be asked."""

    def __init__(self, expression: str, dialect: Dialect = DEFAULT_DIALECT) -> None:
        """Raises DeviceSelectorError with the compiler's words."""
        tree = _checked_tree(expression, dialect)
        self._evaluate = compile_tree(tree)
        self._looks_at = looked_at(tree)

    def values_of(self, driver: str, device: Device) -> Hashable | None:
        """All that the answer depends on; None when that is not known, or the device itself is at fault."""
        if self._looks_at is None or not all(_has_value(attribute) for attribute in device.attributes.values()):
            return None
        values: list[Hashable] = [driver, device.allow_multiple_allocations]
        for field, domain, identifier in self._looks_at:
            values.append(_plain(field, device, f"{domain}/{identifier}"))
            if domain == driver:
                values.append(_plain(field, device, identifier))
        return tuple(values)

    def matches(self, variables: Mapping[str, Any]) -> bool:
        """Whether a device with these variables, made by `variables_of`, is meant. Raises DeviceSelectorError."""
        try:
            result = self._evaluate(variables)
        except CelError as problem:
            raise DeviceSelectorError(str(problem)) from problem
        if not isinstance(result, bool):
            name = type_name(result)
            fault = _REFUSALS.get(name, "type conversion error from {} to 'bool'").format(name)
            raise DeviceSelectorError(f"CEL result of type {name} could not be converted to bool: {fault}")
        return result


def _has_value(attribute: DeviceAttribute) -> bool:
    """A version may still be malformed, which only shows when it is read."""
    return attribute.int_value is not None or attribute.bool_value is not None or attribute.string_value is not None


def _plain(field: str, device: Device, name: str) -> Hashable:
    if field == "capacity":
        amount = device.capacity.get(name)
        return None if amount is None else amount.value
    attribute = device.attributes.get(name)
    if attribute is None:
        return None
    return attribute.int_value, attribute.bool_value, attribute.string_value


def looked_at(tree: Node) -> tuple[tuple[str, str, str], ...] | None:
    """Field, domain and identifier of every attribute and capacity an expression reads; None: it may be any."""
    found: list[tuple[str, str, str]] = []

    def look(node: Node) -> bool:
        place = _constant_place(node)
        if place is not None:
            found.append(place)
            return True
        if isinstance(node, Ident) and node.name in ("device", "device.attributes", "device.capacity"):
            return False
        return all(look(child) for child in _children(node))

    return tuple(dict.fromkeys(found)) if look(tree) else None


def _constant_place(node: Node) -> tuple[str, str, str] | None:
    """`device.attributes["domain"].identifier`, in either way of writing it."""
    outer = _step(node)
    inner = _step(outer[0]) if outer is not None else None
    if outer is None or inner is None or not isinstance(inner[0], Ident):
        return None
    field = inner[0].name.removeprefix("device.")
    return (field, inner[1], outer[1]) if inner[0].name in ("device.attributes", "device.capacity") else None


def _step(node: Node) -> tuple[Node, str] | None:
    if isinstance(node, Select):
        return node.operand, node.field
    if isinstance(node, Call) and node.function == "_[_]" and len(node.args) == 2:
        key = node.args[1]
        if isinstance(key, Constant) and isinstance(key.value, str):
            return node.args[0], key.value
    return None


#: How cel-go's values refuse to be a bool.
_REFUSALS = {
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "string": "unsupported native conversion from string to 'bool'",
    "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
}


@lru_cache(maxsize=4096)
def _compile(expression: str, dialect: Dialect) -> CompiledDeviceSelector | str:
    try:
        return CompiledDeviceSelector(expression, dialect)
    except DeviceSelectorError as problem:
        return str(problem)


def compile_device_selector(expression: str, dialect: Dialect = DEFAULT_DIALECT) -> CompiledDeviceSelector:
    """Compiled once, also where it fails. Raises DeviceSelectorError."""
    compiled = _compile(expression, dialect)
    if isinstance(compiled, str):
        raise DeviceSelectorError(compiled)
    return compiled


def variables_of(driver: str, device: Device, dialect: Dialect = DEFAULT_DIALECT) -> dict[str, Any]:
    """What an expression sees of the device. Raises DeviceSelectorError for an attribute that has no value."""
    attributes, capacity = DefaultMap(), DefaultMap()
    for name, attribute in device.attributes.items():
        domain, identifier = _qualified(name, driver)
        attributes.setdefault(domain, {})[identifier] = _value_of(name, attribute, dialect)
    for name, amount in device.capacity.items():
        domain, identifier = _qualified(name, driver)
        capacity.setdefault(domain, {})[identifier] = Quantity(parse_quantity(amount.value))
    whole = {
        "driver": driver,
        "allowMultipleAllocations": bool(device.allow_multiple_allocations),
        "attributes": attributes,
        "capacity": capacity,
    }
    return {"device": whole, **{f"device.{field}": whole[field] for field in FIELDS}}


def _qualified(name: str, driver: str) -> tuple[str, str]:
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _value_of(name: str, attribute: DeviceAttribute, dialect: Dialect) -> Any:
    if dialect.lists:
        for values in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if values is not None:
                return values
        if attribute.version_values is not None:
            return [_version(name, text) for text in attribute.version_values]
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is None:
        raise DeviceSelectorError(f"attribute {name}: unsupported attribute value")
    return _version(name, attribute.version_value)


def _version(name: str, text: str) -> Semver:
    try:
        return Semver.parse(text)
    except CelError as problem:
        raise DeviceSelectorError(f"attribute {name}: parse semantic version: {problem}") from problem


# ---------------------------------------------------------------- compiling


def _checked_tree(expression: str, dialect: Dialect) -> Node:
    try:
        compiled = _environment(dialect).compile(expression)
    except RuntimeError as problem:
        raise DeviceSelectorError(f"compilation failed: {_compiler_words(str(problem))}") from problem
    tree = decode(compiled.serialize())
    _check_fields(tree, expression, dialect)
    result = compiled.return_type().name().lower()
    if result not in ("bool", "dyn", "any"):
        raise DeviceSelectorError(f"must evaluate to bool or the unknown type, not {result}")
    return tree


@lru_cache(maxsize=4)
def _environment(dialect: Dialect) -> Any:
    return new_environment(_variables, without=() if dialect.lists else (INCLUDES,))


def _variables(types: Any, quantity: Any) -> dict[str, Any]:
    return {
        "device": types.Map(types.STRING, types.DYN),
        "device.driver": types.STRING,
        "device.allowMultipleAllocations": types.BOOL,
        "device.attributes": types.Map(types.STRING, types.Map(types.STRING, types.DYN)),
        "device.capacity": types.Map(types.STRING, types.Map(types.STRING, quantity)),
    }


def _compiler_words(text: str) -> str:
    """Without the status code that the library puts around its messages."""
    return re.sub(r"^INVALID_ARGUMENT: ", "", re.sub(r" \[INVALID_ARGUMENT\]$", "", text))


def _check_fields(tree: Node, expression: str, dialect: Dialect) -> None:
    """`device` has few fields. The library takes it for a map, so that other names are found out here."""

    def look(node: Node) -> None:
        field = _field_of_device(node)
        if field is not None and field not in dialect.fields:
            place = _field_place(expression, field)
            marks = f" | {expression}\n | {'.' * place}^"
            fault = f"ERROR: <input>:1:{place + 1}: undefined field '{field}'\n{marks}"
            raise DeviceSelectorError(f"compilation failed: {fault}")
        for child in _children(node):
            look(child)

    look(tree)


def _field_of_device(node: Node) -> str | None:
    if isinstance(node, Select) and node.operand == Ident("device"):
        return node.field
    if isinstance(node, Ident) and node.name.startswith("device."):
        return node.name.removeprefix("device.")
    return None


def _field_place(expression: str, field: str) -> int:
    found = re.search(rf"\bdevice(\s*\.\s*){re.escape(field)}\b", expression)
    return found.start(1) + found[1].index(".") if found else 0


def _children(node: Node) -> tuple[Node, ...]:
    children: Callable[[Any], tuple[Node, ...]] = _CHILDREN.get(type(node), lambda _: ())
    return children(node)


_CHILDREN: dict[type, Callable[[Any], tuple[Node, ...]]] = {
    Select: lambda node: (node.operand,),
    Call: lambda node: node.args if node.target is None else (node.target, *node.args),
    ListLiteral: lambda node: node.elements,
    MapLiteral: lambda node: tuple(part for entry in node.entries for part in entry[:2]),
    Comprehension: lambda node: (node.range, node.initial, node.condition, node.step, node.result),
}
