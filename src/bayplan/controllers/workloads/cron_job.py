"""CronJobs: a Job for every time that the schedule names.

Hears of CronJobs and of how their Jobs end. Wakes at the next time of each schedule, a tenth of a second late as
upstream, and starts what is due: only the latest of several times that were missed, nothing that is too late, and
beside, instead of or only after a Job that still runs, as the CronJob says. Of Jobs that ended the newest few are kept.
A schedule or zone that cannot be read starts nothing, and no events are written. Without a zone times are UTC.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from typing import ClassVar, NamedTuple

import msgspec

from bayplan.admission.time_zones import find_time_zone
from bayplan.controllers.ownership import (
    NamespacedName,
    controlled_by,
    controller_of_kind,
    is_controlled_by,
    namespaced_name,
    object_reference,
    reference_to,
)
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.job_pods import COMPLETE, is_finished
from bayplan.controllers.writes import only_status_changed, write_status
from bayplan.model.conditions import is_condition_true
from bayplan.model.cron_schedules import Schedule, ScheduleError, parse_schedule
from bayplan.model.meta import ObjectMeta
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.watch_types import DELETED
from bayplan.model.workloads import CronJob, CronJobStatus, Job, JobSpec
from bayplan.store import BACKGROUND, AlreadyExists, NotFound, Store, WatchEvent

FORBID, REPLACE = "Forbid", "Replace"
SCHEDULED_FOR = "batch.kubernetes.io/cronjob-scheduled-timestamp"

# Upstream: pkg/controller/cronjob/cronjob_controllerv2.go nextScheduleDelta (v1.36).
LATE_NS = 100_000_000


class Calendar(NamedTuple):
    """When a CronJob is due."""

    schedule: Schedule
    zone: tzinfo

    def next_after(self, at: int) -> int | None:
        return self.schedule.next_after(at, self.zone)


class CronJobController(Reconciler[NamespacedName]):
    """Starts the Jobs of CronJobs."""

    name: ClassVar[str] = "cronjob-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"CronJob", "Job"})

    def observe(self, change: WatchEvent, now: int) -> None:
        if change.kind == "Job":
            self._observe_job(change)
        elif change.kind == "CronJob" and change.type != DELETED:
            self._observe_cron_job(change, now)

    def _observe_job(self, change: WatchEvent) -> None:
        old, new = change.old, change.new
        assert isinstance(new, Job)
        owner = controller_of_kind(new.metadata, "CronJob")
        was_running = isinstance(old, Job) and not is_finished(old)
        if owner is not None and (change.type == DELETED or (was_running and is_finished(new))):
            self._queue.add(owner)

    def _observe_cron_job(self, change: WatchEvent, now: int) -> None:
        old, new = change.old, change.new
        assert isinstance(new, CronJob)
        if not isinstance(old, CronJob):
            self._queue.add(namespaced_name(new))
        elif (old.spec.schedule, old.spec.time_zone) != (new.spec.schedule, new.spec.time_zone):
            # The new schedule counts from its next time on: what it would have started before was never missed.
            self._wake_for_next(new, calendar_of(new), now)
        elif not only_status_changed(change):
            self._queue.add(namespaced_name(new))

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        cron_job = store.find(CronJob, *key)
        if cron_job is None:
            return
        jobs = controlled_by(store, cron_job, Job)
        status = _without_ended(cron_job.status, jobs)
        try:
            if cron_job.metadata.deletion_timestamp is None:
                status = self._start_due(store, cron_job, status, now)
            _drop_old(store, cron_job, jobs, now)
        finally:
            write_status(store, cron_job, status, now)

    def _start_due(self, store: Store, cron_job: CronJob, status: CronJobStatus, now: int) -> CronJobStatus:
        """The status after whatever is due was started; comes back for the next time."""
        calendar = calendar_of(cron_job)
        if calendar is None or cron_job.spec.suspend:
            return status
        current = replace(cron_job, status=status)
        due = _due_time(current, calendar, now)
        if due is not None and not _is_refused(current, due):
            if cron_job.spec.concurrency_policy == REPLACE:
                for running in status.active:
                    _delete_job(store, running.namespace, running.name, now)
                status = replace(status, active=[])
            status = _started(store, cron_job, status, due, calendar, now)
            current = replace(cron_job, status=status)
        self._wake_for_next(current, calendar, now)
        return status

    def _wake_for_next(self, cron_job: CronJob, calendar: Calendar | None, now: int) -> None:
        if calendar is None:
            return
        # Counted from the last time and not from now: `@every 7m` stands on it.
        last = _latest_time(cron_job, calendar, now, since_deadline=False)
        at = calendar.next_after(_earliest(cron_job) if last is None else last)
        if at is not None and at <= now:
            at = calendar.next_after(now)
        if at is not None:
            self._queue.add_at(namespaced_name(cron_job), at + LATE_NS)


def calendar_of(cron_job: CronJob) -> Calendar | None:
    """None if its schedule or its zone makes no sense."""
    zone = find_time_zone(cron_job.spec.time_zone)
    try:
        schedule = parse_schedule(cron_job.spec.schedule)
    except ScheduleError:
        return None
    return None if zone is None else Calendar(schedule, zone)


def job_name(cron_job: CronJob, due: int) -> str:
    """The CronJob's name and the minute since 1970."""
    return f"{cron_job.metadata.name}-{due // MINUTE}"


