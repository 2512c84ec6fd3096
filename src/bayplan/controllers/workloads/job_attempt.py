"""One look at a Job that is not over: count what has ended, decide, create and delete pods, write the status.

Takes the Job as stored and what is remembered of it (`job_tracking`); works on a copy of the status and writes that
last, before the finalizers of counted pods are taken off. When to look is for `job` to say.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice

from bayplan.controllers.ownership import controlled_by
from bayplan.controllers.work_queue import BURST_MAX
from bayplan.controllers.workloads.deletion_order import first_to_delete
from bayplan.controllers.workloads.job_failed_indexes import (
    fails_its_index,
    failures_with,
    held_pods,
    limits_each_index,
    successor_at,
)
from bayplan.controllers.workloads.job_groups import group_of_job
from bayplan.controllers.workloads.job_pods import (
    COMPLETE,
    FAILED,
    JOB_INDEX_LABEL,
    SUSPENDED,
    index_of,
    index_prefix,
    indexes_of,
    is_indexed,
    written_indexes,
)
from bayplan.controllers.workloads.job_policies import (
    FAIL_JOB,
    IGNORE,
    has_failed,
    only_failed_pods_are_replaced,
    reaction_to,
    success_message,
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
from bayplan.model.groups import PodGroup
from bayplan.model.meta import INT32_MAX, Condition
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.workloads import Job, JobStatus
from bayplan.store import Store

DEFAULT_BACKOFF_LIMIT = 6
SUCCESS_CRITERIA_MET, FAILURE_TARGET = "SuccessCriteriaMet", "FailureTarget"


class JobSync:
    """One look at a Job that is not over."""

    def __init__(self, store: Store, job: Job, progress: Progress, now: int, *, makes_groups: bool) -> None:
        self._store = store
        self._job = job
        self._progress = progress
        self._now = now
        self._status: JobStatus = replace(job.status, conditions=[*job.status.conditions])
        self._failures = progress.failures
        self._completions = job.spec.completions or 0
        self._done: set[int] = set()
        self._given_up: set[int] = set()
        self._held: dict[int, Pod] = {}
        """By index, failed pods that wait for their successors."""
        self._makes_groups = makes_groups
        self._group: PodGroup | None = None
        """What its pods are scheduled together as."""
        self.is_unfinished = False
        """Whether there is more to create, delete or count, and nobody will say so."""
        self.retry_at: int | None = None
        """When an index that failed may be tried again."""

    def run(self) -> None:
        # Upstream: pkg/controller/job/job_controller.go syncJob (v1.36).
        if self._makes_groups:
            has_pods = bool(controlled_by(self._store, self._job, Pod))
            self._group = group_of_job(self._store, self._job, self._now, has_pods=has_pods)
        ended = [pod for pod in self._pods(COUNTABLE) if self._is_over(pod)]
        fresh = [pod for pod in ended if pod.metadata.uid not in self._progress.counted]
        self._note_indexes(fresh)
        self._start_or_resume()
        self._decide_end(fresh)
        if not self._is_ending() and limits_each_index(self._job):
            self._held = held_pods(self._job, fresh, self._closed_indexes())
        held = {pod.metadata.uid for pod in self._held.values()}
        finished = [pod for pod in ended if pod.metadata.uid not in held]
        self._count_finished([pod for pod in fresh if pod.metadata.uid not in held])
        try:
            if self._is_ending() or self._has_succeeded():
                self._end()
            else:
                self._manage()
        finally:
            # What has ended is counted even if pods could not be created.
            self._conclude()
            self._write_status()
            self._settle(finished)
            self._see_what_is_left()

    def _is_over(self, pod: Pod) -> bool:
        """Whether the pod is to be counted: a pod that is being deleted may have to end first."""
        return pod.status.phase == "Succeeded" or has_failed(self._job, pod) or self._is_ending()

    def _settle(self, finished: list[Pod]) -> None:
        """The status has it all, so the pods may go."""
        self._progress.failures = self._failures
        for pod in finished:
            self._progress.counted[pod.metadata.uid] = None
        for pod in finished:
            self._release(pod)

    def _see_what_is_left(self) -> None:
        """Pods that were deleted or replaced just now are known already, so hearing of them will not be news."""
        held = {pod.metadata.uid for pod in self._held.values()}
        left = (pod for pod in self._pods(COUNTABLE) if self._is_over(pod))
        self.is_unfinished = self.is_unfinished or any(pod.metadata.uid not in held for pod in left)

    def _note_indexes(self, fresh: list[Pod]) -> None:
        if not is_indexed(self._job):
            return
        status = self._status
        self._done = indexes_of(status.completed_indexes, self._completions)
        self._done.update(self._valid_indexes(pod for pod in fresh if pod.status.phase == "Succeeded"))
        status.completed_indexes = written_indexes(self._done)
        if limits_each_index(self._job) and not self._is_ending():
            self._given_up = indexes_of(status.failed_indexes or "", self._completions)
            self._given_up.update(self._valid_indexes(pod for pod in fresh if fails_its_index(self._job, pod)))
            status.failed_indexes = written_indexes(self._given_up)

    def _valid_indexes(self, pods: Iterable[Pod]) -> set[int]:
        found = (index_of(pod) for pod in pods)
        return {index for index in found if index is not None and index < self._completions}

    def _count_finished(self, fresh: list[Pod]) -> None:
        """Adds up the pods that have ended since."""
        if is_indexed(self._job):
            self._status.succeeded = len(self._done)
        else:
            self._status.succeeded += sum(pod.status.phase == "Succeeded" for pod in fresh)
        self._status.failed += self._number_failed(fresh)
        for pod in fresh:
            self._failures = self._failures.and_then(pod, self._now)

    def _number_failed(self, fresh: list[Pod]) -> int:
        """How many of the pods count as failed; those that still run when the Job has failed do, too."""
        is_failing = self._is_ending() and not self._is_successful()
        return sum(
            pod.status.phase != "Succeeded"
            and (is_failing or has_failed(self._job, pod))
            and reaction_to(self._job, pod).action != IGNORE
            for pod in fresh
        )

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

    def _is_successful(self) -> bool:
        announced = self._announced()
        return announced is not None and announced.type == SUCCESS_CRITERIA_MET

    def _decide_end(self, fresh: list[Pod]) -> None:
        """Announces the Job's end if it has failed, or succeeded by its policy."""
        if self._is_ending():
            return
        why = self._why_failed(fresh)
        if why is not None:
            self._set_condition(FAILURE_TARGET, TRUE, *why)
            return
        met = success_message(self._job, self._done)
        if met is not None:
            self._set_condition(SUCCESS_CRITERIA_MET, TRUE, "SuccessPolicy", met)

    def _why_failed(self, fresh: list[Pod]) -> tuple[str, str] | None:
        """Reason and message of the Job's failure, if it has failed."""
        for pod in fresh:
            reaction = reaction_to(self._job, pod)
            if has_failed(self._job, pod) and reaction.action == FAIL_JOB:
                return "PodFailurePolicy", reaction.message
        if self._has_failed_too_often(self._status.failed + self._number_failed(fresh)):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        if self._is_past_deadline():
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        limit = self._job.spec.max_failed_indexes
        if limit is not None and len(self._given_up) > limit:
            return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        if self._given_up and len(self._given_up) + len(self._done) >= self._completions:
            return "FailedIndexes", "Job has failed indexes"
        return None

    def _end(self) -> None:
        """Deletes the pods that are left; they have failed with their Job, but not if it has succeeded."""
        if not self._is_ending():
            message = "Reached expected number of succeeded pods"
            self._set_condition(SUCCESS_CRITERIA_MET, TRUE, "CompletionsReached", message)
        active = self._pods(ACTIVE)
        if self._is_successful():
            self._withdraw(active)
            return
        for pod in active:
            self._delete(pod)

    def _has_failed_too_often(self, failed: int) -> bool:
        limit = self._job.spec.backoff_limit
        if limit is None:
            limit = INT32_MAX if limits_each_index(self._job) else DEFAULT_BACKOFF_LIMIT
        if failed > limit:
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
        superfluous = self._superfluous(max(0, -missing))
        if superfluous:
            self._withdraw(superfluous[:BURST_MAX])
            self.is_unfinished = missing > 0 or len(superfluous) > BURST_MAX
            return
        if only_failed_pods_are_replaced(self._job):
            missing -= self._count(TERMINATING)
        if missing > 0 and (limits_each_index(self._job) or self._now >= self._failures.penalty_ends_at):
            number = self._create(min(missing, BURST_MAX))
            self.is_unfinished = number == BURST_MAX < missing

    def _superfluous(self, number: int) -> list[Pod]:
        """At least so many active pods to do without: those without an index of their own, then the others."""
        if not number and not is_indexed(self._job):
            return []
        active = self._pods(ACTIVE)
        stray = self._stray(active) if is_indexed(self._job) else []
        names = {pod.metadata.name for pod in stray}
        others = [pod for pod in active if pod.metadata.name not in names]
        return stray + first_to_delete(others, max(0, number - len(stray)), self._now)

    def _stray(self, active: list[Pod]) -> list[Pod]:
        """Pods that work on no index, on one beyond the last, or on that of another pod."""
        # Upstream: pkg/controller/job/indexed_job_utils.go appendDuplicatedIndexPodsForRemoval (v1.36).
        stray = []
        by_index = sorted(((_index_or_none(pod), pod) for pod in active), key=lambda pair: pair[0])
        for index, pairs in groupby(by_index, key=lambda pair: pair[0]):
            alike = [pod for _, pod in pairs]
            is_valid = 0 <= index < self._completions
            stray += first_to_delete(alike, len(alike) - 1, self._now) if is_valid else alike
        return stray

    def _wanted(self) -> int:
        parallelism = 1 if self._job.spec.parallelism is None else self._job.spec.parallelism
        if self._job.spec.completions is not None:
            return max(0, min(parallelism, self._job.spec.completions - self._status.succeeded))
        # A work queue: once a pod has succeeded the others may end, and none is started any more.
        return min(parallelism, self._count(ACTIVE)) if self._status.succeeded else parallelism

    def _create(self, number: int) -> int:
        """Creates up to so many pods, and says how many."""
        stamp = self._progress.stamp(self._job, self._group)
        if not is_indexed(self._job):
            for _ in range(number):
                self._create_one(stamp.pod_alike())
            return number
        indexes = self._indexes_to_start(number)
        for index in indexes:
            self._create_one(self._indexed(stamp.pod(""), index))
        return len(indexes)

    def _create_one(self, pod: Pod) -> None:
        pod.metadata.finalizers = [*pod.metadata.finalizers, TRACKING]
        made = self._store.create(pod, self._now)
        # Counted here and not only when it is heard of, or it might be created twice.
        self._progress.pods.note(made.metadata.name, marks_of(made))

    def _indexes_to_start(self, number: int) -> list[int]:
        """The first open indexes, without those that failed a short time ago."""
        closed = self._closed_indexes()
        first = islice((index for index in range(self._completions) if index not in closed), number)
        ready = []
        for index in first:
            failed = self._held.get(index)
            at = 0 if failed is None else successor_at(failed)
            if at <= self._now:
                ready.append(index)
            elif self.retry_at is None or at < self.retry_at:
                self.retry_at = at
        return ready

    def _closed_indexes(self) -> set[int]:
        """Completion indexes that are done, given up or being worked on."""
        busy = self._pods(ACTIVE)
        if only_failed_pods_are_replaced(self._job):
            busy += self._pods(TERMINATING)
        return self._done | self._given_up | self._valid_indexes(busy)

    def _indexed(self, pod: Pod, index: int) -> Pod:
        meta = pod.metadata
        meta.generate_name = index_prefix(self._job.metadata.name, index)
        meta.labels[JOB_INDEX_LABEL] = str(index)
        meta.annotations[JOB_INDEX_LABEL] = str(index)
        if limits_each_index(self._job):
            meta.annotations |= failures_with(self._job, self._held.pop(index, None)).annotations()
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
        status.terminating = self._count(TERMINATING)
        write_status(self._store, self._job, status, self._now)


def _index_or_none(pod: Pod) -> int:
    index = index_of(pod)
    return -1 if index is None else index


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
