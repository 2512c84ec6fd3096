"""What preemption tried, in what order, and what decided: the full record as plain data.

Made from the arrays of the dry run when somebody asks; a decision that nobody reads about costs nothing here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayplan.core.columns.pods import NOT_STARTED
from bayplan.core.filtering import PASSED, Filtered
from bayplan.core.framework.contract import Found
from bayplan.core.preemption.candidates import Candidates, DryRun
from bayplan.core.preemption.search import Searched
from bayplan.core.preemption.select import START_TIME, CriterionStep
from bayplan.core.preemption.unit_search import PutBack, UnitsFound, UnitsOnNode
from bayplan.core.snapshot import View
from bayplan.model.timestamps import format_time

Plain = dict[str, Any]


def preemption_record(found: Found | None, view: View, filtered: Filtered) -> Plain | None:
    """Every candidate with its victims and reprieves, and the choice between them; None if nothing was tried."""
    every = range(len(found.candidates.rows)) if isinstance(found, Searched | UnitsFound) else ()
    if isinstance(found, UnitsFound):
        return _record_of_units(found, view, every, _unit_reprieves(found, view))
    if not isinstance(found, Searched):
        return None
    return _record_of(found, view, every, _reprieves(found.dry_run, view, filtered))


def short_record(found: Found | None, view: View, filtered: Filtered, chosen_row: int, most: int) -> Plain | None:
    """The record of the chosen node with all that was tried there, and of those that lasted longest beside it.

    Has at most `most` candidates, and says how many it leaves out. A large cluster has thousands of them: only what
    is kept is put into words.
    """
    if not isinstance(found, Searched | UnitsFound):
        return None
    kept = _longest_lasting(found, view, chosen_row)[:most]
    left_out = len(found.candidates.rows) - len(kept)
    if isinstance(found, UnitsFound):
        units = _unit_reprieves(found, view, only_on=chosen_row)
        return _record_of_units(found, view, kept, units) | {"candidatesLeftOut": left_out}
    reprieves = _reprieves(found.dry_run, view, filtered, only_on=chosen_row)
    return _record_of(found, view, kept, reprieves) | {"candidatesLeftOut": left_out}


def _longest_lasting(searched: Searched | UnitsFound, view: View, chosen_row: int) -> list[int]:
    """Positions of all candidates: the chosen one, then by the number of criteria they took part in, then by name."""
    rows, names = searched.candidates.rows.tolist(), view.nodes.names
    lasted = np.zeros(len(rows), dtype=np.int64)
    for step in searched.selection.steps:
        lasted[step.before] += 1
    order = [(rows[at] != chosen_row, -int(lasted[at]), names[rows[at]], at) for at in range(len(rows))]
    return [at for _, _, _, at in sorted(order)]


def _record_of(searched: Searched, view: View, kept: Sequence[int], reprieves: dict[int, list[Plain]]) -> Plain:
    broken, candidates = searched.dry_run.potential.broken_budgets(), searched.candidates
    return {
        "candidates": [_candidate(position, candidates, view, broken, reprieves) for position in kept],
        "foreignPods": len(searched.dry_run.potential.foreign_rows),
        "choice": [_criterion(step, candidates, view, set(kept)) for step in searched.selection.steps],
    }


def _record_of_units(found: UnitsFound, view: View, kept: Sequence[int], reprieves: dict[int, list[Plain]]) -> Plain:
    candidates = found.candidates
    broken = [found.tried[int(candidates.rows[position])].broken.by_row for position in kept]
    return {
        "candidates": [
            _candidate(position, candidates, view, budgets, reprieves)
            for position, budgets in zip(kept, broken, strict=True)
        ],
        "foreignPods": len(found.foreign_rows),
        "choice": [_criterion(step, candidates, view, set(kept)) for step in found.selection.steps],
    }


def _unit_reprieves(found: UnitsFound, view: View, only_on: int | None = None) -> dict[int, list[Plain]]:
    """As `_reprieves`; of units that have several pods the first stands for all, with the others beside it."""
    return {
        row: [_reprieve(each, on, view) for each in on.reprieves]
        for row, on in found.tried.items()
        if only_on in (None, row)
    }


def _reprieve(tried: PutBack, on: UnitsOnNode, view: View) -> Plain:
    first, *others = tried.unit.pod_rows
    plain = {
        **_pod(first, view),
        "priority": tried.unit.priority,
        "budgetUsedUp": on.broken.violations(tried.unit) > 0,
        "kept": tried.status.ok,
    }
    if others:
        plain["together"] = [view.pods.keys[row] for row in others]
    if not tried.status.ok:
        plain |= {"stoppedBy": tried.status.plugin, "reasons": list(tried.status.reasons)}
    return plain


def _candidate(
    position: int,
    candidates: Candidates,
    view: View,
    broken: Mapping[int, list[str]],
    reprieves: Mapping[int, list[Plain]],
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


def _reprieves(result: DryRun, view: View, filtered: Filtered, only_on: int | None = None) -> dict[int, list[Plain]]:
    """Node row -> the attempts to put a pod back, in order; of that one node if there is one given."""
    attempts: defaultdict[int, list[Plain]] = defaultdict(list)
    potential = result.potential
    for step in result.steps:
        on_node = potential.node_rows[step.positions] == only_on if only_on is not None else slice(None)
        for position, rejected_by, code in zip(
            step.positions[on_node].tolist(),
            step.verdicts.rejected_by[on_node].tolist(),
            step.verdicts.codes[on_node].tolist(),
            strict=True,
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


def _criterion(step: CriterionStep, candidates: Candidates, view: View, only: set[int]) -> Plain:
    names = view.nodes.names
    as_text = step.criterion == START_TIME
    return {
        "criterion": step.criterion,
        "values": {
            names[candidates.rows[position]]: _start_time(value) if as_text else value
            for position, value in zip(step.before.tolist(), step.values.tolist(), strict=True)
            if position in only
        },
        "kept": sorted(names[candidates.rows[position]] for position in step.kept.tolist() if position in only),
    }
