"""Checks of Jobs and CronJobs. Upstream: pkg/apis/batch/validation/validation.go (v1.36)."""

from __future__ import annotations

from bayplan.admission.time_zones import find_time_zone
from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.selecting_labels import matches
from bayplan.apiserver.admitting.validation.faults import (
    IMMUTABLE,
    Faults,
    shown_labels,
    shown_labels_of,
    shown_selector,
)
from bayplan.apiserver.admitting.validation.job_policies import check_failure_policy, check_success_policy
from bayplan.apiserver.admitting.validation.job_scheduling import check_job_scheduling, check_job_scheduling_update
from bayplan.apiserver.admitting.validation.metadata import (
    check_label_selector,
    check_metadata,
    check_metadata_update,
    is_selector,
)
from bayplan.apiserver.admitting.validation.networking import check_domain_prefixed_path
from bayplan.apiserver.admitting.validation.pods.spec import check_template
from bayplan.apiserver.admitting.validation.workloads import UNMATCHED
from bayplan.controllers.workloads.job_pods import CONTROLLER_UID_LABELS, JOB_NAME_LABELS, labels_of_job
from bayplan.model.cron_schedules import ScheduleError, parse_schedule
from bayplan.model.dns_names import label_faults
from bayplan.store.arriving import EMPTY_TIME_ZONE, unknown_time_zone

_INDEXED = "Indexed"
_COMPLETION_MODES = ("NonIndexed", _INDEXED)
_CONCURRENCY_POLICIES = ("Allow", "Forbid", "Replace")
_CRON_JOB_NAME_MAX = 52
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_MANAGED_BY_MAX = 63
_INDEXED_MAX, _MANY_INDEXES_MAX = 100_000, 10_000
#: What pods of a Job are known by: those without a prefix are the older ones.
_GENERATED_LABELS = tuple(sorted((*JOB_NAME_LABELS, *CONTROLLER_UID_LABELS), key=lambda key: ("/" in key, key)))
#: By the type that refusals show.
_IMMUTABLE_FIELDS = {
    "completionMode": "",
    "podFailurePolicy": "PodFailurePolicy",
    "backoffLimitPerIndex": "",
    "managedBy": "",
    "successPolicy": "SuccessPolicy",
}


def check_job(job: Document, faults: Faults, *, has_prefixed_labels: bool = True) -> None:
    _check_generated(job, faults, has_prefixed_labels=has_prefixed_labels)
    _check_selected_spec(job["spec"], faults)
    _check_hostname(job, faults)


def _check_hostname(job: Document, faults: Faults) -> None:
    """The hostname of the last pod of an Indexed Job."""
    spec, metadata = job["spec"], job["metadata"]
    completions = spec.get("completions")
    if spec["completionMode"] == _INDEXED and completions:
        hostname = f"{metadata.get('name', '')}-{completions - 1}"
        if label_faults(hostname):
            text = f"will not able to create pod with invalid DNS label: {hostname}"
            faults.invalid("metadata.name", metadata.get("name", ""), text)


def _check_generated(job: Document, faults: Faults, *, has_prefixed_labels: bool) -> None:
    """A selector that the server makes must be the one it would make."""
    spec, metadata = job["spec"], job["metadata"]
    selector = spec.get("selector")
    if spec["manualSelector"] or selector is None:
        return
    labels = spec["template"].get("metadata", {}).get("labels", {})
    expected = labels_of_job(metadata.get("name", ""), metadata.get("uid", ""))
    for key in _GENERATED_LABELS if has_prefixed_labels else _GENERATED_LABELS[:2]:
        path = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            faults.required(path, f"must be '{expected[key]}'")
        elif labels[key] != expected[key]:
            faults.invalid(path, shown_labels(labels), f"must be '{expected[key]}'")
    if not has_prefixed_labels:
        expected = {key: expected[key] for key in _GENERATED_LABELS[:2]}
    if is_selector(selector) and not matches(selector, expected):
        faults.invalid("spec.selector", shown_selector(selector), "`selector` not auto-generated")


def _check_selected_spec(spec: Document, faults: Faults) -> None:
    _check_job_spec(spec, faults, "spec")
    selector = spec.get("selector")
    labels = spec["template"].get("metadata", {}).get("labels", {})
    if selector is None:
        faults.required("spec.selector")
        faults.invalid("spec.template.metadata.labels", shown_labels_of(spec["template"]), UNMATCHED)
        return
    check_label_selector(selector, faults, "spec.selector")
    if is_selector(selector) and not matches(selector, labels):
        faults.invalid("spec.template.metadata.labels", shown_labels_of(spec["template"]), UNMATCHED)


def _check_job_spec(spec: Document, faults: Faults, path: Path) -> None:
    for field in _NUMBERS:
        faults.not_negative(f"{path}.{field}", spec.get(field))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        faults.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if "managedBy" in spec:
        check_domain_prefixed_path(spec["managedBy"], faults, f"{path}.managedBy")
        if len(spec["managedBy"]) > _MANAGED_BY_MAX:
            faults.too_long(f"{path}.managedBy", _MANAGED_BY_MAX)
    _check_completion_mode(spec, faults, path)
    if "podFailurePolicy" in spec:
        check_failure_policy(spec, faults, f"{path}.podFailurePolicy")
    if "successPolicy" in spec:
        if spec.get("completionMode") == _INDEXED:
            check_success_policy(spec, faults, f"{path}.successPolicy")
        else:
            shown = internal(spec["successPolicy"], "SuccessPolicy")
            faults.invalid(f"{path}.successPolicy", shown, "requires indexed completion mode")
    replacing = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    faults.supported(f"{path}.podReplacementPolicy", spec.get("podReplacementPolicy"), replacing)
    check_job_scheduling(spec, faults, f"{path}.scheduling")
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
        _check_indexed(spec, faults, path)
        return
    for field in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if mode == "NonIndexed" and field in spec:
            faults.invalid(f"{path}.{field}", spec[field], "requires indexed completion mode")


