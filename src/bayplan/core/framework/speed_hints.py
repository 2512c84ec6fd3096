"""What a plugin can say so that it is asked less, or for less at a time. All of it is optional.

Without these, a plugin is asked more often and gives the same answers. With them, it makes promises: one that does not
hold makes decisions wrong, not slow, which is what `check_plugin` looks for. What a plugin must have is in `contract`.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import ClassVar, Protocol, runtime_checkable

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.loops import Rule
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import State
from bayplan.core.snapshot import View


class PodParts(Flag):
    """Which parts of a pod a plugin depends on; determines which pods can share its answers.

    Declared as `pod_parts`, for everything the plugin does. Without it, a plugin may depend on everything in a shape.
    """

    CONSTRAINTS = auto()  # node selector, node affinity, tolerations, containers' images and ports, host network
    REQUESTS = auto()  # resources that the pod requests


class OtherNodes(Flag):
    """What a plugin's answer for a node uses of other node objects; determines which answers survive a change.

    Declared as `other_nodes`, for everything a plugin does that does not read the CLUSTER. Its state must then be
    independent of the node objects, except for which resources exist, and so must the meaning of its failure codes.
    Without it, a plugin may depend on every node.
    """

    NOTHING = 0
    IMAGES = auto()  # how many nodes there are, and how many of them have an image


@runtime_checkable
class SelectivePlugin(Protocol):
    """A plugin that knows from the pod alone that it will always skip it."""

    name: ClassVar[str]

    def concerns(self, pod: PodInfo) -> bool:
        """False: regardless of the cluster, PreFilter skips pods of this shape."""


#: Returned by `foresee` for a node whose answer depends on which of its pods leave.
UNFORESEEN = -(1 << 63)


#: Returned by `foresee` where the answer depends only on the pods on that node itself.
OWN_PODS_DECIDE = UNFORESEEN + 1


@runtime_checkable
class ForesightPlugin(Protocol):
    """A filter plugin that reads the CLUSTER, but can predict its answer for most nodes, whichever pods leave them.

    Preemption tries a node again only if its own pods have changed, or if the plugin cannot predict its answer and
    pods elsewhere may change it. The plugin promises that its state depends only on the pod's shape (not on its name or
    priority) and on the cluster.
    """

    name: ClassVar[str]

    def foresee(self, state: State, view: View, priority: int) -> IntArray:
        """(nodes,) the result of `filter` in every world in which any pods of a lower priority, or none, have left.

        Where that differs, or is not known: OWN_PODS_DECIDE if it changes only with the pods on that node, or added to
        it in a fork, as long as no object other than pods changes; else UNFORESEEN. The given state may be a fork.
        """


class NodeGroups(Protocol):
    """Feasible nodes in groups that have one final score each, for identical pods that arrive one after another."""

    groups: RowArray  # (nodes,) the group of each

    def follow(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> bool:
        """Move every node to its group; False if that takes new groups, as it does for a different array of rows.

        `pod` looks like the one that the groups were made for, which must not be kept.
        """

    def scores(self) -> IntArray:
        """(groups,) normalized scores, 0 for groups without a feasible node. The caller may change them."""


@runtime_checkable
class GroupingScorePlugin(Protocol):
    """A score plugin that reads the CLUSTER, but can score nodes by groups instead of one by one."""

    name: ClassVar[str]

    def group_nodes(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> NodeGroups | None:
        """For pods of this shape; None if it skips the pod, or if groups would not help."""


class SelectiveScorePlugin:
    """Base of a score plugin that knows beforehand, without evaluating nodes, that its scores make no difference."""

    def tells_nodes_apart(self, pod: PodInfo) -> bool:  # noqa: ARG002
        """False: regardless of the cluster, pods of this shape get 0 on every node."""
        return True

    def speaks(self, pod: PodInfo, view: View) -> bool:  # noqa: ARG002
        """False: in the current cluster, the plugin skips the pod or scores every node 0, whichever are feasible."""
        return True


@runtime_checkable
class OneRowFilter(Protocol):
    """A filter plugin that can evaluate a single node with plain numbers: between two decisions, one node changes."""

    name: ClassVar[str]

    def filter_one(self, state: State, view: View, row: int) -> int:
        """The failure code that `filter` returns for this row."""


@runtime_checkable
class OneRowScore(Protocol):
    """A score plugin that can also score a single node."""

    name: ClassVar[str]

    def score_one(self, state: State, view: View, row: int) -> int:
        """The raw score that `score` returns for this row."""


@runtime_checkable
class CompiledFilter(Protocol):
    """A filter plugin whose rule the compiled loops know, so that they can apply it together with others.

    With `follows_requests = True` it promises more: for pods that differ only in how much they request of cpu, memory
    and ephemeral storage, and not by default, the rules differ only in that they contain these amounts.
    """

    name: ClassVar[str]

    def filter_rule(self, state: State) -> Rule | None:
        """The rule that rejects the same nodes as `filter`; None if there is none for this state."""


@runtime_checkable
class CompiledScore(Protocol):
    """A score plugin whose rule the compiled loops know, so that they can apply it together with others."""

    name: ClassVar[str]

    def score_rule(self, state: State) -> Rule | None:
        """The rule that gives the same scores as `score`, all within 0 to 100; None if there is none."""
