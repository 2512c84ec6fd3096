"""Checks of Jobs and CronJobs. Upstream: pkg/apis/batch/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.admission.time_zones import find_time_zone
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.selecting_labels import matches
from bayplan.apiserver.admitting.validation.faults import Faults, shown_labels
from bayplan.apiserver.admitting.validation.metadata import check_label_selector
from bayplan.apiserver.admitting.validation.names import label_faults
from bayplan.apiserver.admitting.validation.pods.spec import check_template
from bayplan.apiserver.admitting.validation.workloads import UNMATCHED
from bayplan.controllers.workloads.job_pods import labels_of_job
from bayplan.model.cron_schedules import ScheduleError, parse_schedule
from bayplan.store.arriving import EMPTY_TIME_ZONE, unknown_time_zone

_INDEXED = "Indexed"
_COMPLETION_MODES = ("NonIndexed", _INDEXED)
_CONCURRENCY_POLICIES = ("Allow", "Forbid", "Replace")
_CRON_JOB_NAME_MAX = 52
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_MUTABLE_WHEN_SUSPENDED = ("nodeSelector", "tolerations", "schedulingGates", "affinity", "containers", "initContainers")


def check_job(job: Document, faults: Faults) -> None:
    spec, metadata = job["spec"], job["metadata"]
    _check_generated(job, faults)
    _check_selected_spec(spec, faults)
    completions = spec.get("completions")
    if spec["completionMode"] == _INDEXED and completions:
        hostname = f"{metadata.get('name', '')}-{completions - 1}"
        if label_faults(hostname):
            text = f"will not able to create pod with invalid DNS label: {hostname}"
            faults.invalid("metadata.name", metadata.get("name", ""), text)


def _check_generated(job: Document, faults: Faults) -> None:
    """A selector that the server makes must be the one it would make."""
    spec, metadata = job["spec"], job["metadata"]
    if spec["manualSelector"]:
        return
    labels = spec["template"].get("metadata", {}).get("labels", {})
    for key, value in labels_of_job(metadata.get("name", ""), metadata.get("uid", "")).items():
        if labels.get(key) != value:
            faults.invalid("spec.template.metadata.labels", shown_labels(labels), f"must be '{value}'")


def _check_selected_spec(spec: Document, faults: Faults) -> None:
    _check_job_spec(spec, faults, "spec")
    selector = spec.get("selector")
    if selector is None:
        faults.required("spec.selector")
        return
    check_label_selector(selector, faults, "spec.selector")
    labels = spec["template"].get("metadata", {}).get("labels", {})
    if not matches(selector, labels):
        faults.invalid("spec.template.metadata.labels", shown_labels(labels), UNMATCHED)


def _check_job_spec(spec: Document, faults: Faults, path: Path) -> None:
    for field in _NUMBERS:
        faults.not_negative(f"{path}.{field}", spec.get(field))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        faults.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    _check_completion_mode(spec, faults, path)
    check_template(spec["template"], faults, f"{path}.template")
    policy = spec["template"]["spec"].get("restartPolicy")
    at = f"{path}.template.spec.restartPolicy"
    if policy in (None, "Always"):
        faults.required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        faults.unsupported(at, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        faults.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _check_completion_mode(spec: Document, faults: Faults, path: Path) -> None:
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in _COMPLETION_MODES:
        faults.unsupported(f"{path}.completionMode", mode, _COMPLETION_MODES)
    if mode == _INDEXED:
        if spec.get("completions") is None:
            faults.required(f"{path}.completions", "when completion mode is Indexed")
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if mode == "NonIndexed" and field in spec:
            faults.invalid(f"{path}.{field}", spec[field], "requires indexed completion mode")


def check_job_update(new: Document, old: Document, faults: Faults) -> None:
    spec, before = new["spec"], old["spec"]
    _check_selected_spec(spec, faults)
    _check_completions(spec, before, faults)
    faults.immutable("spec.selector", spec.get("selector"), before.get("selector"))
    template, other = spec["template"], before["template"]
    if before.get("suspend"):
        template, other = _without_mutable(template), _without_mutable(other)
    if template != other:
        shown = internal(spec["template"], "PodTemplateSpec")
        faults.immutable("spec.template", template, other, shown)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        faults.immutable(f"spec.{field}", spec.get(field), before.get(field))


def _check_completions(spec: Document, before: Document, faults: Faults) -> None:
    new, old = spec.get("completions"), before.get("completions")
    if spec["completionMode"] != _INDEXED:
        faults.immutable("spec.completions", new, old)
    elif new not in (None, old) and new != spec.get("parallelism"):
        faults.invalid("spec.completions", new, "can only be modified in tandem with spec.parallelism")


def _without_mutable(template: Document) -> Document:
    spec = {name: value for name, value in template["spec"].items() if name not in _MUTABLE_WHEN_SUSPENDED}
    for field in ("containers", "initContainers"):
        spec[field] = [{**container, "resources": {}} for container in template["spec"].get(field) or ()]
    metadata = {
        name: value for name, value in template.get("metadata", {}).items() if name not in ("labels", "annotations")
    }
    return {"metadata": metadata, "spec": spec}


def check_cron_job(cron_job: Document, faults: Faults) -> None:
    _check_cron_job_spec(cron_job["spec"], faults)
    name = cron_job["metadata"].get("name", "")
    if len(name) > _CRON_JOB_NAME_MAX:
        faults.invalid("metadata.name", name, f"must be no more than {_CRON_JOB_NAME_MAX} characters")


def check_cron_job_update(new: Document, old: Document, faults: Faults) -> None:
    zone = old["spec"].get("timeZone")
    _check_cron_job_spec(new["spec"], faults, checks_zone=new["spec"].get("timeZone") != zone)


def _check_cron_job_spec(spec: Document, faults: Faults, *, checks_zone: bool = True) -> None:
    _check_schedule(spec["schedule"], faults)
    faults.not_negative("spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds"))
    if checks_zone:
        _check_time_zone(spec.get("timeZone"), faults)
    faults.one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), _CONCURRENCY_POLICIES)
    job = spec["jobTemplate"]["spec"]
    _check_job_spec(job, faults, "spec.jobTemplate.spec")
    if job.get("selector") is not None:
        faults.invalid("spec.jobTemplate.spec.selector", job["selector"], "`selector` will be auto-generated")
    if job.get("manualSelector"):
        faults.unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    for field in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        faults.not_negative(f"spec.{field}", spec.get(field))


def _check_schedule(schedule: str, faults: Faults) -> None:
    if not schedule:
        faults.required("spec.schedule")
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        faults.invalid("spec.schedule", schedule, str(error))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        faults.invalid("spec.schedule", schedule, text)


def _check_time_zone(name: str | None, faults: Faults) -> None:
    if name is None:
        return
    if not name:
        faults.invalid("spec.timeZone", name, EMPTY_TIME_ZONE)
    elif find_time_zone(name) is None:
        faults.invalid("spec.timeZone", name, unknown_time_zone(name))
