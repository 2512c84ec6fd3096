"""Extenders after the plugins: what they leave of the feasible nodes, and what they add to the scores.

Filtering goes from one extender to the next, each seeing the nodes that the one before left. One that gives no answer
ends the attempt, unless it is ignorable. All are asked for scores at the same time; one that gives none is passed over
in any case. Upstream breaks ties at random as soon as an extender scores; here the smallest name wins, as always.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bayplan.core.columns import IntArray, RowArray, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import NOT_LOOKED_AT, Filtered, Verdicts
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.extender import EXTENDER, Extender, FilterAnswer
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.scoring import Scored
from bayplan.core.snapshot import View

#: The highest score of an extender counts as much as the highest of a plugin.
MAX_EXTENDER_SCORE = 10


@dataclass(slots=True)
class Extended:
    """What extenders made of feasible nodes."""

    rows: RowArray  # that are left
    statuses: dict[int, Status] = field(default_factory=dict)  # what was said of nodes, by row
    as_objects: bool = False  # the nodes are objects that an extender returned


def filter_by_extenders(extenders: Iterable[Extender], pod: PodInfo, view: View, filtered: Filtered) -> Filtered:
    """The verdicts with those of the extenders. Raises CycleError."""
    asked = [extender for extender in extenders if extender.filters and extender.is_interested(pod)]
    if not asked or not len(filtered.feasible_rows):
        return filtered
    return _with_verdicts(filtered, ask_filters(asked, pod, view, filtered.feasible_rows), view)


def ask_filters(extenders: Iterable[Extender], pod: PodInfo, view: View, rows: RowArray) -> Extended:
    """Let extenders filter the rows, one after another. Raises CycleError."""
    found = Extended(rows)
    for extender in extenders:
        if not len(found.rows):
            break
        if not extender.filters or not extender.is_interested(pod):
            continue
        names = _names(view, found.rows)
        try:
            answer = extender.ask_filter(pod, names)
            _check_nodes(extender, answer, names)
        except CycleError:
            if not extender.ignorable:
                raise
            continue
        _take_statuses(found, answer, view)
        found.rows = row_array(sorted({view.nodes.rows_by_name[name] for name in answer.nodes}))
        found.as_objects |= answer.as_objects
    return found


def _check_nodes(extender: Extender, answer: FilterAnswer, asked: Sequence[str]) -> None:
    """Upstream takes nodes that come as objects unseen, and would bind the pod to one that does not exist."""
    known = set(asked)
    for name in answer.nodes:
        if name not in known:
            text = (
                f'extender "{extender.name}" claims a filtered node "{name}" which is not found in the input node list'
            )
            raise CycleError("", text)


def _take_statuses(found: Extended, answer: FilterAnswer, view: View) -> None:
    for said, code in ((answer.failed, Code.UNSCHEDULABLE), (answer.unresolvable, Code.UNRESOLVABLE)):
        for name, why in said.items():
            row = view.nodes.rows_by_name.get(name)
            if row is not None:
                found.statuses[row] = Status(code, (why,), EXTENDER)


def _with_verdicts(filtered: Filtered, found: Extended, view: View) -> Filtered:
    """Nodes that were dropped without a word count as if nobody had looked at them, as upstream has it."""
    rejectors = set(filtered.rejectors(view))
    dropped = np.setdiff1d(filtered.feasible_rows, found.rows, assume_unique=True)
    if len(dropped):
        rejectors.add(EXTENDER)
    verdicts = Verdicts(filtered.verdicts.rejected_by.copy(), filtered.verdicts.codes.copy())
    verdicts.rejected_by[dropped] = NOT_LOOKED_AT
    left, explained, code_of = set(found.rows.tolist()), dict(filtered.explained), dict[Status, int]()
    position = len(filtered.plugins)  # behind them all
    for row, status in found.statuses.items():
        if row not in left:
            code = code_of.setdefault(status, len(code_of) + 1)
            verdicts.rejected_by[row], verdicts.codes[row] = position, code
            explained[position, code] = status
    return replace(
        filtered,
        verdicts=verdicts,
        feasible_rows=found.rows,
        explained=explained,
        known_rejectors=tuple(sorted(rejectors)),
        as_objects=found.as_objects,
    )


def add_extender_scores(extenders: Iterable[Extender], pod: PodInfo, view: View, scored: Scored) -> None:
    """Add what the extenders say to the totals; a lone node needs no scores."""
    if len(scored.rows) < 2 or scored.totals is None:
        return
    asked = [extender for extender in extenders if extender.scores and extender.is_interested(pod)]
    if not asked:
        return  # as in most decisions: names are not even looked up
    names = _names(view, scored.rows)
    # All at once, as upstream: a slow one delays the pod, but not those after it.
    for extender, wait in [(extender, extender.begin_scores(pod, names)) for extender in asked]:
        try:
            given = wait()
        except CycleError:
            continue  # as upstream: the others decide
        weighted = _column(names, given) * extender.weight * (MAX_NODE_SCORE // MAX_EXTENDER_SCORE)
        scored.by_plugin[extender.name] = scored.by_plugin.get(extender.name, 0) + weighted
        scored.totals += weighted


def _column(names: Sequence[str], given: Sequence[tuple[str, int]]) -> IntArray:
    """(names,) sums; nodes that nobody asked about do not count."""
    places = {name: place for place, name in enumerate(names)}
    column: IntArray = np.zeros(len(names), dtype=np.int64)
    for name, score in given:
        if name in places:
            column[places[name]] += score
    return column


def _names(view: View, rows: RowArray) -> list[str]:
    return [view.nodes.names[row] for row in rows.tolist()]
