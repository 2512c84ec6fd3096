"""The operators and conversions of CEL itself, over plain Python values and those of `values`.

`OPERATORS` has them by the names that a checked tree calls them by; a member call passes its target first. Values of
different types are different, numbers compare across types, and what cannot be done fails in cel-go's words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bayplan.model.cel.network_values import CidrValue, IpValue, NamedFormat, UrlValue
from bayplan.model.cel.values import (
    NO_SUCH_OVERLOAD,
    NONE,
    CelError,
    OptionalValue,
    Quantity,
    Semver,
    TypeValue,
    Uint,
)
from bayplan.model.quantity import INT64_MAX

Function = Callable[..., Any]

INT64_MIN = -INT64_MAX - 1


def type_name(value: Any) -> str:
    """The name of the value's CEL type."""
    for python_type, name in _TYPE_NAMES:
        if isinstance(value, python_type):
            return name
    return "null_type"


_TYPE_NAMES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (Uint, "uint"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
    (list, "list"),
    (dict, "map"),
    (Quantity, "kubernetes.Quantity"),
    (Semver, "kubernetes.Semver"),
    (IpValue, "net.IP"),
    (CidrValue, "net.CIDR"),
    (UrlValue, "kubernetes.URL"),
    (NamedFormat, "kubernetes.NamedFormat"),
    (OptionalValue, "optional_type"),
    (TypeValue, "type"),
)


def no_such_overload(function: str, *args: Any) -> CelError:
    return CelError(f"{NO_SUCH_OVERLOAD}: {function}({', '.join(type_name(arg) for arg in args)})")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ---------------------------------------------------------------- equality and order


def equal(left: Any, right: Any) -> bool:
    """Values of different types are different, but numbers compare across types. Kubernetes' own types refuse."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if isinstance(left, Quantity | Semver):
        if isinstance(left, Semver) and isinstance(right, Semver):
            return left.compare(right) == 0
        if isinstance(left, Quantity) and isinstance(right, Quantity):
            return left == right
        raise CelError(NO_SUCH_OVERLOAD)
    if isinstance(left, IpValue | CidrValue | UrlValue | NamedFormat):
        if type(left) is not type(right):
            raise CelError(NO_SUCH_OVERLOAD)
        return bool(left == right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, OptionalValue) and isinstance(right, OptionalValue):
        return left.present == right.present and (not left.present or equal(left.value, right.value))
    return type(left) is type(right) and bool(left == right)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1. Raises CelError for values that have no order."""
    comparable = (is_number(left) and is_number(right)) or (
        type(left) is type(right) and isinstance(left, str | bytes | bool)
    )
    if not comparable:
        raise CelError(NO_SUCH_OVERLOAD)
    if left != left or right != right:  # noqa: PLR0124 - only NaN differs from itself
        raise CelError("NaN values cannot be ordered")
    return int(left > right) - int(left < right)


def _ordering(holds: Callable[[int], bool], function: str) -> Function:
    def operator(left: Any, right: Any) -> bool:
        if not isinstance(left, int | float | str | bytes):
            raise CelError(f"{NO_SUCH_OVERLOAD}: {function}")
        return holds(compare(left, right))

    return operator


