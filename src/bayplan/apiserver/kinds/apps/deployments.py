"""Deployment and ReplicaSet."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.apps import default_deployment, default_replica_set
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.validation.workload_statuses import check_deployment_status, check_replica_set_status
from bayplan.apiserver.admitting.validation.workloads import check_deployment, check_replica_set, check_selector_update
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.statuses.workloads import completed_counts, completed_deployment
from bayplan.apiserver.tables.workloads import DEPLOYMENTS, REPLICA_SETS


def _keep_labels(new: Document, old: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    keep(new["metadata"], old["metadata"], "labels")


DEPLOYMENT = Kind(
    "apps/v1",
    "Deployment",
    defaults=default_deployment,
    on_status=_keep_labels,
    check=check_deployment,
    immutable=check_selector_update,
    subresources={"status": check_deployment_status},
    watched=("spec",),
    watched_metadata=("annotations",),
    kept_by_status=("labels",),
    warn=warn_of_template("spec", "template"),
    printer=DEPLOYMENTS,
    completed_status=completed_deployment,
)
REPLICA_SET = Kind(
    "apps/v1",
    "ReplicaSet",
    defaults=default_replica_set,
    check=check_replica_set,
    immutable=check_selector_update,
    subresources={"status": check_replica_set_status},
    watched=("spec",),
    warn=warn_of_template("spec", "template"),
    printer=REPLICA_SETS,
    completed_status=completed_counts,
)
