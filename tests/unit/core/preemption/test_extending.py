"""What extenders make of the candidates for preemption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.caches import cache_of
from tests.support.extenders import Scripted, as_found
from tests.support.preemption_attempts import default_profile

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.cycle import attempt
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice, NeedsPreemption, Unschedulable
from bayplan.core.framework.extender import ChosenVictims, ExtenderVictim, Victims
from bayplan.testing.builders import budget, node, pod

URL = "http://extender/"
INSUFFICIENT = "0/2 nodes are available: 2 Insufficient cpu."


def crowded() -> Cache:
    """On both nodes a pod has to go; on b it is less important."""
    return cache_of(
        *(node(name).capacity(cpu=4).obj() for name in "ab"),
        pod("on-a").cpu(3).priority(5).labels(app="x").running("a", 100).obj(),
        pod("little-a").cpu(1).priority(9).running("a", 200).obj(),
        pod("on-b").cpu(3).priority(1).running("b", 100).obj(),
        budget("x").selects(app="x").allows(0).obj(),
    )


def chosen(*names: str, violations: int = 0) -> ChosenVictims:
    return ChosenVictims(tuple(f"pod-default-{name}" for name in names), violations)


def decided(*extenders: Scripted, cache: Cache | None = None, asking: Any = None) -> tuple[Choice, Cache]:
    cache = cache or crowded()
    decider = Decider({"default-scheduler": replace(default_profile(), extenders=extenders)})
    info = cache.info((asking or pod("p").cpu(3).priority(10)).obj())
    choice = decider.decide(info, cache.view())
    if not isinstance(choice, NeedsPreemption | Unschedulable):
        raise AssertionError(choice)
    _ = choice.diagnosis
    return choice, cache


def victims(*extenders: Scripted) -> dict[str, list[str]]:
    choice, cache = decided(*extenders)
    assert isinstance(choice, NeedsPreemption)
    view = cache.view()
    rows = choice.victims_on(choice.row).tolist()
    return {view.nodes.names[choice.row]: [view.pods.keys[row].removeprefix("default/") for row in rows]}


def refused(*extenders: Scripted) -> tuple[str, bool]:
    choice, _ = decided(*extenders)
    assert isinstance(choice, Unschedulable)
    return choice.diagnosis.message, choice.keeps_nomination


def test_without_extenders_the_less_important_pod_goes() -> None:
    assert victims() == {"b": ["on-b"]}
    assert victims(Scripted(None, preempting=as_found)) == {"b": ["on-b"]}


def test_an_extender_sees_every_candidate_with_victims_and_broken_budgets() -> None:
    seen: dict[str, Victims] = {}

    def note(_: Any, given: Mapping[str, Victims]) -> dict[str, ChosenVictims]:
        seen.update(given)
        return {"a": chosen("on-a")}

    assert victims(Scripted(preempting=note)) == {"a": ["on-a"]}
    assert seen == {
        "a": Victims((ExtenderVictim("default/on-a", "pod-default-on-a"),), 1),
        "b": Victims((ExtenderVictim("default/on-b", "pod-default-on-b"),), 0),
    }


def test_other_victims_may_be_named_and_are_taken_in_that_order() -> None:
    answer = {"a": chosen("on-a", "little-a")}
    assert victims(Scripted(preempting=answer)) == {"a": ["on-a", "little-a"]}


@pytest.mark.parametrize(
    ("answer", "node_name"),
    [
        ({"a": chosen("on-a"), "b": chosen("on-b", violations=1)}, "a"),
        ({"a": chosen("on-a", violations=1), "b": chosen("on-b", violations=1)}, "b"),
    ],
)
def test_broken_budgets_are_as_many_as_the_extender_says(answer: dict[str, ChosenVictims], node_name: str) -> None:
    assert list(victims(Scripted(preempting=answer))) == [node_name]


def test_the_start_of_the_highest_priority_counts_wherever_it_stands() -> None:
    """Both lists begin with a pod of the same priority, so that the start of the important ones decides."""
    cache = cache_of(
        *(node(name).capacity(cpu=4).obj() for name in "ab"),
        *(pod(f"low-{name}").cpu(2).priority(1).running(name, 100).obj() for name in "ab"),
        pod("high-a").cpu(2).priority(5).running("a", 200).obj(),
        pod("high-b").cpu(2).priority(5).running("b", 300).obj(),
    )
    answer = {name: chosen(f"low-{name}", f"high-{name}") for name in "ab"}
    asking = pod("p").cpu(4).priority(10)
    choice, _ = decided(Scripted(preempting=answer), cache=cache, asking=asking)
    assert isinstance(choice, NeedsPreemption)
    assert cache.view().nodes.names[choice.row] == "b"


def test_each_extender_sees_what_the_one_before_left_until_nothing_is_left() -> None:
    first, second, third = (
        Scripted(preempting={"a": chosen("on-a")}),
        Scripted(preempting={}),
        Scripted(preempting=as_found),
    )
    message, keeps_nomination = refused(first, second, third)
    assert [one.asked for one in (first, second, third)] == [[("preempt", "p", "a", "b")], [("preempt", "p", "a")], []]
    tail = "no new claims to deallocate, preemption: no candidate node for preemption"
    assert (message, keeps_nomination) == (f"{INSUFFICIENT} {tail}", True)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("failed preempt with extender at URL x, code 500", "failed preempt with extender at URL x, code 500"),
        ({"zzz": chosen("on-a")}, 'nodeinfo not found for node name "zzz"'),
        (
            {"a": chosen("on-b")},
            f"extender: {URL} claims to preempt pod (UID: &{{pod-default-on-b}}) on node: a, "
            "but the pod is not found on that node",
        ),
        ({"a": chosen(), "b": chosen("on-b")}, 'expected at least one victim pod on node "a"'),
    ],
)
def test_an_answer_that_is_none_ends_preemption_unless_the_extender_is_ignorable(answer: Any, error: str) -> None:
    assert refused(Scripted(preempting=answer)) == (f"{INSUFFICIENT} preemption: {error}", True)
    assert victims(Scripted(preempting=answer, ignorable=True)) == {"b": ["on-b"]}


def test_no_extender_can_have_another_schedulers_pod_evicted_where_they_are_spared() -> None:
    cache = Cache(own_schedulers=frozenset({"default-scheduler"}), gates=DEFAULT_GATES)
    for thing in (
        node("a").capacity(cpu=4),
        pod("ours").cpu(2).running("a"),
        pod("theirs").cpu(2).scheduler("other").running("a"),
    ):
        cache.add(thing.obj())
    answer = {"a": chosen("ours", "theirs")}
    choice, _ = decided(Scripted(preempting=answer), cache=cache, asking=pod("p").cpu(2).priority(10))
    assert isinstance(choice, Unschedulable)
    assert choice.diagnosis.message.endswith(
        "(UID: &{pod-default-theirs}) on node: a, but the pod is another scheduler's"
    )


def test_a_node_without_victims_is_dropped_where_the_extender_is_ignorable() -> None:
    answer = {"a": chosen("on-a"), "b": chosen()}
    assert victims(Scripted(preempting=answer, ignorable=True)) == {"a": ["on-a"]}


def test_where_there_is_no_candidate_no_extender_is_asked() -> None:
    extender = Scripted(preempting="broken")
    choice, _ = decided(extender, asking=pod("p").cpu(3).priority(0))
    assert isinstance(choice, Unschedulable)
    assert (extender.asked, choice.keeps_nomination) == ([], False)


def test_the_record_shows_the_candidates_that_are_left() -> None:
    cache = crowded()
    profile = replace(default_profile(), extenders=(Scripted(preempting={"a": chosen("little-a", "on-a")}),))
    found = attempt(profile, cache.info(pod("p").cpu(3).priority(10).obj()), cache.view())
    assert found.post_filter is not None
    assert found.post_filter.found is not None
    assert [cache.view().nodes.names[row] for row in found.post_filter.found.tied_rows] == ["a"]
