"""The dry run: which pods would have to go from each node.

A dry run on a node touches that node only, so all nodes are tried at once, as a wavefront: remove every pod of lower
priority from every node and filter once; then put pods back in order of importance, those whose budget is used up
first. Step k tries the k-th pod of every node that has one: add it, filter, and where the preemptor no longer fits take
it off again: that pod is a victim. So a cluster needs as many steps as its fullest node has potential victims.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from bayplan.core.columns import BoolArray, IntArray, RowArray, row_array, row_mask
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.diagnosis import distinct_verdicts
from bayplan.core.filtering import Filtered, Verdicts, WhatIfWorlds, nominated_pods, take_failures
from bayplan.core.framework.verdict import Code, Status, unresolvable
from bayplan.core.preemption.budgets import Protection, protect
from bayplan.core.preemption.unstable_order import STABLE_LENGTH_MAX, sorted_like_go
from bayplan.core.snapshot import View

NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")


@dataclass(frozen=True, slots=True)
class Potential:
    """Pods of lower priority on the nodes tried, grouped by node, most important first."""

    pod_rows: RowArray  # (victims,)
    node_rows: RowArray  # (victims,)
    node_starts: RowArray  # (victims,) position of the first pod of the same node
    protection: Protection
    foreign_rows: RowArray  # pods of lower priority that are not considered, as they are another scheduler's

    def nodes(self) -> RowArray:
        """The nodes that have any, in row order."""
        nodes: RowArray = self.node_rows[self.node_starts == np.arange(len(self.node_starts))]
        return nodes

    def broken_budgets(self) -> dict[int, list[str]]:
        """Pod row -> the budgets that its eviction breaks."""
        return self.protection.budgets_by_row(self.pod_rows)


@dataclass(frozen=True, slots=True)
class ReprieveStep:
    """One step of the wavefront: the pod tried on each node, and whether it could stay."""

    positions: RowArray  # in `Potential`, one for each node in the step
    verdicts: Verdicts


@dataclass(slots=True)
class DryRun:
    """What removing pods could do on each node tried."""

    potential: Potential
    victims: BoolArray  # (victims,) potential victims that have to go
    candidate_rows: RowArray  # nodes where the pod would fit, in row order
    still_failing: Verdicts  # of `failing_rows`, with all potential victims gone
    failing_rows: RowArray
    without_victims: RowArray  # nodes with no pod of lower priority
    unharmed: RowArray  # nodes where everything could be put back: an inconsistency worth a report
    steps: list[ReprieveStep] = field(default_factory=list)


def dry_run(pod: PodInfo, view: View, filtered: Filtered, rows: RowArray) -> DryRun:
    """Try every given node."""
    potential = find_potential_victims(pod, view, rows)
    if not len(potential.pod_rows):
        return _nobody_to_evict(potential, rows)
    with_victims = potential.nodes()
    worlds = _Worlds(pod, view, filtered)
    worlds.shift(potential.pod_rows, potential.node_rows, -1)
    emptied = worlds.filter(with_victims)
    in_play = row_mask(with_victims[emptied.passed], view.nodes.count)
    result = DryRun(
        potential=potential,
        victims=np.zeros(len(potential.pod_rows), dtype=np.bool_),
        candidate_rows=row_array([]),
        still_failing=Verdicts(emptied.rejected_by[~emptied.passed], emptied.codes[~emptied.passed]),
        failing_rows=with_victims[~emptied.passed],
        without_victims=rows[~row_mask(with_victims, view.nodes.count)[rows]],
        unharmed=row_array([]),
    )
    if len(result.failing_rows) == len(with_victims):
        return result
    _reprieve(result, worlds, in_play)
    has_victims = row_mask(potential.node_rows[result.victims], view.nodes.count)
    result.candidate_rows = np.flatnonzero(in_play & has_victims)
    result.unharmed = np.flatnonzero(in_play & ~has_victims)
    return result


def _nobody_to_evict(potential: Potential, rows: RowArray) -> DryRun:
    none = row_array([])
    failing = Verdicts(np.zeros(0, dtype=np.int8), np.zeros(0, dtype=np.int64))
    return DryRun(potential, np.zeros(0, dtype=np.bool_), none, failing, none, rows, none)


def find_potential_victims(pod: PodInfo, view: View, rows: RowArray) -> Potential:
    """Every pod of lower priority on the given nodes; only where a setting says so are other schedulers' left out."""
    pods = view.pods
    below, foreign = _pods_below(view, rows, pod.priority), row_array([])
    if pods.own_schedulers is not None:
        is_foreign = pods.foreign[below]
        below, foreign = below[~is_foreign], below[is_foreign]
    if not len(below):
        return Potential(below, below, below, Protection(np.zeros(0, dtype=np.bool_), {}), foreign)
    pod_rows = by_importance(view, below)
    node_rows = pods.node_rows[pod_rows].astype(np.intp)
    node_starts = group_starts(node_rows)
    return Potential(pod_rows, node_rows, node_starts, protect(view, pod_rows, node_starts), foreign)


