"""String functions and regular expressions, as the library carries them out on plain values."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from bayplan.model.cel.values import CelError

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
