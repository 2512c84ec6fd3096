"""Jobs with policies: what failures of pods mean, when enough has succeeded, and when pods are replaced."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.workloads.job import JobController
from bayplan.controllers.workloads.job_failed_indexes import (
    FAILURE_COUNT,
    IGNORED_FAILURE_COUNT,
    IndexFailures,
    ended_at,
    failures_before,
)
from bayplan.controllers.workloads.job_pods import index_of
from bayplan.controllers.workloads.job_policies import COUNT, FAIL_JOB, IGNORE, reaction_to
from bayplan.controllers.workloads.job_tracking import TRACKING
from bayplan.model.conditions import TRUE, with_pod_condition
from bayplan.model.meta import Condition
from bayplan.model.pod import ContainerState, ContainerStateTerminated, ContainerStatus, Pod
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.workloads import Job, JobSpec, JobStatus
from bayplan.testing.builders import job, pod

NEVER_MIND = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}


def spec_of(**written: Any) -> dict[str, Any]:
    """Fields of a Job's spec, from camelCase."""
    made = msgspec.convert(written, JobSpec)
    return {name: value for name, value in msgspec.structs.asdict(made).items() if value != getattr(JobSpec(), name)}


def stage_with(**written: Any) -> Workloads:
    stage = Workloads(JobController(batch_ns=0), GarbageCollector())
    stage.create(job("work").set(**spec_of(**written)).template(TEMPLATE).manifest().obj())
    return stage


def indexed(completions: int, **written: Any) -> Workloads:
    fields = {"completions": completions, "parallelism": completions, "completionMode": "Indexed", **written}
    return stage_with(**fields)


def status(stage: Workloads) -> JobStatus:
    found: JobStatus = stage.get(Job, "work").status
    return found


def conditions(stage: Workloads) -> dict[str, tuple[str, str]]:
    """Those that hold, with reason and message."""
    return {one.type: (one.reason, one.message) for one in status(stage).conditions if one.status == TRUE}


def exited(one: Pod, **codes: int) -> Pod:
    """The pod with containers that ended so."""
    statuses = [
        ContainerStatus(name=name, state=ContainerState(terminated=ContainerStateTerminated(exit_code=code)))
        for name, code in codes.items()
    ]
    return replace(one, status=replace(one.status, container_statuses=statuses))


def fail(stage: Workloads, name: str, **codes: int) -> None:
    stage.store.update_status(exited(stage.pod(name), **codes), stage.now)
    stage.fail(name)


def by_index(stage: Workloads) -> dict[int | None, str]:
    return {index_of(one): one.metadata.name for one in stage.active()}


def on_codes(action: str, *values: int, operator: str = "In", container: str | None = None) -> dict[str, Any]:
    wanted = {"operator": operator, "values": list(values)}
    return {"action": action, "onExitCodes": wanted if container is None else {**wanted, "containerName": container}}


# What a failure means.


@pytest.mark.parametrize(
    ("rules", "codes", "action", "message"),
    [
        ([on_codes("FailJob", 3, 42)], {"c": 42}, FAIL_JOB, "Container c for pod default/a failed with exit code 42"),
        ([on_codes("FailJob", 3)], {"c": 42}, COUNT, ""),
        ([on_codes("FailJob", 3, operator="NotIn")], {"c": 42}, FAIL_JOB, "Container c for pod default/a failed"),
        ([on_codes("FailJob", 3, operator="NotIn")], {"c": 0}, COUNT, ""),
        ([on_codes("FailJob", 3, container="d")], {"c": 3}, COUNT, ""),
        ([on_codes("FailJob", 3, container="d")], {"c": 1, "d": 3}, FAIL_JOB, "Container d for pod"),
        ([on_codes("Count", 3), on_codes("FailJob", 3)], {"c": 3}, COUNT, ""),
        ([on_codes("Ignore", 3), on_codes("FailJob", 3)], {"c": 3}, IGNORE, ""),
        ([on_codes("Unheard", 3), on_codes("Ignore", 3)], {"c": 3}, IGNORE, ""),
        ([NEVER_MIND], {"c": 3}, COUNT, ""),
    ],
)
def test_the_first_rule_that_matches_counts(rules: list[Any], codes: dict[str, int], action: str, message: str) -> None:
    work = job("work").set(**spec_of(podFailurePolicy={"rules": rules})).obj()
    reaction = reaction_to(work, exited(pod("a").obj(), **codes))
    assert reaction.action == action
    assert reaction.message.startswith(message)
    assert bool(reaction.message) is (action == FAIL_JOB)


def test_exit_codes_of_init_containers_count_too() -> None:
    work = job("work").set(**spec_of(podFailurePolicy={"rules": [on_codes("Ignore", 7)]})).obj()
    failed = exited(pod("a").obj(), init=7)
    moved = replace(failed.status, init_container_statuses=failed.status.container_statuses, container_statuses=[])
    assert reaction_to(work, replace(failed, status=moved)).action == IGNORE


