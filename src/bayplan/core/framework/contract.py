"""What a plugin may implement. Array-shaped: one call answers for all nodes asked about.

A plugin is any object with a `name` and some of the methods below; the protocols it satisfies are the extension
points it takes part in. Constructors store arguments only. Plugins keep nothing between calls: what lasts one
attempt is the *state* that `pre_filter` or `pre_score` returns and the later calls get back. A filter or score
plugin without the preparing step gets the `PodInfo` itself as its state.

Failure codes are int64, 0 for "passes"; what a code means is the plugin's own affair, told by `explain_failure`
when somebody wants words. So filtering thousands of nodes builds no strings.

What-if: preemption asks "what if these pods were gone from that node" for many nodes at once, and filtering asks
"what if the nominated pods were there". Each node then stands in *its own* world, in which only its own pods have
moved. `view.usage` already holds such worlds for resources. A plugin whose state holds anything else that depends on
pods implements `fork` and `shift`, and its `filter` must use the shifted values for the node it judges.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.verdict import Status
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object

State: TypeAlias = Any

MAX_NODE_SCORE = 100


class Reads(Flag):
    """What a plugin's answer for a node depends on, beyond the pod; decides what may be reused.

    A plugin that does not read the CLUSTER promises three things. Its state, and whether it skips, depend on the pod's
    shape (not on its name or priority) and the node objects alone. An answer for a node changes only when a node object
    changes or that node's own pods do. And what `normalize` makes of a score depends on that score and on the lowest
    and highest one, nothing else.
    """

    NODE = auto()  # node objects
    USAGE = auto()  # the pods on that node: their resources, ports
    CLUSTER = auto()  # anything else: pods elsewhere, volumes, services


class PodParts(Flag):
    """What of a pod a plugin looks at; decides which pods may share its answers.

    Declared as `pod_parts`, for all that the plugin does. One that declares nothing may look at everything in a shape.
    """

    CONSTRAINTS = auto()  # node selector, node affinity, tolerations, containers' images and ports, host network
    REQUESTS = auto()  # resources that the pod asks for


class OtherNodes(Flag):
    """What of other node objects a plugin looks at when it answers for a node; decides whose answers outlast a change.

    Declared as `other_nodes`, for all that a plugin does which does not read the CLUSTER. Its state must then be
    independent of the node objects, but for which resources there are, and so must be what its failure codes mean. One
    that declares nothing may look at every node.
    """

    NOTHING = 0
    IMAGES = auto()  # how many nodes there are, and how many of them hold an image


class Skip:
    """The plugin has nothing to do for this pod."""


SKIP = Skip()


@dataclass(frozen=True, slots=True)
class Ready:
    """The plugin goes on with `state`. `nodes`, if given, are the only node names worth looking at."""

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
class SelectivePlugin(Protocol):
    """A plugin that can tell from the pod alone that it will always skip it."""

    name: ClassVar[str]

    def concerns(self, pod: PodInfo) -> bool:
        """False: whatever the cluster looks like, PreFilter skips pods of this shape."""


@runtime_checkable
class FilterPlugin(Protocol):
    name: ClassVar[str]
    reads: ClassVar[Reads]

    def filter(self, state: State, view: View, rows: Rows) -> IntArray:
        """(rows,) failure codes, 0 where the node passes."""

    def explain_failure(self, state: State, view: View, code: int) -> Status:
        """What a failure code of `filter` says in words. The status needs no plugin name."""


@runtime_checkable
class SureFilter(Protocol):
    """A filter plugin that may know, without a look at each node, that no node fails."""

    name: ClassVar[str]

    def passes_everywhere(self, state: State, view: View) -> bool:
        """True: `filter` gives 0 for every node. It may be so without being known."""


@runtime_checkable
class UnpreparedPlugin(Protocol):
    """A filter plugin that can do without its PreFilter, which a profile may leave out."""

    name: ClassVar[str]

    def unprepared(self, pod: PodInfo, view: View) -> State | Skip:
        """The state for `filter` then."""


@runtime_checkable
class WhatIfPlugin(Protocol):
    """A filter plugin whose state follows pods that come or go in a what-if view (upstream's AddPod, RemovePod)."""

    name: ClassVar[str]

    def fork(self, state: State, view: View) -> State:
        """A state that can be shifted without changing the given one (which may itself have been shifted)."""

    def shift(self, state: State, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        """Pod `pod_rows[i]` comes to (+1) or leaves (-1) node `node_rows[i]`, in that node's world alone.

        `node_rows` may hold a node several times. Order within one call has no meaning.
        """


#: What `foresee` says of a node whose answer depends on which of its pods leave.
UNFORESEEN = -(1 << 63)
#: The same where no pod of any other node makes a difference.
OWN_PODS_DECIDE = UNFORESEEN + 1


@runtime_checkable
class ForesightPlugin(Protocol):
    """A filter plugin that reads the CLUSTER, yet knows of most nodes that its answer stays, whichever pods leave them.

    Preemption tries a node again only if its own pods have changed, or if the plugin cannot foresee its answer and says
    that pods elsewhere may change it. The plugin promises that its state depends on the pod's shape (not on its name or
    priority) and on the cluster alone.
    """

    name: ClassVar[str]

    def foresee(self, state: State, view: View, priority: int) -> IntArray:
        """(nodes,) what `filter` says in every world in which pods of a lower priority have left the node, or none.

        Where that differs, or is not known: OWN_PODS_DECIDE if it changes only with the pods on that node, or that come
        to it in a fork, as long as all objects but pods stay; else UNFORESEEN. The given state may be a fork.
        """


@runtime_checkable
class PreScorePlugin(Protocol):
    name: ClassVar[str]

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> State | Skip:
        """Prepare for scoring; `SKIP` leaves the plugin out of this pod's totals."""


@runtime_checkable
class ScorePlugin(Protocol):
    """With `stays_in_range` set its scores are 0 to 100 by their very arithmetic, and nobody looks whether they are."""

    name: ClassVar[str]
    score_reads: ClassVar[Reads]

    def score(self, state: State, view: View, rows: RowArray) -> IntArray:
        """(rows,) raw scores of feasible nodes."""


class NodeGroups(Protocol):
    """Feasible nodes in groups that have one final score each, for identical pods that come one after another."""

    groups: RowArray  # (nodes,) the group of each

    def follow(self, view: View, feasible_rows: RowArray) -> bool:
        """Bring every node into its group; False when that takes new groups, as it does for another array of rows."""

    def scores(self) -> IntArray:
        """(groups,) normalised scores, 0 for groups without a feasible node. The caller may change them."""


@runtime_checkable
class GroupingScorePlugin(Protocol):
    """A score plugin that reads the CLUSTER, yet can score nodes by groups instead of one by one."""

    name: ClassVar[str]

    def group_nodes(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> NodeGroups | None:
        """For pods of this shape; None where it skips the pod, or there is nothing to gain by it."""


class SelectiveScorePlugin:
    """Base of a score plugin that can tell beforehand, without looking at nodes, that it has nothing to say."""

    def tells_nodes_apart(self, pod: PodInfo) -> bool:  # noqa: ARG002
        """False: whatever the cluster looks like, pods of this shape get 0 on every node."""
        return True

    def speaks(self, pod: PodInfo, view: View) -> bool:  # noqa: ARG002
        """False: as the cluster is now, the plugin skips the pod, or gives every node 0, whichever are feasible."""
        return True


@runtime_checkable
class NormalizePlugin(Protocol):
    name: ClassVar[str]

    def normalize(self, state: State, scores: IntArray, rows: RowArray) -> IntArray:
        """(rows,) scores brought into 0..100; `rows` are all feasible nodes."""


@runtime_checkable
class ReservePlugin(Protocol):
    name: ClassVar[str]

    def reserve(self, pod: PodInfo, view: View, node_row: int) -> Sequence[Object]:
        """Objects as they are to be once the pod goes to the node; held back from everybody else from now on.

        There is nothing to take back: the core undoes it when the pod does not get there.
        """


@dataclass(frozen=True, slots=True)
class Wait:
    """The pod has to wait for somebody's word, at most this long."""

    timeout_ns: int


@runtime_checkable
class PermitPlugin(Protocol):
    name: ClassVar[str]

    def permit(self, pod: PodInfo, view: View, node_row: int) -> Status | Wait:
        """Whether the pod may be bound to the node now."""


@runtime_checkable
class PreBindPlugin(Protocol):
    name: ClassVar[str]

    def pre_bind(self, pod: PodInfo, view: View, node_row: int) -> Status:
        """The last word before the pod is bound: its volumes are, and nobody makes it wait any more."""


@runtime_checkable
class PostBindPlugin(Protocol):
    name: ClassVar[str]

    def post_bind(self, pod: PodInfo, node_name: str) -> Sequence[Action]:
        """What else is to be done in the world now that the pod is bound."""


@runtime_checkable
class OneRowFilter(Protocol):
    """A filter plugin that can judge a single node with plain numbers: between two decisions one node changes."""

    name: ClassVar[str]

    def filter_one(self, state: State, view: View, row: int) -> int:
        """The failure code that `filter` gives for this row."""


@runtime_checkable
class OneRowScore(Protocol):
    """The same for a score plugin."""

    name: ClassVar[str]

    def score_one(self, state: State, view: View, row: int) -> int:
        """The raw score that `score` gives for this row."""


@runtime_checkable
class AmountsPlugin(Protocol):
    """A plugin to which nodes with the same amounts are the same node: what they have and what is requested there."""

    name: ClassVar[str]

    def sees_amounts_alone(self, state: State) -> bool:
        """True: for this state of its filter, or of its scores, it looks at nothing else of a node."""


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
    """Scale to 0..100 by the maximum; `reverse` makes the smallest the best. Scores are not negative."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return scores * 0 + MAX_NODE_SCORE if reverse else scores
    scaled = scores * MAX_NODE_SCORE // highest
    return MAX_NODE_SCORE - scaled if reverse else scaled
