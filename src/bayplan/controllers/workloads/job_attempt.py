"""One look at a Job that is not over: count what has ended, decide, create and delete pods, write the status.

Takes the Job as stored and what is remembered of it (`job_tracking`); works on a copy of the status and writes that
last, before the finalizers of counted pods are taken off. When to look is for `job` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from bayplan.controllers.work_queue import BURST_MAX
from bayplan.controllers.workloads.deletion_order import first_to_delete
from bayplan.controllers.workloads.job_pods import (
    COMPLETE,
    FAILED,
    JOB_INDEX_LABEL,
    completed_indexes,
    index_of,
    index_prefix,
    is_indexed,
    written_indexes,
)
from bayplan.controllers.workloads.job_tracking import (
    ACTIVE,
    COUNTABLE,
    READY,
    TERMINATING,
    TRACKING,
    Progress,
    marks_of,
    release,
)
from bayplan.controllers.writes import delete_pod, write_status
from bayplan.model.conditions import FALSE, TRUE, is_condition_true, with_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.workloads import Job, JobStatus
from bayplan.store import Store

DEFAULT_BACKOFF_LIMIT = 6
SUCCESS_CRITERIA_MET, FAILURE_TARGET, SUSPENDED = "SuccessCriteriaMet", "FailureTarget", "Suspended"


class Attempt:
    """One look at a Job that is not over."""

    def __init__(self, store: Store, job: Job, progress: Progress, now: int) -> None:
        self._store = store
        self._job = job
        self._progress = progress
        self._now = now
        self._status: JobStatus = replace(job.status, conditions=[*job.status.conditions])
        self._failures = progress.failures
        self.is_unfinished = False
        """Whether there is more to create or delete than may be at once."""

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
            done = completed_indexes(self._status.completed_indexes, self._job.spec.completions or 0)
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
        was_suspended = is_condition_true(self._status.conditions, SUSPENDED)
        if self._job.spec.suspend:
            if not was_suspended and not self._is_ending():
                self._set_condition(SUSPENDED, TRUE, "JobSuspended", "Job suspended")
                self._status.start_time = None
            return
        if was_suspended:
            self._set_condition(SUSPENDED, FALSE, "JobResumed", "Job resumed")
        if self._status.start_time is None:
            self._status.start_time = format_time(self._now)

    # The end.

    def _is_ending(self) -> bool:
        return self._announced() is not None

    def _announced(self) -> Condition | None:
        """The condition that says that the Job is to end."""
        kinds = (SUCCESS_CRITERIA_MET, FAILURE_TARGET)
        return next((condition for condition in self._status.conditions if condition.type in kinds), None)

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
        restarts = sum(map(restarts_of, self._pods(ACTIVE)))
        return restarts > 0 if limit == 0 else restarts >= limit

    def _is_past_deadline(self) -> bool:
        deadline = deadline_at(self._job)
        return deadline is not None and deadline <= self._now and not self._job.spec.suspend

    def _has_succeeded(self) -> bool:
        wanted = self._job.spec.completions
        if wanted is not None:
            return self._status.succeeded >= wanted
        return self._status.succeeded > 0 and self._count(ACTIVE) == 0

    def _conclude(self) -> None:
        """An end that was announced comes about when no pod is left that has not ended."""
        announced = self._announced()
        if announced is None or self._count(ACTIVE) or self._count(TERMINATING):
            return
        kind = COMPLETE if announced.type == SUCCESS_CRITERIA_MET else FAILED
        self._set_condition(kind, TRUE, announced.reason, announced.message)
        if kind == COMPLETE:
            self._status.completion_time = format_time(self._now)

    # The pods.

    def _manage(self) -> None:
        if self._job.spec.suspend:
            self._withdraw(self._pods(ACTIVE))
            return
        missing = self._wanted() - self._count(ACTIVE)
        if missing < 0:
            self._withdraw(first_to_delete(self._pods(ACTIVE), min(-missing, BURST_MAX), self._now))
        elif missing > 0 and self._now >= self._failures.penalty_ends_at:
            self._create(min(missing, BURST_MAX))
        self.is_unfinished = abs(missing) > BURST_MAX

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

    def _open_indexes(self) -> Iterator[int]:
        """Completion indexes that are neither done nor being worked on."""
        completions = self._job.spec.completions or 0
        taken = completed_indexes(self._status.completed_indexes, completions)
        taken.update(index for pod in self._pods(ACTIVE) if (index := index_of(pod)) is not None)
        return (index for index in range(completions) if index not in taken)

    def _indexed(self, pod: Pod, index: int) -> Pod:
        meta = pod.metadata
        meta.generate_name = index_prefix(self._job.metadata.name, index)
        meta.labels[JOB_INDEX_LABEL] = str(index)
        meta.annotations[JOB_INDEX_LABEL] = str(index)
        pod.spec.hostname = f"{self._job.metadata.name}-{index}"
        return pod

    def _withdraw(self, pods: list[Pod]) -> None:
        """Deletes pods that are no longer wanted; as nobody failed, they are not counted."""
        for pod in pods:
            release(self._store, pod.metadata.namespace, pod.metadata.name, self._now)
            self._delete(pod)

    def _delete(self, pod: Pod) -> None:
        deletion = delete_pod(self._store, pod, self._now)
        assert isinstance(deletion.object, Pod)
        self._progress.pods.note(pod.metadata.name, 0 if deletion.gone else marks_of(deletion.object))

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
        self._status.conditions = with_condition(self._status.conditions, wanted, format_time(self._now))

    def _write_status(self) -> None:
        status = self._status
        status.active = self._count(ACTIVE)
        status.ready = self._count(ACTIVE | READY)
        write_status(self._store, self._job, status, self._now)


def restarts_of(pod: Pod) -> int:
    """How often containers of the pod were started again."""
    statuses = [*pod.status.init_container_statuses, *pod.status.container_statuses]
    return sum(status.restart_count for status in statuses)


def deadline_at(job: Job) -> int | None:
    """When the Job has been active for too long; None if it may go on for ever, or has not started."""
    seconds, started = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or started is None:
        return None
    return parse_time(started) + seconds * SECOND
