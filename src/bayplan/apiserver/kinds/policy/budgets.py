"""PodDisruptionBudget."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.admitting.validation.policies import check_budget, check_budget_status
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.statuses.workloads import completed_budget
from bayplan.apiserver.tables.workloads import POD_DISRUPTION_BUDGETS

POD_DISRUPTION_BUDGET = Kind(
    "policy/v1",
    "PodDisruptionBudget",
    check=check_budget,
    steps=(ChangeCheck.CHECK,),
    subresources={"status": check_budget_status},
    # The real server has no rule of its own for their names.
    name_rule=path_segment_faults,
    watched=("spec",),
    update_needs_version=True,
    printer=POD_DISRUPTION_BUDGETS,
    completed_status=completed_budget,
)