def test_a_job_fails_at_once_by_its_policy() -> None:
    """With other pods still running, which are deleted; those have failed, too."""
    stage = stage_with(completions=3, parallelism=2, podFailurePolicy={"rules": [on_codes("FailJob", 42)]})
    first, second = stage.names()
    stage.run(first, second)
    fail(stage, first, c=42)
    message = f"Container c for pod default/{first} failed with exit code 42 matching FailJob rule at index 0"
    assert conditions(stage) == {"FailureTarget": ("PodFailurePolicy", message)}
    stage.stop(second)
    assert conditions(stage)["Failed"] == ("PodFailurePolicy", message)
    assert (status(stage).failed, status(stage).active, stage.names()) == (2, 0, [])


def test_failures_that_are_ignored_do_not_count_but_delay() -> None:
    """A disrupted pod is replaced, after the usual time, and the limit is not touched."""
    stage = stage_with(backoffLimit=0, podFailurePolicy={"rules": [NEVER_MIND]})
    (name,) = stage.names()
    stage.run(name)
    disruption = Condition(type="DisruptionTarget", status=TRUE)
    disrupted = with_pod_condition(stage.pod(name), disruption, format_time(stage.now))
    stage.store.update_status(disrupted, stage.now)
    stage.fail(name)
    assert (status(stage).failed, conditions(stage), stage.names()) == (0, {}, [])
    assert stage.pod(name).metadata.finalizers == []
    stage.pass_time(10)
    assert len(stage.names()) == 1


def test_with_a_policy_a_pod_that_is_being_deleted_counts_when_it_has_ended() -> None:
    """Before that its exit code is not known."""
    stage = stage_with(podFailurePolicy={"rules": [NEVER_MIND]})
    (name,) = stage.names()
    stage.run(name)
    stage.evict(name)
    assert (status(stage).failed, status(stage).active, status(stage).terminating) == (0, 0, 1)
    stage.pass_time(60)
    assert stage.names() == []
    stage.fail(name)
    assert (status(stage).failed, status(stage).terminating) == (1, 0)
    stage.pass_time(10)
    assert len(stage.names()) == 1


@pytest.mark.parametrize(("policy", "at_once"), [("TerminatingOrFailed", True), ("Failed", False), (None, True)])
def test_replacing_pods_that_are_being_deleted(policy: str | None, at_once: bool) -> None:
    stage = stage_with(podReplacementPolicy=policy)
    (name,) = stage.names()
    stage.run(name)
    stage.evict(name)
    assert status(stage).terminating == 1
    stage.pass_time(10)
    assert (len(stage.names()) == 1) is at_once
    stage.fail(name)
    stage.stop_terminating()
    stage.pass_time(10)
    assert len(stage.names()) == 1
    assert (status(stage).failed, status(stage).terminating) == (1, 0)


def test_an_index_is_not_worked_on_twice_while_its_pod_goes() -> None:
    stage = indexed(2, podReplacementPolicy="Failed", backoffLimitPerIndex=3)
    names = by_index(stage)
    stage.run_all()
    stage.evict(names[0] or "")
    stage.pass_time(60)
    assert by_index(stage) == {1: names[1]}


# Limits by index.


def test_each_index_has_its_own_limit() -> None:
    """An index that failed too often is given up; the others go on, and at the end the Job has failed."""
    stage = indexed(2, backoffLimitPerIndex=1)
    assert [one.metadata.annotations[FAILURE_COUNT] for one in stage.active()] == ["0", "0"]
    first = by_index(stage)[0]
    stage.fail(first)
    assert status(stage).failed_indexes == ""
    assert stage.pod(first).metadata.finalizers == [TRACKING]
    assert status(stage).failed == 0
    stage.pass_time(9)
    assert [*by_index(stage)] == [1]
    stage.pass_time(1)
    second = by_index(stage)[0]
    assert stage.pod(second).metadata.annotations[FAILURE_COUNT] == "1"
    assert stage.pod(first).metadata.finalizers == []
    assert status(stage).failed == 1
    stage.fail(second)
    assert status(stage).failed_indexes == "0"
    assert conditions(stage) == {}
    stage.pass_time(600)
    assert [*by_index(stage)] == [1]
    stage.end(by_index(stage)[1])
    why = ("FailedIndexes", "Job has failed indexes")
    assert conditions(stage) == {"FailureTarget": why, "Failed": why}
    assert (status(stage).completed_indexes, status(stage).succeeded, status(stage).failed) == ("1", 1, 2)


def test_an_index_waits_longer_after_each_failure() -> None:
    stage = indexed(1, backoffLimitPerIndex=5)
    waits = []
    for _ in range(3):
        stage.fail(*stage.names())
        before = stage.seconds
        while not stage.names():
            stage.pass_time(1)
        waits.append(stage.seconds - before)
    assert waits == [10, 20, 40]


