"""The functions an expression may call, as declared to the checker and as carried out.

Operators and what Kubernetes adds (quantities, versions, regular expressions, lists, sets) are written here over the
values of `values`. String functions and `matches` are left to the library, which has them on plain values. A call that
no overload takes fails with cel-go's sentence, in which the types are named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key, lru_cache
from itertools import pairwise
from typing import Any

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

Function = Callable[..., Any]

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


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


def _add(left: Any, right: Any) -> Any:
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
    raise no_such_overload("string", value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value in ("1", "t", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "false", "FALSE", "False"):
        return False
    raise CelError(f"type conversion error from '{type_name(value)}' to 'bool'")


# ---------------------------------------------------------------- quantities and versions


def _is_parsed(parse: Callable[[str], Any]) -> Function:
    def test(text: str, *more: Any) -> bool:
        try:
            parse(text, *more)
        except CelError:
            return False
        return True

    return test


def _semver(text: str, normalize: bool = False) -> Semver:
    if not normalize:
        return Semver.parse(text)
    parts = text.removeprefix("v").split(".", 2)
    for position, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[position] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise CelError("short version cannot contain PreRelease/Build meta data")
    return Semver.parse(".".join([*parts, "0", "0"][:3] if len(parts) < 3 else parts))


def _compare_to(function: str, holds: Callable[[int], Any]) -> Function:
    def work(left: Any, right: Any) -> Any:
        if isinstance(left, Quantity) and isinstance(right, Quantity):
            return holds((left.nano > right.nano) - (left.nano < right.nano))
        if isinstance(left, Semver) and isinstance(right, Semver):
            return holds(left.compare(right))
        raise no_such_overload(function, left, right)

    return work


def _of_quantity(function: str, work: Callable[[int], Any]) -> Function:
    def checked(value: Any) -> Any:
        if not isinstance(value, Quantity):
            raise no_such_overload(function, value)
        return work(value.nano)

    return checked


def _of_semver(function: str) -> Function:
    def checked(value: Any) -> int:
        if not isinstance(value, Semver):
            raise no_such_overload(function, value)
        number: int = getattr(value, function)
        return number

    return checked


NANO = 1_000_000_000


def _is_integer(nano: int) -> bool:
    return nano % NANO == 0 and INT64_MIN <= nano // NANO <= INT64_MAX


def _as_integer(nano: int) -> int:
    if not _is_integer(nano):
        raise CelError("cannot convert value to integer")
    return nano // NANO


def _plus(function: str, sign: int) -> Function:
    def work(left: Any, right: Any) -> Quantity:
        if isinstance(left, Quantity):
            if isinstance(right, Quantity):
                return Quantity(left.nano + sign * right.nano)
            if isinstance(right, int) and not isinstance(right, bool):
                return Quantity(left.nano + sign * right * NANO)
        raise no_such_overload(function, left, right)

    return work


# ---------------------------------------------------------------- lists and sets


def _is_sorted(items: list[Any]) -> bool:
    return all(_order(a, b) <= 0 for a, b in pairwise(items))


def _order(left: Any, right: Any) -> int:
    if isinstance(left, Quantity | Semver):
        return int(_compare_to("compareTo", int)(left, right))
    return compare(left, right)


def _extreme(which: Callable[..., Any], name: str) -> Function:
    def work(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        return which(items, key=cmp_to_key(_order))

    return work


def _sum(items: list[Any]) -> Any:
    total = items[0] if items else 0
    for item in items[1:]:
        total = _add(total, item)
    return total


def _index_of(target: Any, element: Any, *more: Any) -> Any:
    if isinstance(target, str):
        return by_library("indexOf", target, element, *more)
    return next((place for place, item in enumerate(target) if equal(item, element)), -1)


def _last_index_of(target: Any, element: Any, *more: Any) -> Any:
    if isinstance(target, str):
        return by_library("lastIndexOf", target, element, *more)
    return next((place for place in range(len(target) - 1, -1, -1) if equal(target[place], element)), -1)


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for item in items:
        if not contains(item, kept):
            kept.append(item)
    return kept


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _reverse(value: Any) -> Any:
    return value[::-1]


def _of_texts(function: str, work: Callable[[str, str], bool]) -> Function:
    def checked(text: Any, part: Any) -> bool:
        if not isinstance(text, str) or not isinstance(part, str):
            raise CelError(f"{NO_SUCH_OVERLOAD}: {function}")
        return work(text, part)

    return checked


def _find(text: str, pattern: str) -> str:
    found = _find_all(text, pattern, 1)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Leftmost matches one after another, by the library's own regular expressions."""
    found: list[str] = []
    rest = text
    while rest and (limit < 0 or len(found) < limit):
        start = next((s for s in range(len(rest)) if by_library("matches", rest[s:], f"^(?:{pattern})")), None)
        if start is None:
            break
        length = max(
            n
            for n in range(len(rest) - start + 1)
            if by_library("matches", rest[start : start + n], f"^(?:{pattern})$")
        )
        found.append(rest[start : start + length])
        rest = rest[start + max(length, 1) :]
    return found


# ---------------------------------------------------------------- optionals


def _optional_of_non_zero(value: Any) -> OptionalValue:
    return OptionalValue(True, value) if value else NONE


def _value_of(optional: OptionalValue) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


