"""On which nodes could removing pods help? Those whose verdict is a plain Unschedulable."""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray, row_array
from bayplan.core.diagnosis import FEW_ROWS, distinct_verdicts
from bayplan.core.filtering import Filtered
from bayplan.core.framework.verdict import Code
from bayplan.core.snapshot import View


def potential_rows(filtered: Filtered, view: View, rows: RowArray | None = None) -> RowArray:
    """Those of the rows (None: of all) that are worth a dry run, in row order."""

    def is_useful(position: int, code: int) -> bool:
        return filtered.explain(view, position, code).code is Code.UNSCHEDULABLE

    verdicts, alive = filtered.verdicts, view.nodes.alive
    rows = alive.nonzero()[0] if rows is None else rows[alive[rows]]
    if len(rows) <= FEW_ROWS:
        columns = rows.tolist(), verdicts.rejected_by[rows].tolist(), verdicts.codes[rows].tolist()
        return row_array(sorted(row for row, *verdict in zip(*columns, strict=True) if is_useful(*verdict)))
    groups = [same for position, code, same in distinct_verdicts(verdicts, rows) if is_useful(position, code)]
    return np.sort(np.concatenate(groups)) if groups else row_array([])