def _without_ended(status: CronJobStatus, jobs: Sequence[Job]) -> CronJobStatus:
    """The status without Jobs that ended or went, and with the time of the last success."""
    running = {job.metadata.uid for job in jobs if not is_finished(job)}
    successes = [job.status.completion_time for job in jobs if _succeeded(job) and job.status.completion_time]
    last = max([*successes, *filter(None, [status.last_successful_time])], key=parse_time, default=None)
    return replace(status, active=[ref for ref in status.active if ref.uid in running], last_successful_time=last)


def _succeeded(job: Job) -> bool:
    return is_condition_true(job.status.conditions, COMPLETE)


def _earliest(cron_job: CronJob) -> int:
    """All times up to this one are dealt with."""
    last = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
    return parse_time(last) if last else 0


def _latest_time(cron_job: CronJob, calendar: Calendar, now: int, *, since_deadline: bool = True) -> int | None:
    """The newest time of the schedule that is over and not dealt with; None if there is none."""
    # Upstream: pkg/controller/cronjob/utils.go mostRecentScheduleTime (v1.36).
    earliest = _earliest(cron_job)
    deadline = cron_job.spec.starting_deadline_seconds
    if since_deadline and deadline is not None:
        earliest = max(earliest, now - deadline * SECOND)
    first = calendar.next_after(earliest)
    if first is None or first > now:
        return None
    second = calendar.next_after(first)
    if second is None or second > now:
        return first
    # Many may have been missed: jump close to the end, by the distance of the first two, and walk from there.
    step = (second - first) // SECOND
    missed = (now - first) // SECOND // step + 1
    found, at = None, calendar.next_after(first + (missed - 2) * step * SECOND)
    while at is not None and at <= now:
        found, at = at, calendar.next_after(at)
    return found


def _due_time(cron_job: CronJob, calendar: Calendar, now: int) -> int | None:
    """The time for which a Job is to be started now."""
    due = _latest_time(cron_job, calendar, now)
    deadline = cron_job.spec.starting_deadline_seconds
    is_too_late = due is not None and deadline is not None and due + deadline * SECOND < now
    return None if is_too_late else due


def _is_refused(cron_job: CronJob, due: int) -> bool:
    """Whether that Job was started already, or one that still runs forbids it."""
    status = cron_job.status
    if any(running.name == job_name(cron_job, due) for running in status.active):
        return True
    return cron_job.spec.concurrency_policy == FORBID and bool(status.active)


def _started(
    store: Store, cron_job: CronJob, status: CronJobStatus, due: int, calendar: Calendar, now: int
) -> CronJobStatus:
    """Creates the Job for that time. One that is there already counts if it is the CronJob's own."""
    try:
        job = store.create(_new_job(cron_job, due, calendar.zone), now)
    except AlreadyExists:
        job = store.get(Job, cron_job.metadata.namespace, job_name(cron_job, due))
        if not is_controlled_by(job, cron_job) or is_finished(job):
            return status
    return replace(status, active=[*status.active, object_reference(job)], last_schedule_time=format_time(due))


def _new_job(cron_job: CronJob, due: int, zone: tzinfo) -> Job:
    template = cron_job.spec.job_template
    meta = ObjectMeta(
        name=job_name(cron_job, due),
        namespace=cron_job.metadata.namespace,
        labels=dict(template.metadata.labels),
        annotations={**template.metadata.annotations, SCHEDULED_FOR: _time_in(zone, due)},
        finalizers=list(template.metadata.finalizers),
        owner_references=[reference_to(cron_job)],
    )
    spec = msgspec.json.decode(msgspec.json.encode(template.spec), type=JobSpec)
    return Job(metadata=meta, spec=spec)


def _time_in(zone: tzinfo, due: int) -> str:
    if zone is UTC:
        return format_time(due)
    return datetime.fromtimestamp(due // SECOND, zone).isoformat()


def _drop_old(store: Store, cron_job: CronJob, jobs: Sequence[Job], now: int) -> None:
    """Deletes the oldest of the Jobs that ended, beyond as many as are to be kept."""
    ended = [job for job in jobs if is_finished(job)]
    for well, limit in (
        (True, cron_job.spec.successful_jobs_history_limit),
        (False, cron_job.spec.failed_jobs_history_limit),
    ):
        if limit is None:
            continue
        oldest_first = sorted((job for job in ended if _succeeded(job) == well), key=_age_key)
        for job in oldest_first[: max(len(oldest_first) - limit, 0)]:
            _delete_job(store, job.metadata.namespace, job.metadata.name, now)


def _age_key(job: Job) -> tuple[bool, int, str]:
    started = job.status.start_time
    return started is None, parse_time(started) if started else 0, job.metadata.name


def _delete_job(store: Store, namespace: str, name: str, now: int) -> None:
    with suppress(NotFound):
        store.delete(Job, namespace, name, now, propagation=BACKGROUND)
