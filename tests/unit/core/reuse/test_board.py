"""A board is shared by pods that are alike to local plugins, and by no others; its ranking has the names of today."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, chosen_node
from tests.support.preemption_attempts import default_profile

from bayplan.core.deciding import Decider
from bayplan.core.decision import Unschedulable
from bayplan.core.reuse.board import Board
from bayplan.model.kinds import Object
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

PROFILES = {"default-scheduler": default_profile()}


def like_others(name: str) -> NodeBuilder:
    return node(name).capacity(cpu=8, memory="8Gi")


#: A pod that wants nothing of a node goes to a, the first of those that are not tainted: all are used alike.
CLUSTER: tuple[Object, ...] = (
    like_others("0").taint("reserved").obj(),
    like_others("a").obj(),
    like_others("b").label("disk", "ssd").obj(),
    like_others("c").image("large:latest", size_bytes=900_000_000).obj(),
    pod("on-a").port(80).running("a").obj(),
    *(pod(f"on-{name}").running(name).obj() for name in "0bc"),
)

CONSTRAINED: dict[str, tuple[PodBuilder, str]] = {
    "node selector": (pod("p").node_selector(disk="ssd"), "b"),
    "node affinity": (pod("p").node_affinity("disk in (ssd)"), "b"),
    "preferred node affinity": (pod("p").node_affinity("disk in (ssd)", weight=9), "b"),
    "toleration": (pod("p").tolerates("reserved"), "0"),
    "host port": (pod("p").port(80), "b"),
    "image": (pod("p").image("large"), "c"),
}


@pytest.mark.parametrize("kind", CONSTRAINED)
def test_pods_that_differ_in_what_they_want_of_a_node_share_no_board(kind: str) -> None:
    wanted, expected = CONSTRAINED[kind]
    cache, decider = cache_of(*CLUSTER), Decider(PROFILES)
    plain, constrained = cache.info(pod("plain").obj()), cache.info(wanted.obj())
    found = [chosen_node(decider, each, cache.view()) for each in (plain, constrained) * 3]
    assert found == ["a", expected] * 3
    assert sum(kind is Board for kind, _, _ in decider._answers) == 2


def test_pods_that_differ_in_what_other_pods_see_share_a_board() -> None:
    cache, decider = cache_of(*CLUSTER), Decider(PROFILES)
    waiting = [cache.info(pod(name).labels(app=name).obj()) for name in ("x", "y")]
    assert [chosen_node(decider, each, cache.view()) for each in waiting * 3] == ["a"] * 6
    assert sum(kind is Board for kind, _, _ in decider._answers) == 1


def test_names_that_are_numbered_again_count_in_a_ranking_made_before() -> None:
    """Two nodes come before all others in the order of names: all get other numbers. The first of them is not open."""
    cache, decider = cache_of(*(like_others(name).obj() for name in "abc")), Decider(PROFILES)
    waiting = cache.info(pod("p").cpu(1).obj())
    assert [chosen_node(decider, waiting, cache.view()) for _ in range(3)] == ["a"] * 3
    version = cache.nodes.ranks.version
    cache.add(like_others("0").unschedulable().obj())
    cache.add(like_others("1").obj())
    assert chosen_node(decider, waiting, cache.view()) == "1"
    assert cache.nodes.ranks.version > version


def test_a_node_that_is_less_liked_than_before_falls_behind() -> None:
    """Its score is normalized: at first all have the same, then it differs, then others differ from each other."""
    cache, decider = cache_of(*(like_others(name).obj() for name in "abc")), Decider(PROFILES)
    waiting = cache.info(pod("p").cpu(1).obj())
    assert [chosen_node(decider, waiting, cache.view()) for _ in range(3)] == ["a"] * 3
    cache.add(like_others("a").taint("old", effect="PreferNoSchedule").obj())
    assert chosen_node(decider, waiting, cache.view()) == "b"
    cache.add(like_others("b").taint("old", effect="PreferNoSchedule").taint("odd", effect="PreferNoSchedule").obj())
    assert chosen_node(decider, waiting, cache.view()) == "c"
    cache.add(like_others("c").unschedulable().obj())
    assert chosen_node(decider, waiting, cache.view()) == "a"


def test_what_keeps_a_pod_waiting_is_told_as_it_is_now() -> None:
    """First one node is short of memory, then of both."""
    cache, decider = cache_of(*(like_others(name).obj() for name in "ab")), Decider(PROFILES)
    waiting = cache.info(pod("p").cpu(6).memory("9Gi").never_preempts().obj())

    def said() -> str:
        choice = decider.decide(waiting, cache.view())
        assert isinstance(choice, Unschedulable)
        return choice.diagnosis.message

    assert ["Insufficient cpu" in said() for _ in range(3)] == [False] * 3
    cache.add_pod(pod("large").cpu(4).running("a").obj())
    assert "1 Insufficient cpu" in said()


def test_a_nominated_pod_is_not_told_what_its_like_was_told() -> None:
    """It makes room for all but itself, so that it fits where the other pod does not."""
    cache, decider = cache_of(like_others("a").obj()), Decider(PROFILES)
    builder = pod("nominated").cpu(6).never_preempts()
    cache.nominate(builder.obj(), "a")
    other, nominated = cache.info(pod("other").cpu(6).never_preempts().obj()), cache.info(builder.obj())
    assert other.shape is nominated.shape
    view = cache.view()
    assert [isinstance(decider.decide(other, view), Unschedulable) for _ in range(3)] == [True] * 3
    assert chosen_node(decider, nominated, view) == "a"
