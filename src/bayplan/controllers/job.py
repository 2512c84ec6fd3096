"""Jobs: pods until enough of them have succeeded, or too many have failed.

Hears of Jobs and of their pods. Pods bear a finalizer until they have been counted, so that none is counted twice or
lost, even if somebody deletes it; a pod that is being deleted counts as failed, and so does a victim of preemption.
After a failure new pods wait, 10 s at first and twice as long each time. What is looked at is only pods that are
active or not yet counted, however many have ended before. A Job's end is announced (SuccessCriteriaMet, FailureTarget)
and comes when its last pod has ended. Failure and success policies, limits by index and managedBy do not exist here.
"""

from __future__ import annotations

from itertools import islice
from typing import ClassVar, TypeAlias

from msgspec.structs import replace

from bayplan.controllers.agenda import Reconciler
from bayplan.controllers.conditions import FALSE, TRUE, find_condition, with_condition
from bayplan.controllers.delays import NS_PER_SECOND
from bayplan.controllers.deletion_order import first_to_delete
from bayplan.controllers.job_pods import (
    COMPLETE,
    FAILED,
    JOB_INDEX_LABEL,
    completed_indexes,
    index_of,
    is_finished,
    is_indexed,
    written_indexes,
)
from bayplan.controllers.job_tracking import (
    ACTIVE,
    COUNTABLE,
    READY,
    TERMINATING,
    TRACKED,
    TRACKING,
    Progress,
    marks_of,
    release,
    tally_of,
)
from bayplan.controllers.ownership import controller_reference
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.timestamps import parse_time
from bayplan.model.workloads import Job, JobStatus
from bayplan.store.errors import ApiError
from bayplan.store.log import ADDED, DELETED, Change
from bayplan.store.objects import Store
from bayplan.store.stamping import written_time

Key: TypeAlias = tuple[str, str, str]
"""Namespace, name and uid of a Job."""

DEFAULT_BACKOFF_LIMIT = 6
SUCCESS_CRITERIA_MET, FAILURE_TARGET, SUSPENDED = "SuccessCriteriaMet", "FailureTarget", "Suspended"


