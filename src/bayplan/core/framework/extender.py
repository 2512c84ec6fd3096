"""What the core knows of an extender: a service beside the scheduler that filters, scores, preempts or binds.

Takes pods, names of nodes and victims; gives answers as plain data. Whoever builds a profile hands in objects that ask
the service; they raise `CycleError`, in the words that the pod's condition is to show, when it gives no answer. What an
answer means for the attempt is decided in `core.extending`, `core.preemption.extending` and `core.binding`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, Protocol, TypeAlias

from bayplan.core.columns.shapes import PodInfo
from bayplan.model.structs import Struct

#: Stands among the rejectors of a pod when extenders took nodes away.
EXTENDER = "Extender"


class AnyExtender:
    """As a rejector. It names no cluster events, so that nearly everything brings the pod back."""

    name: ClassVar[str] = EXTENDER


class FilterAnswer(Struct, frozen=True):
    """The nodes that an extender leaves, and what it says of others."""

    nodes: tuple[str, ...] = ()
    failed: Mapping[str, str] = {}  # node -> why; removing pods may help
    unresolvable: Mapping[str, str] = {}  # node -> why; counts before `failed`
    as_objects: bool = False  # the nodes came back as objects, with which no pods come


class ExtenderVictim(Struct, frozen=True):
    pod: str  # namespace/name
    uid: str


class Victims(Struct, frozen=True):
    """Who would have to go from a node."""

    pods: tuple[ExtenderVictim, ...]
    violations: int  # of disruption budgets


class ChosenVictims(Struct, frozen=True):
    """Who is to go from a node, as an extender says."""

    uids: tuple[str, ...] = ()
    violations: int = 0


#: Waits for nodes with scores, as they come: from 0 to 10 by convention, which nobody checks. Raises CycleError.
ScoresToCome: TypeAlias = Callable[[], Sequence[tuple[str, int]]]


class Extender(Protocol):
    """Asked in the order of the profile. Each `ask` raises CycleError when there is no answer."""

    @property
    def name(self) -> str:
        """Where it is reached, as the configuration has it."""

    @property
    def ignorable(self) -> bool:
        """Whether an attempt goes on without it when it gives no answer."""

    @property
    def weight(self) -> int: ...

    @property
    def filters(self) -> bool: ...

    @property
    def scores(self) -> bool: ...

    @property
    def preempts(self) -> bool: ...

    @property
    def binds(self) -> bool: ...

    def is_interested(self, pod: PodInfo) -> bool: ...

    def ask_filter(self, pod: PodInfo, nodes: Sequence[str]) -> FilterAnswer: ...

    def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:
        """Ask, and return at once, so that several can be asked at the same time."""

    def ask_victims(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, ChosenVictims]:
        """Both by node."""


def is_any_interested(extenders: Iterable[Extender], pod: PodInfo) -> bool:
    return any(extender.is_interested(pod) for extender in extenders)


def binder_for(extenders: Sequence[Extender], pod: PodInfo) -> Extender | None:
    """The one that binds the pod; a configuration has one binder at most."""
    if not extenders:
        return None
    return next((one for one in extenders if one.binds and one.is_interested(pod)), None)
