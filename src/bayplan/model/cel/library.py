"""String functions and regular expressions, as the library carries them out on plain values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from math import prod
from typing import Any, Final, TypeAlias

from bayplan.model.cel.values import CelError

#: Carried out by the library.
STRING_FUNCTIONS = frozenset(
    {"charAt", "format", "join", "lowerAscii", "matches", "replace", "split", "substring", "trim", "upperAscii"}
)

Matching: TypeAlias = Callable[[str, str], bool | str]
"""Whether a pattern is found in a text, or what is wrong with the pattern: takes the text first."""
#: Steps that matching may take, at worst, before it counts as long: some tens of nanoseconds each.
_LONG: Final = 1_000_000
_COUNT: Final = re.compile(r"\{(?:[0-9]*,)?([0-9]+)")
_long_matching: ContextVar[Matching | None] = ContextVar("long matching", default=None)


@contextmanager
def long_matching_by(matching: Matching) -> Iterator[None]:
    """Has this do what may take long: the library would keep all other threads from going on."""
    token = _long_matching.set(matching)
    try:
        yield
    finally:
        _long_matching.reset(token)


def _is_long(text: str, pattern: str) -> bool:
    """Whether the text is long for a pattern that, with its repetitions written out, is so long at most."""
    if len(text) * len(pattern) > _LONG:
        return True
    counts = [int(count[:4]) for count in _COUNT.findall(pattern)]
    return bool(counts) and len(text) * len(pattern) * max(1, prod(counts[:9])) > _LONG


def by_library(function: str, *args: Any) -> Any:
    """A function on plain values, target first, as the library carries it out."""
    matching = _long_matching.get() if function == "matches" else None
    if matching is not None and _is_long(*args):
        return matching(*args)
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
