"""What a plugin can implement for pod groups, besides what `contract` has for single pods.

A profile asks its plugins about a group as a whole at three points: which sets of nodes it may be placed on, which of
those that take it is best, and what may help a group that does not fit. The rules of `contract` hold here too: a plugin
keeps nothing between calls and changes nothing; nodes and pods are rows of the view.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from bayplan.core.actions import Action
from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import Skip, State
from bayplan.core.framework.verdict import Status
from bayplan.core.snapshot import View
from bayplan.model.groups import PodGroup


@dataclass(frozen=True, slots=True)
class PodGroupInfo:
    """A group that is to be scheduled."""

    group: PodGroup
    pods: Sequence[PodInfo]  # the members that wait, in the order in which they are tried
    scheduled_rows: Sequence[int]  # pod rows of the members that have a node already

    @property
    def key(self) -> str:
        meta = self.group.metadata
        return f"{meta.namespace}/{meta.name}"


@dataclass(frozen=True, slots=True)
class GroupPlacement:
    """Nodes that a group may be placed on, all of it or nothing."""

    name: str  # placements are tried in the order of their names, and the first wins where totals are equal
    rows: RowArray


@dataclass(frozen=True, slots=True)
class PodGroupAssignments:
    """Which members find a node within a placement that takes the group."""

    placement: GroupPlacement
    pods: Sequence[PodInfo]
    node_rows: (
        RowArray | None
    )  # where, pod by pod; None if all plugins of the profile that score have the hint `sees_counts_only`


@runtime_checkable
class PlacementGeneratePlugin(Protocol):
    """Of several in a profile only the first is asked."""

    name: ClassVar[str]

    def generate_placements(self, group: PodGroupInfo, view: View, rows: RowArray) -> Sequence[GroupPlacement] | Status:
        """The placements of a group among these nodes, each under a name of its own. They may overlap.

        A status (not successful) rejects the group.
        """


@runtime_checkable
class PlacementScorePlugin(Protocol):
    name: ClassVar[str]

    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> IntArray:
        """(assignments,) scores of placements that take the group; asked only where there are several."""


@runtime_checkable
class NormalizePlacementsPlugin(Protocol):
    """A PlacementScore plugin whose scores have to be brought into the range 0 to 100 once all are known."""

    name: ClassVar[str]

    def normalize_placements(self, group: PodGroupInfo, scores: IntArray) -> IntArray:
        """(assignments,) scores from 0 to 100."""


@dataclass(frozen=True, slots=True)
class GroupProposal:
    """What would make room for a group."""

    victim_rows: Sequence[int]  # pods that have to leave, most important first
    nodes: Mapping[str, str]  # the members that are nominated then, by key, and where to


class PodGroupPostFiltered(NamedTuple):
    """What a PodGroupPostFilter plugin came to.

    Unschedulable: the next plugin is asked. SUCCESS: the group waits until the pods in its way, if any, have left.
    Anything else ends the chain.
    """

    status: Status
    found: GroupProposal | None = None
    actions: tuple[Action, ...] = ()  # to perform now, whatever becomes of the group


class GroupFailure(Protocol):
    """An attempt in which a pod group does not fit, as PodGroupPostFilter plugins see it."""

    @property
    def info(self) -> PodGroupInfo:
        """The group."""

    @property
    def view(self) -> View:
        """The cluster without the members that wait."""

    @property
    def is_constrained(self) -> bool:
        """Whether the group has constraints on topology that count, though they may be empty."""

    def reached(self, plugin: str) -> bool:
        """Whether the PreFilter of a plugin was reached for some pod of the group."""

    def state_of(self, plugin: str, pod: PodInfo) -> State | Skip | None:
        """What the PreFilter of a plugin left for later when a member was tried; None if it was not reached."""

    def codes_of(self, plugin: str, pod: PodInfo) -> IntArray:
        """The failure codes of the nodes that the plugin rejected when a member was tried, in no order."""

    def nodes_without(self, victim_rows: Collection[int]) -> Mapping[str, str] | None:
        """The node of each member that finds one if these pods had left; None if the group does not fit even then."""

    def preempt(self) -> PodGroupPostFiltered:
        """Preemption for the group, as DefaultPreemption does it."""


@runtime_checkable
class PodGroupPostFilterPlugin(Protocol):
    name: ClassVar[str]

    def pod_group_post_filter(self, failure: GroupFailure) -> PodGroupPostFiltered:
        """What may help a pod group that does not fit. Nothing is changed here: the core does what is returned."""
