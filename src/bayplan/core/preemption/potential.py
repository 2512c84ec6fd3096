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

    def is_useful(position: int, code: int) -> bool:
        if position == PASSED:
            return or_passing
        return filtered.explain(view, position, code).code is Code.UNSCHEDULABLE

    verdicts, alive = filtered.verdicts, view.nodes.alive
    rows = alive.nonzero()[0] if rows is None else rows[alive[rows]]
    if len(rows) <= FEW_ROWS:
        columns = rows.tolist(), verdicts.rejected_by[rows].tolist(), verdicts.codes[rows].tolist()
        return row_array(sorted(row for row, *verdict in zip(*columns, strict=True) if is_useful(*verdict)))
    useful = np.zeros(view.nodes.count, dtype=np.bool_)
    for position, code, same in distinct_verdicts(verdicts, rows):
        useful[same] = is_useful(position, code)
    return useful.nonzero()[0]
