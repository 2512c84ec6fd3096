"""What extenders make of the nodes that plugins leave, and of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.caches import cache_of
from tests.support.extenders import Scripted, as_given
from tests.support.preemption_attempts import default_profile

from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import Attempt, attempt
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits, Unschedulable
from bayplan.core.framework.extender import EXTENDER, FilterAnswer, ScoresToCome
from bayplan.core.framework.verdict import CycleError
from bayplan.testing.builders import node, pod

NO = "extender says no"
UNKNOWN = 'extender "http://extender/" claims a filtered node "zzz" which is not found in the input node list'
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


def three_nodes() -> Cache:
    """a and b have room for the pods here, c is full."""
    nodes = (node(name).capacity(cpu=4, memory="8Gi").obj() for name in "abc")
    return cache_of(*nodes, pod("other").cpu(3).running("c").obj())


def tried(*extenders: Scripted, cache: Cache | None = None, asking: Any = None) -> Attempt:
    cache = cache or three_nodes()
    profile = replace(default_profile(), extenders=extenders)
    return attempt(profile, cache.info((asking or pod("p").cpu(2)).obj()), cache.view())


def feasible(found: Attempt, cache: Cache | None = None) -> list[str]:
    assert found.filtered is not None
    return [(cache or three_nodes()).view().nodes.names[row] for row in found.filtered.feasible_rows]


def totals(found: Attempt) -> list[int]:
    assert found.scored is not None
    assert found.scored.totals is not None
    return list(found.scored.totals.tolist())


# ---------------------------------------------------------------------- filtering


def test_an_extender_sees_the_nodes_that_plugins_leave_and_keeps_some() -> None:
    extender = Scripted(FilterAnswer(("b",), failed={"a": NO}))
    found = tried(extender)
    assert extender.asked == [("filter", "p", "a", "b")]
    assert feasible(found) == ["b"]
    assert found.message == ""


def test_each_extender_sees_what_the_one_before_left_until_nothing_is_left() -> None:
    first, second, third = Scripted(FilterAnswer(("b",))), Scripted(FilterAnswer(())), Scripted(as_given)
    tried(first, second, third)
    assert (first.asked, second.asked, third.asked) == ([("filter", "p", "a", "b")], [("filter", "p", "b")], [])


@pytest.mark.parametrize(
    ("answer", "histogram", "preemption"),
    [
        (FilterAnswer(failed={"a": NO, "b": NO}), f"1 Insufficient cpu, 2 {NO}.", f"3 {NO_VICTIMS}."),
        (
            FilterAnswer(failed={"a": NO}, unresolvable={"b": "never"}),
            f"1 Insufficient cpu, 1 {NO}, 1 never.",
            f"1 {NOT_HELPFUL}, 2 {NO_VICTIMS}.",
        ),
        (
            FilterAnswer(failed={"a": NO, "b": NO}, unresolvable={"a": "never", "b": "never"}),
            "1 Insufficient cpu, 2 never.",
            f"1 {NO_VICTIMS}, 2 {NOT_HELPFUL}.",
        ),
        # Without a word: as if nobody had looked at them.
        (FilterAnswer(), "1 Insufficient cpu.", f"1 {NO_VICTIMS}, 2 {NOT_HELPFUL}."),
        # It may speak of nodes that it was not asked about, and of some that nobody knows.
        (FilterAnswer(unresolvable={"c": "never", "zzz": NO}), "1 never.", f"3 {NOT_HELPFUL}."),
    ],
    ids=["failed", "some unresolvable", "unresolvable wins", "dropped", "others"],
)
def test_why_nothing_is_left(answer: FilterAnswer, histogram: str, preemption: str) -> None:
    found = tried(Scripted(answer))
    tail = f"no new claims to deallocate, preemption: 0/3 nodes are available: {preemption}"
    assert found.message == f"0/3 nodes are available: {histogram} {tail}"
    assert found.filtered is not None
    rejectors = found.filtered.rejectors(three_nodes().view())
    assert rejectors == (EXTENDER, "NodeResourcesFit")


def test_the_histogram_is_left_out_where_there_is_nothing_to_count() -> None:
    found = tried(Scripted(FilterAnswer()), asking=pod("p"))
    assert found.message.startswith("0/3 nodes are available: no new claims to deallocate, preemption: ")


def test_an_extender_that_keeps_everything_is_no_rejector() -> None:
    cache = three_nodes()
    found = tried(Scripted(as_given), cache=cache)
    assert found.filtered is not None
    assert found.filtered.rejectors(cache.view()) == ("NodeResourcesFit",)


@pytest.mark.parametrize(("filtering", "text"), [("no thanks", "no thanks"), (FilterAnswer(("a", "zzz")), UNKNOWN)])
def test_an_extender_without_an_answer_ends_the_attempt_unless_it_is_ignorable(filtering: Any, text: str) -> None:
    found = tried(Scripted(filtering))
    assert found.error is not None
    assert (found.error.plugin, found.message, found.filtered) == ("", text, None)
    later = Scripted(FilterAnswer(("a",)))
    ignoring = tried(Scripted(filtering, ignorable=True), later)
    assert later.asked == [("filter", "p", "a", "b")], "the nodes are those from before"
    assert (ignoring.error, feasible(ignoring)) == (None, ["a"])


def test_extenders_that_are_not_interested_are_not_asked() -> None:
    extender = Scripted("broken", {"b": 10}, interest=lambda info: info.name == "mine")
    assert feasible(tried(extender)) == ["a", "b"]
    assert extender.asked == []
    assert tried(extender, asking=pod("mine").cpu(2)).error is not None


def test_where_plugins_leave_nothing_no_extender_is_asked() -> None:
    extender = Scripted("broken")
    assert "3 Insufficient cpu" in tried(extender, asking=pod("p").cpu(9)).message
    assert extender.asked == []


# ---------------------------------------------------------------------- scoring


def test_scores_are_scaled_weighted_and_added() -> None:
    plain = totals(tried())
    extender = Scripted(None, {"a": 1, "b": 10, "c": 5, "zzz": 7}, weight=3)
    found = tried(extender)
    assert extender.asked == [("prioritize", "p", "a", "b")]
    assert [total - before for total, before in zip(totals(found), plain, strict=True)] == [30, 300]
    assert found.scored is not None
    assert found.scored.by_plugin["http://extender/"].tolist() == [30, 300]


def test_scores_are_not_held_within_bounds_and_overflow_as_in_go() -> None:
    plain = totals(tried())
    found = tried(Scripted(None, {"a": -(10**6), "b": 2**62}, weight=4))
    assert [total - before for total, before in zip(totals(found), plain, strict=True)] == [-40 * 10**6, 0]


def test_several_extenders_add_up_and_one_without_an_answer_is_passed_over() -> None:
    plain = totals(tried())
    found = tried(Scripted(None, {"a": 1}), Scripted(None, "broken"), Scripted(None, {"a": 2, "b": 1}))
    assert [total - before for total, before in zip(totals(found), plain, strict=True)] == [30, 10]


def test_all_are_asked_for_scores_before_anybody_is_waited_for() -> None:
    order: list[str] = []

    class Slow(Scripted):
        def begin_scores(self, pod: PodInfo, nodes: Sequence[str]) -> ScoresToCome:
            order.append(f"ask {self.name}")
            wait = super().begin_scores(pod, nodes)

            def heard() -> Sequence[tuple[str, int]]:
                order.append(f"hear {self.name}")
                return wait()

            return heard

    tried(Slow(None, {"a": 1}, name="one"), Slow(None, "broken", name="two"), Slow(None, {}, name="three"))
    assert order == ["ask one", "ask two", "ask three", "hear one", "hear two", "hear three"]


def test_a_lone_node_is_not_scored() -> None:
    extender = Scripted(FilterAnswer(("b",)), {"b": 10})
    tried(extender)
    assert extender.asked == [("filter", "p", "a", "b")]


def test_nodes_that_come_back_as_objects_are_scored_as_if_no_pods_were_there() -> None:
    """As recorded: one node is three quarters full, the other one empty, and both get the same scores."""
    cache = cache_of(
        *(node(name).capacity(cpu=4, memory="8Gi").obj() for name in ("n1", "n2")),
        pod("fill").cpu(3).memory("6Gi").running("n1").obj(),
    )
    extender = Scripted(lambda _, nodes: FilterAnswer(tuple(nodes), as_objects=True), {"n1": 1, "n2": 1})
    found = tried(extender, cache=cache, asking=pod("p").cpu("100m").memory("64Mi"))
    assert totals(found) == [482, 482]
    assert found.scored is not None
    assert found.scored.by_plugin["NodeResourcesFit"].tolist() == [98, 98]
    assert found.scored.by_plugin["NodeResourcesBalancedAllocation"].tolist() == [74, 74]
    as_names = tried(Scripted(as_given, {"n1": 1, "n2": 1}), cache=cache, asking=pod("p").cpu("100m").memory("64Mi"))
    assert totals(as_names)[0] < totals(as_names)[1]


def test_images_and_spreading_see_no_more_of_such_nodes() -> None:
    """Upstream's node has no images then, and where a host is a domain it counts the pods on the node itself."""
    image = "registry.example/large:1"
    cache = cache_of(
        node("a").capacity(cpu=4).image(image, size_bytes=900 * 2**20).obj(),
        node("b").capacity(cpu=4).obj(),
        pod("other").labels(app="x").running("b").obj(),
    )
    asking = pod("p").labels(app="x").image(image)
    asking.spread("kubernetes.io/hostname", "app=x", when="ScheduleAnyway")
    objects = tried(Scripted(lambda _, nodes: FilterAnswer(tuple(nodes), as_objects=True)), cache=cache, asking=asking)
    names = tried(Scripted(as_given), cache=cache, asking=asking)
    for plugin in ("ImageLocality", "PodTopologySpread"):
        assert objects.scored is not None
        assert names.scored is not None
        assert len(set(objects.scored.by_plugin[plugin].tolist())) == 1
        assert len(set(names.scored.by_plugin[plugin].tolist())) == 2, "it would tell them apart"


