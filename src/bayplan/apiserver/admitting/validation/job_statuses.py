"""Checks of the status of a Job, which controllers other than the server's own may write.

What has not changed is not checked, as a Job may have come to contradict its spec.
Upstream: pkg/apis/batch/validation/validation.go and pkg/registry/batch/job/strategy.go (v1.36).
"""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.apiserver.admitting.validation.job_indexes import IndexFault, count_indexes, first_overlap
from bayplan.controllers.workloads.job_attempt import FAILURE_TARGET, SUCCESS_CRITERIA_MET
from bayplan.controllers.workloads.job_pods import COMPLETE, FAILED
from bayplan.model.timestamps import parse_time


def check_job_status(new: Document, old: Document, faults: Faults) -> None:
    status, before = new["status"], old.get("status", {})
    for field in ("active", "succeeded", "failed", "ready", "terminating"):
        faults.not_negative(f"status.{field}", status.get(field))
    _check_uncounted(status.get("uncountedTerminatedPods", {}), faults)
    changed = _Changes(status, before)
    _check_conditions(status, changed, faults)
    _check_finished(new, changed, faults)
    _check_indexes(new["spec"], status, changed, faults)
    _check_running(status, changed, faults)
    if _is(status, SUCCESS_CRITERIA_MET):
        for other in (FAILED, FAILURE_TARGET):
            if _is(status, other):
                _fault(faults, f"cannot set SuccessCriteriaMet=True and {other}=true conditions")
    if "successPolicy" in new["spec"] and not _is(status, SUCCESS_CRITERIA_MET) and _is(status, COMPLETE):
        _fault(faults, "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
    _check_transition(new, old, changed, faults)


class _Changes:
    """What differs between two statuses."""

    def __init__(self, new: Document, old: Document) -> None:
        self._new, self._old = new, old

    def field(self, *names: str) -> bool:
        return any(_value(self._new, name) != _value(self._old, name) for name in names)

    def condition(self, *types: str) -> bool:
        return any(_is(self._new, kind) != _is(self._old, kind) for kind in types)

    def finished(self) -> bool:
        return _is_finished(self._new) != _is_finished(self._old)


def _value(status: Document, name: str) -> Any:
    """Counts that are not pointers are zero when they are missing."""
    return status.get(name, {"active": 0, "completedIndexes": ""}.get(name))


def _is(status: Document, kind: str, state: str = "True") -> bool:
    return any(one["type"] == kind and one["status"] == state for one in status.get("conditions") or ())


def _is_finished(status: Document) -> bool:
    return _is(status, COMPLETE) or _is(status, FAILED)


def _fault(faults: Faults, text: str) -> None:
    faults.invalid_whole("status.conditions", text)


def _check_uncounted(uncounted: Document, faults: Faults) -> None:
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{position}]"
            if not uid:
                faults.invalid(path, uid, "must not be empty")
            elif uid in seen:
                faults.duplicate(path, uid)
            seen.add(uid)


