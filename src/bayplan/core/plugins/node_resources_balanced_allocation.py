"""Whether a pod would bring the use of a node's resources into balance.

Takes what the pods of a node really request, without supposed minima, and compares how far the used shares of the
resources lie apart with the pod and without it: 75 when the pod changes nothing, more when it evens them out. Leaves a
pod alone that asks for none of the resources. Floats are computed in upstream's order, so that truncation agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import NodeResourcesBalancedAllocationArgs
from bayplan.core.framework.contract import MAX_NODE_SCORE, SKIP, Reads, Skip
from bayplan.core.plugins.node_amounts import Amounts, Columns, columns_at, none_is_zero, place_of
from bayplan.core.plugins.node_resources_fit import ScoredResource, scored_resources
from bayplan.core.snapshot import View

HALF_SCORE = MAX_NODE_SCORE // 2
UNCHANGED_SCORE = HALF_SCORE + HALF_SCORE // 2


class NodeResourcesBalancedAllocation:
    """Upstream: plugins/noderesources/balanced_allocation.go."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE

    def __init__(self, args: NodeResourcesBalancedAllocationArgs | None = None) -> None:
        self.args = args or NodeResourcesBalancedAllocationArgs()

    def pre_score(
        self,
        pod: PodInfo,
        view: View,
        feasible_rows: RowArray,  # noqa: ARG002
    ) -> tuple[ScoredResource, ...] | Skip:
        scored = scored_resources(self.args.resources, pod.shape.requests.used, view.nodes.resources)
        return scored if any(entry.request for entry in scored) else SKIP

    def score(self, state: tuple[ScoredResource, ...], view: View, rows: Rows) -> IntArray:
        place = place_of(rows)
        if isinstance(place, int):
            return np.array([self.score_one(state, view, place)], dtype=np.int64)
        capacities, taken = columns_at(view.nodes.allocatable, place), columns_at(view.usage.requested, place)
        # (2, rows) for each resource: what is taken with the pod, and without it.
        levels = [taken[entry.resource] + np.array(((entry.request,), (0,))) for entry in state]
        offered = [capacities[entry.resource] for entry in state]
        if all(none_is_zero(capacity) for capacity in offered):
            return scores_of_nodes(offered, levels)
        return _scores_by_what_is_offered(offered, levels)

    def score_one(self, state: tuple[ScoredResource, ...], view: View, row: int) -> int:
        return score_of_node(state, columns_at(view.nodes.allocatable, row), columns_at(view.usage.requested, row))


def score_of_node(resources: Sequence[ScoredResource], capacities: Columns, taken: Columns) -> int:
    """The score of one node; a resource it has none of does not count."""
    after, before = [], []
    for resource, request, _ in resources:
        # Upstream makes floats of both numbers before it divides; ints would be divided exactly.
        capacity, used = float(capacities[resource]), taken[resource]
        if capacity:
            after.append(min(float(used + request) / capacity, 1.0))
            before.append(min(float(used) / capacity, 1.0))
    if len(after) < 2:
        return UNCHANGED_SCORE
    score: int = improvement(int(evenness(after)), int(evenness(before)))
    return score


def scores_of_nodes(capacities: Sequence[IntArray], levels: Sequence[IntArray]) -> IntArray:
    """(rows,) scores of nodes that have some of every resource; levels are (2, rows), with the pod and without."""
    if len(capacities) < 2:
        return np.full(levels[0].shape[1], UNCHANGED_SCORE, dtype=np.int64)
    shares = [level / capacity for level, capacity in zip(levels, capacities, strict=True)]
    for share in shares:
        np.minimum(share, 1.0, out=share)
    after, before = evenness(shares).astype(np.int64)
    scores: IntArray = improvement(after, before)
    return scores


def evenness(shares: Sequence[Amounts]) -> Amounts:
    """100 when all shares are equal, less the more they differ; not yet truncated."""
    parts = 1 - _deviation(shares)
    parts *= MAX_NODE_SCORE
    return parts


def improvement(after: Amounts, before: Amounts) -> Amounts:
    """The score in 50..100. Evenness lies in 50..100, so nothing negative is divided."""
    scores = after - before
    scores += HALF_SCORE
    scores //= 2
    scores += HALF_SCORE
    return scores


def _deviation(shares: Sequence[Amounts]) -> Amounts:
    """The standard deviation of two shares or more, in upstream's order of operations."""
    if len(shares) == 2:
        distance = abs(shares[0] - shares[1])
        distance /= 2
        return distance
    mean = sum(shares) / len(shares)
    squares = sum((part - mean) * (part - mean) for part in shares)
    return np.sqrt(squares / len(shares))


def _scores_by_what_is_offered(capacities: Sequence[IntArray], levels: Sequence[IntArray]) -> IntArray:
    """(rows,) scores where some nodes lack some resource: one step for each distinct set of offered ones."""
    bits = [(capacity > 0) * (1 << position) for position, capacity in enumerate(capacities)]
    offered_sets = np.bitwise_or.reduce(bits)
    scores = np.full(offered_sets.shape, UNCHANGED_SCORE, dtype=np.int64)
    for offered in np.unique(offered_sets).tolist():
        places = np.flatnonzero(offered_sets == offered)
        chosen = [position for position in range(len(capacities)) if offered >> position & 1]
        if len(chosen) > 1:
            scores[places] = scores_of_nodes(
                [capacities[position][places] for position in chosen],
                [levels[position][:, places] for position in chosen],
            )
    return scores
