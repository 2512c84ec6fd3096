"""How long placements of groups and preemptions took, by what came of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.support.metered_scheduler import TICK, Watched

from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod, pod_group

GROUPS = "GenericWorkload=true"
TOPOLOGY = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
OURS = "default-scheduler"
N = node("n").capacity(cpu="4", memory="8Gi", pods=10).labels(rack="r1").obj()
SMALL = node("m").capacity(cpu="1", memory="8Gi", pods=10).labels(rack="r2").obj()
EVALUATION = "scheduler_preemption_evaluation_duration_seconds"
EXECUTION = "scheduler_preemption_execution_duration_seconds"
PLACEMENT = "scheduler_placement_evaluation_duration_seconds"


def gang(*cpus: str, priority: int = 0) -> list[Object]:
    members = [pod(f"p{n}").cpu(cpu).priority(priority).in_group("g").obj() for n, cpu in enumerate(cpus)]
    return [pod_group("g").gang(len(cpus)).priority(priority).obj(), *members]


def filler(cpu: str, priority: int = -1) -> Object:
    return pod("filler").cpu(cpu).priority(priority).node("n").obj()


@pytest.mark.parametrize(
    ("objects", "evaluations"),
    [
        (gang("1", "1"), {}),
        ([filler("4"), *gang("1", "1")], {("podgroup", "Success"): 1}),
        (gang("9", "9"), {("podgroup", "UnschedulableAndUnresolvable"): 1}),
        ([filler("1"), *gang("9", "9")], {("podgroup", "Unschedulable"): 1}),
        ([filler("4"), pod("alone").cpu("1").obj()], {("pod", "Success"): 1}),
        ([filler("4", 0), pod("alone").cpu("1").obj()], {("pod", "Unschedulable"): 1}),
    ],
    ids=["nothing in the way", "a group", "nobody may go", "in vain", "a pod", "a pod in vain"],
)
def test_preemptions_are_timed_by_what_came_of_the_search(
    objects: list[Object], evaluations: Mapping[tuple[str, ...], float]
) -> None:
    watched = Watched(N, *objects, gates=GROUPS)
    watched.decide()
    assert watched.samples(f"{EVALUATION}_count") == evaluations
    took = {labels: n for labels, n in watched.samples(f"{EVALUATION}_sum").items() if n}
    assert took.keys() == evaluations.keys()


def test_a_group_that_may_not_preempt_is_not_timed() -> None:
    members = [pod("p").cpu("1").never_preempts().in_group("g").obj()]
    watched = Watched(N, filler("4"), pod_group("g").gang(1).obj(), *members, gates=GROUPS)
    watched.decide()
    assert not watched.samples(f"{EVALUATION}_count")


@pytest.mark.parametrize(
    ("preemptor", "labels"),
    [(gang("4"), ("podgroup", "success")), ([pod("alone").cpu("4").obj()], ("pod", "success"))],
    ids=["a group", "a pod"],
)
def test_a_preemption_lasts_until_the_last_victim_is_answered_for(
    preemptor: list[Object], labels: tuple[str, ...]
) -> None:
    other = pod("other").cpu("2").priority(-1).node("n").obj()
    watched = Watched(N, filler("2"), other, *preemptor, gates=GROUPS)
    decision = watched.decide()
    assert decision is not None
    watched.now += 3_000_000
    assert not watched.samples(f"{EXECUTION}_count")
    for action in decision.actions:
        watched.wrote(action, took_ns=0)
    assert watched.samples(f"{EXECUTION}_count") == {labels: 1}
    assert watched.samples(f"{EXECUTION}_sum") == {labels: 0.003}
    assert watched.samples("scheduler_preemption_goroutines_execution_total") == {("success",): 1}


def test_an_eviction_that_fails_makes_it_an_error() -> None:
    watched = Watched(N, filler("4"), *gang("4"), gates=GROUPS)
    decision = watched.decide()
    assert decision is not None
    for action in decision.actions:
        watched.wrote(action, error="no")
    assert watched.samples(f"{EXECUTION}_count") == {("podgroup", "error"): 1}


def placed(*objects: Object) -> Watched:
    watched = Watched(N, SMALL, *objects, gates=TOPOLOGY)
    watched.decide()
    return watched


def test_each_placement_is_timed_by_what_came_of_it() -> None:
    group = pod_group("g").gang(2).within("rack").obj()
    members = [pod(f"p{n}").cpu("1").in_group("g").obj() for n in range(2)]
    watched = placed(group, *members)
    counts = {("feasible", OURS): 1.0, ("infeasible", OURS): 1.0}
    assert watched.samples(f"{PLACEMENT}_count") == counts
    assert watched.samples("scheduler_placement_evaluations_total") == counts
    assert sum(watched.samples(f"{PLACEMENT}_sum").values()) >= TICK / 1e9 / 2


def test_placements_tried_without_the_victims_count_as_well() -> None:
    group = pod_group("g").gang(2).within("rack").obj()
    members = [pod(f"p{n}").cpu("2").in_group("g").obj() for n in range(2)]
    watched = placed(filler("4"), group, *members)
    assert watched.samples("scheduler_generated_placements_total") == {(OURS,): 4}
    assert watched.samples(f"{PLACEMENT}_count") == {("infeasible", OURS): 3, ("feasible", OURS): 1}


def test_nothing_is_said_of_placements_where_nodes_are_not_divided() -> None:
    watched = Watched(N, *gang("1", "1"), gates=GROUPS)
    watched.decide()
    assert PLACEMENT.encode() not in watched.metrics.render()
