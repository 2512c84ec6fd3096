"""StatefulSet and ControllerRevision."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.apps import default_stateful_set
from bayplan.apiserver.admitting.validation.names import label_faults
from bayplan.apiserver.admitting.validation.workload_statuses import check_stateful_set_status
from bayplan.apiserver.admitting.validation.workloads import (
    check_controller_revision,
    check_controller_revision_update,
    check_stateful_set,
    check_stateful_set_update,
)
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.statuses.workloads import completed_counts
from bayplan.apiserver.tables.workloads import CONTROLLER_REVISIONS, STATEFUL_SETS

STATEFUL_SET = Kind(
    "apps/v1",
    "StatefulSet",
    defaults=default_stateful_set,
    check=check_stateful_set,
    check_update=check_stateful_set_update,
    subresources={"status": check_stateful_set_status},
    name_rule=label_faults,
    watched=("spec",),
    warn=warn_of_template("spec", "template", named=False),
    printer=STATEFUL_SETS,
    completed_status=completed_counts,
)
CONTROLLER_REVISION = Kind(
    "apps/v1",
    "ControllerRevision",
    check=check_controller_revision,
    check_update=check_controller_revision_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE),
    printer=CONTROLLER_REVISIONS,
)
