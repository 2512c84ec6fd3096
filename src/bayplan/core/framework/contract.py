"""What a plugin can implement. Everything is array-shaped: one call answers for all given nodes.

A plugin is any object with a `name` and some of the methods below; the protocols it satisfies are the extension
points it takes part in. Constructors only store arguments. Plugins keep nothing between calls: what lasts for one
attempt is the *state* that `pre_filter` or `pre_score` returns, which is passed to the later calls. A filter or score
plugin without the preparing step gets the `PodInfo` itself as its state.

Kinds that a plugin looks up besides pods and nodes are named in its `looks_up`, such as
`looks_up: ClassVar[frozenset[str]] = frozenset({"Service"})`; a live scheduler watches no others. Without it, a
plugin that is not built in is taken to look up all kinds that some built-in plugin does.

Failure codes are int64; 0 means "passes". The meaning of other codes is private to the plugin; `explain_failure` turns
them into text on demand. So filtering thousands of nodes builds no strings.

What-if: preemption asks "what if these pods were gone from that node?" for many nodes at once, and filtering asks
"what if the nominated pods were there?" Each node then has *its own* world, in which only its own pods have moved.
`view.usage` already reflects such worlds for resources. A plugin whose state contains anything else that depends on
pods implements `fork` and `shift`, and its `filter` must use the shifted values of the node it evaluates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, RowArray, Rows, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.verdict import Status
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object

State: TypeAlias = Any

MAX_NODE_SCORE = 100


class Reads(Flag):
    """What a plugin's answer for a node depends on besides the pod; determines what can be reused.

    A plugin that does not read the CLUSTER makes three promises. Its state, and whether it skips, depend only on the
    pod's shape (not on its name or priority) and on node objects. An answer for a node changes only when a node object
    or that node's own pods change. And the result of `normalize` for a score depends only on that score and on the
    lowest and the highest one.
    """

    NODE = auto()  # node objects
    USAGE = auto()  # the pods on that node: their resources, ports
    CLUSTER = auto()  # anything else: pods elsewhere, volumes, services


class Skip:
    """The plugin has nothing to do for this pod."""


SKIP = Skip()


@dataclass(frozen=True, slots=True)
class Ready:
    """The plugin continues with `state`. `nodes`, if given, are the only nodes to evaluate, by name."""

    state: State
    nodes: Collection[str] | None = None


PreFiltered: TypeAlias = Ready | Skip | Status


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    name: ClassVar[str]

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Whether the pod may enter the queue."""


@runtime_checkable
class PreFilterPlugin(Protocol):
    name: ClassVar[str]

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        """Prepare for this pod. A Status (not successful) rejects it on every node."""


@runtime_checkable
class FilterPlugin(Protocol):
    name: ClassVar[str]
    reads: ClassVar[Reads]

    def filter(self, state: State, view: View, rows: Rows) -> IntArray:
        """(rows,) failure codes, 0 where the node passes."""

    def explain_failure(self, state: State, view: View, code: int) -> Status:
        """A failure code of `filter` as a status with reasons. The status needs no plugin name."""


@runtime_checkable
class UnpreparedPlugin(Protocol):
    """A filter plugin that works without its PreFilter, which a profile may leave out."""

    name: ClassVar[str]

    def unprepared(self, pod: PodInfo, view: View) -> State | Skip:
        """The state for `filter` in that case."""


