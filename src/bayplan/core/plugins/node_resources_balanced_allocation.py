"""Whether a pod would bring the use of a node's resources into balance.

Takes what the pods of a node really request, without supposed minima, and compares how far the used shares of the
resources lie apart with the pod and without it: 75 when the pod changes nothing, more when it evens them out. Leaves a
pod alone that asks for none of the resources. Floats are computed in upstream's order, so that truncation agrees.
Upstream: plugins/noderesources/balanced_allocation.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

import numpy as np

from bayplan.core.columns import FloatArray, IntArray, RowArray, Rows, loops
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import NodeResourcesBalancedAllocationArgs
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    SKIP,
    Reads,
    Skip,
)
from bayplan.core.framework.speed_hints import OtherNodes, sign_requests
from bayplan.core.plugins.device_amounts import DeviceBacked, count_devices, device_backed
from bayplan.core.plugins.node_amounts import (
    Amounts,
    amounts_at,
    none_is_zero,
)
from bayplan.core.plugins.node_resources_fit import ScoredResource, scored_resources
from bayplan.core.snapshot import View

HALF_SCORE = MAX_NODE_SCORE // 2
UNCHANGED_SCORE = HALF_SCORE + HALF_SCORE // 2
DOUBLE_START = HALF_SCORE + 2 * HALF_SCORE  # twice the score of a pod that changes nothing


@dataclass(eq=False)
class BalanceState:
    """What counts in the score of this pod."""

    resources: tuple[ScoredResource, ...]
    devices: tuple[DeviceBacked, ...] = ()  # resources that may come as devices


class NodeResourcesBalancedAllocation:
    """Score."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    prepares_scores_itself: ClassVar[bool] = True
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE
    sign_pod = staticmethod(sign_requests)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING
    stays_in_range: ClassVar[bool] = True
    follows_requests: ClassVar[bool] = True

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None) -> None:
        self.args = args or NodeResourcesBalancedAllocationArgs()

    def pre_score(
        self,
        pod: PodInfo,
        view: View,
        feasible_rows: RowArray,  # noqa: ARG002
    ) -> BalanceState | Skip:
        scored = scored_resources(self.args.resources, pod.shape.requests.used, view.nodes.resources)
        if not any(entry.request for entry in scored):
            return SKIP
        return BalanceState(scored, device_backed(self.args.resources, scored, view))

    def score(self, state: BalanceState, view: View, rows: Rows) -> IntArray:
        if loops.compiled is not None and not state.devices:
            return _compiled_scores(loops.compiled, state, view, rows)
        tables = (view.nodes.allocatable, view.usage.requested)
        capacities, taken = ([amounts_at(rows, it.resource, table) for it in state.resources] for table in tables)
        if state.devices:
            count_devices(state.devices, view, rows, capacities, taken)
        with_pod = [amount + entry.request for amount, entry in zip(taken, state.resources, strict=True)]
        return _scores_by_what_is_offered(np.array(capacities), np.array(with_pod), np.array(taken))

    def score_rule(self, state: BalanceState) -> loops.Rule | None:
        if state.devices or len(state.resources) > loops.AMOUNTS_MAX:
            return None
        return loops.Rule(loops.BALANCED, state.resources)


def _compiled_scores(compiled: ModuleType, state: BalanceState, view: View, rows: Rows) -> IntArray:
    """(rows,) scores, in one pass."""
    nodes = view.nodes
    given, scores = loops.rows_to_fill(rows, nodes.count)
    compiled.balance_scores(scores, given, nodes.allocatable, view.usage.requested, state.resources)
    return scores


def scores_of_nodes(capacities: IntArray, with_pod: IntArray, taken: IntArray) -> IntArray:
    """(rows,) scores of nodes that have some of every resource; each array is (resources, rows)."""
    if len(capacities) < 2:
        return np.full(capacities.shape[1], UNCHANGED_SCORE, dtype=np.int64)
    scores: IntArray = improvement(_evenness_of_nodes(with_pod, capacities), _evenness_of_nodes(taken, capacities))
    return scores


def _evenness_of_nodes(taken: IntArray | FloatArray, capacities: IntArray | FloatArray) -> IntArray:
    """(rows,) given (resources, rows) of two resources or more."""
    return _evenness_of_shares(taken / capacities)


def _evenness_of_shares(shares: FloatArray) -> IntArray:
    """(rows,) given used shares, which this overwrites."""
    if shares.max(initial=0.0) > 1.0:
        np.minimum(shares, 1.0, out=shares)
    parts: IntArray = evenness(shares).astype(np.int64)
    return parts


def evenness(shares: Sequence[float] | FloatArray) -> Amounts:
    """100 when all of two shares or more are equal, less the more they differ; not yet truncated."""
    parts = 1 - _deviation(shares)
    parts *= MAX_NODE_SCORE
    return parts


def improvement(after: Amounts, before: Amounts) -> Amounts:
    """The score in 50..100: a half, and half of what lies within 0..100. Nothing negative is divided."""
    return _as_scores(after - before)


def _as_scores(differences: Amounts) -> Amounts:
    differences += DOUBLE_START
    differences >>= 1
    return differences


def _deviation(shares: Sequence[float] | FloatArray) -> Amounts:
    """The standard deviation, in upstream's order of operations."""
    if len(shares) == 2:
        distance = abs(shares[0] - shares[1])
        distance *= 0.5  # as good as upstream's division by 2, and twice as fast
        return distance
    mean = sum(shares) / len(shares)
    squares = sum((part - mean) * (part - mean) for part in shares)
    return np.sqrt(squares / len(shares))


def _scores_by_what_is_offered(capacities: IntArray, with_pod: IntArray, taken: IntArray) -> IntArray:
    """(rows,) scores where some nodes lack some resource: one step for each distinct set of offered ones."""
    if none_is_zero(capacities):
        return scores_of_nodes(capacities, with_pod, taken)
    bits = 1 << np.arange(len(capacities))
    offered_sets = bits @ (capacities > 0)
    scores = np.full(offered_sets.shape, UNCHANGED_SCORE, dtype=np.int64)
    for offered in np.unique(offered_sets).tolist():
        places = np.flatnonzero(offered_sets == offered)
        chosen = np.flatnonzero(bits & offered)
        if len(chosen) > 1:
            of_chosen = (amounts[chosen][:, places] for amounts in (capacities, with_pod, taken))
            scores[places] = scores_of_nodes(*of_chosen)
    return scores