def test_too_many_failed_indexes_end_the_job() -> None:
    stage = indexed(4, backoffLimitPerIndex=0, maxFailedIndexes=1)
    names = by_index(stage)
    stage.run_all()
    stage.fail(names[0])
    assert (status(stage).failed_indexes, conditions(stage)) == ("0", {})
    stage.fail(names[2])
    why = ("MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes")
    assert (status(stage).failed_indexes, conditions(stage)) == ("0,2", {"FailureTarget": why})
    stage.stop_terminating()
    assert conditions(stage)["Failed"] == why
    assert status(stage).failed == 4


def test_an_index_can_fail_by_the_policy() -> None:
    """At once, whatever its limit; a failure that is ignored is written down apart."""
    rules = [on_codes("FailIndex", 42), on_codes("Ignore", 5)]
    stage = indexed(3, backoffLimitPerIndex=1, podFailurePolicy={"rules": rules})
    names = by_index(stage)
    stage.run_all()
    fail(stage, names[0], c=42)
    fail(stage, names[1], c=5)
    assert status(stage).failed_indexes == "0"
    stage.pass_time(10)
    assert {*by_index(stage)} == {1, 2}
    again = stage.pod(by_index(stage)[1]).metadata.annotations
    assert (again[FAILURE_COUNT], again[IGNORED_FAILURE_COUNT]) == ("0", "1")
    assert status(stage).failed == 1


@pytest.mark.parametrize(
    ("written", "number"), [("3", 3), ("x", 0), ("-1", 0), ("2147483647", 2147483647), ("2147483648", 0), ("9" * 99, 0)]
)
def test_failures_that_are_no_number_count_for_nothing(written: str, number: int) -> None:
    assert failures_before(pod("a").annotations({FAILURE_COUNT: written}).obj()) == IndexFailures(number, 0)


def test_when_a_pod_was_over() -> None:
    made = pod("a").obj()
    made.metadata.creation_timestamp = "2026-01-01T00:00:00Z"
    assert ended_at(made) == parse_time("2026-01-01T00:00:00Z")
    made.metadata.deletion_timestamp, made.metadata.deletion_grace_period_seconds = "2026-01-01T00:01:30Z", 30
    assert ended_at(made) == parse_time("2026-01-01T00:01:00Z")
    ready = Condition(type="Ready", status="False", last_transition_time="2026-01-01T00:02:00Z")
    made.status.conditions = [ready]
    assert format_time(ended_at(made)) == "2026-01-01T00:02:00Z"


# Success.


@pytest.mark.parametrize(
    ("rules", "ended", "met"),
    [
        ([{"succeededIndexes": "0,2"}], [0], None),
        ([{"succeededIndexes": "0,2"}], [0, 2], 0),
        ([{"succeededCount": 2}], [1, 3], 0),
        ([{"succeededIndexes": "1-3", "succeededCount": 1}], [0], None),
        ([{"succeededIndexes": "1-3", "succeededCount": 1}], [2], 0),
        ([{"succeededIndexes": "0"}, {"succeededCount": 1}], [3], 1),
        ([{"succeededIndexes": "7-9"}], [0, 1], None),
    ],
)
def test_a_job_succeeds_by_its_policy(rules: list[Any], ended: list[int], met: int | None) -> None:
    """Pods that are left are deleted, and have not failed."""
    stage = indexed(4, successPolicy={"rules": rules})
    names = by_index(stage)
    stage.run_all()
    stage.end(*(names[index] for index in ended))
    if met is None:
        assert conditions(stage) == {}
        return
    why = ("SuccessPolicy", f"Matched rules at index {met}")
    assert conditions(stage) == {"SuccessCriteriaMet": why}
    assert stage.names() == []
    stage.stop_terminating()
    assert conditions(stage) == {"SuccessCriteriaMet": why, "Complete": why}
    assert (status(stage).succeeded, status(stage).failed) == (len(ended), 0)


def test_failure_comes_before_success() -> None:
    rules = [on_codes("FailJob", 42)]
    stage = indexed(2, successPolicy={"rules": [{"succeededCount": 1}]}, podFailurePolicy={"rules": rules})
    names = by_index(stage)
    stage.store.update_status(exited(stage.pod(names[0]), c=42), stage.now)
    stage._set_phase(names[0], "Failed", "False")
    stage.end(names[1])
    assert conditions(stage)["FailureTarget"][0] == "PodFailurePolicy"


# Indexes.


def test_fewer_indexes_let_the_last_ones_go() -> None:
    """Those beyond the last are deleted first, whatever else their pods have going for them."""
    stage = indexed(4)
    names = by_index(stage)
    stage.run(names[2], names[3])
    stage.change(Job, "work", completions=2, parallelism=2)
    assert by_index(stage) == {0: names[0], 1: names[1]}
    assert status(stage).failed == 0


def test_an_index_has_one_pod() -> None:
    """The pod that came further stays."""
    stage = indexed(2)
    names = by_index(stage)
    stage.run(names[0])
    known = stage.pod(names[0])
    twin = replace(known, metadata=replace(known.metadata, name="twin", uid="", resource_version=""))
    stage.create(replace(twin, spec=replace(twin.spec, node_name="")))
    assert not stage.has_pod("twin")
    assert by_index(stage) == names
    assert status(stage).failed == 0