@runtime_checkable
class WhatIfPlugin(Protocol):
    """A filter plugin whose state follows pods added or removed in a what-if view (upstream's AddPod, RemovePod)."""

    name: ClassVar[str]

    def fork(self, state: State, view: View) -> State:
        """A state that can be shifted without changing the given one (which may itself have been shifted)."""

    def shift(self, state: State, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        """Pod `pod_rows[i]` is added to (+1) or removed from (-1) node `node_rows[i]`, in that node's world only.

        `node_rows` may contain a node several times. The order within one call has no meaning.
        """


@runtime_checkable
class RecountingPlugin(Protocol):
    """A filter plugin that counts pods, and follows some that it would not count (upstream's AddPod, RemovePod)."""

    name: ClassVar[str]

    def recount(self, state: State, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> State:
        """The state, made of a view in which the pods have come (+1) or gone (-1), as if it had followed them."""


class Found(Protocol):
    """Nodes that a pod would fit on if certain pods left them."""

    @property
    def tied_rows(self) -> RowArray:
        """The nodes to choose from, by name; none if making room does not help."""

    def victims_on(self, node_row: int) -> RowArray:
        """The pods that have to leave one of them, most important first."""

    def failures(self) -> Iterable[tuple[Status, int]]:
        """Why making room did not help, with the number of nodes on which it did not."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One node that the pod would fit on if these pods left it."""

    node_row: int
    victim_rows: RowArray  # most important first

    @property
    def tied_rows(self) -> RowArray:
        return row_array([self.node_row])

    def victims_on(self, node_row: int) -> RowArray:
        assert node_row == self.node_row
        return self.victim_rows

    def failures(self) -> Iterable[tuple[Status, int]]:
        return ()


class PostFiltered(NamedTuple):
    """What a PostFilter plugin came to.

    Unschedulable: the next plugin is asked. SUCCESS with something `found`: the pod is nominated to a node, and the
    pods in its way are evicted. Anything else ends the chain.
    """

    status: Status
    found: Found | None = None
    actions: tuple[Action, ...] = ()  # to perform now, whatever becomes of the pod


class Failure(Protocol):
    """An attempt in which a pod fits on no node, as PostFilter plugins see it."""

    def state_of(self, plugin: str) -> State | Skip | None:
        """What the PreFilter of a plugin left for later; None if it was not reached."""

    def codes_of(self, plugin: str) -> IntArray:
        """The failure codes of the nodes that the plugin rejected, in no order."""

    def fits_without(self, node_row: int, victim_rows: RowArray) -> bool:
        """Whether the pod would pass all filters on the node if these pods had left it."""

    def preempt(self) -> PostFiltered:
        """Preemption, as DefaultPreemption does it."""


@runtime_checkable
class PostFilterPlugin(Protocol):
    name: ClassVar[str]

    def post_filter(self, pod: PodInfo, view: View, failure: Failure) -> PostFiltered:
        """What may help a pod that fits nowhere. Nothing is changed here: the core does what is returned."""


@runtime_checkable
class PreScorePlugin(Protocol):
    name: ClassVar[str]

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> State | Skip:
        """Prepare for scoring; `SKIP` leaves the plugin out of this pod's totals."""


@runtime_checkable
class ScorePlugin(Protocol):
    name: ClassVar[str]
    score_reads: ClassVar[Reads]

    def score(self, state: State, view: View, rows: RowArray) -> IntArray:
        """(rows,) raw scores of feasible nodes."""


@runtime_checkable
class NormalizePlugin(Protocol):
    name: ClassVar[str]

    def normalize(self, state: State, scores: IntArray, rows: RowArray) -> IntArray:
        """(rows,) scores scaled to 0..100; `rows` are all feasible nodes."""


@runtime_checkable
class ReservePlugin(Protocol):
    name: ClassVar[str]

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[Object]:
        """Objects as they will be once the pod is on the node; reserved for it from now on. None for a pod that the
        plugin has skipped at PreFilter.

        If the pod does not get bound, the core undoes in memory what was not written; see `UnreservePlugin`.
        """


@dataclass(frozen=True, slots=True)
class AssumedPod:
    """A pod that has its node but is not bound yet, as `pre_bind` and `unreserve` of one plugin see it."""

    node_row: int  # ABSENT for `unreserve` when the node is gone
    node_name: str
    written: tuple[Object, ...]  # of the objects that `reserve` returned, of all plugins: those that are written
    reserved_at: int  # when the pod was given the node
    asked_at: int  # when `pre_bind` of this plugin was first asked
    times_asked: int  # how often before
    now: int


@runtime_checkable
class UnreservePlugin(Protocol):
    """A reserve plugin for which more than memory has to be undone when a pod does not get bound."""

    name: ClassVar[str]

    def unreserve(self, pod: PodInfo, view: View, placement: AssumedPod) -> Sequence[Action]:
        """Actions that take back what was written for the pod."""


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod has to wait for permission, at most this long."""

    timeout_ns: int


@runtime_checkable
class PermitPlugin(Protocol):
    name: ClassVar[str]

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        """Whether the pod may be bound to the node now."""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that a Permit plugin holds back. It has its node already, and `view` shows it there."""

    pod: PodInfo
    node_row: int


@runtime_checkable
class AnsweringPlugin(Protocol):
    """A Permit plugin that lets pods go, or rejects them, before their time is up."""

    name: ClassVar[str]

    def answer_waiting(self, waiting: Sequence[WaitingPod], view: View) -> Mapping[str, Status]:
        """By key, a status for each pod that need not wait any longer: SUCCESS allows it, others reject it.

        The core asks whenever something has happened while pods wait for this plugin: an event, or another pod that
        got a node or lost it. `waiting` are all of them, in the order in which they began to wait.
        """


@dataclass(frozen=True, slots=True)
class Pending:
    """The pod cannot be bound yet. The plugin is asked again when an object of one of the `kinds` comes, changes or
    goes, at `look_at`, and for the last time at `until`: a pod that is still pending then loses its node.
    """

    until: int
    kinds: frozenset[str] = frozenset()  # names of kinds, such as "Service"
    look_at: int | None = None  # not later than now: at once, for a plugin that is asked for the first time
    actions: tuple[Action, ...] = ()  # to perform now


@runtime_checkable
class PreBindPlugin(Protocol):
    name: ClassVar[str]

    def pre_bind(self, pod: PodInfo, view: View, placement: AssumedPod) -> Status | Pending:
        """What is left to be done, or waited for, before the pod is bound.

        Plugins are asked one after another, once Permit has let the pod go and what `reserve` returned is written. A
        plugin that returns SUCCESS is not asked about this attempt again.
        """


@runtime_checkable
class PreFlightPlugin(Protocol):
    """A PreBind plugin that knows from the pod alone that there is nothing to do (upstream's PreBindPreFlight)."""

    name: ClassVar[str]

    def pre_bind_pre_flight(self, pod: PodInfo) -> bool:
        """False: `pre_bind` returns SUCCESS for this pod, whatever the node."""


@runtime_checkable
class PostBindPlugin(Protocol):
    name: ClassVar[str]

    def post_bind(self, pod: PodInfo, node_name: str) -> Sequence[Action]:
        """Further actions to perform now that the pod is bound."""


@runtime_checkable
class QueueSortPlugin(Protocol):
    name: ClassVar[str]

    def sort_key(self, pod: PodInfo, queued_at: int) -> tuple[int, ...]:
        """Smaller goes first."""


@runtime_checkable
class BindPlugin(Protocol):
    name: ClassVar[str]

    def bind_target(self, pod: PodInfo, node_name: str) -> str:
        """The node to bind to."""


def default_normalize(scores: IntArray, *, reverse: bool) -> IntArray:
    """Scale to 0..100 by the maximum; with `reverse`, the smallest becomes the best. Scores must not be negative."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return scores * 0 + MAX_NODE_SCORE if reverse else scores
    scaled = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