def contains(element: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return element in container
    if isinstance(container, list):
        return any(equal(item, element) for item in container)
    raise CelError(f"{NO_SUCH_OVERLOAD}: @in")


# ---------------------------------------------------------------- arithmetic


def _ranged(number: int, like: Any) -> int:
    if isinstance(like, Uint):
        if not 0 <= number < 2**64:
            raise CelError("unsigned integer overflow")
        return Uint(number)
    if not INT64_MIN <= number <= INT64_MAX:
        raise CelError("integer overflow")
    return number


def _same_numbers(left: Any, right: Any) -> bool:
    return is_number(left) and type(left) is type(right)


def add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    if isinstance(left, bytes) and isinstance(right, bytes):
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return _arithmetic(left, right, lambda a, b: a + b)


def _arithmetic(left: Any, right: Any, work: Callable[[Any, Any], Any]) -> Any:
    if not _same_numbers(left, right):
        raise CelError(NO_SUCH_OVERLOAD)
    result = work(left, right)
    return result if isinstance(left, float) else _ranged(result, left)


def _divide(left: Any, right: Any) -> Any:
    if not _same_numbers(left, right):
        raise CelError(NO_SUCH_OVERLOAD)
    if isinstance(left, float):
        if right == 0:
            return float("nan") if left == 0 or left != left else float("inf") * (1 if left > 0 else -1)  # noqa: PLR0124
        return left / right
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return _ranged(quotient if (left < 0) == (right < 0) else -quotient, left)


def _modulo(left: Any, right: Any) -> Any:
    if not _same_numbers(left, right) or isinstance(left, float):
        raise CelError(NO_SUCH_OVERLOAD)
    if right == 0:
        raise CelError("modulus by zero")
    remainder = abs(left) % abs(right)
    return _ranged(remainder if left >= 0 else -remainder, left)


def _negate(value: Any) -> Any:
    if not is_number(value) or isinstance(value, Uint):
        raise CelError(f"{NO_SUCH_OVERLOAD}: -_")
    return -value if isinstance(value, float) else _ranged(-value, value)


def _not(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError(f"{NO_SUCH_OVERLOAD}: !_")
    return not value


# ---------------------------------------------------------------- conversions


def _size(value: Any) -> int:
    if not isinstance(value, str | bytes | list | dict):
        raise no_such_overload("size", value)
    return len(value)


def _to_int(value: Any) -> int:
    try:
        if isinstance(value, str):
            return _ranged(int(value), 0)
        if is_number(value):
            return _ranged(int(value), 0)
    except (ValueError, OverflowError):
        raise CelError(f"type conversion error from '{type_name(value)}' to 'int'") from None
    raise no_such_overload("int", value)


def _to_uint(value: Any) -> Uint:
    number = int(value) if is_number(value) else _to_int(value)
    if not 0 <= number < 2**64:
        raise CelError("unsigned integer overflow")
    return Uint(number)


def _to_double(value: Any) -> float:
    try:
        if isinstance(value, str) or is_number(value):
            return float(value)
    except ValueError:
        raise CelError("type conversion error from 'string' to 'double'") from None
    raise no_such_overload("double", value)


def _to_string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return f"{value:g}" if value == int(value) else repr(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, IpValue | CidrValue):
        return str(value)
    raise no_such_overload("string", value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "false", "FALSE", "False"):
        return False
    raise CelError(f"type conversion error from '{type_name(value)}' to 'bool'")


# ---------------------------------------------------------------- optionals


def _optional_of_non_zero(value: Any) -> OptionalValue:
    return OptionalValue(True, value) if value else NONE


def _value_of(optional: OptionalValue) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


#: Strict functions by name.
OPERATORS: dict[str, Function] = {
    "!_": _not,
    "-_": _negate,
    "_+_": add,
    "_-_": lambda a, b: _arithmetic(a, b, lambda x, y: x - y),
    "_*_": lambda a, b: _arithmetic(a, b, lambda x, y: x * y),
    "_/_": _divide,
    "_%_": _modulo,
    "_==_": equal,
    "_!=_": lambda a, b: not equal(a, b),
    "_<_": _ordering(lambda sign: sign < 0, "_<_"),
    "_<=_": _ordering(lambda sign: sign <= 0, "_<=_"),
    "_>_": _ordering(lambda sign: sign > 0, "_>_"),
    "_>=_": _ordering(lambda sign: sign >= 0, "_>=_"),
    "@in": contains,
    "_in_": contains,
    "size": _size,
    "int": _to_int,
    "uint": _to_uint,
    "double": _to_double,
    "string": _to_string,
    "bool": _to_bool,
    "bytes": lambda text: text.encode() if isinstance(text, str) else text,
    "dyn": lambda value: value,
    "type": lambda value: TypeValue(type_name(value)),
    "optional.of": lambda value: OptionalValue(True, value),
    "optional.ofNonZeroValue": _optional_of_non_zero,
    "optional.none": lambda: NONE,
    "hasValue": lambda optional: optional.present,
    "value": _value_of,
}
