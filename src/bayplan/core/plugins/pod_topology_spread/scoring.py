"""Soft constraints: the fewer of the selected pods a node's domains hold, the better.

Takes constraints, a view and the feasible nodes, gives raw scores (fewer is better) and scales them to 0..100. Only
domains of feasible nodes weigh, but pods count wherever they run. Arithmetic is upstream's, to the bit.
Upstream: plugins/podtopologyspread/scoring.go (v1.36).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from bayplan.core.columns import BoolArray, FloatArray, IdArray, IntArray, RowArray, column_at, row_array
from bayplan.core.columns.counters import NodeCounts
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.plugins.pod_topology_spread.constraints import (
    SpreadConstraint,
    counts_everywhere,
    included_nodes,
    pod_counter,
    pod_counts,
    topology_columns,
)
from bayplan.core.snapshot import View
from bayplan.model.selectors import CompiledSelector
from bayplan.model.well_known import HOSTNAME

#: (domains,) or (nodes,) pods.
Counts: TypeAlias = IntArray | IdArray

#: The nodes of a domain are scored together unless one in this many holds pods of its own.
FEW_HELD = 4
#: Smaller scores are looked up in a table.
LOOKED_UP_BELOW = 1_000


@dataclass(slots=True, eq=False)
class ScoredConstraint:
    """What one constraint adds to a node's score."""

    present: BoolArray | None  # (nodes,) nodes that have the key; others get nothing added. None: all have it
    places: RowArray | None  # (nodes,) where in `counts` a node's domain is; None: a node is a domain of its own
    counts: Counts  # (domains,) or (nodes,) pods
    weight: float
    max_skew: int
    of_nodes: NodeCounts  # the pods it selects, node by node
    counting: BoolArray  # (nodes,) whose pods count

    def addends(self, rows: RowArray) -> FloatArray:
        """(rows,)"""
        if self.places is None:
            values = self.values(self.counts.take(rows, mode="clip"))
        else:
            values = self.values(self.counts).take(column_at(rows, self.places), mode="clip")
        if self.present is not None:
            values *= self.present[rows]
        return values

    def values(self, counts: Counts) -> FloatArray:
        """What this many pods add where the key is present."""
        values = counts.astype(np.float64)
        values *= self.weight
        values += float(self.max_skew - 1)
        return values

    def value_one(self, count: int) -> float:
        """What `count` pods add where the key is present."""
        return float(count) * self.weight + float(self.max_skew - 1)


@dataclass(slots=True, eq=False)
class SoftState:
    """What one attempt knows."""

    constraints: list[ScoredConstraint]
    ignored: BoolArray | None  # (nodes,) nodes that lack a key they must have; None when no feasible node does
    #: Places and totals of the domains, where hosts apart all nodes of a domain have the same score.
    shared: tuple[RowArray, Counts] | None


def prepare(
    constraints: Sequence[SpreadConstraint], require_all: bool, pod: PodInfo, view: View, feasible_rows: RowArray
) -> SoftState:
    """Totals of the domains, and how much each constraint weighs."""
    nodes = view.nodes
    columns, complete = topology_columns(constraints, nodes)
    all_are_complete = np.count_nonzero(complete) == nodes.alive_count
    considered, rows = nodes.alive, feasible_rows
    if require_all and not all_are_complete:
        considered, rows = complete, feasible_rows[complete[feasible_rows]]
    none_is_ignored = len(rows) == len(feasible_rows)
    scored = []
    node_counts = _counts_by_selector(constraints, pod, view)
    for constraint, column in zip(constraints, columns, strict=True):
        of_nodes = node_counts[constraint.selector]
        counts = of_nodes.counts(nodes.count)
        present = None if all_are_complete or (require_all and none_is_ignored) else column.present
        if constraint.topology_key == HOSTNAME:
            # A host is a domain of its own: its pods count even where the inclusion policies leave it out.
            own_counts = np.zeros_like(counts) if view.bare else counts
            weight = natural_log(len(rows) + 2)
            counting = nodes.alive
            scored.append(ScoredConstraint(present, None, own_counts, weight, constraint.max_skew, of_nodes, counting))
        else:
            counting = considered
            if not counts_everywhere(constraint, pod.spec):
                counting = considered & included_nodes([constraint], pod.spec, nodes)[0]
            if counting is considered and all_are_complete:
                totals = of_nodes.by_domain(column)
            else:
                totals = _totals(column, counts, counting)
            weight = natural_log(column.domain_count(rows) + 2)
            places, max_skew = column.places, constraint.max_skew
            scored.append(ScoredConstraint(present, places, totals, weight, max_skew, of_nodes, counting))
    return SoftState(scored, None if none_is_ignored else ~considered, _shared_by_domains(scored))


def _shared_by_domains(constraints: Sequence[ScoredConstraint]) -> tuple[RowArray, Counts] | None:
    """Of the only constraint that is not about hosts; None where some nodes lack a key."""
    if any(each.present is not None for each in constraints):
        return None
    over_domains = [(each.places, each.counts) for each in constraints if each.places is not None]
    return over_domains[0] if len(over_domains) == 1 else None


