"""Soft constraints: the fewer of the selected pods a node's domains hold, the better.

Takes constraints, a view and the feasible nodes, gives raw scores (fewer is better) and scales them to 0..100. Only
domains of feasible nodes weigh, but pods count wherever they run. Arithmetic is upstream's, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, FloatArray, IdArray, IntArray, RowArray
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.plugins.pod_topology_spread.constraints import (
    SpreadConstraint,
    included_nodes,
    pod_counter,
    pod_counts,
    topology_columns,
)
from bayplan.core.snapshot import View
from bayplan.model.well_known import HOSTNAME


@dataclass(slots=True, eq=False)
class ScoredConstraint:
    """What one constraint adds to a node's score."""

    present: BoolArray | None  # (nodes,) nodes that have the key; others get nothing added. None: all have it
    counts: IntArray | IdArray  # (nodes,) pods in the node's domain
    weight: float
    max_skew: int

    def addends(self, rows: RowArray) -> FloatArray:
        """(rows,)"""
        values = self.counts[rows].astype(np.float64)
        values *= self.weight
        values += float(self.max_skew - 1)
        if self.present is not None:
            values *= self.present[rows]
        return values


@dataclass(slots=True, eq=False)
class SoftState:
    """What one attempt knows."""

    constraints: list[ScoredConstraint]
    ignored: BoolArray | None  # (nodes,) nodes that lack a key they must have; None when no feasible node does


def prepare(
    constraints: Sequence[SpreadConstraint], require_all: bool, pod: PodInfo, view: View, feasible_rows: RowArray
) -> SoftState:
    """Totals of the domains, and how much each constraint weighs."""
    columns, complete = topology_columns(constraints, view.nodes)
    considered = complete if require_all else view.nodes.alive
    rows = feasible_rows[considered[feasible_rows]]
    none_is_ignored = len(rows) == len(feasible_rows)
    scored = []
    for constraint, column in zip(constraints, columns, strict=True):
        node_counts = pod_counts(constraint, pod_counter(constraint, pod.namespace, view), view)
        counts: IntArray | IdArray
        if constraint.topology_key == HOSTNAME:
            # A host is a domain of its own: its pods count even where the inclusion policies leave it out.
            counts, size = np.zeros_like(node_counts) if view.bare else node_counts, len(rows)
        else:
            (included,) = included_nodes([constraint], pod.spec, view.nodes)
            counts, size = _domain_counts(column, node_counts, considered & included, rows)
        weight = natural_log(size + 2)
        present = None if require_all and none_is_ignored else column.present
        scored.append(ScoredConstraint(present, counts, weight, constraint.max_skew))
    return SoftState(scored, None if none_is_ignored else ~considered)


def raw_scores(state: SoftState, rows: RowArray) -> IntArray:
    """(rows,) the sum over the constraints, in their order, rounded half up."""
    first, *others = state.constraints
    sums = first.addends(rows)
    for constraint in others:
        sums += constraint.addends(rows)
    scores = _rounded(sums)
    return scores if state.ignored is None else np.where(state.ignored[rows], 0, scores)


def normal_scores(state: SoftState, scores: IntArray, rows: RowArray) -> IntArray:
    """(rows,) 100 for the least raw score; ignored nodes get 0 and have no say in the scale."""
    if state.ignored is None:
        return _scaled(scores)
    counted = np.flatnonzero(~state.ignored[rows])
    scaled = np.zeros_like(scores)
    scaled[counted] = _scaled(scores[counted])
    return scaled


def _scaled(scores: IntArray) -> IntArray:
    """100 for the least; scores are not negative."""
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_NODE_SCORE)
    lowest = int(scores.min())
    return MAX_NODE_SCORE * (highest + lowest - scores) // highest


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


def _domain_counts(
    column: LabelColumn, node_counts: IdArray, counting: BoolArray, rows: RowArray
) -> tuple[IntArray, int]:
    """(nodes,) pods in each node's domain, and how many domains the feasible `rows` stand in."""
    # Nodes without the key share the domain of the empty value, be there nodes that really have it or not.
    empty = column.values.find("")
    places = np.where(column.ids == ABSENT, column.domains if empty == ABSENT else empty, column.ids)
    totals = np.bincount(places[counting], weights=node_counts[counting], minlength=column.domains + 1)
    feasible = np.zeros(column.domains + 1, dtype=np.bool_)
    feasible[places[rows]] = True
    return totals.astype(np.int64)[places], int(np.count_nonzero(feasible))


def _rounded(sums: FloatArray) -> IntArray:
    """Half up: the sums are not negative. Adding a half first would lift the number just below a half."""
    whole = np.floor(sums)
    return (whole + (sums - whole >= 0.5)).astype(np.int64)
