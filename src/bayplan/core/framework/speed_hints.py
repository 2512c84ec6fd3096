"""What a plugin can say so that it is asked less, or for less at a time. All of it is optional.

Without these, a plugin is asked more often and gives the same answers. With them, it makes promises: one that does not
hold makes decisions wrong, not slow, which is what `check_plugin` looks for. What a plugin must have is in `contract`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import Flag, auto
from typing import Any, ClassVar, Protocol, TypeAlias

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.loops import Rule
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import State
from bayplan.core.snapshot import View

#: See `SpeedHints.sign_pod`.
Signer: TypeAlias = Callable[[PodInfo], Hashable]


def sign_constraints(pod: PodInfo) -> Hashable:
    """For a plugin that looks at node selector, node affinity, tolerations, images, ports and host network alone."""
    return pod.shape.constraints_serial


def sign_requests(pod: PodInfo) -> Hashable:
    """For a plugin that looks at nothing but the resources that the pod requests."""
    return pod.shape.requests_serial


def sign_shape(pod: PodInfo) -> Hashable:
    """For a plugin that may look at anything in a shape."""
    return pod.shape.serial


class OtherNodes(Flag):
    """What a plugin's answer for a node uses of other node objects; see `SpeedHints.other_nodes`."""

    NOTHING = 0
    IMAGES = auto()  # how many nodes there are, and how many of them have an image


#: Returned by `foresee` for a node whose answer depends on which of its pods leave.
UNFORESEEN = -(1 << 63)

#: Returned by `foresee` where the answer depends only on the pods on that node itself.
OWN_PODS_DECIDE = UNFORESEEN + 1


class SpeedHints(Protocol):
    """All hints there are. A plugin has those that it can keep; it need not name this class."""

    #: Of a plugin that does not read the CLUSTER: what its answer for a node uses of other node objects. Its state must
    #: then be independent of the node objects, except for which resources exist, and so must the meaning of its failure
    #: codes. Without it, a plugin may depend on every node.
    other_nodes: ClassVar[OtherNodes]
    #: Of a plugin with `filter_rule` or `score_rule`: for pods that differ only in how much they request of cpu, memory
    #: and ephemeral storage, and not by default, its rules differ only in that they contain these amounts.
    follows_requests: ClassVar[bool]
    #: Scores are 0 to 100 by construction, and the range is not checked.
    stays_in_range: ClassVar[bool]
    #: `post_filter` sees no more of a pod than its shape, its priority and its preemption policy. What it says is then
    #: reused for identical pods while nothing changes.
    sees_shape_only: ClassVar[bool]
    #: The node of each member does not matter to `score_placements`, and of members that are alike only how many find
    #: one. Placements are then compared without placing every member in each of them.
    sees_counts_only: ClassVar[bool]

    def sign_pod(self, pod: PodInfo) -> Hashable:
        """What the plugin looks at in a pod (upstream's SignPod): pods with equal signatures get the same answers.

        For everything that a plugin does which does not read the CLUSTER; `sign_constraints` and `sign_requests` are
        what most need. Without it, only pods of the same shape share answers.
        """

    def concerns(self, pod: PodInfo) -> bool:
        """False: regardless of the cluster, PreFilter skips pods of this shape."""

    def filter_rule(self, state: State) -> Rule | None:
        """The rule of the compiled loops that rejects the same nodes as `filter`; None if none does for this state."""

    def score_rule(self, state: State) -> Rule | None:
        """The rule that gives the same scores as `score`, all within 0 to 100; None if none does for this state."""

    def foresee(self, state: State, view: View, priority: int) -> IntArray:
        """(nodes,) the result of `filter` in every world in which any pods of a lower priority, or none, have left.

        For a filter that reads the CLUSTER. Where the result differs, or is not known: OWN_PODS_DECIDE if it changes
        only with the pods on that node, or added to it in a fork, as long as no object other than pods changes; else
        UNFORESEEN. The given state may be a fork. State depends only on the pod's shape, and on the cluster.
        """

    def tells_nodes_apart(self, pod: PodInfo) -> bool:
        """False: regardless of the cluster, pods of this shape get 0 on every node from a score that reads it."""

    def speaks(self, pod: PodInfo, view: View) -> bool:
        """False: in the current cluster, such a score skips the pod or is 0 on every node, whichever are feasible."""

    def group_nodes(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> NodeGroups | None:
        """Groups of nodes with the same score, which reads the CLUSTER; None if it skips the pod, or has none."""


class NodeGroups(Protocol):
    """Feasible nodes in groups that have one final score each, for identical pods that arrive one after another."""

    groups: RowArray  # (nodes,) the group of each

    def follow(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> bool:
        """Move every node to its group; False if that takes new groups, as it does for a different array of rows.

        `pod` looks like the one that the groups were made for, which must not be kept.
        """

    def scores(self) -> IntArray:
        """(groups,) normalized scores, 0 for groups without a feasible node. The caller may change them."""


def hint(plugin: object, name: str) -> Any:
    """A method or promise of `SpeedHints`; None if the plugin does not have it."""
    return getattr(plugin, name, None)