def _counts_by_selector(
    constraints: Sequence[SpreadConstraint], pod: PodInfo, view: View
) -> dict[CompiledSelector, NodeCounts]:
    """For each selector the pods on nodes; often the constraints of a pod have one in common."""
    counts: dict[CompiledSelector, NodeCounts] = {}
    for constraint in constraints:
        if constraint.selector not in counts:
            counts[constraint.selector] = pod_counts(constraint, pod_counter(constraint, pod.shape, view))
    return counts


def raw_scores(state: SoftState, rows: RowArray) -> IntArray:
    """(rows,) the sum over the constraints, in their order, rounded half up."""
    if state.shared is not None:
        held = _held_rows(state.constraints)
        if FEW_HELD * len(held) < len(rows):
            return _scores_by_domain(state.constraints, *state.shared, held, rows)
    first, *others = state.constraints
    sums = first.addends(rows)
    for constraint in others:
        sums += constraint.addends(rows)
    scores = rounded(sums)
    return scores if state.ignored is None else np.where(state.ignored[rows], 0, scores)


def _held_rows(constraints: Sequence[ScoredConstraint]) -> RowArray:
    """Nodes with pods that count for constraints over hosts."""
    held: list[RowArray] = [(each.counts != 0).nonzero()[0] for each in constraints if each.places is None]
    return held[0] if len(held) == 1 else row_array([row for rows in held for row in rows.tolist()])


def _scores_by_domain(
    constraints: Sequence[ScoredConstraint], places: RowArray, totals: Counts, held: RowArray, rows: RowArray
) -> IntArray:
    """(rows,) the same where all nodes of a domain have one score, but for those that are `held`: few to work out."""
    without_pods = np.zeros(len(totals), dtype=np.int64)
    held_totals = totals.take(places.take(held))
    sums: FloatArray = np.zeros(len(totals) + len(held))
    for each in constraints:
        parts = (without_pods, each.counts.take(held)) if each.places is None else (totals, held_totals)
        sums += each.values(np.concatenate(parts, dtype=np.int64))
    scores = rounded(sums)
    of_nodes: IntArray = scores.take(places, mode="clip")
    of_nodes[held] = scores[len(totals) :]
    return column_at(rows, of_nodes)


def normal_scores(state: SoftState, scores: IntArray, rows: RowArray) -> IntArray:
    """(rows,) 100 for the least raw score; ignored nodes get 0 and have no say in the scale."""
    if state.ignored is None:
        return scaled(scores)
    counted = np.flatnonzero(~state.ignored[rows])
    normal = np.zeros_like(scores)
    normal[counted] = scaled(scores[counted])
    return normal


def scaled(scores: IntArray) -> IntArray:
    """100 for the least; negative scores, which take a maxSkew that no server admits, do not raise the scale."""
    highest = max(scores.item(scores.argmax()), 0) if len(scores) else 0
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE)
    lowest = scores.item(scores.argmin())
    if highest >= LOOKED_UP_BELOW or lowest < 0:
        return MAX_NODE_SCORE * (highest + lowest - scores) // highest
    # Few different numbers are quickly divided.
    table = MAX_NODE_SCORE * (highest + lowest - np.arange(highest + 1)) // highest
    return table.take(scores, mode="clip")


def scaled_few(scores: Sequence[int]) -> list[int]:
    """`scaled`, for a few plain numbers."""
    highest = max(scores, default=0)
    if highest <= 0:
        return [MAX_NODE_SCORE] * len(scores)
    best = highest + min(scores)
    return [MAX_NODE_SCORE * (best - score) // highest for score in scores]


@lru_cache(maxsize=256)
def natural_log(value: int) -> float:
    """The logarithm as Go computes it (fdlibm); the C library differs in the last bit for some arguments."""
    fraction, exponent = math.frexp(value)
    if fraction < math.sqrt(0.5):
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_L1 + s4 * (_L3 + s4 * (_L5 + s4 * _L7)))
    even = s4 * (_L2 + s4 * (_L4 + s4 * _L6))
    half_square = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + exponent * _LN2_LOW)) - f)


_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_L1 = 6.666666666666735130e-01
_L2 = 3.999999999940941908e-01
_L3 = 2.857142874366239149e-01
_L4 = 2.222219843214978396e-01
_L5 = 1.818357216161805012e-01
_L6 = 1.531383769920937332e-01
_L7 = 1.479819860511658591e-01


def _totals(column: LabelColumn, node_counts: IdArray, counting: BoolArray) -> IntArray:
    """(domains + 1,) pods in each domain, as `places` of the column have them: few nodes have any."""
    held = (node_counts != 0).nonzero()[0]
    held = held[counting[held]]
    totals = np.bincount(column.places[held], weights=node_counts[held], minlength=column.domains + 1)
    return totals.astype(np.int64)


def rounded(sums: FloatArray) -> IntArray:
    """Half up: the sums are not negative. Adding a half first would lift the number just below a half."""
    whole = np.floor(sums)
    return (whole + (sums - whole >= 0.5)).astype(np.int64)


def rounded_one(total: float) -> int:
    """`rounded`, for one sum."""
    whole = math.floor(total)
    return whole + (total - whole >= 0.5)
