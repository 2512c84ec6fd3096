"""The full search: potential nodes, dry run, choice. Everything it looked at is kept for the record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from bayplan.core.columns import BoolArray, RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import Filtered
from bayplan.core.framework.args import DefaultPreemptionArgs
from bayplan.core.framework.verdict import Status
from bayplan.core.preemption.candidates import Candidates, DryRun, candidates_of, dry_run, groups_without_success
from bayplan.core.preemption.potential import potential_rows
from bayplan.core.preemption.select import Selection, select
from bayplan.core.snapshot import View


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search over all potential nodes found."""

    dry_run: DryRun
    candidates: Candidates
    selection: Selection
    unsuccessful: list[tuple[Status, RowArray]]  # why trying did not help, and the node rows it did not help on
    filtered: Filtered  # what it started from

    @property
    def without_victims(self) -> RowArray:
        """Node rows with no pod that may be evicted."""
        return self.dry_run.without_victims

    @property
    def node_statuses(self) -> dict[int, Status]:
        """Node row -> why trying it did not help."""
        return {int(row): status for status, rows in self.unsuccessful for row in rows}

    @property
    def tied_rows(self) -> RowArray:
        tied: RowArray = self.candidates.rows[self.selection.tied]
        return tied

    def victims_on(self, node_row: int) -> RowArray:
        return self.candidates.victims_of(int(np.searchsorted(self.candidates.rows, node_row)))

    def failures(self) -> Iterable[tuple[Status, int]]:
        return ((status, len(rows)) for status, rows in self.unsuccessful)


def search_by_dry_run(args: DefaultPreemptionArgs | None, pod: PodInfo, view: View, filtered: Filtered) -> Searched:
    """Try every node where removing pods could help; `args`, if given, end the search as early as upstream would."""
    rows = potential_rows(filtered, view)
    tried = dry_run(pod, view, filtered, rows)
    candidates = candidates_of(tried, view)
    if args is not None:
        candidates = stop_early(candidates, _wanted(args, len(rows)))
    unsuccessful = groups_without_success(tried, view, filtered)
    return Searched(tried, candidates, select(candidates, view), unsuccessful, filtered)


def _wanted(args: DefaultPreemptionArgs, potential: int) -> int:
    share = potential * args.min_candidate_nodes_percentage // 100
    return min(max(share, args.min_candidate_nodes_absolute), potential)


def stop_early(candidates: Candidates, wanted: int) -> Candidates:
    """What upstream's search would have found had it gone through the nodes in row order, one at a time.

    It ends when `wanted` candidates are found and at least one of them breaks no budget. Those that break one and those
    that break none are kept apart, `wanted` of each at most.
    """
    harmless = candidates.violations == 0
    kept: BoolArray = np.where(harmless, np.cumsum(harmless), np.cumsum(~harmless)) <= wanted
    enough = (np.cumsum(harmless) > 0) & (np.cumsum(kept) >= wanted)
    if enough.any():
        kept[int(np.argmax(enough)) + 1 :] = False
    return _only(candidates, kept)


def _only(candidates: Candidates, kept: BoolArray) -> Candidates:
    counts = np.diff(candidates.bounds)
    return Candidates(
        rows=candidates.rows[kept],
        victim_rows=candidates.victim_rows[np.repeat(kept, counts)],
        bounds=np.concatenate((row_array([0]), np.cumsum(counts[kept]))),
        violations=candidates.violations[kept],
    )