# ---------------------------------------------------------------------- the decider


def decider(*extenders: Scripted, **changes: Any) -> Decider:
    return Decider({"default-scheduler": replace(default_profile(), extenders=extenders, **changes)})


def test_what_an_extender_says_of_one_pod_says_nothing_of_the_next_one_like_it() -> None:
    cache = three_nodes()
    extender = Scripted(lambda info, nodes: FilterAnswer(tuple(nodes) if info.name == "p2" else ()))
    choosing = decider(extender)
    choices = [choosing.decide(cache.info(pod(name).cpu(2).obj()), cache.view()) for name in ("p1", "p2", "p3")]
    assert [type(choice) for choice in choices] == [Unschedulable, Fits, Unschedulable]


def nominated(filtering: Any) -> tuple[Any, Scripted]:
    cache, extender = three_nodes(), Scripted(filtering, {"a": 0, "b": 10})
    info = cache.info(pod("p").cpu(2).nominated("a").obj())
    choice = decider(extender).decide(info, cache.view())
    assert isinstance(choice, Fits)
    return cache.view().nodes.names[choice.row], extender


def test_a_nominated_node_is_filtered_alone_and_taken_without_scores() -> None:
    assert nominated(as_given) == ("a", Scripted(as_given, {"a": 0, "b": 10}, asked=[("filter", "p", "a")]))


