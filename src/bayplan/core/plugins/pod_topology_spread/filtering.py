"""Hard constraints: would a node's domain hold too many more of the selected pods than the emptiest one?

Takes constraints and a view, gives the totals of all domains and failure codes for nodes. In a what-if view each
node stands in its own world, in which only its own pods have moved, hence only the total of its own domain. The
least total in such a world follows from the least total of all and the least of the other domains: no domain is
counted again. Nodes that the inclusion policies leave out are judged like any other.
Upstream: plugins/podtopologyspread/filtering.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayplan.core.columns import ABSENT, ALL_ROWS, BoolArray, IdArray, IntArray, RowArray, Rows
from bayplan.core.columns.counters import PodCounter
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.shapes import PodInfo, PodShape
from bayplan.core.framework.speed_hints import UNFORESEEN
from bayplan.core.plugins.pod_topology_spread.constraints import (
    SpreadConstraint,
    counts_everywhere,
    included_nodes,
    pod_counter,
    pod_counts,
    topology_columns,
)
from bayplan.core.snapshot import View

PASSES = 0
LACKS_KEY = 1
TOO_SKEWED = 2

#: What upstream takes for the least total while it knows of no domain.
NO_TOTAL = np.iinfo(np.int32).max


@dataclass(slots=True, eq=False)
class Domains:
    """One constraint over all nodes. Arrays of domains have one entry more, which answers for id -1."""

    ids: IdArray  # (nodes,) domain of each node
    counting: BoolArray  # (nodes,) nodes whose pods count
    existing: BoolArray  # (domains + 1,) domains with a counting node
    totals: IntArray  # (domains + 1,)
    least: int
    least_elsewhere: int  # the least total seen from a domain that holds `least`; the same if several hold it
    least_is_zero: bool  # there are fewer domains than wanted
    total_max: int  # what may stand in a domain where the least is 0
    counts_nothing: bool  # the selector is empty


@dataclass(slots=True, eq=False)
class HardState:
    """What one attempt knows; `deltas` exists in what-if states only."""

    shape: PodShape
    domains: list[Domains]
    counters: list[PodCounter]
    matching: list[BoolArray]  # for each constraint (identities + 1,); made by the first fork
    deltas: IdArray | None = None  # (constraints, nodes) pods that came to each node's own domain


def prepare(constraints: Sequence[SpreadConstraint], pod: PodInfo, view: View) -> HardState:
    """Totals of all domains of all constraints."""
    counters = [pod_counter(constraint, pod.shape, view) for constraint in constraints]
    if len(constraints) == 1 and counts_everywhere(constraints[0], pod.spec):
        return HardState(pod.shape, [_plain_domains(constraints[0], counters[0], pod, view)], counters, [])
    columns, complete = topology_columns(constraints, view.nodes)
    included = included_nodes(constraints, pod.spec, view.nodes)
    domains = [
        _domains(constraint, column, complete & mask, pod_counts(constraint, counter).counts(view.nodes.count), pod)
        for constraint, column, mask, counter in zip(constraints, columns, included, counters, strict=True)
    ]
    return HardState(pod.shape, domains, counters, [])


def _plain_domains(constraint: SpreadConstraint, counter: PodCounter, pod: PodInfo, view: View) -> Domains:
    """Domains in the usual case: one constraint, every node with the key counts. Nothing is added up again."""
    column = view.nodes.labels.column(constraint.topology_key)
    totals = counter.nodes.by_domain(column)
    if constraint.selector.is_empty:
        totals = np.zeros_like(totals)
    return _compared(constraint, column, column.present, column.existing, totals, pod)


def judge(state: HardState, rows: Rows) -> IntArray:
    """(rows,) the first constraint a node fails decides its code."""
    codes: IntArray | None = None
    for position, domains in enumerate(state.domains):
        ids = domains.ids[rows]
        delta = None if state.deltas is None else state.deltas[position, rows]
        found = _codes(domains, ids, delta)
        codes = found if codes is None else np.where(codes == PASSES, found, codes)
    assert codes is not None, "a pod without hard constraints is never judged"
    return codes


def fork(state: HardState, view: View) -> HardState:
    """A copy in which pods can move."""
    if not state.matching:
        state.matching = list(map(view.counters.matching, state.counters))
    size = (len(state.domains), view.nodes.count)
    deltas = np.zeros(size, dtype=np.int32) if state.deltas is None else state.deltas.copy()
    return HardState(state.shape, state.domains, state.counters, state.matching, deltas)


def shift(state: HardState, identity_ids: IdArray, node_rows: RowArray, sign: int) -> None:
    """A pod of each identity comes to (+1) or leaves (-1) the node beside it.

    Upstream asks less here than when it counts: pods that terminate, and those of an empty selector, move too.
    """
    assert state.deltas is not None, "only a fork can be shifted"
    for delta, domains, matching in zip(state.deltas, state.domains, state.matching, strict=True):
        moving = matching[identity_ids] & domains.counting[node_rows]
        np.add.at(delta, node_rows[moving], sign)


def recount(state: HardState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> HardState:
    """The state as if it had followed pods that have come or gone: those that are never counted move, too."""
    matching = state.matching or list(map(view.counters.matching, state.counters))
    identity_ids, terminating = view.pods.identity_ids[pod_rows], view.pods.terminating[pod_rows]
    domains = []
    for each, matches in zip(state.domains, matching, strict=True):
        uncounted = matches[identity_ids] & each.counting[node_rows] & (terminating | each.counts_nothing)
        domains.append(_moved(each, node_rows[uncounted], sign) if uncounted.any() else each)
    return HardState(state.shape, domains, state.counters, matching)


def _moved(domains: Domains, node_rows: RowArray, sign: int) -> Domains:
    totals = domains.totals.copy()
    np.add.at(totals, domains.ids[node_rows], sign)
    least, least_elsewhere = _least_totals(totals[domains.existing])
    return replace(domains, totals=totals, least=least, least_elsewhere=least_elsewhere)


def foresee(state: HardState, view: View, priority: int) -> IntArray:
    """(nodes,) codes that stay whichever pods of a lower priority leave a node; UNFORESEEN elsewhere.

    The more of its pods leave, the less is a node's domain too full. So a code that is the same with all of them and
    with none is the same with any.
    """
    codes = judge(state, ALL_ROWS)
    leaving = _leaving(state, view, priority)
    if np.count_nonzero(leaving):
        deltas = -leaving if state.deltas is None else state.deltas - leaving
        without = HardState(state.shape, state.domains, state.counters, state.matching, deltas)
        codes[judge(without, ALL_ROWS) != codes] = UNFORESEEN
    return codes


def _leaving(state: HardState, view: View, priority: int) -> IdArray:
    """(constraints, nodes) pods of a lower priority whose leaving a node's own domain would notice."""
    counts = [
        view.counters.pods_matching(counter.key.matches, state.shape, skip_terminating=False, below=priority)
        for counter in state.counters
    ]
    return np.stack(
        [it.nodes.counts(view.nodes.count) * at.counting for it, at in zip(counts, state.domains, strict=True)]
    )


