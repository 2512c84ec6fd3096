"""Which Kubernetes version's types are meant, and with which feature gates, for whoever asks for a type by name.

A process may hold servers of several versions. Each says whose types it means while it does something (`serving`), and
all that is looked up meanwhile, and remembered (`cached_by_version`), is of that version. Nothing here knows what
versions have in common, or which one a cluster has.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Final, ParamSpec, TypeVar

#: The version whose types the files of `data` describe; the folders beside them say what is otherwise in later ones.
FIRST: Final = "1.36"
LATER: Final = ("1.37",)
#: The version, and feature gates that are on though they are off by default.
_SERVED: ContextVar[tuple[str, frozenset[str]]] = ContextVar("served", default=(FIRST, frozenset()))

P = ParamSpec("P")
R = TypeVar("R")


def served_version() -> str:
    """`1.36`."""
    return _SERVED.get()[0]


def is_switched_on(gate: str) -> bool:
    """Whether a feature gate is on that is off by default."""
    return gate in _SERVED.get()[1]


def later_than_first(version: str) -> tuple[str, ...]:
    """The versions whose changes that version has, oldest first."""
    return LATER[: LATER.index(version) + 1] if version in LATER else ()


@contextmanager
def serving(version: str, gates: Collection[str] = ()) -> Iterator[None]:
    """Whoever asks for types meanwhile, tasks that are started here included, gets those of this version.

    `gates` are feature gates that are on though they are off by default.
    """
    before = _SERVED.set((version, frozenset(gates)))
    try:
        yield
    finally:
        _SERVED.reset(before)


def cached_by_version(function: Callable[P, R]) -> Callable[P, R]:
    """As `functools.cache`, with an entry for each version."""

    @cache
    def of(_served: tuple[str, frozenset[str]], *args: P.args, **kwargs: P.kwargs) -> R:
        return function(*args, **kwargs)

    @wraps(function)
    def found(*args: P.args, **kwargs: P.kwargs) -> R:
        return of(_SERVED.get(), *args, **kwargs)  # type: ignore[arg-type]  # what can be cached is known to the caller

    return found