class JobController(Reconciler[Key]):
    """Runs Jobs to their end."""

    name: ClassVar[str] = "job-controller"

    def __init__(self) -> None:
        super().__init__()
        self._progress: dict[str, Progress] = {}
        """By the Job's uid."""
        self._uncounted: dict[str, None] = {}
        """Jobs that were listed anew: what happened to their pods before may never have been told."""
        self._orphans: dict[tuple[str, str], None] = {}
        """Pods that a Job has lost uncounted."""

    def observe(self, change: Change, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            self._hear_pod(change)
        elif change.kind == "Job":
            self._hear_job(change)

    def _hear_pod(self, change: Change) -> None:
        pod, meta, old = change.new, change.new.metadata, change.old
        if old is not None and old.metadata.owner_references is not meta.owner_references:
            self._hear_orphan(change)
        reference = controller_reference(meta)
        if reference is None or reference.kind != "Job":
            return
        assert isinstance(pod, Pod)
        marks = 0 if change.type == DELETED else marks_of(pod)
        if self._note(reference.uid, meta.name, marks) or _has_restarted(change):
            self._agenda.mark((meta.namespace, reference.name, reference.uid))

    def _hear_orphan(self, change: Change) -> None:
        assert change.old is not None
        meta = change.old.metadata
        reference = controller_reference(meta)
        if reference is None or reference.kind != "Job" or controller_reference(change.new.metadata) == reference:
            return
        if TRACKING in change.new.metadata.finalizers:
            self._orphans[meta.namespace, meta.name] = None
        self._note(reference.uid, meta.name, 0)
        self._agenda.mark((meta.namespace, reference.name, reference.uid))

    def _note(self, uid: str, pod_name: str, marks: int) -> bool:
        progress = self._progress.get(uid)
        if progress is None:
            if not marks:
                return False
            progress = self._progress[uid] = Progress()
        return progress.pods.note(pod_name, marks)

    def _hear_job(self, change: Change) -> None:
        job = change.new
        assert isinstance(job, Job)
        meta = job.metadata
        if change.type == DELETED:
            self._uncounted.pop(meta.uid, None)
        elif change.type == ADDED:
            self._uncounted[meta.uid] = None
        elif _is_status_alone(change):
            return
        self._agenda.mark((meta.namespace, meta.name, meta.uid))

    def reconcile(self, store: Store, now: int) -> None:
        orphans, self._orphans = self._orphans, {}
        for namespace, name in orphans:
            try:
                release(store, namespace, name, now)
            except ApiError:
                self._orphans[namespace, name] = None
        super().reconcile(store, now)

    def _sync(self, store: Store, key: Key, now: int) -> None:
        namespace, name, uid = key
        job = store.find(Job, namespace, name)
        if job is None or job.metadata.uid != uid:
            self._release_all(store, namespace, uid, now)
            self._progress.pop(uid, None)
            return
        progress = self._progress.setdefault(uid, Progress())
        if uid in self._uncounted:
            del self._uncounted[uid]
            progress.pods = tally_of(store, job)
        if job.metadata.deletion_timestamp is not None or is_finished(job):
            self._release_all(store, namespace, uid, now)
            self._expire(store, job, now)
            return
        _Attempt(store, job, progress, now).run()
        self._look_again(store, key, progress, now)

    def _release_all(self, store: Store, namespace: str, uid: str, now: int) -> None:
        """A Job that is over or gone counts no more, so nothing may hold its pods."""
        progress = self._progress.get(uid)
        for name in progress.pods.names_having(TRACKED) if progress is not None else ():
            assert progress is not None
            release(store, namespace, name, now)
            progress.pods.note(name, 0)

    def _expire(self, store: Store, job: Job, now: int) -> None:
        seconds, meta = job.spec.ttl_seconds_after_finished, job.metadata
        if seconds is None or not is_finished(job) or meta.deletion_timestamp is not None:
            return
        ended = [parse_time(one.last_transition_time) for one in _end_conditions(job) if one.last_transition_time]
        expires_at = max(ended, default=now) + seconds * NS_PER_SECOND
        if expires_at <= now:
            store.delete(Job, meta.namespace, meta.name, now, uid=meta.uid, propagation="Foreground")
        else:
            self._agenda.mark_at((meta.namespace, meta.name, meta.uid), expires_at)

    def _look_again(self, store: Store, key: Key, progress: Progress, now: int) -> None:
        """Makes sure to be back when a deadline, a penalty or the time after the end is over."""
        job = store.find(Job, key[0], key[1])
        if job is None:
            return
        if is_finished(job):
            self._expire(store, job, now)
            return
        if progress.pods.having(COUNTABLE):
            # Pods that were deleted just now: they are known already, so hearing of them will not be news.
            self._agenda.mark(key)
        for at in (_deadline_at(job), progress.failures.penalty_ends_at):
            if at is not None and at > now and not job.spec.suspend:
                self._agenda.mark_at(key, at)


class _Attempt:
    """One look at a Job that is not over."""

    def __init__(self, store: Store, job: Job, progress: Progress, now: int) -> None:
        self._store = store
        self._job = job
        self._progress = progress
        self._now = now
        self._status: JobStatus = replace(job.status, conditions=[*job.status.conditions])
        self._failures = progress.failures

    def run(self) -> None:
        # Upstream: pkg/controller/job/job_controller.go syncJob (v1.36).
        finished = self._count_finished()
        self._start_or_resume()
        try:
            if not self._decide_end():
                self._manage()
        finally:
            # What has ended is counted even if pods could not be created.
            self._conclude()
            self._write_status()
            self._settle(finished)

    def _settle(self, finished: list[Pod]) -> None:
        """The status has it all, so the pods may go."""
        self._progress.failures = self._failures
        for pod in finished:
            self._progress.counted[pod.metadata.uid] = None
        for pod in finished:
            self._release(pod)

    def _count_finished(self) -> list[Pod]:
        """Adds up the pods that have ended since; returns all that the finalizer may be taken from."""
        finished = self._pods(COUNTABLE)
        fresh = [pod for pod in finished if pod.metadata.uid not in self._progress.counted]
        succeeded = [pod for pod in fresh if pod.status.phase == "Succeeded"]
        if is_indexed(self._job):
            done = completed_indexes(self._status.completed_indexes)
            done.update(index for pod in succeeded if (index := index_of(pod)) is not None)
            self._status.completed_indexes = written_indexes(done)
            self._status.succeeded = len(done)
        else:
            self._status.succeeded += len(succeeded)
        self._status.failed += len(fresh) - len(succeeded)
        for pod in fresh:
            self._failures = self._failures.and_then(pod, self._now)
        return finished

    def _start_or_resume(self) -> None:
        suspended = find_condition(self._status.conditions, SUSPENDED)
        was_suspended = suspended is not None and suspended.status == TRUE
        if self._job.spec.suspend:
            if not was_suspended and not self._is_ending():
                self._set_condition(SUSPENDED, TRUE, "JobSuspended", "Job suspended")
                self._status.start_time = None
            return
        if was_suspended:
            self._set_condition(SUSPENDED, FALSE, "JobResumed", "Job resumed")
        if self._status.start_time is None:
            self._status.start_time = written_time(self._now)

    # The end.

    def _is_ending(self) -> bool:
        return any(one.type in (SUCCESS_CRITERIA_MET, FAILURE_TARGET) for one in self._status.conditions)

    def _decide_end(self) -> bool:
        """Whether the Job is to end; if so, its remaining pods are deleted."""
        if not self._is_ending():
            if self._has_failed_too_often():
                message = "Job has reached the specified backoff limit"
                self._set_condition(FAILURE_TARGET, TRUE, "BackoffLimitExceeded", message)
            elif self._is_past_deadline():
                message = "Job was active longer than specified deadline"
                self._set_condition(FAILURE_TARGET, TRUE, "DeadlineExceeded", message)
            elif self._has_succeeded():
                message = "Reached expected number of succeeded pods"
                self._set_condition(SUCCESS_CRITERIA_MET, TRUE, "CompletionsReached", message)
            else:
                return False
        for pod in self._pods(ACTIVE):
            self._delete(pod)
        return True

    def _has_failed_too_often(self) -> bool:
        limit = self._job.spec.backoff_limit
        limit = DEFAULT_BACKOFF_LIMIT if limit is None else limit
        if self._status.failed > limit:
            return True
        if self._job.spec.template.spec.restart_policy != "OnFailure":
            return False
        restarts = sum(map(_restarts, self._pods(ACTIVE)))
        return restarts > 0 if limit == 0 else restarts >= limit

    def _is_past_deadline(self) -> bool:
        deadline = _deadline_at(self._job)
        return deadline is not None and deadline <= self._now and not self._job.spec.suspend

    def _has_succeeded(self) -> bool:
        wanted = self._job.spec.completions
        if wanted is not None:
            return self._status.succeeded >= wanted
        return self._status.succeeded > 0 and self._count(ACTIVE) == 0

    def _conclude(self) -> None:
        """An end that was announced comes about when no pod is left that has not ended."""
        if not self._is_ending() or self._count(ACTIVE) or self._count(TERMINATING):
            return
        announced = next(one for one in self._status.conditions if one.type in (SUCCESS_CRITERIA_MET, FAILURE_TARGET))
        kind = COMPLETE if announced.type == SUCCESS_CRITERIA_MET else FAILED
        self._set_condition(kind, TRUE, announced.reason, announced.message)
        if kind == COMPLETE:
            self._status.completion_time = written_time(self._now)

    # The pods.

    def _manage(self) -> None:
        if self._job.spec.suspend:
            self._withdraw(self._pods(ACTIVE))
            return
        missing = self._wanted() - self._count(ACTIVE)
        if missing < 0:
            self._withdraw(first_to_delete(self._pods(ACTIVE), -missing, self._now))
        elif missing > 0 and self._now >= self._failures.penalty_ends_at:
            self._create(missing)

    def _wanted(self) -> int:
        parallelism = 1 if self._job.spec.parallelism is None else self._job.spec.parallelism
        if self._job.spec.completions is not None:
            return max(0, min(parallelism, self._job.spec.completions - self._status.succeeded))
        # A work queue: once a pod has succeeded the others may end, and none is started any more.
        return min(parallelism, self._count(ACTIVE)) if self._status.succeeded else parallelism

    def _create(self, number: int) -> None:
        stamp = self._progress.stamp(self._job)
        if is_indexed(self._job):
            for index in islice(self._open_indexes(), number):
                self._create_one(self._indexed(stamp.pod(""), index))
            return
        for _ in range(number):
            self._create_one(stamp.pod_alike())

    def _create_one(self, pod: Pod) -> None:
        pod.metadata.finalizers = [*pod.metadata.finalizers, TRACKING]
        made = self._store.create(pod, self._now)
        # Counted here and not only when it is heard of, or it might be created twice.
        self._progress.pods.note(made.metadata.name, marks_of(made))

    def _open_indexes(self) -> list[int]:
        """Completion indexes that are neither done nor being worked on."""
        taken = completed_indexes(self._status.completed_indexes)
        taken.update(index for pod in self._pods(ACTIVE) if (index := index_of(pod)) is not None)
        return [index for index in range(self._job.spec.completions or 0) if index not in taken]

    def _indexed(self, pod: Pod, index: int) -> Pod:
        meta = pod.metadata
        meta.generate_name = f"{self._job.metadata.name}-{index}-"
        meta.labels[JOB_INDEX_LABEL] = str(index)
        meta.annotations[JOB_INDEX_LABEL] = str(index)
        return pod

    def _withdraw(self, pods: list[Pod]) -> None:
        """Deletes pods that are no longer wanted; as nobody failed, they are not counted."""
        for pod in pods:
            release(self._store, pod.metadata.namespace, pod.metadata.name, self._now)
            self._delete(pod)

    def _delete(self, pod: Pod) -> None:
        meta = pod.metadata
        deletion = self._store.delete(Pod, meta.namespace, meta.name, self._now, uid=meta.uid)
        assert isinstance(deletion.object, Pod)
        self._progress.pods.note(meta.name, 0 if deletion.gone else marks_of(deletion.object))

    def _release(self, pod: Pod) -> None:
        released = release(self._store, pod.metadata.namespace, pod.metadata.name, self._now)
        self._progress.counted.pop(pod.metadata.uid, None)
        self._progress.pods.note(pod.metadata.name, marks_of(released) if released is not None else 0)

    def _pods(self, marks: int) -> list[Pod]:
        namespace = self._job.metadata.namespace
        found = (self._store.find(Pod, namespace, name) for name in self._progress.pods.names_having(marks))
        return [pod for pod in found if pod is not None]

    def _count(self, marks: int) -> int:
        return self._progress.pods.having(marks)

    # The status.

    def _set_condition(self, kind: str, status: str, reason: str, message: str) -> None:
        wanted = Condition(type=kind, status=status, reason=reason, message=message)
        self._status.conditions = with_condition(self._status.conditions, wanted, written_time(self._now))

    def _write_status(self) -> None:
        status, meta = self._status, self._job.metadata
        status.active = self._count(ACTIVE)
        status.ready = self._count(ACTIVE | READY)
        if status != self._job.status:
            self._store.modify_status(
                Job, meta.namespace, meta.name, lambda one: replace(one, status=status), self._now
            )


def _restarts(pod: Pod) -> int:
    return sum(one.restart_count for one in [*pod.status.init_container_statuses, *pod.status.container_statuses])


def _has_restarted(change: Change) -> bool:
    old, new = change.old, change.new
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return False
    return old.status.container_statuses is not new.status.container_statuses and _restarts(old) != _restarts(new)


def _deadline_at(job: Job) -> int | None:
    seconds, started = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or started is None:
        return None
    return parse_time(started) + seconds * NS_PER_SECOND


def _end_conditions(job: Job) -> list[Condition]:
    return [one for one in job.status.conditions if one.type in (COMPLETE, FAILED)]


def _is_status_alone(change: Change) -> bool:
    old, new = change.old, change.new
    if not isinstance(old, Job) or not isinstance(new, Job):
        return False
    return old.spec is new.spec and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
