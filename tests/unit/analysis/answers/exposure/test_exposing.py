"""Thresholds of single pods: who goes at which request, and what stands in the way."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.exposure.answer import PodExposure
from bayplan.analysis.answers.exposure.exposing import PRIORITY_MAX
from bayplan.analysis.cluster import Cluster
from bayplan.testing.builders import budget, node, pod, priority_class
from bayplan.testing.building import Builder

NODE = node("n").capacity(cpu="4", memory="8Gi", pods=10)


def exposure_of(name: str, *things: Builder[Any], foreign_victims: str | None = None) -> PodExposure:
    cluster = Cluster([thing.obj() for thing in things])
    return cluster.exposure(name, foreign_victims=foreign_victims).pods[0]


def amounts(found: PodExposure) -> dict[str, int]:
    return {threshold.resource: threshold.amount for threshold in found.lowest.thresholds}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([], 3001, id="what is free must be exceeded"),
        pytest.param([pod("b").cpu("1").priority(5).running("n")], 2001, id="a more important pod takes up room"),
        pytest.param([pod("b").cpu("1").priority(-5).running("n")], 3001, id="a less important one goes before it"),
        pytest.param([pod("b").cpu("1").running("n", since=50)], 2001, id="an older pod of the same priority stays"),
        pytest.param([pod("b").cpu("1").running("n", since=150)], 3001, id="a newer one goes before it"),
        pytest.param([pod("b").cpu("1").priority(9).nominated("n")], 2001, id="room is kept for a nominated pod"),
    ],
)
def test_the_smallest_request_that_evicts(others: list[Builder[Any]], expected: int) -> None:
    found = exposure_of("a", NODE, pod("a").cpu("1").running("n", since=100), *others)
    assert (found.lowest.priority, amounts(found)) == (1, {"cpu": expected})


def test_where_more_is_asked_for_than_there_is_a_larger_request_may_spare_the_pod() -> None:
    """Beside `large` there is room for `a` or for 1500m, but not for both; without `large` for both of them."""
    older = [pod("large").cpu("3").running("n", since=10), pod("small").cpu("1500m").running("n", since=20)]
    found = exposure_of("a", NODE, *older, pod("a").cpu("500m").running("n", since=30))
    assert amounts(found) == {"cpu": 501}
    assert found.lowest.thresholds[0].victims == ("default/small", "default/a")


def test_each_resource_that_the_pod_takes_has_a_threshold() -> None:
    found = exposure_of("a", NODE, pod("a").cpu("1").memory("1Gi").running("n"))
    assert amounts(found) == {"cpu": 3001, "memory": (7 << 30) + 1}
    assert [threshold.resource for threshold in found.lowest.thresholds] == ["cpu", "memory"]  # the smaller share first


def test_one_pod_more_is_enough_where_the_node_has_as_many_as_it_may() -> None:
    full = node("n").capacity(pods=2)
    found = exposure_of("a", full, pod("a").running("n", since=9), pod("b").running("n", since=1))
    assert amounts(found) == {"pods": 1}
    spared = exposure_of("b", full, pod("a").running("n", since=9), pod("b").running("n", since=1))
    assert spared.reason == "evicting it frees nothing that a preemptor could need"


def test_a_budget_that_is_used_up_sends_others_first() -> None:
    guard = budget("guard").selects(app="a").allows(0)
    found = exposure_of(
        "a", NODE, guard, pod("a").cpu("1").labels(app="a").running("n"), pod("b").cpu("1").running("n")
    )
    assert (found.protected, found.spared_after, amounts(found)) == (True, 1, {"cpu": 3001})
    assert [(each.name, each.disruptions_allowed) for each in found.budgets] == [("default/guard", 0)]


def test_a_budget_with_disruptions_left_changes_nothing() -> None:
    guard = budget("guard").selects(app="a").allows(1)
    found = exposure_of("a", NODE, guard, pod("a").cpu("1").labels(app="a").running("n"))
    assert (found.protected, [each.disruptions_allowed for each in found.budgets]) == (False, [1])


def test_budgets_of_others_are_not_named() -> None:
    others = (budget("other").selects(app="b").allows(1), budget("guard", "elsewhere").selects(app="a").allows(1))
    found = exposure_of("a", NODE, *others, pod("a").cpu("1").labels(app="a").running("n"))
    assert found.budgets == ()


def test_a_higher_class_may_need_more_if_it_uses_the_budget_up_on_others() -> None:
    """The budget is spent on the most important pods first: with them in play, the pod itself is protected."""
    guard = budget("guard").selects(app="a").allows(1)
    important = pod("b").cpu("1").labels(app="a").priority(50).running("n")
    third = pod("c").cpu("1").running("n", since=1)
    found = exposure_of(
        "a",
        NODE,
        guard,
        priority_class("mid", 10),
        priority_class("top", 100),
        important,
        third,
        pod("a").cpu("1").labels(app="a").running("n", since=2),
    )
    by_class = {danger.priority_class: danger.thresholds[0].amount for danger in found.classes}
    assert (by_class["mid"], by_class["top"]) == (1001, 3001)


def test_classes_that_never_preempt_or_are_lower_are_left_out() -> None:
    classes = (priority_class("low", 5), priority_class("gentle", 50, policy="Never"), priority_class("high", 60))
    found = exposure_of("a", NODE, *classes, pod("a").cpu("1").priority(10).running("n"))
    assert [danger.priority_class for danger in found.classes] == [
        "high",
        "system-cluster-critical",
        "system-node-critical",
    ]


def test_a_preemptor_that_may_go_anywhere_may_go_elsewhere() -> None:
    things = (NODE, priority_class("high", 60), pod("a").cpu("1").running("n"))
    alone = exposure_of("a", *things).classes[0].unpinned
    assert alone is not None
    assert (alone.node, alone.victims) == ("n", ("default/a",))
    beside = exposure_of("a", *things, node("m")).classes[0].unpinned
    assert beside is not None
    assert (beside.node, beside.victims) == ("m", ())


def test_a_cordoned_and_tainted_node_protects_from_nothing_that_must_run_there() -> None:
    closed = node("n").taint("gpu").unschedulable()
    assert amounts(exposure_of("a", closed, pod("a").cpu("1").running("n"))) == {"cpu": 3001}


@pytest.mark.parametrize(
    ("subject", "setting", "reason"),
    [
        (pod("a").cpu("1").running("gone"), None, "its node gone is not in the input"),
        (pod("a").cpu("1").priority(PRIORITY_MAX).running("n"), None, "no priority is higher than its own"),
        (
            pod("a").cpu("1").scheduler("other").running("n"),
            "never",
            "its scheduler is 'other', whose pods are not evicted for others",
        ),
        (pod("a").running("n"), None, "evicting it frees nothing that a preemptor could need"),
    ],
)
def test_what_nothing_can_evict(subject: Builder[Any], setting: str | None, reason: str) -> None:
    found = exposure_of("a", NODE, subject, foreign_victims=setting)
    assert (found.reason, found.lowest.thresholds) == (reason, ())


@pytest.mark.parametrize(
    ("profiles", "reason"),
    [
        (("default-scheduler", "gentle"), ""),
        (("gentle", "default-scheduler"), ""),
        (("gentle",), "no profile of this configuration preempts"),
    ],
)
def test_some_profile_must_preempt(profiles: tuple[str, ...], reason: str) -> None:
    gentle = {"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name, **(gentle if name == "gentle" else {})} for name in profiles],
    }
    cluster = Cluster([NODE.obj(), pod("a").cpu("1").running("n").obj()])
    assert cluster.exposure("a", config).pods[0].reason == reason


def test_where_more_than_room_decides_the_threshold_is_found_by_trying() -> None:
    """A pod that wants no other pod near it goes in any case, and leaves its room to the others."""
    loner = pod("loner").cpu("1").priority(-1).running("n").pod_anti_affinity("kubernetes.io/hostname", {})
    found = exposure_of("a", NODE, loner, pod("a").cpu("1").running("n"))
    assert amounts(found) == {"cpu": 3001}
    assert found.lowest.thresholds[0].victims == ("default/a", "default/loner")


@pytest.mark.parametrize(
    ("priority", "expected"),
    [
        pytest.param(0, ("8080/TCP",), id="whoever outranks it and wants its port evicts it"),
        pytest.param(2_000_001_000, (), id="nobody outranks it"),
    ],
)
def test_a_host_port_is_reason_enough(priority: int, expected: tuple[str, ...]) -> None:
    found = exposure_of("a", NODE, pod("a").port(8080).port(0).priority(priority).running("n"))
    assert (found.host_ports, found.lowest.thresholds) == (expected, ())
    assert bool(found.reason) is not bool(expected)


def test_a_wanted_host_port_evicts_its_holder_and_another_one_does_not() -> None:
    holder = pod("a").port(8080).running("n")
    for wanted, victims in ((8080, ("default/a",)), (8081, ())):
        new = pod("x").priority(1).port(wanted)
        (placed,) = Cluster([thing.obj() for thing in (NODE, holder, new)]).place(["default/x"]).decisions
        assert placed.victims == victims
