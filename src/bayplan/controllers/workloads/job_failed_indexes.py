"""Failures of single indexes, for Jobs that have a limit for each (`backoffLimitPerIndex`).

How often an index has failed is written on the pod that works on it, as annotations. So the last failed pod of an index
is held, uncounted, until its successor has been created with the new numbers; `held_pods` says which these are, and
`successor_at` when a successor may come. Pure: nothing is written here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from bayplan.controllers.workloads.job_pods import index_of
from bayplan.controllers.workloads.job_policies import FAIL_INDEX, IGNORE, has_failed, reaction_to
from bayplan.controllers.workloads.job_tracking import Failures
from bayplan.model.conditions import FALSE, find_condition
from bayplan.model.meta import INT32_MAX
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import READY
from bayplan.model.workloads import Job

FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURE_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"


class IndexFailures(NamedTuple):
    """How often an index has failed, and how often that was ignored."""

    counted: int = 0
    ignored: int = 0

    def annotations(self) -> dict[str, str]:
        ignored = {IGNORED_FAILURE_COUNT: str(self.ignored)} if self.ignored else {}
        return {FAILURE_COUNT: str(self.counted), **ignored}


def limits_each_index(job: Job) -> bool:
    return job.spec.backoff_limit_per_index is not None


def failures_before(pod: Pod) -> IndexFailures:
    """The failures of the pod's index before this pod."""
    annotations = pod.metadata.annotations
    return IndexFailures(_number(annotations.get(FAILURE_COUNT)), _number(annotations.get(IGNORED_FAILURE_COUNT)))


def failures_with(job: Job, failed: Pod | None) -> IndexFailures:
    """The failures of an index whose last pod was that one, if there was any."""
    if failed is None:
        return IndexFailures()
    before = failures_before(failed)
    if reaction_to(job, failed).action == IGNORE:
        return before._replace(ignored=before.ignored + 1)
    return before._replace(counted=before.counted + 1)


def fails_its_index(job: Job, pod: Pod) -> bool:
    """Whether the pod has failed, and no other is to try its index."""
    # Upstream: pkg/controller/job/indexed_job_utils.go isIndexFailed (v1.36).
    if not has_failed(job, pod):
        return False
    action = reaction_to(job, pod).action
    if action in (FAIL_INDEX, IGNORE):
        return action == FAIL_INDEX
    return failures_before(pod).counted >= (job.spec.backoff_limit_per_index or 0)


def held_pods(job: Job, pods: Iterable[Pod], closed: Collection[int]) -> dict[int, Pod]:
    """By index, the last pod that failed, of the indexes that are not closed: done, given up or being worked on."""
    held: dict[int, Pod] = {}
    for pod in pods:
        index = index_of(pod)
        if index is None or index >= (job.spec.completions or 0) or index in closed or not has_failed(job, pod):
            continue
        other = held.get(index)
        if other is None or _came_later(pod, other):
            held[index] = pod
    return held


def _came_later(pod: Pod, other: Pod) -> bool:
    return sum(failures_before(other)) <= sum(failures_before(pod)) and ended_at(other) <= ended_at(pod)


def successor_at(failed: Pod) -> int:
    """When a successor of the failed pod may be created."""
    return Failures(sum(failures_before(failed)) + 1, ended_at(failed)).penalty_ends_at


def ended_at(pod: Pod) -> int:
    """When the pod was over, as far as it says."""
    condition = find_condition(pod.status.conditions, READY)
    if condition is not None and condition.status == FALSE and condition.last_transition_time:
        return parse_time(condition.last_transition_time)
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        return parse_time(meta.deletion_timestamp) - (meta.deletion_grace_period_seconds or 0) * SECOND
    return parse_time(meta.creation_timestamp) if meta.creation_timestamp else 0


def _number(written: str | None) -> int:
    # Whatever is no plain 32-bit number counts for nothing.
    if written is None or not written.isdecimal() or len(written) > 10:
        return 0
    return number if (number := int(written)) <= INT32_MAX else 0
