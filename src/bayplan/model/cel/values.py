"""Values that CEL has in Kubernetes and Python has not: quantities, semantic versions, unsigned numbers, optionals.

All are immutable and compare by value; what may be done with them in an expression stands in `functions`. `CelError` is
what an expression fails with, in cel-go's words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from bayplan.model.quantity import parse_quantity

Declarations: TypeAlias = list[tuple[str, Sequence[tuple[bool, list[Any], Any]]]]
"""Functions for the checker: name, then of each overload whether it is a member, the parameters and the result."""


class CelError(Exception):
    """Evaluation failed; the text is cel-go's."""


NO_SUCH_OVERLOAD = "no such overload"


class Uint(int):
    """An unsigned number, a type of its own in CEL."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A Kubernetes quantity."""

    nano: int

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Raises CelError."""
        try:
            return cls(parse_quantity(text))
        except ValueError as problem:
            raise CelError(str(problem)) from problem


@dataclass(frozen=True, slots=True)
class OptionalValue:
    """A value that may be absent."""

    present: bool
    value: Any = None


NONE = OptionalValue(False)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value: what `type(x)` gives."""

    name: str


class DefaultMap(dict[str, Any]):
    """A map in which looking up an unknown key gives an empty map; `in`, size and iteration know nothing of that."""


class ObjectValue(dict[str, Any]):
    """What a literal with a type makes (`Object.spec{replicas: 1}`): fields, and the name of the type."""

    def __init__(self, type_name: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.type_name = type_name


class Lazy:
    """A variable whose value is found when an expression first asks for it."""

    def __init__(self, find: Callable[[], Any]) -> None:
        self._find = find
        self._found: list[Any] = []

    def value(self) -> Any:
        """Raises CelError."""
        if not self._found:
            self._found.append(self._find())
        return self._found[0]


_NUMBER = re.compile(r"0|[1-9][0-9]*")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]+")
_UINT64_MAX = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version; the build part does not count when versions are compared."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Semver:
        """Raises CelError with the words of the library that upstream parses versions with."""
        return _parse_semver(text)

    def compare(self, other: Semver) -> int:
        mine, others = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        if mine != others:
            return 1 if mine > others else -1
        return _compare_pre(self.pre, other.pre)


@lru_cache(maxsize=4096)
def _parse_semver(text: str) -> Semver:
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _number(parts[0], "Major"), _number(parts[1], "Minor")
    rest, _, build = parts[2].partition("+")
    patch_text, dash, pre_text = rest.partition("-")
    patch = _number(patch_text, "Patch")
    pre = tuple(pre_text.split(".")) if dash else ()
    for identifier in pre:
        _check_identifier(identifier, "Prerelease")
        if identifier.isdigit() and not _NUMBER.fullmatch(identifier):
            raise CelError(f'Numeric PreRelease version must not contain leading zeroes "{identifier}"')
    if build or parts[2].endswith("+"):
        for identifier in build.split("."):
            _check_identifier(identifier, "Build meta data")
    return Semver(major, minor, patch, pre)


def _number(text: str, what: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise CelError(f'Invalid character(s) found in {what.lower()} number "{text}"')
    if not _NUMBER.fullmatch(text):
        raise CelError(f'{what} number must not contain leading zeroes "{text}"')
    number = int(text)
    if number > _UINT64_MAX:
        raise CelError(f'strconv.ParseUint: parsing "{text}": value out of range')
    return number


def _check_identifier(text: str, what: str) -> None:
    if not text:
        raise CelError(f"{what} is empty")
    if not _IDENTIFIER.fullmatch(text):
        raise CelError(f'Invalid character(s) found in {what.lower()} "{text}"')


def _compare_pre(mine: tuple[str, ...], others: tuple[str, ...]) -> int:
    if not mine or not others:
        return bool(others) - bool(mine)  # a version without a pre-release is the later one
    for left, right in zip(mine, others, strict=False):
        if left != right:
            return _compare_identifiers(left, right)
    return (len(mine) > len(others)) - (len(mine) < len(others))


def _compare_identifiers(left: str, right: str) -> int:
    if left.isdigit() and right.isdigit():
        return 1 if int(left) > int(right) else -1
    if left.isdigit() != right.isdigit():
        return -1 if left.isdigit() else 1
    return 1 if left > right else -1
