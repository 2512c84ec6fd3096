"""Attempts on groups in metrics: results, victims, placements, and who waits where."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.support.metered_scheduler import Watched

from bayplan.model.kinds import Object
from bayplan.testing.builders import budget, node, pod, pod_group

N = node("n").capacity(cpu="4", memory="8Gi", pods=10).labels(rack="r1").obj()
OURS = "default-scheduler"


def gang(*cpus: str, min_count: int = 0, priority: int = 0) -> list[Object]:
    members = [pod(f"p{n}").cpu(cpu).priority(priority).in_group("g").obj() for n, cpu in enumerate(cpus)]
    return [pod_group("g").gang(min_count or len(cpus)).priority(priority).obj(), *members]


def filler(cpu: str) -> Object:
    return pod("filler").cpu(cpu).priority(-1).node("n").obj()


@pytest.mark.parametrize(
    ("objects", "attempts", "preemptions"),
    [
        (gang("1", "1"), {("scheduled", OURS): 1}, {}),
        (gang("9", "9"), {("unschedulable", OURS): 1}, {("UnschedulableAndUnresolvable",): 1}),
        ([filler("4"), *gang("1", "1")], {("waiting_on_preemption", OURS): 1}, {("Success",): 1}),
        ([*gang("1"), pod("x").cpu("1").priority(5).in_group("g").obj()], {("error", OURS): 1}, {}),
    ],
    ids=["fits", "too big", "preempts", "priorities do not agree"],
)
def test_an_attempt_is_counted_by_its_result(
    objects: list[Object], attempts: Mapping[tuple[str, ...], float], preemptions: Mapping[tuple[str, ...], float]
) -> None:
    watched = Watched(N, *objects, gates="GenericWorkload=true")
    watched.decide()
    assert watched.samples("scheduler_podgroup_schedule_attempts_total") == attempts
    assert watched.samples("scheduler_workload_preemption_attempts_total") == preemptions


def test_each_member_counts_as_an_attempt_of_its_own() -> None:
    watched = Watched(N, *gang("1", "9", min_count=1), gates="GenericWorkload=true")
    decision = watched.decide()
    assert decision is not None
    for action in decision.actions:
        watched.wrote(action)
    assert watched.samples("scheduler_schedule_attempts_total") == {
        ("scheduled", OURS): 1,
        ("unschedulable", OURS): 1,
    }


def test_placements_are_counted_by_what_came_of_them() -> None:
    small = node("m").capacity(cpu="1", memory="8Gi", pods=10).labels(rack="r2").obj()
    group = pod_group("g").gang(2).within("rack").obj()
    members = [pod(f"p{n}").cpu("1").in_group("g").obj() for n in range(2)]
    watched = Watched(N, small, group, *members, gates="GenericWorkload=true,TopologyAwareWorkloadScheduling=true")
    watched.decide()
    assert watched.samples("scheduler_generated_placements_total") == {(OURS,): 2}
    assert watched.samples("scheduler_placement_evaluations_total") == {("feasible", OURS): 1, ("infeasible", OURS): 1}


def test_a_preemption_counts_units_of_groups_and_broken_budgets() -> None:
    """A group that goes as a whole is one unit; a pod without a group is none."""
    low = pod_group("low").gang(2).priority(-1).disrupted_as_a_whole().obj()
    old = [pod(f"old{n}").cpu("1").priority(-1).labels(app="old").in_group("low").node("n").obj() for n in range(2)]
    guard = budget("guard").selects(app="old").allows(0).obj()
    watched = Watched(N, low, *old, guard, filler("2"), *gang("2", "2"), gates="GenericWorkload=true")
    watched.decide()
    assert watched.samples("scheduler_workload_preemption_victims_sum") == {(): 3}
    assert watched.samples("scheduler_preemption_workload_disruptions_sum") == {("podgroup",): 1}
    assert watched.samples("scheduler_preemption_pdb_violations_total") == {("podgroup",): 2}


def test_pods_and_groups_that_wait_are_counted_by_place() -> None:
    alone = [pod("lost").in_group("missing").obj(), pod("single").obj()]
    watched = Watched(N, *gang("1", min_count=2), *alone, gates="GenericWorkload=true")
    counted = {labels: n for labels, n in watched.samples("scheduler_queued_entities").items() if n}
    assert counted == {("active", "pod"): 1, ("gated", "podgroup"): 1}
    assert watched.samples("scheduler_pending_pods")["incomplete",] == 1


def test_nothing_is_said_about_groups_where_they_are_off() -> None:
    assert b"podgroup_" not in Watched(N).metrics.render()