#: Up to this many nodes their lists of pods are walked; beyond, one pass over the whole pod table is faster.
FEW_NODES = 64


def _pods_below(view: View, rows: RowArray, priority: int) -> RowArray:
    """Pods on the given nodes with a lower priority, node by node in row order, each node's in the node's own order."""
    pods = view.pods
    if len(rows) <= FEW_NODES:
        listed = row_array([pod for row in np.sort(rows).tolist() for pod in view.nodes.pod_rows[row]])
        below: RowArray = listed[pods.priorities[listed] < priority]
        return below
    tried = np.zeros(view.nodes.count + 1, dtype=np.bool_)  # the last entry answers for pods on no node
    tried[rows] = True
    found = np.flatnonzero(tried[pods.node_rows] & (pods.priorities < priority))
    ordered: RowArray = found[np.lexsort((pods.slots[found], pods.node_rows[found]))]
    return ordered


def by_importance(view: View, pod_rows: RowArray) -> RowArray:
    """Pods grouped by node, sorted within each node: higher priority first, then earlier start.

    Equal pods keep their order, except on nodes with so many pods that upstream's sort does not keep it either.
    """
    pods = view.pods
    node_rows = pods.node_rows[pod_rows]
    order = np.lexsort((pods.started_at[pod_rows], -pods.priorities[pod_rows], node_rows))
    result = pod_rows[order]
    for start, end in _unstable_runs(view, result):
        result[start:end] = _sorted_as_upstream(view, pod_rows[start:end])
    return result


def _sorted_as_upstream(view: View, pod_rows: RowArray) -> RowArray:
    priorities, started_at = view.pods.priorities[pod_rows].tolist(), view.pods.started_at[pod_rows].tolist()

    def more_important(pod: int, other: int) -> bool:
        return (-priorities[pod], started_at[pod]) < (-priorities[other], started_at[other])

    moved: RowArray = pod_rows[sorted_like_go(range(len(pod_rows)), more_important)]
    return moved


def _unstable_runs(view: View, pod_rows: RowArray) -> list[tuple[int, int]]:
    """Where nodes with many pods, some of them equal in importance, begin and end in sorted `pod_rows`."""
    if len(pod_rows) <= STABLE_LENGTH_MAX:
        return []
    pods = view.pods
    node_rows, priorities = pods.node_rows[pod_rows], pods.priorities[pod_rows]
    started_at = pods.started_at[pod_rows]
    same_node = node_rows[1:] == node_rows[:-1]
    equal = same_node & (priorities[1:] == priorities[:-1]) & (started_at[1:] == started_at[:-1])
    starts = np.flatnonzero(np.concatenate(([True], ~same_node))) if len(pod_rows) else row_array([])
    ends = np.append(starts[1:], len(pod_rows))
    ties_before = np.concatenate(([0], np.cumsum(equal)))
    has_ties = ties_before[np.maximum(ends - 1, 0)] > ties_before[starts]
    long = ends - starts > STABLE_LENGTH_MAX
    return [(int(a), int(b)) for a, b in zip(starts[has_ties & long], ends[has_ties & long], strict=True)]


def group_starts(groups: RowArray) -> RowArray:
    """For each position the first position of its run of equal values."""
    if not len(groups):
        return row_array([])
    first = np.empty(len(groups), dtype=np.bool_)
    first[0] = True
    np.not_equal(groups[1:], groups[:-1], out=first[1:])
    return np.maximum.accumulate(np.where(first, np.arange(len(groups)), 0))


