"""What preemption tried, in what order, and what decided: the full record as plain data.

Made from the arrays of the dry run when somebody asks; a decision that nobody reads about costs nothing here.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from bayplan.core.columns.pods import NOT_STARTED
from bayplan.core.filtering import PASSED, Filtered
from bayplan.core.preemption.candidates import Candidates, DryRun
from bayplan.core.preemption.post_filter import Preemption
from bayplan.core.preemption.search import Searched
from bayplan.core.preemption.select import START_TIME, CriterionStep
from bayplan.core.snapshot import View
from bayplan.model.timestamps import format_time

Plain = dict[str, Any]


def preemption_record(found: Preemption, view: View, filtered: Filtered) -> Plain | None:
    """Every candidate with its victims and reprieves, and the choice between them; None if nothing was tried."""
    searched = found.found
    if not isinstance(searched, Searched):
        return None
    reprieves = _reprieves(searched.dry_run, view, filtered)
    broken = _budgets_broken(searched.dry_run)
    return {
        "candidates": [
            _candidate(position, searched.candidates, view, broken, reprieves)
            for position in range(len(searched.candidates.rows))
        ],
        "choice": [_criterion(step, searched.candidates, view) for step in searched.selection.steps],
    }


def _candidate(
    position: int,
    candidates: Candidates,
    view: View,
    broken: dict[int, list[str]],
    reprieves: dict[int, list[Plain]],
) -> Plain:
    node_row = int(candidates.rows[position])
    return {
        "node": view.nodes.names[node_row],
        "numPDBViolations": int(candidates.violations[position]),
        "victims": [
            {**_pod(int(row), view), "breaks": broken.get(int(row), [])} for row in candidates.victims_of(position)
        ],
        "reprieves": reprieves.get(node_row, []),
    }


def _pod(pod_row: int, view: View) -> Plain:
    return {
        "pod": view.pods.keys[pod_row],
        "priority": int(view.pods.priorities[pod_row]),
        "startTime": _start_time(int(view.pods.started_at[pod_row])),
    }


def _start_time(started_at: int) -> str | None:
    return None if started_at == NOT_STARTED else format_time(started_at)


def _budgets_broken(result: DryRun) -> dict[int, list[str]]:
    """Pod row -> the budgets that its eviction breaks."""
    broken: defaultdict[int, list[str]] = defaultdict(list)
    for budget, pods in result.potential.protection.by_budget.items():
        for position in np.flatnonzero(pods):
            broken[int(result.potential.pod_rows[position])].append(budget)
    return broken


def _reprieves(result: DryRun, view: View, filtered: Filtered) -> dict[int, list[Plain]]:
    """Node row -> the attempts to put a pod back, in order."""
    attempts: defaultdict[int, list[Plain]] = defaultdict(list)
    potential = result.potential
    for step in result.steps:
        for position, rejected_by, code in zip(
            step.positions.tolist(), step.verdicts.rejected_by.tolist(), step.verdicts.codes.tolist(), strict=True
        ):
            tried = {
                **_pod(int(potential.pod_rows[position]), view),
                "budgetUsedUp": bool(potential.protection.violating[position]),
                "kept": rejected_by == PASSED,
            }
            if rejected_by != PASSED:
                status = filtered.explain(view, rejected_by, code)
                tried |= {"stoppedBy": status.plugin, "reasons": list(status.reasons)}
            attempts[int(potential.node_rows[position])].append(tried)
    return attempts


def _criterion(step: CriterionStep, candidates: Candidates, view: View) -> Plain:
    names = view.nodes.names
    as_text = step.criterion == START_TIME
    return {
        "criterion": step.criterion,
        "values": {
            names[candidates.rows[position]]: _start_time(value) if as_text else value
            for position, value in zip(step.before.tolist(), step.values.tolist(), strict=True)
        },
        "kept": sorted(names[candidates.rows[position]] for position in step.kept),
    }
