"""What becomes of an object whose owners go: the rules of garbage collection, for structs and for documents.

Takes the owners that an object names, each with how it stands; gives what is to be written. Who watches what, and how
it is written, is the business of `garbage_collector` and of the API server's housekeeping. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import Generic, NamedTuple, TypeVar

from bayplan.store import BACKGROUND, FOREGROUND, ORPHAN
from bayplan.store.deleting import FOREGROUND_FINALIZER, ORPHAN_FINALIZER

ReferenceT = TypeVar("ReferenceT")


class OwnerStanding(Enum):
    """How an owner is doing."""

    LIVING = auto()
    """It is there, or nobody here has ever known it."""
    WAITING = auto()
    """It was deleted, and goes after its dependents."""
    GONE = auto()


class DependentFate(NamedTuple, Generic[ReferenceT]):
    """What is to be done with a dependent."""

    kept: Sequence[ReferenceT] = ()
    """The references that it keeps; without any, it is deleted."""
    propagation: str = BACKGROUND
    """Of its deletion."""
    unblocks: bool = False
    """Whether its owners must be told first not to wait for it: in a circle none could go before the others."""


def fate_of(
    references: Iterable[ReferenceT],
    standing_of: Callable[[ReferenceT], OwnerStanding],
    finalizers: Sequence[str],
    *,
    owns_some: bool,
    awaits_itself: Callable[[], bool],
) -> DependentFate[ReferenceT]:
    """What becomes of a dependent that is not deleted yet, one of whose owners is gone or waits.

    Args:
        references: its owners.
        standing_of: how each of them is doing.
        finalizers: its own.
        owns_some: whether it has dependents itself.
        awaits_itself: whether one of these waits for its dependents, too.
    """
    # Upstream: pkg/controller/garbagecollector/garbagecollector.go attemptToDeleteItem (v1.36).
    standings = [(one, standing_of(one)) for one in references]
    living = [one for one, standing in standings if standing is OwnerStanding.LIVING]
    if living:
        return DependentFate(living)
    if owns_some and any(standing is OwnerStanding.WAITING for _, standing in standings):
        return DependentFate((), FOREGROUND, unblocks=awaits_itself())
    return DependentFate((), propagation_of(finalizers))


def propagation_of(finalizers: Sequence[str]) -> str:
    """How an object is deleted: as an earlier request has left it written."""
    if ORPHAN_FINALIZER in finalizers:
        return ORPHAN
    return FOREGROUND if FOREGROUND_FINALIZER in finalizers else BACKGROUND


def awaits_dependents(*, is_deleted: bool, finalizers: Sequence[str]) -> bool:
    """Whether this is an owner that goes after its dependents, and has been deleted."""
    return is_deleted and FOREGROUND_FINALIZER in finalizers