#: Strict functions by name: a member call passes its target first.
FUNCTIONS: dict[str, Function] = {
    "!_": _not,
    "-_": _negate,
    "_+_": _add,
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
    "quantity": Quantity.parse,
    "isQuantity": _is_parsed(Quantity.parse),
    "sign": _of_quantity("sign", lambda nano: (nano > 0) - (nano < 0)),
    "isInteger": _of_quantity("isInteger", _is_integer),
    "asInteger": _of_quantity("asInteger", _as_integer),
    "asApproximateFloat": _of_quantity("asApproximateFloat", lambda nano: nano / NANO),
    "add": _plus("add", +1),
    "sub": _plus("sub", -1),
    "semver": _semver,
    "isSemver": _is_parsed(_semver),
    "major": _of_semver("major"),
    "minor": _of_semver("minor"),
    "patch": _of_semver("patch"),
    "isGreaterThan": _compare_to("isGreaterThan", lambda sign: sign > 0),
    "isLessThan": _compare_to("isLessThan", lambda sign: sign < 0),
    "compareTo": _compare_to("compareTo", int),
    "contains": _of_texts("contains", lambda text, part: part in text),
    "startsWith": _of_texts("startsWith", str.startswith),
    "endsWith": _of_texts("endsWith", str.endswith),
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": _sum,
    "min": _extreme(min, "min"),
    "max": _extreme(max, "max"),
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "distinct": _distinct,
    "slice": _slice,
    "reverse": _reverse,
    "sort": lambda items: sorted(items, key=cmp_to_key(_order)),
    "lists.range": lambda count: list(range(count)),
    "sets.contains": lambda a, b: all(contains(item, a) for item in b),
    "sets.equivalent": lambda a, b: all(contains(i, a) for i in b) and all(contains(i, b) for i in a),
    "sets.intersects": lambda a, b: any(contains(item, a) for item in b),
    "optional.of": lambda value: OptionalValue(True, value),
    "optional.ofNonZeroValue": _optional_of_non_zero,
    "optional.none": lambda: NONE,
    "hasValue": lambda optional: optional.present,
    "value": _value_of,
}

#: Carried out by the library.
STRING_FUNCTIONS = frozenset(
    {"charAt", "format", "join", "lowerAscii", "matches", "replace", "split", "substring", "trim", "upperAscii"}
)


def by_library(function: str, *args: Any) -> Any:
    """A function on plain values, target first, as the library carries it out."""
    compiled = _call_of(function, len(args))
    result = compiled.eval(data={f"a{place}": arg for place, arg in enumerate(args)})
    value = result.plain_value()
    if result.type().name() == "*error*" or isinstance(value, Exception):
        raise CelError(str(value).partition(": ")[2] or str(value))
    return value


@lru_cache(maxsize=64)
def _call_of(function: str, arity: int) -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - loaded when the first selector is
    from cel_expr_python.ext import ext_strings  # noqa: PLC0415

    variables = {f"a{place}": cel.Type.DYN for place in range(arity)}
    env = cel.NewEnv(variables=variables, extensions=[ext_strings.ExtStrings()])
    return env.compile(f"a0.{function}({', '.join(f'a{place}' for place in range(1, arity))})")


def declarations(types: Any, quantity: Any, semver: Any) -> list[tuple[str, Sequence[tuple[bool, list[Any], Any]]]]:
    """What Kubernetes adds, for the checker: name, then whether it is a member, the parameters and the result."""
    text, number, truth, dyn, double = types.STRING, types.INT, types.BOOL, types.DYN, types.DOUBLE
    items = types.List(dyn)
    ordered: list[tuple[str, Sequence[tuple[bool, list[Any], Any]]]] = [
        (name, [(True, [of, of], result) for of in (quantity, semver)])
        for name, result in (("isGreaterThan", truth), ("isLessThan", truth), ("compareTo", number))
    ]
    return [
        *ordered,
        ("quantity", [(False, [text], quantity)]),
        ("isQuantity", [(False, [text], truth)]),
        ("sign", [(True, [quantity], number)]),
        ("isInteger", [(True, [quantity], truth)]),
        ("asInteger", [(True, [quantity], number)]),
        ("asApproximateFloat", [(True, [quantity], double)]),
        *((name, [(True, [quantity, of], quantity) for of in (quantity, number)]) for name in ("add", "sub")),
        ("semver", [(False, [text], semver), (False, [text, truth], semver)]),
        ("isSemver", [(False, [text], truth), (False, [text, truth], truth)]),
        *((name, [(True, [semver], number)]) for name in ("major", "minor", "patch")),
        ("find", [(True, [text, text], text)]),
        ("findAll", [(True, [text, text], types.List(text)), (True, [text, text, number], types.List(text))]),
        ("isSorted", [(True, [items], truth)]),
        *((name, [(True, [items], dyn)]) for name in ("sum", "min", "max")),
        *(
            (name, [(True, [items, dyn], number), (True, [text, text], number), (True, [text, text, number], number)])
            for name in ("indexOf", "lastIndexOf")
        ),
        ("charAt", [(True, [text, number], text)]),
        ("join", [(True, [types.List(text)], text), (True, [types.List(text), text], text)]),
        *((name, [(True, [text], text)]) for name in ("lowerAscii", "upperAscii", "trim")),
        ("replace", [(True, [text, text, text], text), (True, [text, text, text, number], text)]),
        ("split", [(True, [text, text], types.List(text)), (True, [text, text, number], types.List(text))]),
        ("substring", [(True, [text, number], text), (True, [text, number, number], text)]),
        ("format", [(True, [text, items], text)]),
        *((name, [(True, [items], items)]) for name in ("distinct", "reverse", "sort")),
        ("slice", [(True, [items, number, number], items)]),
        ("lists.range", [(False, [number], types.List(number))]),
        *((f"sets.{name}", [(False, [items, items], truth)]) for name in ("contains", "equivalent", "intersects")),
    ]
