"""PodDisruptionBudget."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.policies import check_budget
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.statuses.workloads import completed_budget
from bayplan.apiserver.tables.workloads import POD_DISRUPTION_BUDGETS

POD_DISRUPTION_BUDGET = Kind(
    "policy/v1",
    "PodDisruptionBudget",
    check=check_budget,
    watched=("spec",),
    update_needs_version=True,
    printer=POD_DISRUPTION_BUDGETS,
    completed_status=completed_budget,
)
