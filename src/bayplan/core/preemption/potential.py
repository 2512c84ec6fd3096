"""On which nodes could removing pods help? Those whose verdict is a plain Unschedulable."""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import RowArray, row_array
from bayplan.core.diagnosis import failure_groups
from bayplan.core.filtering import Filtered
from bayplan.core.framework.verdict import Code
from bayplan.core.snapshot import View


def potential_rows(filtered: Filtered, view: View) -> RowArray:
    """Rows worth a dry run, in row order."""
    groups = [g.rows for g in failure_groups(filtered, view) if g.status.code is Code.UNSCHEDULABLE]
    return np.sort(np.concatenate(groups)) if groups else row_array([])