def _check_conditions(status: Document, changed: _Changes, faults: Faults) -> None:
    complete, failed = _is(status, COMPLETE), _is(status, FAILED)
    completed_at, started_at = status.get("completionTime"), status.get("startTime")
    if changed.condition(COMPLETE, FAILED) and complete and failed:
        _fault(faults, "cannot set Complete=True and Failed=true conditions")
    if changed.condition(COMPLETE, FAILURE_TARGET) and complete and _is(status, FAILURE_TARGET):
        _fault(faults, "cannot set Complete=True and FailureTarget=true conditions")
    if changed.condition(COMPLETE) or changed.field("completionTime"):
        if completed_at is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            faults.invalid("status.completionTime", completed_at, text)
        if completed_at is None and complete:
            faults.required("status.completionTime", "completionTime is required for Complete jobs")
    has_both = started_at is not None and completed_at is not None
    if changed.field("startTime", "completionTime") and has_both and parse_time(completed_at) < parse_time(started_at):
        faults.invalid("status.completionTime", completed_at, "must be equal to or after `startTime`")
    if (changed.condition(FAILED) or changed.field("failedIndexes")) and failed and not _is(status, FAILURE_TARGET):
        _fault(faults, "cannot set Failed=True condition without the FailureTarget=true condition")
    if changed.condition(COMPLETE, SUCCESS_CRITERIA_MET) and complete and not _is(status, SUCCESS_CRITERIA_MET):
        _fault(faults, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _check_finished(job: Document, changed: _Changes, faults: Faults) -> None:
    spec, status = job["spec"], job["status"]
    if not _is_finished(status):
        return
    active = status.get("active", 0)
    if (changed.finished() or changed.field("active")) and active > 0:
        faults.invalid("status.active", active, "active>0 is invalid for finished job")
    never_began = spec.get("suspend") and spec.get("completions") == 0
    if (changed.finished() or changed.field("startTime")) and not never_began and "startTime" not in status:
        faults.required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods", {})
    if (changed.finished() or changed.field("uncountedTerminatedPods")) and any(uncounted.values()):
        shown = {name.capitalize(): uncounted.get(name) for name in ("succeeded", "failed")}
        faults.invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")


def _check_indexes(spec: Document, status: Document, changed: _Changes, faults: Faults) -> None:
    completions, failed = spec.get("completions"), status.get("failedIndexes")
    completed = status.get("completedIndexes", "")
    per_index = "backoffLimitPerIndex" in spec
    if changed.field("completedIndexes") and completions is not None:
        _check_format("completedIndexes", completed, completions, faults)
    if changed.field("failedIndexes") and completions is not None and per_index and failed is not None:
        _check_format("failedIndexes", failed, completions, faults)
    if changed.field("completedIndexes") and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        faults.invalid("status.completedIndexes", completed, text)
    if changed.field("failedIndexes") and not per_index and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        faults.invalid("status.failedIndexes", failed, text)
    if changed.field("failedIndexes", "completedIndexes") and completions is not None and failed is not None:
        overlap = first_overlap(completed, failed, completions)
        if overlap is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {overlap}"
            faults.invalid("status.failedIndexes", failed, text)


def _check_format(field: str, indexes: str, completions: int, faults: Faults) -> None:
    try:
        count_indexes(indexes, completions)
    except IndexFault as error:
        faults.invalid(f"status.{field}", indexes, f"error parsing {field}: {error}")


def _check_running(status: Document, changed: _Changes, faults: Faults) -> None:
    terminating, ready = status.get("terminating"), status.get("ready")
    if (changed.finished() or changed.field("terminating")) and terminating and _is_finished(status):
        faults.invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if changed.field("ready", "active") and ready is not None and ready > status.get("active", 0):
        faults.invalid("status.ready", ready, "cannot set more ready pods than active")


def _check_transition(new: Document, old: Document, changed: _Changes, faults: Faults) -> None:
    spec, status, before = new["spec"], new["status"], old.get("status", {})
    for kind in (FAILED, COMPLETE, FAILURE_TARGET):
        if _is(before, kind) and not _is(status, kind):
            _fault(faults, f"cannot disable the terminal {kind}=True condition")
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for field in ("failed",) if is_elastic else ("failed", "succeeded"):
        if status.get(field, 0) < before.get(field, 0):
            faults.invalid(f"status.{field}", status.get(field, 0), f"cannot decrease the {field} counter")
    completed_at, then = status.get("completionTime"), before.get("completionTime")
    if completed_at is not None and then is not None and completed_at != then:
        faults.invalid("status.completionTime", completed_at, IMMUTABLE)
    is_resuming = _is(before, "Suspended") and _is(status, "Suspended", "False")
    if changed.field("startTime") and not is_resuming and before.get("startTime") and not spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        faults.invalid("status.startTime", status.get("startTime"), text)
    if _is(before, SUCCESS_CRITERIA_MET) and not _is(status, SUCCESS_CRITERIA_MET):
        _fault(faults, "cannot disable the SuccessCriteriaMet=True condition")
    if _is(before, COMPLETE) and not _is(before, SUCCESS_CRITERIA_MET) and _is(status, SUCCESS_CRITERIA_MET):
        _fault(faults, "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
