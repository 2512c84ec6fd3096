"""Job and CronJob."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.batch import default_cron_job, default_job
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.batch import (
    check_cron_job,
    check_cron_job_update,
    check_job,
    check_job_update,
)
from bayplan.apiserver.admitting.validation.job_statuses import check_job_status
from bayplan.apiserver.admitting.warnings.pods import warn_of_template
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.selecting.selectable_fields import METADATA, SelectableFields, number
from bayplan.apiserver.statuses.workloads import completed_job
from bayplan.apiserver.tables.workloads import CRON_JOBS, JOBS
from bayplan.controllers.workloads.job_pods import CONTROLLER_UID_LABEL, labels_of_job


def _create_job(job: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"]:
        return
    template = spec["template"].setdefault("metadata", {})
    labels = labels_of_job(metadata.get("name", ""), metadata.get("uid", ""))
    is_shared = "labels" in template and metadata.get("labels") is template["labels"]
    template["labels"] = {**labels, **template.get("labels", {})}
    if is_shared or not metadata.get("labels"):
        metadata["labels"] = dict(template["labels"])
    selector = spec.setdefault("selector", {}) or {}
    selector.setdefault("matchLabels", {}).setdefault(CONTROLLER_UID_LABEL, metadata.get("uid", ""))
    spec["selector"] = selector


JOB = Kind(
    "batch/v1",
    "Job",
    defaults=default_job,
    on_create=_create_job,
    check=check_job,
    check_update=check_job_update,
    steps=(ChangeCheck.UPDATE,),
    subresources={"status": check_job_status},
    watched=("spec",),
    warn=warn_of_template("spec", "template"),
    printer=JOBS,
    selectable=SelectableFields(
        {**METADATA, "status.successful": number("status", "succeeded")}, "field label {quoted} not supported for Job"
    ),
    completed_status=completed_job,
)
CRON_JOB = Kind(
    "batch/v1",
    "CronJob",
    defaults=default_cron_job,
    check=check_cron_job,
    check_update=check_cron_job_update,
    watched=("spec",),
    warn=warn_of_template("spec", "jobTemplate", "spec", "template"),
    printer=CRON_JOBS,
)
