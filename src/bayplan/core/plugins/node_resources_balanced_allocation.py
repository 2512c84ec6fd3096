"""Whether a pod would bring the use of a node's resources into balance.

Takes what the pods of a node really request, without supposed minima, and compares how far the used shares of the
resources lie apart with the pod and without it: 75 when the pod changes nothing, more when it evens them out. Leaves a
pod alone that asks for none of the resources. Floats are computed in upstream's order, so that truncation agrees.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from bayplan.core.columns import FloatArray, IntArray, RowArray, Rows, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.args import NodeResourcesBalancedAllocationArgs
from bayplan.core.framework.contract import MAX_NODE_SCORE, SKIP, OtherNodes, PodParts, Reads, Skip
from bayplan.core.plugins.device_amounts import DeviceBacked, count_devices, device_backed
from bayplan.core.plugins.node_amounts import Amounts, blocks_at, none_is_zero
from bayplan.core.plugins.node_resources_fit import ScoredResource, scored_resources
from bayplan.core.snapshot import View

HALF_SCORE = MAX_NODE_SCORE // 2
UNCHANGED_SCORE = HALF_SCORE + HALF_SCORE // 2


class BalanceState(NamedTuple):
    """What counts in the score of this pod."""

    resources: tuple[ScoredResource, ...]
    columns: RowArray  # (resources, 1) in the tables
    steps: IntArray  # (resources, 2, 1) what the pod adds, and nothing
    devices: tuple[DeviceBacked, ...] = ()  # resources that may come as devices


class NodeResourcesBalancedAllocation:
    """Upstream: plugins/noderesources/balanced_allocation.go."""

    name: ClassVar[str] = "NodeResourcesBalancedAllocation"
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE
    pod_parts: ClassVar[PodParts] = PodParts.REQUESTS
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

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
        return BalanceState(
            scored,
            columns=row_array([[entry.resource] for entry in scored]),
            steps=np.array([[[entry.request], [0]] for entry in scored], dtype=np.int64),
            devices=device_backed(
                (entry.name for entry in self.args.resources), [entry.resource for entry in scored], view
            ),
        )

    def score(self, state: BalanceState, view: View, rows: Rows) -> IntArray:
        capacities, taken = blocks_at(rows, state.columns, view.nodes.allocatable, view.usage.requested)
        if state.devices:
            count_devices(state.devices, view, rows, capacities, taken)
        # (resources, 2, rows): what is taken with the pod, and without it.
        levels = taken[:, np.newaxis] + state.steps
        if none_is_zero(capacities):
            return scores_of_nodes(capacities, levels)
        return _scores_by_what_is_offered(capacities, levels)

    def score_one(self, state: BalanceState, view: View, row: int) -> int:
        """A resource that the node has none of does not count."""
        if state.devices:
            return self.score(state, view, row_array([row])).item()
        allocatable, requested = view.nodes.allocatable, view.usage.requested
        after, before = [], []
        for resource, request, _ in state.resources:
            # Upstream makes floats of both numbers before it divides; ints would be divided exactly.
            capacity, used = float(allocatable.item(row, resource)), requested.item(row, resource)
            if capacity:
                share, rest = float(used + request) / capacity, float(used) / capacity
                after.append(share if share < 1.0 else 1.0)
                before.append(rest if rest < 1.0 else 1.0)
        if len(after) < 2:
            return UNCHANGED_SCORE
        score: int = improvement(int(evenness(after)), int(evenness(before)))
        return score


def scores_of_nodes(capacities: IntArray, levels: IntArray) -> IntArray:
    """(rows,) scores of nodes that have some of every resource.

    Capacities are (resources, rows), levels (resources, 2, rows): with the pod and without.
    """
    resource_count, row_count = capacities.shape
    if resource_count < 2:
        return np.full(row_count, UNCHANGED_SCORE, dtype=np.int64)
    shares = levels / capacities[:, np.newaxis]
    np.minimum(shares, 1.0, out=shares)
    after, before = evenness(shares).astype(np.int64)
    scores: IntArray = improvement(after, before)
    return scores


def evenness(shares: Sequence[float] | FloatArray) -> Amounts:
    """100 when all shares are equal, less the more they differ; not yet truncated."""
    if isinstance(shares, list) and len(shares) == 2:  # one node with cpu and memory: nearly always
        return (1 - abs(shares[0] - shares[1]) / 2) * MAX_NODE_SCORE
    parts = 1 - _deviation(shares)
    parts *= MAX_NODE_SCORE
    return parts


def improvement(after: Amounts, before: Amounts) -> Amounts:
    """The score in 50..100: a half, and half of what lies within 0..100. Nothing negative is divided."""
    scores = after - before
    scores += HALF_SCORE + 2 * HALF_SCORE
    scores //= 2
    return scores


def _deviation(shares: Sequence[float] | FloatArray) -> Amounts:
    """The standard deviation of two shares or more, in upstream's order of operations."""
    if len(shares) == 2:
        distance = abs(shares[0] - shares[1])
        distance /= 2
        return distance
    mean = sum(shares) / len(shares)
    squares = sum((part - mean) * (part - mean) for part in shares)
    return np.sqrt(squares / len(shares))


def _scores_by_what_is_offered(capacities: IntArray, levels: IntArray) -> IntArray:
    """(rows,) scores where some nodes lack some resource: one step for each distinct set of offered ones."""
    bits = 1 << np.arange(len(capacities))
    offered_sets = bits @ (capacities > 0)
    scores = np.full(offered_sets.shape, UNCHANGED_SCORE, dtype=np.int64)
    for offered in np.unique(offered_sets).tolist():
        places = np.flatnonzero(offered_sets == offered)
        chosen = np.flatnonzero(bits & offered)
        if len(chosen) > 1:
            scores[places] = scores_of_nodes(capacities[chosen][:, places], levels[chosen][:, :, places])
    return scores