def _check_indexed(spec: Document, faults: Faults, path: Path) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism", 0)
    failed = spec.get("maxFailedIndexes")
    most = "must be less than or equal to"
    if parallelism > _INDEXED_MAX:
        faults.invalid(f"{path}.parallelism", parallelism, f"{most} {_INDEXED_MAX} when completion mode is {_INDEXED}")
    if completions is not None and failed is not None and failed > completions:
        faults.invalid(f"{path}.maxFailedIndexes", failed, f"{most} completions")
    if failed is not None and failed > _INDEXED_MAX:
        faults.invalid(f"{path}.maxFailedIndexes", failed, f"{most} {_INDEXED_MAX}")
    if completions is None or completions <= _INDEXED_MAX or "backoffLimitPerIndex" not in spec:
        return
    above = f"when completions are above {_INDEXED_MAX} and used with backoff limit per index"
    if failed is None:
        text = f"must be specified when completions is above {_INDEXED_MAX}"
        faults.required(f"{path}.maxFailedIndexes", text)
    if parallelism > _MANY_INDEXES_MAX:
        faults.invalid(f"{path}.parallelism", parallelism, f"{most} {_MANY_INDEXES_MAX} {above}")
    if failed is not None and failed > _MANY_INDEXES_MAX:
        faults.invalid(f"{path}.maxFailedIndexes", failed, f"{most} {_MANY_INDEXES_MAX} {above}")


def check_job_update(new: Document, old: Document, faults: Faults) -> None:
    """Of the whole Job: what holds for its spec and what may not change; first, perhaps, what holds for a new one."""
    checks_anew = admission_release().checks_jobs_anew
    if checks_anew:
        check_metadata(new["metadata"], faults)
        labels = old["spec"]["template"].get("metadata", {}).get("labels", {})
        check_job(new, faults, has_prefixed_labels=set(_GENERATED_LABELS[2:]) <= labels.keys())
    check_metadata_update(new["metadata"], old["metadata"], faults)
    spec, before = new["spec"], old["spec"]
    _check_selected_spec(spec, faults)
    _check_completions(spec, before, faults)
    selector = spec.get("selector")
    faults.immutable("spec.selector", selector, before.get("selector"), shown_selector(selector))
    _check_template_update(new, old, faults)
    check_job_scheduling_update(spec, before, faults)
    for field, kind in _IMMUTABLE_FIELDS.items():
        value = spec.get(field)
        shown = internal(value, kind) if kind and value is not None else value
        faults.immutable(f"spec.{field}", value, before.get(field), shown)
    if not checks_anew:
        _check_hostname(new, faults)


def _check_completions(spec: Document, before: Document, faults: Faults) -> None:
    new, old = spec.get("completions"), before.get("completions")
    if spec["completionMode"] != _INDEXED:
        faults.immutable("spec.completions", new, old)
    elif new not in (None, old) and new != spec.get("parallelism"):
        faults.invalid("spec.completions", new, "can only be modified in tandem with spec.parallelism")


def _check_template_update(new: Document, old: Document, faults: Faults) -> None:
    template, before = new["spec"]["template"], old["spec"]["template"]
    if not _may_be_rescheduled(old):
        if template != before:
            faults.invalid("spec.template", internal(template, "PodTemplateSpec"), IMMUTABLE)
        return
    # Of the metadata only labels and annotations mean anything in a template, and both may change.
    spec, kept = template["spec"], _with_mutable(before["spec"], template["spec"])
    if spec != kept:
        faults.invalid("spec.template.spec", internal(spec, "PodSpec"), IMMUTABLE)


def _may_be_rescheduled(job: Document) -> bool:
    """Whether where its pods go, and what they get, can still be changed."""
    spec, status = job["spec"], job.get("status", {})
    is_suspended = any(one["type"] == "Suspended" and one["status"] == "True" for one in status.get("conditions") or ())
    return bool(spec.get("suspend")) and ("startTime" not in status or is_suspended) and not status.get("active")


def _with_mutable(before: Document, spec: Document) -> Document:
    """The old spec, with what may change in a suspended Job taken from the new one."""
    made = dict(before)
    for field in ("nodeSelector", "tolerations", "schedulingGates"):
        keep(made, spec, field)
    _keep_node_affinity(made, spec)
    for field in ("containers", "initContainers"):
        ours, theirs = before.get(field) or [], spec.get(field) or []
        if ours and [one["name"] for one in ours] == [one["name"] for one in theirs]:
            pairs = zip(ours, theirs, strict=True)
            made[field] = [{**one, "resources": other["resources"]} for one, other in pairs]
    return made


def _keep_node_affinity(made: Document, spec: Document) -> None:
    affinity = dict(made.get("affinity") or {})
    keep(affinity, spec.get("affinity") or {}, "nodeAffinity")
    if affinity or ("affinity" in spec and "affinity" in made):
        made["affinity"] = affinity
    elif spec.get("affinity") == {}:
        made["affinity"] = {}
    else:
        made.pop("affinity", None)


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
        faults.declared.required("spec.schedule")
        return
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        faults.invalid("spec.schedule", schedule, str(error))


def _check_time_zone(name: str | None, faults: Faults) -> None:
    if name is None:
        return
    if not name:
        faults.invalid("spec.timeZone", name, EMPTY_TIME_ZONE)
    elif find_time_zone(name) is None:
        faults.invalid("spec.timeZone", name, unknown_time_zone(name))
