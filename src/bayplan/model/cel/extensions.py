"""What Kubernetes adds to CEL: quantities, versions, regular expressions, functions of lists, sets and texts.

`EXTENSIONS` carries them out, `declarations` describes them to the checker. A call that no overload takes fails with
cel-go's sentence, in which the types are named.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from bayplan.model.cel.library import by_library
from bayplan.model.cel.operators import (
    INT64_MIN,
    Function,
    add,
    compare,
    contains,
    equal,
    no_such_overload,
)
from bayplan.model.cel.values import NO_SUCH_OVERLOAD, CelError, Declarations, Quantity, Semver
from bayplan.model.quantity import INT64_MAX

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
#: The function of attributes with several values, and how many there may be.
INCLUDES = "includes"
VALUES_MAX = 48


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
        total = add(total, item)
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


def _includes(target: Any, value: Any) -> bool:
    if not isinstance(target, list):
        return bool(equal(target, value))
    if contains(value, target[:VALUES_MAX]):
        return True
    if len(target) > VALUES_MAX:
        raise CelError(f"'{INCLUDES}' function cannot be applied to lists longer than {VALUES_MAX} values")
    return False


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


#: For keys in the paths of JSON patches; known where expressions make some.
ESCAPE_KEY = "jsonpatch.escapeKey"

#: By name; a member call passes its target first.
EXTENSIONS: dict[str, Function] = {
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
    INCLUDES: _includes,
    "reverse": _reverse,
    "sort": lambda items: sorted(items, key=cmp_to_key(_order)),
    ESCAPE_KEY: lambda key: key.replace("~", "~0").replace("/", "~1"),
    "lists.range": lambda count: list(range(count)),
    "sets.contains": lambda a, b: all(contains(item, a) for item in b),
    "sets.equivalent": lambda a, b: all(contains(i, a) for i in b) and all(contains(i, b) for i in a),
    "sets.intersects": lambda a, b: any(contains(item, a) for item in b),
}


def declarations(types: Any, quantity: Any, semver: Any) -> Declarations:
    """What Kubernetes adds everywhere."""
    text, number, truth, dyn, double = types.STRING, types.INT, types.BOOL, types.DYN, types.DOUBLE
    items = types.List(dyn)
    ordered: Declarations = [
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
        (INCLUDES, [(True, [dyn, dyn], truth)]),
        ("slice", [(True, [items, number, number], items)]),
        ("lists.range", [(False, [number], types.List(number))]),
        *((f"sets.{name}", [(False, [items, items], truth)]) for name in ("contains", "equivalent", "intersects")),
    ]
