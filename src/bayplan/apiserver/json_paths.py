"""JSONPath as definitions of custom resources use it: `.spec.replicas`, `.conditions[?(@.type=="Ready")].status`.

`parse_path` gives a function from a document to all values found; a path that makes no sense for a document (an index
beyond the list, a comparison of a number with text) raises `PathError` then. `value_text` writes a value as Go prints
it. Only one path at a time: no templates with text around paths, no `range`.
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

Values = list[Any]
Path = Callable[[Values], Values]
"""From the values found so far to those found one step further."""

_FIELD = re.compile(r"\.((?:\\.|[^\\ \t\r\n.,\[\]$@{}])*)")
_RECURSIVE = re.compile(r"\.\.(?:(?=\w)((?:\\.|[^\\ \t\r\n.,\[\]$@{}])*))?")
_FILTER = re.compile(r"""\[\?\(((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^"')])*)\)\]""")
_BRACKETS = re.compile(r"\[([^\]\n]*)\]")
_QUOTED = re.compile(r""""((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'""")
_NUMBER = re.compile(r"[+-]?[0-9.]+")
_BOOLEAN = re.compile(r"true|false")
_SKIPPED = re.compile(r"[ @$]")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)")
_KEY = re.compile(r"'([^']*)'")
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_PLAIN_EXPONENTS = range(-4, 6)
"""Go writes floats with other exponents in scientific notation."""


class PathError(ValueError):
    """A path that cannot be read, or that does not fit the document."""


def parse_path(text: str) -> Path:
    """What the path finds, as a function of the values to start from."""
    steps: list[Path] = []
    position = 0
    while position < len(text):
        for pattern, make in _STEPS:
            match = pattern.match(text, position)
            if match is not None:
                steps += make(match)
                position = match.end()
                break
        else:
            raise PathError(f"unrecognized character in action: {text[position]!r}")
    return _in_turn(steps)


def _in_turn(steps: list[Path]) -> Path:
    def walk(values: Values) -> Values:
        for step in steps:
            values = step(values)
        return values

    return walk


def _nothing(_match: re.Match[str]) -> list[Path]:
    return []


def _field(match: re.Match[str]) -> list[Path]:
    name = re.sub(r"\\", "", match[1])
    if name == "*":
        return [lambda values: [item for value in values for item in _children(value)]]
    return [lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]]


def _recursive(match: re.Match[str]) -> list[Path]:
    def descend(values: Values) -> Values:
        return [found for value in values for found in _descendants(value)]

    return [descend, *(_field(match) if match[1] else [])]


def _descendants(value: Any) -> Iterator[Any]:
    children = _children(value)
    if children:
        yield value
        for child in children:
            yield from _descendants(child)


def _children(value: Any) -> Values:
    if isinstance(value, dict):
        return [*value.values()]
    return [*value] if isinstance(value, list) else []


def _brackets(match: re.Match[str]) -> list[Path]:
    text = match[1]
    alternatives = text.split(",")
    if len(alternatives) > 1:
        paths = [parse_path(f"[{alternative.strip(' ')}]") for alternative in alternatives]
        return [lambda values: [found for path in paths for found in path(values)]]
    key = _KEY.fullmatch(text)
    if key is not None:
        return [parse_path(f".{key[1]}")]
    bounds = _SLICE.fullmatch(":" if text == "*" else text)
    if bounds is None or not text:
        raise PathError(f"invalid array index {text}")
    return [_slice(bounds)]


def _slice(bounds: re.Match[str]) -> Path:
    first, last, step = (_number(bounds[group]) for group in (1, 2, 3))
    is_single = bounds[2] is None

    def pick(values: Values) -> Values:
        found: Values = []
        for value in values:
            if value is None:
                continue
            if not isinstance(value, list):
                raise PathError("not array or slice")
            begin = _from_end(first or 0, len(value))
            end = begin + 1 if is_single else _from_end(len(value) if last is None else last, len(value))
            _check_bounds(begin, end, len(value))
            found += value[begin : end : 1 if step is None else step]
        return found

    if step is not None and step <= 0:
        raise PathError("step must be > 0")
    return pick


def _number(text: str | None) -> int | None:
    digits = (text or "").removeprefix(":")
    return int(digits) if digits.strip("-") else None


def _from_end(index: int, length: int) -> int:
    return index + length if index < 0 else index


def _check_bounds(begin: int, end: int, length: int) -> None:
    if begin != end and not (0 <= begin < length and begin <= end <= length):
        raise PathError(f"array index out of bounds: index {begin}, length {length}")


def _filter(match: re.Match[str]) -> list[Path]:
    comparison = _COMPARISON.fullmatch(match[1])
    if comparison is None:
        exists = parse_path(match[1])
        return [lambda values: [item for item in _items(values) if _exists(exists, item)]]
    if comparison[2] not in _OPERATORS:
        raise PathError(f"unrecognized filter operator {comparison[2]}")
    left, right, compare = parse_path(comparison[1]), parse_path(comparison[3]), _OPERATORS[comparison[2]]
    return [lambda values: [item for item in _items(values) if _compares(left([item]), right([item]), compare)]]


def _items(values: Values) -> Iterator[Any]:
    for value in values:
        if not isinstance(value, list):
            raise PathError("not array or slice and cannot be filtered")
        yield from value


def _exists(path: Path, item: Any) -> bool:
    try:
        return bool(path([item]))
    except PathError:
        return False


def _compares(lefts: Values, rights: Values, compare: Callable[[Any, Any], bool]) -> bool:
    if not lefts or not rights:
        return False
    if len(lefts) > 1 or len(rights) > 1:
        raise PathError("can only compare one element at a time")
    if type(lefts[0]) is not type(rights[0]) or not isinstance(lefts[0], str | int | float):
        raise PathError("incompatible types for comparison")
    return compare(lefts[0], rights[0])


def _constant(value: Any) -> list[Path]:
    return [lambda values: [value for _ in values]]


def _quoted(match: re.Match[str]) -> list[Path]:
    return _constant(re.sub(r"\\(.)", r"\1", match[1] if match[1] is not None else match[2]))


def _numeric(match: re.Match[str]) -> list[Path]:
    try:
        return _constant(float(match[0]) if "." in match[0] else int(match[0]))
    except ValueError:
        raise PathError(f"cannot parse number {match[0]}") from None


def _boolean(match: re.Match[str]) -> list[Path]:
    return _constant(match[0] == "true")


_STEPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Path]]], ...] = (
    (_FILTER, _filter),
    (_RECURSIVE, _recursive),
    (_SKIPPED, _nothing),
    (_BRACKETS, _brackets),
    (_QUOTED, _quoted),
    (_FIELD, _field),
    (_NUMBER, _numeric),
    (_BOOLEAN, _boolean),
)
"""In the order in which they are tried."""


def value_text(value: Any) -> str:
    """A value as Go prints it; lists and maps as JSON."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case float():
            return _float_text(value)
        case list() | dict():
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
            return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return str(value)


def _float_text(value: float) -> str:
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # JSON has no infinities
    scale = len(digits) + exponent - 1
    if scale in _PLAIN_EXPONENTS:
        return f"{Decimal(repr(value)).normalize():f}"
    mantissa = "".join(map(str, digits))
    fraction = f".{mantissa[1:]}" if mantissa[1:] else ""
    return f"{'-' if sign else ''}{mantissa[0]}{fraction}e{'-' if scale < 0 else '+'}{abs(scale):02}"
