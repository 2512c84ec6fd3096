"""ReplicationController."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.core import default_replication_controller
from bayplan.apiserver.admitting.validation.workload_statuses import check_replica_set_status
from bayplan.apiserver.admitting.validation.workloads import check_replication_controller
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.selecting.selectable_fields import METADATA, SelectableFields, number
from bayplan.apiserver.statuses.workloads import completed_counts
from bayplan.apiserver.tables.workloads import REPLICATION_CONTROLLERS

REPLICATION_CONTROLLER = Kind(
    "v1",
    "ReplicationController",
    defaults=default_replication_controller,
    check=check_replication_controller,
    subresources={"status": check_replica_set_status},
    watched=("spec",),
    warn=warn_of_template("spec", "template"),
    printer=REPLICATION_CONTROLLERS,
    selectable=SelectableFields({**METADATA, "status.replicas": number("status", "replicas")}),
    completed_status=completed_counts,
)
