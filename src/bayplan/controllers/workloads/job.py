"""Jobs: pods until enough of them have succeeded, or too many have failed.

Hears of Jobs and of their pods. Pods bear a finalizer until they have been counted, so that none is counted twice or
lost, even if somebody deletes it; a pod that is being deleted counts as failed, and so does a victim of preemption.
After a failure new pods wait, 10 s at first and twice as long each time. News of pods are gathered for a second. Only
pods that are active or not yet counted are looked at, however many have ended before. A Job's end is announced
(SuccessCriteriaMet, FailureTarget) and comes when its last pod has ended. Jobs that another controller manages are left
alone. Their PodGroups are made by `job_groups`. What failures mean by a Job's policies is in `job_policies`, limits by
index in `job_failed_indexes`.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from bayplan.controllers.ownership import controller_reference
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.job_attempt import JobSync, deadline_at, restarts_of
from bayplan.controllers.workloads.job_pods import COMPLETE, FAILED, is_finished
from bayplan.controllers.workloads.job_tracking import (
    TRACKED,
    TRACKING,
    Progress,
    marks_of,
    release,
    tally_of,
)
from bayplan.controllers.writes import only_status_changed
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.model.workloads import Job
from bayplan.store import ApiError, Store, WatchEvent

Key: TypeAlias = tuple[str, str, str]
"""Namespace, name and uid of a Job."""

# Upstream: pkg/controller/job/job_controller.go syncJobBatchPeriod (v1.36).
BATCH_NS = SECOND
#: What `managedBy` says of Jobs that are this controller's; without it they are, too.
_OWN_NAME = "kubernetes.io/job-controller"


class JobController(Reconciler[Key]):
    """Runs Jobs to their end.

    Args:
        batch_ns: how long news of pods are gathered before they are acted upon.
        makes_groups: whether the pods of a Job are a PodGroup.
    """

    name: ClassVar[str] = "job-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Job", "Pod"})

    def __init__(self, batch_ns: int = BATCH_NS, *, makes_groups: bool = False) -> None:
        super().__init__()
        self._batch_ns = batch_ns
        self._makes_groups = makes_groups
        self._progress: dict[str, Progress] = {}
        """By the Job's uid."""
        self._uncounted: dict[str, None] = {}
        """Jobs that were relisted: what happened to their pods before may never have been told."""
        self._orphans: dict[tuple[str, str], None] = {}
        """Pods that a Job has lost uncounted."""

    def observe(self, change: WatchEvent, now: int) -> None:
        if change.kind == "Pod":
            self._observe_pod(change, now)
        elif change.kind == "Job":
            self._observe_job(change)

    def _observe_pod(self, change: WatchEvent, now: int) -> None:
        pod, meta, old = change.new, change.new.metadata, change.old
        if old is not None and old.metadata.owner_references is not meta.owner_references:
            self._observe_orphan(change)
        reference = controller_reference(meta)
        if reference is None or reference.kind != "Job":
            return
        assert isinstance(pod, Pod)
        marks = 0 if change.type == DELETED else marks_of(pod)
        if self._note(reference.uid, meta.name, marks) or _has_restarted(change):
            self._queue.add_at((meta.namespace, reference.name, reference.uid), now + self._batch_ns)

    def _observe_orphan(self, change: WatchEvent) -> None:
        assert change.old is not None
        meta = change.old.metadata
        reference = controller_reference(meta)
        if reference is None or reference.kind != "Job" or controller_reference(change.new.metadata) == reference:
            return
        if TRACKING in change.new.metadata.finalizers:
            self._orphans[meta.namespace, meta.name] = None
        self._note(reference.uid, meta.name, 0)
        self._queue.add((meta.namespace, reference.name, reference.uid))

    def _note(self, uid: str, pod_name: str, marks: int) -> bool:
        progress = self._progress.get(uid)
        if progress is None:
            if not marks:
                return False
            progress = self._progress[uid] = Progress()
        return progress.pods.note(pod_name, marks)

    def _observe_job(self, change: WatchEvent) -> None:
        job = change.new
        assert isinstance(job, Job)
        meta = job.metadata
        if change.type == DELETED:
            self._uncounted.pop(meta.uid, None)
        elif change.type == ADDED:
            self._uncounted[meta.uid] = None
        elif only_status_changed(change):
            return
        self._queue.add((meta.namespace, meta.name, meta.uid))

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
        if job is not None and (job.spec.managed_by or _OWN_NAME) != _OWN_NAME:
            return
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
        attempt = JobSync(store, job, progress, now, makes_groups=self._makes_groups)
        attempt.run()
        if attempt.is_unfinished:
            self._queue.add(key)
        self._look_again(store, key, attempt, now)

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
        conditions = (condition for condition in job.status.conditions if condition.type in (COMPLETE, FAILED))
        ended = [parse_time(end.last_transition_time) for end in conditions if end.last_transition_time]
        expires_at = max(ended, default=now) + seconds * SECOND
        if expires_at <= now:
            store.delete(Job, meta.namespace, meta.name, now, uid=meta.uid, propagation="Foreground")
        else:
            self._queue.add_at((meta.namespace, meta.name, meta.uid), expires_at)

    def _look_again(self, store: Store, key: Key, attempt: JobSync, now: int) -> None:
        """Makes sure to be back when a deadline, a penalty or the time after the end is over."""
        job = store.find(Job, key[0], key[1])
        if job is None:
            return
        if is_finished(job):
            self._expire(store, job, now)
            return
        for at in (deadline_at(job), attempt.retry_at, self._progress[key[2]].failures.penalty_ends_at):
            if at is not None and at > now and not job.spec.suspend:
                self._queue.add_at(key, at)


def _has_restarted(change: WatchEvent) -> bool:
    old, new = change.old, change.new
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return False
    return old.status.container_statuses is not new.status.container_statuses and restarts_of(old) != restarts_of(new)
