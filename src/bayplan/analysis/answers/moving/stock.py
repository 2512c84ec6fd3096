"""What can be moved and where there is room, as numbers for a solver.

Takes a settled course of events; gives free amounts for each node, and the movable pods in *lots*: pods of one kind on
one node. A pod is movable if its controller makes another one elsewhere without loss, and if no budget forbids its
eviction. Two sets of nodes come with each kind: those that node objects do not rule out, ever (for bounds), and those
that nothing but resources speaks against now (for proposals).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course
from bayplan.analysis.answers.moving.quorums import Quorums
from bayplan.analysis.answers.replacements import comes_back
from bayplan.analysis.cluster_objects import unbound
from bayplan.controllers.ownership import controller_reference
from bayplan.core.columns import BoolArray, IntArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import filter_states, run_filters, run_pre_filters
from bayplan.core.framework.contract import (
    SKIP,
    FilterPlugin,
    Reads,
)
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.snapshot import View
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod
from bayplan.model.well_known import DO_NOT_DISRUPT, SAFE_TO_EVICT

#: Annotations with which owners ask autoscalers to leave a pod alone, and the value that says so.
LEAVE_ALONE = {SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"}
#: Controllers whose pods lose nothing when they start again elsewhere.
_MOVED_BY = ("ReplicaSet", "StatefulSet", "ReplicationController")


class Fixed(StrEnum):
    """Why a pod is not moved."""

    BARE = "no controller would recreate it"
    DAEMON = "it belongs to its node"
    JOB = "it would lose its work"
    OTHER = "its controller is of a kind bayplan does not know"
    ANNOTATED = "an annotation asks to leave it alone"
    LEAVING = "it is being deleted"
    BUDGET = "a disruption budget protects it"
    SCHEDULER = "another scheduler places it"
    SIBLING = "it is a pod of the same workload"
    UNSETTLED = "it is not running yet"
    GROUP = "its pod group would not stay whole"


@dataclass(eq=False)
class PodKind:
    """Pods that ask for the same, wherever they are."""

    info: PodInfo
    demand: IntArray  # (dimensions,) what one of them needs where it arrives
    possible: BoolArray  # (nodes,) not ruled out by node objects
    likely: BoolArray  # (nodes,) nothing but resources speaks against it now


@dataclass(eq=False)
class Lot:
    """Movable pods of one kind on one node, in the order in which they would go."""

    kind: PodKind
    node_row: int
    taken: IntArray  # (dimensions,) what becomes free when one of them leaves
    keys: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Stock:
    """All that a solver needs to know. Dimensions are the resources of the cluster and, last, the number of pods."""

    names: list[str]  # of nodes, by row
    alive: BoolArray  # (nodes,)
    free: IntArray  # (nodes, dimensions); negative where a node is overcommitted
    lots: list[Lot]
    fixed: dict[str, Fixed]  # pods that are not moved, and why

    def lots_by_node(self) -> dict[int, list[Lot]]:
        found: defaultdict[int, list[Lot]] = defaultdict(list)
        for lot in self.lots:
            found[lot.node_row].append(lot)
        return found


def take_stock(asking: Asking, course: Course, siblings: Collection[str] = (), quorums: Quorums | None = None) -> Stock:
    """Of the cluster as it is now; `siblings` are pods that must not move.

    With `quorums`, all pods of a node go at once; without, one pod goes after another.
    """
    one_by_one = Quorums(course) if quorums is None else None
    view = course.cache.view()
    lots: dict[tuple[int, int, bytes], Lot] = {}
    kinds: dict[int, PodKind] = {}
    fixed: dict[str, Fixed] = {}
    for key in sorted(course.pods, key=lambda key: (course.pods[key].spec.priority or 0, key)):
        pod = course.pods[key]
        why = _why_fixed(asking, course, pod, siblings) or _why_kept(pod, quorums, one_by_one)
        if why is not None:
            fixed[key] = why
            continue
        info = course.cache.info(unbound(pod))
        serial = info.shape.serial
        if serial not in kinds:
            kinds[serial] = kind_of(asking.profiles[info.scheduler_name], info, view)
        row = view.pods.rows_by_key[key]
        taken = np.append(view.pods.requests[row], 1)
        node_row = int(view.pods.node_rows[row])
        lot = lots.setdefault((node_row, serial, taken.tobytes()), Lot(kinds[serial], node_row, taken))
        lot.keys.append(key)
    return Stock(list(view.nodes.names), view.nodes.alive.copy(), free_amounts(view), list(lots.values()), fixed)


def _why_fixed(asking: Asking, course: Course, pod: Pod, siblings: Collection[str]) -> Fixed | None:
    key, meta = object_key(pod), pod.metadata
    owner = controller_reference(meta)
    known = asking.cluster.pods.get(key)
    if known is None or known.spec.node_name != pod.spec.node_name:
        return Fixed.UNSETTLED
    if meta.deletion_timestamp is not None:
        return Fixed.LEAVING
    if owner is None:
        return Fixed.BARE
    if owner.kind in ("DaemonSet", "Node"):
        return Fixed.DAEMON
    if owner.kind == "Job":
        return Fixed.JOB
    if owner.kind not in _MOVED_BY or not comes_back(pod):
        return Fixed.OTHER
    if key in siblings:
        return Fixed.SIBLING
    if any(meta.annotations.get(name) == value for name, value in LEAVE_ALONE.items()):
        return Fixed.ANNOTATED
    if pod.spec.scheduler_name not in asking.profiles:
        return Fixed.SCHEDULER
    if course.budgets.refusal(pod)[0]:
        return Fixed.BUDGET
    return None


def _why_kept(pod: Pod, quorums: Quorums | None, one_by_one: Quorums | None) -> Fixed | None:
    if one_by_one is not None and (quorum := one_by_one.of(pod)) is not None:
        return None if quorum.may_leave_one_by_one else Fixed.GROUP
    if quorums is not None and (quorum := quorums.of(pod)) is not None:
        return None if quorum.may_leave(pod.spec.node_name) else Fixed.GROUP
    return None


def free_amounts(view: View) -> IntArray:
    free = view.nodes.allocatable - view.usage.requested
    pods = view.nodes.allowed_pods - view.usage.pod_counts
    stacked: IntArray = np.column_stack([free, pods])
    return stacked


def kind_of(profile: Profile, info: PodInfo, view: View) -> PodKind:
    """What a pending pod asks for."""
    return PodKind(info, _demand(profile, info, view), *_nodes_for(profile, info, view))


def _demand(profile: Profile, info: PodInfo, view: View) -> IntArray:
    demand: IntArray = np.zeros(view.nodes.allocatable.shape[1] + 1, dtype=np.int64)
    for plugin in profile.filter:
        if isinstance(plugin, NodeResourcesFit):
            demand[-1] = 1
            for each in plugin.pre_filter(info, view).state.demands:
                # A device class may stand in for it, which is not counted here.
                if not each.may_be_devices:
                    demand[each.resource] = each.amount
    return demand


def _nodes_for(profile: Profile, info: PodInfo, view: View) -> tuple[BoolArray, BoolArray]:
    """Nodes that are possible, and those that are likely."""
    alive = view.nodes.alive.copy()
    try:
        pre = run_pre_filters(profile, info, view)
    except CycleError:
        return alive, np.zeros_like(alive)
    if not pre.status.ok:
        return alive, np.zeros_like(alive)
    states = filter_states(profile, info, view, pre.states)
    asked = [(plugin, state) for plugin, state in zip(profile.filter, states, strict=True) if state is not SKIP]
    lasting = [(plugin, state) for plugin, state in asked if plugin.reads == Reads.NODE]
    others = [(plugin, state) for plugin, state in asked if not isinstance(plugin, NodeResourcesFit)]
    try:
        possible, likely = _passing(lasting, view), _passing(others, view)
    except CycleError:
        return alive, np.zeros_like(alive)
    if pre.nodes is not None:
        likely &= np.isin(view.nodes.names, pre.nodes)
    return possible, likely


def _passing(asked: list[tuple[FilterPlugin, object]], view: View) -> BoolArray:
    rows = np.flatnonzero(view.nodes.alive)
    passing: BoolArray = np.zeros(view.nodes.count, dtype=np.bool_)
    passing[rows] = run_filters([plugin for plugin, _ in asked], [state for _, state in asked], view, rows).passed
    return passing
