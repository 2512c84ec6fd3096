"""PodTopologySpread: keeps the pods of a workload evenly spread over zones, hosts or any other node label.

`constraints` says which constraints a pod has, `filtering` judges nodes by the hard ones, `scoring` by the soft
ones, `hints` says when a rejected pod may be tried again; the plugin here only joins them.
Upstream: plugins/podtopologyspread/plugin.go (v1.36).
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import PodTopologySpreadArgs
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.pod_topology_spread import filtering, hints, scoring
from bayplan.core.plugins.pod_topology_spread.constraints import (
    HARD,
    SOFT,
    SpreadConstraint,
    constraints_of,
    is_spread,
    may_have_constraints,
    requires_all_keys,
)
from bayplan.core.plugins.pod_topology_spread.filtering import HardState
from bayplan.core.plugins.pod_topology_spread.grouping import SpreadGroups, spread_groups
from bayplan.core.plugins.pod_topology_spread.scoring import SoftState
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import View
from bayplan.model.selectors import SelectorError

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_LACKS_KEY = f"{REASON_SKEW} (missing required label)"


class PodTopologySpread:
    """Rejects nodes whose domain is too full already, and prefers those in the emptier ones."""

    name: ClassVar[str] = "PodTopologySpread"
    without_pre_filter: ClassVar[str] = 'reading "PreFilterPodTopologySpread" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'error reading "PreScorePodTopologySpread" from cycleState: not found'
    looks_up: ClassVar[frozenset[str]] = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})
    reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE | Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE | Reads.CLUSTER

    def __init__(self, args: PodTopologySpreadArgs | None = None, *, gates: FeatureGates) -> None:
        self.args = args or PodTopologySpreadArgs()
        self.gates = gates

    def concerns(self, pod: PodInfo) -> bool:
        return may_have_constraints(pod.spec, self.args, HARD)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        where = "get constraints from pod: obtaining pod's hard topology spread constraints"
        constraints = self._constraints(pod, view, HARD, where)
        return Ready(filtering.prepare(constraints, pod, view)) if constraints else SKIP

    def _constraints(self, pod: PodInfo, view: View, action: str, where: str) -> list[SpreadConstraint]:
        try:
            return constraints_of(pod.shape, view.objects, self.args, self.gates, action)
        except SelectorError as problem:
            raise CycleError(self.name, f"{where}: {problem}") from problem

    def filter(self, state: HardState, view: View, rows: Rows) -> IntArray:  # noqa: ARG002
        return filtering.judge(state, rows)

    def explain_failure(self, state: HardState, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON_LACKS_KEY) if code == filtering.LACKS_KEY else unschedulable(REASON_SKEW)

    def fork(self, state: HardState, view: View) -> HardState:
        return filtering.fork(state, view)

    def shift(self, state: HardState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        filtering.shift(state, view.pods.identity_ids[pod_rows], node_rows, sign)

    def recount(self, state: HardState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> HardState:
        return filtering.recount(state, view, pod_rows, node_rows, sign)

    def foresee(self, state: HardState, view: View, priority: int) -> IntArray:
        return filtering.foresee(state, view, priority)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> SoftState | Skip:
        constraints = self._soft_constraints(pod, view)
        if not constraints:
            return SKIP
        require_all = requires_all_keys(pod.spec, self.args)
        return scoring.prepare(constraints, require_all, pod, view, feasible_rows)

    def _soft_constraints(self, pod: PodInfo, view: View) -> list[SpreadConstraint]:
        where = "calculating preScoreState: obtaining pod's soft topology spread constraints"
        return self._constraints(pod, view, SOFT, where)

    def speaks(self, pod: PodInfo, view: View) -> bool:
        return is_spread(pod.shape, view.objects) and bool(self._soft_constraints(pod, view))

    def score(self, state: SoftState, view: View, rows: RowArray) -> IntArray:  # noqa: ARG002
        return scoring.raw_scores(state, rows)

    def normalize(self, state: SoftState, scores: IntArray, rows: RowArray) -> IntArray:
        return scoring.normal_scores(state, scores, rows)

    def group_nodes(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> SpreadGroups | None:
        state = self.pre_score(pod, view, feasible_rows)
        if isinstance(state, Skip):
            return None
        return spread_groups(state, view, feasible_rows, self._soft_constraints, pod)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.UPDATE_POD_TOLERATION | ActionType.DELETE
        nodes = ActionType.ADD | ActionType.DELETE | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_TAINT
        return (
            on(EventResource.POD, pods, partial(hints.after_pod_change, args=self.args, gates=self.gates)),
            on(EventResource.NODE, nodes, partial(hints.after_node_change, args=self.args, gates=self.gates)),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        ends = partial(hints.after_pod_ends_to_count, args=self.args, gates=self.gates)
        included = partial(hints.after_node_left_out, args=self.args, gates=self.gates)
        selecting = partial(hints.after_selecting_change, args=self.args, gates=self.gates)
        return (
            on(EventResource.POD, ActionType.UPDATE, ends),
            on(EventResource.NODE, ActionType.UPDATE_NODE_LABEL, included),
            *(on(resource, ActionType.ALL, selecting) for resource in hints.SELECTING_RESOURCES),
        )