def refuses_alone(_: Any, nodes: Sequence[str]) -> FilterAnswer:
    return FilterAnswer(tuple(nodes) if len(nodes) > 1 else ())


def fails_alone(_: Any, nodes: Sequence[str]) -> FilterAnswer:
    if len(nodes) == 1:
        raise CycleError("", "broken")
    return FilterAnswer(tuple(nodes))


@pytest.mark.parametrize("filtering", [refuses_alone, fails_alone])
def test_where_the_nominated_node_does_not_pass_all_nodes_are_asked_about(filtering: Any) -> None:
    name, extender = nominated(filtering)
    assert name == "b"
    assert extender.asked == [("filter", "p", "a"), ("filter", "p", "a", "b"), ("prioritize", "p", "a", "b")]


@pytest.mark.parametrize(("extenders", "seen"), [((Scripted(as_given),), 2), ((Scripted(None, {}),), 2), ((), 1)])
def test_a_search_ends_at_the_first_node_only_where_nobody_chooses(extenders: Any, seen: int) -> None:
    profile = replace(default_profile(), score=(), extenders=extenders, percentage_of_nodes_to_score=100)
    cache = three_nodes()
    found = attempt(profile, cache.info(pod("p").cpu(2).obj()), cache.view())
    assert found.filtered is not None
    assert len(found.filtered.feasible_rows) == seen


class CountedNames(list[str]):
    """Counts how often a name is looked up."""

    looked_up = 0

    def __getitem__(self, place: Any) -> Any:
        self.looked_up += 1
        return super().__getitem__(place)


def test_without_extenders_no_name_of_a_node_is_looked_up() -> None:
    cache = three_nodes()
    names = cache.nodes.names = CountedNames(cache.nodes.names)
    assert totals(tried(cache=cache))
    assert names.looked_up == 0
    assert totals(tried(Scripted(scoring={"a": 1}), cache=cache))
    assert names.looked_up == 2