def _reprieve(result: DryRun, worlds: _Worlds, in_play: BoolArray) -> None:
    """Put pods back where the preemptor still fits."""
    potential = result.potential
    positions = np.flatnonzero(in_play[potential.node_rows])
    # Within a node: pods whose budget is used up come first, both groups in order of importance.
    spared_later = ~potential.protection.violating[positions]
    order = positions[np.lexsort((positions, spared_later, potential.node_rows[positions]))]
    turn = np.arange(len(order)) - group_starts(potential.node_rows[order])
    by_turn = order[np.argsort(turn, kind="stable")]
    bounds = np.searchsorted(np.sort(turn), np.arange(int(turn.max(initial=-1)) + 2))
    for start, end in pairwise(bounds.tolist()):
        step = by_turn[start:end]
        pod_rows, node_rows = potential.pod_rows[step], potential.node_rows[step]
        worlds.shift(pod_rows, node_rows, +1)
        verdicts = worlds.filter(node_rows)
        out = ~verdicts.passed
        worlds.shift(pod_rows[out], node_rows[out], -1)
        result.victims[step[out]] = True
        result.steps.append(ReprieveStep(step, verdicts))


class _Worlds:
    """The what-if worlds of a dry run: as they are, and with the nominated pods that must find room as well."""

    def __init__(self, pod: PodInfo, view: View, filtered: Filtered) -> None:
        self._plain = WhatIfWorlds(filtered.plugins, filtered.states, view, filtered.explained)
        self._nominated, self._nominated_nodes = nominated_pods(pod, view)
        self._full = self._plain.fork() if len(self._nominated) else None
        if self._full:
            self._full.shift(self._nominated, self._nominated_nodes, +1)

    def shift(self, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        self._plain.shift(pod_rows, node_rows, sign)
        if self._full:
            # Nominated pods always come last: held ports are a set, from which a pod that goes would take theirs too.
            self._full.shift(self._nominated, self._nominated_nodes, -1)
            self._full.shift(pod_rows, node_rows, sign)
            self._full.shift(self._nominated, self._nominated_nodes, +1)

    def filter(self, rows: RowArray) -> Verdicts:
        found = self._plain.filter(rows)
        if self._full:
            positions = np.flatnonzero(np.isin(rows, self._nominated_nodes))
            take_failures(found, positions, self._full.filter(rows[positions]))
        return found


def groups_without_success(result: DryRun, view: View, filtered: Filtered) -> list[tuple[Status, RowArray]]:
    """Why making room did not help, each with the rows it did not help on."""
    groups = [(NO_VICTIMS, result.without_victims)] if len(result.without_victims) else []
    every = row_array(range(len(result.failing_rows)))
    for position, code, places in distinct_verdicts(result.still_failing, every):
        groups.append((filtered.explain(view, position, code), result.failing_rows[places]))
    groups += [(expected_a_victim(view, int(row)), row_array([row])) for row in result.unharmed]
    return groups


def expected_a_victim(view: View, node_row: int) -> Status:
    return Status(Code.ERROR, (f'expected at least one victim pod on node "{view.nodes.names[node_row]}"',))


@dataclass(frozen=True, slots=True)
class Candidates:
    """Nodes where the pod would fit, with their victims as arrays grouped by node, most important first."""

    rows: RowArray  # (candidates,)
    victim_rows: RowArray  # (victims,)
    bounds: RowArray  # (candidates + 1,) where each candidate's victims begin
    violations: IntArray  # (candidates,) victims whose budget is used up

    def victims_of(self, position: int) -> RowArray:
        return self.victim_rows[self.bounds[position] : self.bounds[position + 1]]


def candidates_of(result: DryRun, view: View) -> Candidates:
    potential = result.potential
    chosen = np.flatnonzero(result.victims)
    violating = potential.protection.violating[chosen]
    victim_rows, node_rows = potential.pod_rows[chosen], potential.node_rows[chosen]
    # Victims are listed as they were found, those whose budget is used up first, and then sorted once more.
    as_found = victim_rows[np.lexsort((chosen, ~violating, node_rows))]
    rows = result.candidate_rows
    bounds = np.searchsorted(node_rows, np.append(rows, view.nodes.count))
    violations = np.bincount(node_rows[violating], minlength=view.nodes.count)[rows]
    return Candidates(rows, by_importance(view, as_found), bounds, violations.astype(np.int64))
