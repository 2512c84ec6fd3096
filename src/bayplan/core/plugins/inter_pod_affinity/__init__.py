"""InterPodAffinity: pods that want to be near other pods, or apart from them.

`filtering` judges nodes by required terms, `scoring` by preferred ones, `counting` finds out how many pods stand in
which domain, `hints` when a rejected pod may be tried again; the plugin here only joins them.
Upstream: plugins/interpodaffinity/plugin.go (v1.36).
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import InterPodAffinityArgs
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
    Skip,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.inter_pod_affinity import complete_hints, filtering, hints, scoring
from bayplan.core.plugins.inter_pod_affinity.filtering import AffinityState
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import View
from bayplan.model.pod import Affinity

REASON_AFFINITY = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_ANTI_AFFINITY = "node(s) didn't satisfy existing pods anti-affinity rules"

#: Only anti-affinity can be cured by removing pods from the node.
FAILURES = {
    filtering.BREAKS_AFFINITY: unresolvable(REASON_AFFINITY),
    filtering.BREAKS_ANTI_AFFINITY: unschedulable(REASON_ANTI_AFFINITY),
    filtering.BREAKS_EXISTING_ANTI_AFFINITY: unschedulable(REASON_EXISTING_ANTI_AFFINITY),
}

DEFAULT_ARGS = InterPodAffinityArgs()


class InterPodAffinity:
    """Keeps required terms, the pod's and those of the pods that run, and prefers what they all prefer."""

    name: ClassVar[str] = "InterPodAffinity"
    without_pre_filter: ClassVar[str] = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    without_pre_score: ClassVar[str] = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    looks_up: ClassVar[frozenset[str]] = frozenset({"Namespace"})
    reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE | Reads.CLUSTER
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE | Reads.CLUSTER

    def __init__(self, args: InterPodAffinityArgs = DEFAULT_ARGS, *, gates: FeatureGates) -> None:
        self.args = args
        self._meets_every_term = not gates.release.one_anti_affinity_term_wakes

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        if not pod.shape.has_pod_affinity and not view.counters.terms.in_use:
            return SKIP  # neither this pod nor any other has ever asked for anything
        if pod.shape.terms.faults:
            return unresolvable(f"parsing pod: {pod.shape.terms.error}")
        state = filtering.prepare(pod.shape, view)
        return SKIP if state is None else Ready(state)

    def filter(self, state: AffinityState, view: View, rows: Rows) -> IntArray:
        return filtering.judge(state, view.nodes.labels, rows)

    def explain_failure(self, state: AffinityState, view: View, code: int) -> Status:  # noqa: ARG002
        return FAILURES[code]

    def fork(self, state: AffinityState, view: View) -> AffinityState:  # noqa: ARG002
        return filtering.fork(state)

    def shift(self, state: AffinityState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        filtering.shift(state, view, pod_rows, node_rows, sign)

    def foresee(self, state: AffinityState, view: View, priority: int) -> IntArray:
        return filtering.foresee(state, view, priority)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> IntArray | Skip:  # noqa: ARG002
        if not pod.shape.has_pod_affinity and not view.counters.terms.in_use:
            return SKIP
        if self.args.ignore_preferred_terms_of_existing_pods and not has_preferences(pod.spec.affinity):
            return SKIP
        if pod.shape.terms.faults:  # possible only where PreFilter is switched off
            raise CycleError(self.name, f"failed to parse pod: {pod.shape.terms.error}")
        scores = scoring.prepare(pod.shape, view, self.args)
        return SKIP if scores is None else scores

    def speaks(self, pod: PodInfo, view: View) -> bool:
        return pod.shape.has_pod_affinity or scoring.is_reached(pod.shape, view)

    def score(self, state: IntArray, view: View, rows: RowArray) -> IntArray:  # noqa: ARG002
        return state[rows]

    def normalize(self, state: IntArray, scores: IntArray, rows: RowArray) -> IntArray:  # noqa: ARG002
        return scoring.normal_scores(scores)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        return (
            on(EventResource.POD, pods, partial(hints.after_pod_change, every=self._meets_every_term)),
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, hints.after_node_change),
        )

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        pods = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        return (
            on(EventResource.POD, pods, complete_hints.after_pod_change),
            on(EventResource.NODE, ActionType.ADD, complete_hints.after_node_come),
            on(EventResource.NODE, ActionType.UPDATE_NODE_LABEL),
            # Pods that are left on a node that is gone no longer count.
            on(EventResource.NODE, ActionType.DELETE),
            on(EventResource.NAMESPACE, ActionType.ALL, complete_hints.after_namespace_change),
        )


def has_preferences(affinity: Affinity | None) -> bool:
    """Whether the pod itself prefers to be near other pods, or apart."""
    if affinity is None:
        return False
    near, apart = affinity.pod_affinity, affinity.pod_anti_affinity
    return bool((near and near.preferred) or (apart and apart.preferred))