def _domains(
    constraint: SpreadConstraint, column: LabelColumn, counting: BoolArray, counts: IdArray, pod: PodInfo
) -> Domains:
    counted_ids = column.ids[counting]
    length = column.domains + 1
    existing = np.bincount(counted_ids, minlength=length) > 0
    # Weighted sums are floats, exact far beyond any number of pods.
    totals = np.bincount(counted_ids, weights=counts[counting], minlength=length).astype(np.int64)
    return _compared(constraint, column, counting, existing, totals, pod)


def _compared(
    constraint: SpreadConstraint,
    column: LabelColumn,
    counting: BoolArray,
    existing: BoolArray,
    totals: IntArray,
    pod: PodInfo,
) -> Domains:
    found = totals[existing]
    least, least_elsewhere = _least_totals(found)
    self_match = constraint.selector.matches(pod.shape.labels)
    return Domains(
        ids=column.ids,
        counting=counting,
        existing=existing,
        totals=totals,
        least=least,
        least_elsewhere=least_elsewhere,
        least_is_zero=len(found) < constraint.min_domains,
        total_max=constraint.max_skew - int(self_match),
        counts_nothing=constraint.selector.is_empty,
    )


def _least_totals(totals: IntArray) -> tuple[int, int]:
    """The least total, and that of the other domains as seen from one that holds it."""
    least = int(totals.min(initial=NO_TOTAL))
    above_least = totals[totals > least]
    return least, least if len(totals) - len(above_least) > 1 else int(above_least.min(initial=NO_TOTAL))


def _codes(domains: Domains, ids: IdArray, delta: IdArray | None) -> IntArray:
    if delta is None:
        least = 0 if domains.least_is_zero else domains.least
        by_domain = np.where(domains.totals - least > domains.total_max, TOO_SKEWED, PASSES)
        by_domain[ABSENT] = LACKS_KEY
        return by_domain.take(ids, mode="wrap")  # as by_domain[ids], in half the time
    totals = domains.totals[ids] + delta
    leasts: IntArray | int = 0 if domains.least_is_zero else _leasts(domains, ids, totals)
    codes = np.where(totals - leasts > domains.total_max, TOO_SKEWED, PASSES)
    codes[ids == ABSENT] = LACKS_KEY
    return codes


def _leasts(domains: Domains, ids: IdArray, totals: IntArray) -> IntArray:
    """(rows,) the least total in each node's own world, where its own domain has the total given."""
    least_elsewhere = np.where(domains.totals == domains.least, domains.least_elsewhere, domains.least)[ids]
    # A domain in which no node counts is none: it cannot be the emptiest.
    return np.where(domains.existing[ids], np.minimum(least_elsewhere, totals), domains.least)
