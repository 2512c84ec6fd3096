"""Jobs: how many pods run, what is counted, and how a Job ends."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.workloads.job import JobController
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL, index_of, indexes_of, written_indexes
from bayplan.controllers.workloads.job_tracking import TRACKING, Failures
from bayplan.model.meta import Condition
from bayplan.model.pod import ContainerStatus, Pod
from bayplan.model.time_units import SECOND
from bayplan.model.workloads import Job
from bayplan.testing.builders import job, pod


def stage_with(name: str = "work", **spec: Any) -> Workloads:
    stage = Workloads(JobController(batch_ns=0), GarbageCollector())
    stage.create(job(name).set(**spec).template(TEMPLATE).manifest().obj())
    return stage


def counts(stage: Workloads) -> tuple[int, int, int]:
    status = stage.get(Job, "work").status
    return status.active, status.succeeded, status.failed


def conditions(stage: Workloads) -> dict[str, str]:
    """Those that hold, with their reasons."""
    return {one.type: one.reason for one in stage.get(Job, "work").status.conditions if one.status == "True"}


def test_one_pod_by_default() -> None:
    """A plain Job runs one pod to its end, and keeps it."""
    stage = stage_with()
    (name,) = stage.names()
    assert name.startswith("work-")
    assert stage.pod(name).metadata.finalizers == [TRACKING]
    assert stage.pod(name).metadata.labels["batch.kubernetes.io/job-name"] == "work"
    stage.run(name)
    assert stage.get(Job, "work").status.ready == 1
    stage.pass_time(7)
    stage.end(name)
    status = stage.get(Job, "work").status
    assert counts(stage) == (0, 1, 0)
    assert conditions(stage) == {"SuccessCriteriaMet": "CompletionsReached", "Complete": "CompletionsReached"}
    assert status.start_time == "2026-01-01T00:00:00Z"
    assert status.completion_time == "2026-01-01T00:00:07Z"
    assert stage.pod(name).metadata.finalizers == []


def test_completions_and_parallelism() -> None:
    """As many run at once as may, until enough have succeeded."""
    stage = stage_with(completions=5, parallelism=2)
    seen = []
    while stage.names():
        seen.append(len(stage.names()))
        stage.end(stage.names()[0])
    assert seen == [2, 2, 2, 2, 1]
    assert counts(stage) == (0, 5, 0)
    assert "Complete" in conditions(stage)


def test_news_of_pods_are_gathered() -> None:
    """By default pods that end within a second are counted and replaced together."""
    stage = Workloads(JobController())
    stage.create(job("work").set(completions=5, parallelism=2).template(TEMPLATE).manifest().obj())
    first, second = stage.names()
    stage.pass_time(5)
    stage.end(first)
    stage.pass_time(0.5)
    stage.end(second)
    assert counts(stage) == (2, 0, 0)
    stage.pass_time(0.5)
    assert counts(stage) == (2, 2, 0)
    assert len(stage.names()) == 2


def test_a_work_queue_ends_with_its_last_pod() -> None:
    """Without completions one success means that no more pods are started; those that run may finish."""
    stage = stage_with(parallelism=3)
    first, second, third = stage.names()
    stage.end(first)
    assert stage.names() == [second, third]
    assert "Complete" not in conditions(stage)
    stage.end(second)
    stage.fail(third)
    assert counts(stage) == (0, 2, 1)
    assert "Complete" in conditions(stage)


def test_failures_delay_the_next_pod() -> None:
    """A failed pod is replaced after 10 s, the next after 20 s, then 40 s; a success forgives."""
    stage = stage_with(completions=2, backoff_limit=10)
    waits = []
    for _ in range(3):
        stage.fail(*stage.names())
        before = stage.seconds
        while not stage.names():
            stage.pass_time(1)
        waits.append(stage.seconds - before)
    assert waits == [10, 20, 40]
    stage.end(*stage.names())
    assert len(stage.names()) == 1
    stage.fail(*stage.names())
    stage.pass_time(10)
    assert len(stage.names()) == 1
    assert counts(stage) == (1, 1, 4)


def test_the_longest_penalty() -> None:
    """Penalties double up to six minutes and stay there."""
    seconds = [Failures(number, 0).penalty_ends_at // SECOND for number in (0, 1, 2, 6, 7, 500)]
    assert seconds == [0, 10, 20, 320, 360, 360]


def test_a_job_fails_beyond_its_limit() -> None:
    """One failure more than the limit ends the Job; pods that still run are deleted first."""
    stage = stage_with(completions=3, parallelism=2, backoff_limit=0)
    first, second = stage.names()
    stage.run(first, second)
    stage.fail(first)
    assert stage.names() == []
    assert conditions(stage) == {"FailureTarget": "BackoffLimitExceeded"}
    stage.stop(second)
    assert conditions(stage) == {"FailureTarget": "BackoffLimitExceeded", "Failed": "BackoffLimitExceeded"}
    assert counts(stage) == (0, 0, 2)
    stage.pass_time(3600)
    assert stage.names() == []


def test_restarts_count_where_pods_restart() -> None:
    """With OnFailure containers restart within the pod, and these restarts reach the limit."""
    stage = Workloads(JobController(batch_ns=0))
    pattern = job("work").set(backoff_limit=2).template(TEMPLATE).manifest().obj()
    pattern.spec.template.spec.restart_policy = "OnFailure"
    stage.create(pattern)
    (name,) = stage.names()
    stage.run(name)
    for restarts, is_failing in [(1, False), (2, True)]:
        restarted = replace(stage.pod(name))
        restarted.status = replace(restarted.status, container_statuses=[ContainerStatus(restart_count=restarts)])
        stage.store.update_status(restarted, stage.now)
        stage.settle()
        assert ("FailureTarget" in conditions(stage)) is is_failing


def test_an_evicted_pod_counts_as_failed() -> None:
    """A victim is counted at once and replaced after the penalty."""
    stage = stage_with()
    (name,) = stage.names()
    stage.run(name)
    stage.evict(name)
    assert counts(stage) == (0, 0, 1)
    assert stage.pod(name).metadata.finalizers == []
    stage.stop(name)
    assert counts(stage) == (0, 0, 1)
    stage.pass_time(10)
    assert len(stage.names()) == 1


def test_a_pod_deleted_before_it_is_counted_is_counted() -> None:
    """The finalizer keeps it until then."""
    controller = JobController(batch_ns=0)
    stage = Workloads(controller)
    stage.create(job("work").set(completions=2).template(TEMPLATE).manifest().obj())
    (name,) = stage.names()
    stage.store.bind("default", name, "n1", "", stage.now)
    stage._set_phase(name, "Succeeded", "False")
    stage.store.delete(Pod, "default", name, stage.now)
    assert stage.has_pod(name)
    stage.settle()
    assert not stage.has_pod(name)
    assert counts(stage) == (1, 1, 0)


def test_suspended() -> None:
    """A suspended Job has no pods, and these did not fail; resuming starts anew."""
    stage = stage_with(completions=3, parallelism=2)
    stage.run_all()
    stage.change(Job, "work", suspend=True)
    stage.stop_terminating()
    assert stage.pods() == []
    assert counts(stage) == (0, 0, 0)
    assert conditions(stage) == {"Suspended": "JobSuspended"}
    assert stage.get(Job, "work").status.start_time is None
    stage.pass_time(60)
    stage.change(Job, "work", suspend=False)
    assert len(stage.names()) == 2
    assert conditions(stage) == {}
    assert stage.get(Job, "work").status.start_time == "2026-01-01T00:01:00Z"


def test_parallelism_may_change() -> None:
    """Fewer at once delete pods, those not yet running first; these do not count."""
    stage = stage_with(completions=10, parallelism=3)
    first, second, third = stage.names()
    stage.run(second)
    stage.change(Job, "work", parallelism=1)
    assert stage.names() == [second]
    assert not stage.has_pod(first)
    assert not stage.has_pod(third)
    assert counts(stage) == (1, 0, 0)
    stage.change(Job, "work", parallelism=4)
    assert len(stage.names()) == 4


def test_deadline() -> None:
    """A Job that takes too long fails."""
    stage = stage_with(active_deadline_seconds=30)
    stage.run_all()
    stage.pass_time(29)
    assert conditions(stage) == {}
    stage.pass_time(1)
    assert conditions(stage) == {"FailureTarget": "DeadlineExceeded"}
    stage.stop_terminating()
    assert conditions(stage)["Failed"] == "DeadlineExceeded"


def test_indexes() -> None:
    """Each index is worked on until it has succeeded; the lowest open one comes next."""
    stage = stage_with(completions=4, parallelism=2, completion_mode="Indexed")

    def indexes() -> list[str]:
        return sorted(one.metadata.labels[JOB_INDEX_LABEL] for one in stage.active())

    assert indexes() == ["0", "1"]
    zero, one = stage.active()
    assert zero.metadata.name.startswith("work-0-")
    stage.fail(zero.metadata.name)
    assert indexes() == ["1"]
    stage.pass_time(10)
    assert indexes() == ["0", "1"]
    stage.end(one.metadata.name)
    assert indexes() == ["0", "2"]
    assert stage.get(Job, "work").status.completed_indexes == "1"
    while stage.names():
        stage.end(stage.names()[0])
    status = stage.get(Job, "work").status
    assert status.completed_indexes == "0-3"
    assert (status.succeeded, status.failed) == (4, 1)


@pytest.mark.parametrize(
    ("indexes", "written"), [([], ""), ([5], "5"), ([1, 0], "0,1"), ([0, 1, 2, 3, 5, 7, 8], "0-3,5,7,8")]
)
def test_written_indexes(indexes: list[int], written: str) -> None:
    """Three or more in a row are written as a stretch, and read as what they were."""
    assert written_indexes(indexes) == written
    assert indexes_of(written, 10) == set(indexes)


@pytest.mark.parametrize(
    ("written", "indexes"),
    [("0-9999999999999,3", {0, 1, 2, 3}), ("2," + "9" * 5000, {2}), ("4-7", set()), ("a-b,-1,1-0,1-2-3,,3", {3})],
)
def test_indexes_beyond_the_last_one_do_not_count(written: str, indexes: set[int]) -> None:
    """Whoever wrote them."""
    assert indexes_of(written, 4) == indexes


def test_a_job_may_have_any_number_of_indexes() -> None:
    stage = stage_with(parallelism=2, completions=2**31 - 1, completion_mode="Indexed")
    assert [index_of(stage.pod(name)) for name in stage.names()] == [0, 1]


def test_an_index_is_a_number_of_moderate_length() -> None:
    assert index_of(pod("p").annotations({JOB_INDEX_LABEL: "9" * 5000}).obj()) is None


def test_pods_of_a_long_name_still_say_their_index() -> None:
    """The name of the Job is cut, not the index."""
    name = "j" * 60
    stage = stage_with(parallelism=11, completions=11, completion_mode="Indexed", name=name)
    assert {one[:-5] for one in stage.names()} >= {"j" * 55 + "-0-", "j" * 54 + "-10-"}


def test_a_deleted_job_lets_its_pods_go() -> None:
    """No finalizer keeps the pods of a Job that is gone, whether they are deleted with it or orphaned."""
    stage = stage_with(parallelism=2, completions=2)
    stage.run_all()
    stage.store.delete(Job, "default", "work", stage.now, propagation="Background")
    stage.settle()
    stage.stop_terminating()
    assert stage.pods() == []


def test_orphaned_pods_are_released() -> None:
    """Pods that outlive their Job bear no trace of it."""
    stage = stage_with(parallelism=2, completions=2)
    stage.run_all()
    stage.store.delete(Job, "default", "work", stage.now, propagation="Orphan")
    stage.settle()
    assert stage.store.find(Job, "default", "work") is None
    assert len(stage.names()) == 2
    assert [one.metadata.finalizers for one in stage.pods()] == [[], []]
    assert [one.metadata.owner_references for one in stage.pods()] == [[], []]


def test_a_finished_job_expires() -> None:
    """Some time after the end the Job goes, and its pods with it."""
    stage = stage_with(ttl_seconds_after_finished=60)
    stage.end(*stage.names())
    stage.pass_time(59)
    assert stage.store.count(Job) == 1
    stage.pass_time(1)
    assert stage.store.count(Job) == 0
    assert stage.pods() == []


def test_a_finished_job_is_left_alone() -> None:
    """What was loaded as done is done, though its pods are gone."""
    stage = Workloads(JobController(batch_ns=0))
    made = job("work").template(TEMPLATE).obj()
    made.status.succeeded = 1
    made.status.conditions = [Condition(type="Complete", status="True")]
    stage.load(made)
    assert stage.pods() == []


def test_a_loaded_job_goes_on() -> None:
    """What its status counts is counted, and its pods are known."""
    stage = Workloads(JobController(batch_ns=0))
    made = job("work").set(completions=3, parallelism=2).template(TEMPLATE)
    loaded = made.obj()
    loaded.status.succeeded = 1
    busy = pod("work-a").owner(loaded).running("n1").obj()
    busy.metadata.finalizers = [TRACKING]
    stage.load(busy, loaded)
    assert counts(stage) == (2, 1, 0)
    stage.end("work-a")
    stage.end(*stage.names())
    assert "Complete" in conditions(stage)


def test_a_job_of_another_controller_is_left_alone() -> None:
    """Whoever manages it makes its pods and writes its status."""
    stage = stage_with(managed_by="example.com/queue")
    assert stage.pods() == []
    assert stage.get(Job, "work").status.start_time is None
    assert len(stage_with(managed_by="kubernetes.io/job-controller").names()) == 1


def test_pods_of_an_indexed_job_are_hosts_of_its_name() -> None:
    stage = stage_with(completions=2, parallelism=2, completion_mode="Indexed")
    assert sorted(one.spec.hostname for one in stage.pods()) == ["work-0", "work-1"]
