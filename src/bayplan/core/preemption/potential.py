"""On which nodes could removing pods help? Those whose verdict is a plain Unschedulable."""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray, row_array
from bayplan.core.diagnosis import FEW_ROWS, distinct_verdicts
from bayplan.core.filtering import PASSED, Filtered
from bayplan.core.framework.verdict import Code
from bayplan.core.snapshot import View


def potential_rows(
    filtered: Filtered, view: View, rows: RowArray | None = None, *, or_passing: bool = False
) -> RowArray:
    """Those of the rows (None: of all) that are worth a dry run, in row order.

    Nodes that pass are so only to those who know that other filters have a say.
    """

    verdicts, alive = filtered.verdicts, view.nodes.alive
    rows = alive.nonzero()[0] if rows is None else rows[alive[rows]]
    if len(rows) <= FEW_ROWS:
        return row_array(
            [row for row in sorted(rows.tolist()) if is_potential(filtered, view, row, or_passing=or_passing)]
        )
    useful = np.zeros(view.nodes.count, dtype=np.bool_)
    for position, code, same in distinct_verdicts(verdicts, rows):
        useful[same] = _is_worth_it(filtered, view, position, code, or_passing=or_passing)
    return useful.nonzero()[0]


def is_potential(filtered: Filtered, view: View, row: int, *, or_passing: bool = False) -> bool:
    """Whether preemption might help on a single row."""
    if not view.nodes.alive.item(row):
        return False
    verdicts = filtered.verdicts
    position, code = verdicts.rejected_by.item(row), verdicts.codes.item(row)
    return _is_worth_it(filtered, view, position, code, or_passing=or_passing)


def _is_worth_it(filtered: Filtered, view: View, position: int, code: int, *, or_passing: bool) -> bool:
    if position == PASSED:
        return or_passing
    return filtered.explain(view, position, code).code is Code.UNSCHEDULABLE
