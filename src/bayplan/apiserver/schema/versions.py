"""Which Kubernetes version's types are meant, and with which feature gates, for whoever asks for a type by name.

A process may hold servers of several versions. Each says whose types it means while it does something (`serving`), and
all that is looked up meanwhile, and remembered (`cached_by_version`), is of that version. Nothing here knows what
versions have in common, or which one a cluster has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from types import MappingProxyType
from typing import Final, ParamSpec, TypeVar

#: The version whose types the files of `data` describe; the folders beside them say what is otherwise in later ones.
FIRST: Final = "1.36"
LATER: Final = ("1.37",)
#: The version, and feature gates that are not as that version has them by default.
_SERVED: ContextVar[tuple[str, frozenset[tuple[str, bool]]]] = ContextVar("served", default=(FIRST, frozenset()))
NO_GATES: Final[Mapping[str, bool]] = MappingProxyType({})

P = ParamSpec("P")
R = TypeVar("R")


def served_version() -> str:
    """`1.36`."""
    return _SERVED.get()[0]


def changed_gates() -> Mapping[str, bool]:
    """Feature gates that are not as the version has them by default."""
    return dict(_SERVED.get()[1])


def later_than_first(version: str) -> tuple[str, ...]:
    """The versions whose changes that version has, oldest first."""
    return LATER[: LATER.index(version) + 1] if version in LATER else ()


@contextmanager
def serving(version: str, gates: Mapping[str, bool] = NO_GATES) -> Iterator[None]:
    """Whoever asks for types meanwhile, tasks that are started here included, gets those of this version.

    `gates` are feature gates that are not as the version has them by default.
    """
    before = _SERVED.set((version, frozenset(gates.items())))
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
