"""Rows of what makes pods: deployments, sets, jobs, cron jobs, pod templates; and of their revisions and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.tables.ages import age, between, since
from bayplan.apiserver.tables.columns import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    SELECTOR,
    Cells,
    Column,
    Document,
    Printer,
    boolean,
    integer,
)
from bayplan.apiserver.tables.wording import NONE, UNSET, containers_text, is_true, labels_text, selector_text

_POD_TEMPLATE_COLUMNS = (CONTAINERS, IMAGES, SELECTOR)
_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    (None, "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
"""Conditions in the order in which they count, and what each shows; None stands for a deletion."""


def _spec(document: Document) -> Mapping[str, Any]:
    return document.get("spec") or {}


def _status(document: Document) -> Mapping[str, Any]:
    return document.get("status") or {}


def _name(document: Document) -> str:
    return str(document["metadata"].get("name", ""))


def _deployment_cells(deployment: Document, now: int) -> Cells:
    spec, status = _spec(deployment), _status(deployment)
    return [
        _name(deployment),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(deployment, now),
        *containers_text(spec.get("template")),
        selector_text(spec.get("selector")),
    ]


def _replica_set_cells(replica_set: Document, now: int) -> Cells:
    selector = selector_text(_spec(replica_set).get("selector")) or NONE
    return [*_replica_cells(replica_set, now), selector]


def _replication_controller_cells(controller: Document, now: int) -> Cells:
    return [*_replica_cells(controller, now), labels_text(_spec(controller).get("selector"))]


def _replica_cells(document: Document, now: int) -> Cells:
    spec, status = _spec(document), _status(document)
    return [
        _name(document),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(document, now),
        *containers_text(spec.get("template")),
    ]


def _stateful_set_cells(stateful_set: Document, now: int) -> Cells:
    spec, status = _spec(stateful_set), _status(stateful_set)
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [_name(stateful_set), ready, age(stateful_set, now), *containers_text(spec.get("template"))]


def _daemon_set_cells(daemon_set: Document, now: int) -> Cells:
    spec, status = _spec(daemon_set), _status(daemon_set)
    template = spec.get("template") or {}
    return [
        _name(daemon_set),
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels_text((template.get("spec") or {}).get("nodeSelector")),
        age(daemon_set, now),
        *containers_text(template),
        selector_text(spec.get("selector")) or NONE,
    ]


def _job_cells(job: Document, now: int) -> Cells:
    spec = _spec(job)
    return [
        _name(job),
        _job_state(job),
        _completions(job),
        _job_duration(job, now),
        age(job, now),
        *containers_text(spec.get("template")),
        selector_text(spec.get("selector")) or NONE,
    ]


def _job_state(job: Document) -> str:
    conditions = _status(job).get("conditions")
    is_deleted = bool(job["metadata"].get("deletionTimestamp"))
    for condition, state in _JOB_STATES:
        if is_deleted if condition is None else is_true(conditions, condition):
            return state
    return "Running"


def _completions(job: Document) -> str:
    spec, succeeded = _spec(job), _status(job).get("succeeded", 0)
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(job: Document, now: int) -> str:
    start, end = _status(job).get("startTime"), _status(job).get("completionTime")
    if not start:
        return ""
    return between(start, end) if end else since(start, now)


def _cron_job_cells(cron_job: Document, now: int) -> Cells:
    spec, status = _spec(cron_job), _status(cron_job)
    job = (spec.get("jobTemplate") or {}).get("spec") or {}
    suspend, last = spec.get("suspend"), status.get("lastScheduleTime")
    return [
        _name(cron_job),
        spec.get("schedule", ""),
        NONE if spec.get("timeZone") is None else spec["timeZone"],
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(cron_job, now),
        *containers_text(job.get("template")),
        selector_text(job.get("selector")) or NONE,
    ]


def _pod_template_cells(pod_template: Document, _now: int) -> Cells:
    template = pod_template.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    return [_name(pod_template), *containers_text(template), labels_text(labels)]


def _revision_cells(revision: Document, now: int) -> Cells:
    return [_name(revision), _controller(revision), revision.get("revision", 0), age(revision, now)]


def _controller(document: Document) -> str:
    for owner in document["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            group = owner["apiVersion"].rpartition("/")[0]
            kind = f"{owner['kind']}.{group}" if group else owner["kind"]
            return f"{kind.lower()}/{owner['name']}"
    return NONE


def _budget_cells(budget: Document, now: int) -> Cells:
    spec = _spec(budget)
    return [
        _name(budget),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        _status(budget).get("disruptionsAllowed", 0),
        age(budget, now),
    ]


DEPLOYMENTS = Printer(
    (
        NAME,
        Column("Ready", "Pods that are ready, of how many."),
        Column("Up-to-date", "Pods of the current template."),
        Column("Available", "Pods that have been ready for long enough."),
        AGE,
        *_POD_TEMPLATE_COLUMNS,
    ),
    _deployment_cells,
)
_REPLICA_COLUMNS = (
    NAME,
    integer("Desired", "Pods there should be."),
    integer("Current", "Pods there are."),
    integer("Ready", "Pods that are ready."),
    AGE,
    *_POD_TEMPLATE_COLUMNS,
)
REPLICA_SETS = Printer(_REPLICA_COLUMNS, _replica_set_cells)
REPLICATION_CONTROLLERS = Printer(_REPLICA_COLUMNS, _replication_controller_cells)
STATEFUL_SETS = Printer(
    (NAME, Column("Ready", "Pods that are ready, of how many."), AGE, CONTAINERS, IMAGES), _stateful_set_cells
)
DAEMON_SETS = Printer(
    (
        NAME,
        integer("Desired", "Nodes that should run the pod."),
        integer("Current", "Nodes that run the pod."),
        integer("Ready", "Nodes whose pod is ready."),
        integer("Up-to-date", "Nodes whose pod has the current template."),
        integer("Available", "Nodes whose pod has been ready for long enough."),
        Column("Node Selector", "Labels of the nodes that should run the pod."),
        AGE,
        *_POD_TEMPLATE_COLUMNS,
    ),
    _daemon_set_cells,
)
JOBS = Printer(
    (
        NAME,
        Column("Status", "State of the job."),
        Column("Completions", "Pods that succeeded, of how many."),
        Column("Duration", "Time from the start of the job to its end, or so far."),
        AGE,
        *_POD_TEMPLATE_COLUMNS,
    ),
    _job_cells,
)
CRON_JOBS = Printer(
    (
        NAME,
        Column("Schedule", "When jobs are made, in cron format."),
        Column("Timezone", "Time zone of the schedule."),
        boolean("Suspend", "Whether no further jobs are made."),
        integer("Active", "Jobs that run now."),
        Column("Last Schedule", "Time since the last job was made."),
        AGE,
        *_POD_TEMPLATE_COLUMNS,
    ),
    _cron_job_cells,
)
POD_TEMPLATES = Printer(
    (
        NAME,
        Column("Containers", "Names of the containers."),
        Column("Images", "Images of the containers."),
        Column("Pod Labels", "Labels of pods made from the template."),
    ),
    _pod_template_cells,
)
CONTROLLER_REVISIONS = Printer(
    (
        NAME,
        Column("Controller", "Object whose history this is part of."),
        Column("Revision", "Number of the revision."),
        AGE,
    ),
    _revision_cells,
)
POD_DISRUPTION_BUDGETS = Printer(
    (
        NAME,
        Column("Min Available", "Pods that have to stay available."),
        Column("Max Unavailable", "Pods that may be unavailable."),
        integer("Allowed Disruptions", "Pods that may be evicted now."),
        AGE,
    ),
    _budget_cells,
)
