"""How full the nodes of a placement would be together, once the members of a group are there; for NodeResourcesFit.

The fuller the better, whatever a profile prefers for single pods. For cpu and memory this counts what pods are assumed
to take if they do not say. Upstream: plugins/noderesources/resource_allocation.go scorePlacement (v1.37).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bayplan.core.columns import ABSENT, IntArray, RowArray
from bayplan.core.columns.resources import BASIC_NAMES, CPU_NAME, MEMORY_NAME
from bayplan.core.framework.args import ResourceWeight
from bayplan.core.framework.contract import MAX_NODE_SCORE
from bayplan.core.framework.group_contract import PodGroupAssignments
from bayplan.core.snapshot import View

#: Resources that a pod which does not mention them is assumed to take some of, with their columns in `Usage`.
_NONZERO_COLUMNS = {CPU_NAME: 0, MEMORY_NAME: 1}


def utilizations(
    resources: Iterable[ResourceWeight], view: View, assignments: Sequence[PodGroupAssignments]
) -> IntArray:
    """(assignments,) 0 to 100."""
    weighed = tuple(resources)
    return np.array([_utilization(weighed, view, each) for each in assignments], dtype=np.int64)


def _utilization(resources: Sequence[ResourceWeight], view: View, assigned: PodGroupAssignments) -> int:
    score = weights = 0
    rows = assigned.placement.rows
    for resource in resources:
        name = resource.name
        proposed = sum(pod.shape.requests.scored.get(name, 0) for pod in assigned.pods)
        column = view.nodes.resources.find(name)
        # As for single pods: a scalar resource that nobody asks for says nothing.
        if column == ABSENT or (name not in BASIC_NAMES and not proposed):
            continue
        allocatable = view.nodes.allocatable[rows, column]
        capacity = int(allocatable.sum())
        if capacity:  # what pods take on nodes that have none of it does not count
            requested = proposed + _used(view, rows[allocatable > 0], name, column)
            score += min(requested, capacity) * MAX_NODE_SCORE // capacity * resource.weight
            weights += resource.weight
    return score // weights if weights else 0


def _used(view: View, rows: RowArray, resource: str, column: int) -> int:
    """What pods take there of a resource."""
    usage = view.usage
    if resource in _NONZERO_COLUMNS:
        return int(usage.nonzero_requested[rows, _NONZERO_COLUMNS[resource]].sum())
    return int(usage.requested[rows, column].sum())
