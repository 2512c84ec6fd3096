"""CronJobs: which Jobs are started when, what happens beside one that still runs, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.controller_stage import START
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.workloads.cron_job import SCHEDULED_FOR, CronJobController
from bayplan.controllers.workloads.job import JobController
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import PodTemplateSpec
from bayplan.model.workloads import CronJob, CronJobSpec, CronJobStatus, Job, JobSpec, JobTemplateSpec
from bayplan.store.errors import Invalid
from bayplan.testing.builders import job

MINUTE_OF_START = START // 60_000_000_000


def cron_job(schedule: str = "*/10 * * * *", *, name: str = "backup", **spec: Any) -> CronJob:
    pod = TEMPLATE.obj()
    template = PodTemplateSpec(metadata=ObjectMeta(labels=dict(pod.metadata.labels)), spec=pod.spec)
    jobs = JobTemplateSpec(
        metadata=ObjectMeta(labels={"team": "data"}), spec=JobSpec(template=template, backoff_limit=0)
    )
    meta = ObjectMeta(name=name, namespace="default")
    return CronJob(metadata=meta, spec=CronJobSpec(schedule=schedule, job_template=jobs, **spec))


def stage_with(*objects: Object) -> Workloads:
    stage = Workloads(CronJobController(), JobController(batch_ns=0), GarbageCollector())
    stage.create(*objects)
    return stage


def minutes(stage: Workloads) -> list[int]:
    """The minutes since the start for which there are Jobs, from their names."""
    return [int(one.metadata.name.rpartition("-")[2]) - MINUTE_OF_START for one in stage.store.list(Job)]


def active(stage: Workloads) -> list[str]:
    return [one.name for one in stage.get(CronJob, "backup").status.active]


def finish(stage: Workloads, phase: str = "Succeeded") -> None:
    """All pods that run end."""
    stage.run_all()
    stage.end(*stage.names(), phase=phase)


def test_a_job_for_every_time() -> None:
    """Named after the minute it is for, a tenth of a second late, from the template and owned."""
    stage = stage_with(cron_job())
    stage.pass_time(600)
    assert minutes(stage) == []
    stage.pass_time(0.1)
    assert minutes(stage) == [10]
    (made,) = stage.store.list(Job)
    assert made.metadata.labels == {"team": "data"}
    assert made.metadata.annotations == {SCHEDULED_FOR: "2026-01-01T00:10:00Z"}
    assert [(one.kind, one.name, one.controller) for one in made.metadata.owner_references] == [
        ("CronJob", "backup", True)
    ]
    assert stage.get(CronJob, "backup").status.last_schedule_time == "2026-01-01T00:10:00Z"
    assert active(stage) == [made.metadata.name]
    assert len(stage.active()) == 1
    stage.pass_time(1200)
    assert minutes(stage) == [10, 20, 30]


def test_a_time_zone() -> None:
    """Midnight in Kathmandu is a quarter past six in the evening elsewhere."""
    stage = stage_with(cron_job("0 0 * * *", time_zone="Asia/Kathmandu"))
    stage.pass_time(24 * 3600)
    (made,) = stage.store.list(Job)
    assert stage.get(CronJob, "backup").status.last_schedule_time == "2026-01-01T18:15:00Z"
    assert made.metadata.annotations[SCHEDULED_FOR] == "2026-01-02T00:00:00+05:45"


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(
        Invalid, match=r'CronJob.batch "backup" is invalid: spec.timeZone: .*unknown time zone Mars/Base'
    ):
        stage_with(cron_job(time_zone="Mars/Base"))


@pytest.mark.parametrize(
    ("policy", "jobs", "running"),
    [("Allow", [10, 20, 30], 3), ("Forbid", [10], 1), ("Replace", [30], 1)],
)
def test_while_another_runs(policy: str, jobs: list[int], running: int) -> None:
    """Beside it, not at all, or in its place."""
    stage = stage_with(cron_job(concurrency_policy=policy))
    stage.pass_time(1801)
    stage.stop_terminating()
    assert minutes(stage) == jobs
    assert len(active(stage)) == len(stage.active()) == running


def test_what_was_forbidden_is_made_up_for_when_the_other_ends() -> None:
    """Only the last of the times that were missed, and at once."""
    stage = stage_with(cron_job(concurrency_policy="Forbid"))
    stage.pass_time(1805)
    assert minutes(stage) == [10]
    finish(stage)
    assert minutes(stage) == [10, 30]
    assert stage.get(CronJob, "backup").status.last_schedule_time == "2026-01-01T00:30:00Z"


def test_too_late() -> None:
    """What could not start within its deadline does not start at all."""
    stage = stage_with(cron_job(concurrency_policy="Forbid", starting_deadline_seconds=60))
    stage.pass_time(1805)
    stage.pass_time(60)
    finish(stage)
    assert minutes(stage) == [10]
    stage.pass_time(600)
    assert minutes(stage) == [10, 40]


def test_suspended() -> None:
    """Nothing starts; when it goes on, the last time that was missed counts."""
    stage = stage_with(cron_job(suspend=True))
    stage.pass_time(2000)
    assert minutes(stage) == []
    stage.change(CronJob, "backup", suspend=False)
    assert minutes(stage) == [30]
    stage.pass_time(600)
    assert minutes(stage) == [30, 40]


def test_another_schedule() -> None:
    """It holds from its next time on; nothing is made up for."""
    stage = stage_with(cron_job("0 12 * * *"))
    stage.pass_time(3000)
    stage.change(CronJob, "backup", schedule="*/20 * * * *")
    assert minutes(stage) == []
    stage.pass_time(601)
    assert minutes(stage) == [60]


def test_history() -> None:
    """The newest three successes and the newest failure are kept, pods and all, unless other limits are given."""
    stage = stage_with(cron_job("* * * * *"))
    for number in range(7):
        stage.pass_time(60.2 if number == 0 else 60)
        finish(stage, "Failed" if number in (1, 3) else "Succeeded")
    assert minutes(stage) == [4, 5, 6, 7]
    assert len(stage.pods()) == 4
    assert stage.get(CronJob, "backup").status.last_successful_time == "2026-01-01T00:07:00Z"


def test_no_history() -> None:
    stage = stage_with(cron_job("* * * * *", successful_jobs_history_limit=0))
    stage.pass_time(61)
    finish(stage)
    assert stage.store.list(Job) == []
    assert stage.pods() == []
    assert active(stage) == []


def test_a_job_that_is_deleted_is_active_no_more() -> None:
    """Nor is it started again: its time was dealt with."""
    stage = stage_with(cron_job())
    stage.pass_time(601)
    stage.store.delete(Job, "default", active(stage)[0], stage.now, propagation="Background")
    stage.settle()
    assert active(stage) == []
    stage.pass_time(500)
    assert minutes(stage) == []


def test_a_job_of_somebody_else_has_the_name() -> None:
    """It is left alone, and the next time comes as always."""
    stage = stage_with(job(f"backup-{MINUTE_OF_START + 10}").template(TEMPLATE).manifest().obj(), cron_job())
    stage.pass_time(601)
    assert active(stage) == []
    stage.pass_time(600)
    assert active(stage) == [f"backup-{MINUTE_OF_START + 20}"]


def test_a_cluster_taken_over() -> None:
    """The last of the times missed since the last start is made up for, though thousands were missed."""
    taken = cron_job("*/5 * * * *")
    taken.metadata.uid, taken.metadata.creation_timestamp = "u1", "2020-01-01T00:00:00Z"
    taken.status = CronJobStatus(last_schedule_time="2025-06-01T00:00:00Z")
    stage = Workloads(CronJobController())
    stage.pass_time(7 * 60)
    stage.load(taken)
    assert minutes(stage) == [5]


@pytest.mark.parametrize("schedule", ["whenever", "0 0 30 2 *"])
def test_a_schedule_that_never_comes(schedule: str) -> None:
    """Starts nothing, and nobody waits for it."""
    controller = CronJobController()
    stage = Workloads(controller)
    stage.create(cron_job(schedule))
    assert controller.wake_at() is None
    stage.pass_time(24 * 3600)
    assert minutes(stage) == []


def test_everything_goes_with_the_cron_job() -> None:
    """Deleted, it starts nothing any more, and its Jobs and their pods go."""
    stage = stage_with(cron_job())
    stage.pass_time(601)
    stage.store.delete(CronJob, "default", "backup", stage.now, propagation="Background")
    stage.settle()
    stage.stop_terminating()
    stage.pass_time(3600)
    assert stage.store.list(Job) == []
    assert stage.pods() == []
