"""How many nodes pods take, compared with first fit by hand; and the autoscaler's picture with a fresh one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.node_pools import pool

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.controllers.autoscaling.packing import option_of
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.model.kinds import Object, object_key
from bayplan.model.node_pools import AutoscalerSpec
from bayplan.model.pod import Pod
from bayplan.model.watch_types import ADDED, DELETED, MODIFIED
from bayplan.store import WatchEvent
from bayplan.testing.builders import node, pod

PROFILES = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
FOUR_CORES = ScaledPool.of(pool("a", "4"), Settings.of(AutoscalerSpec()))


def waiting(cpus: list[int]) -> list[Pod]:
    return [pod(f"p{number}").cpu(f"{cpu}m").obj() for number, cpu in enumerate(cpus)]


def first_fit(cpus: list[int], most: int) -> tuple[int, int]:
    """Nodes, and pods on them: the largest first, each on the first node with room, else on one more."""
    nodes: list[int] = []
    placed = 0
    for cpu in sorted(cpus, reverse=True):
        place = next((at for at, free in enumerate(nodes) if free >= cpu), None)
        if place is None:
            if len(nodes) == most or cpu > 4_000:
                continue
            nodes.append(4_000)
            place = len(nodes) - 1
        nodes[place] -= cpu
        placed += 1
    return len(nodes), placed


@given(st.lists(st.sampled_from([100, 500, 1_000, 1_500, 2_500, 4_000]), min_size=1, max_size=12), st.integers(1, 5))
def test_pods_are_packed_as_by_hand(cpus: list[int], most: int) -> None:
    option = option_of(Picture(PROFILES, gates=DEFAULT_GATES), FOUR_CORES, waiting(cpus), most)
    assert option is not None
    assert (option.nodes, len(option.pods)) == first_fit(cpus, most)


@given(st.lists(st.sampled_from([500, 1_500, 4_500]), max_size=6))
def test_a_trial_leaves_no_trace(cpus: list[int]) -> None:
    picture = Picture(PROFILES, gates=DEFAULT_GATES)
    picture.note(event(node("n1").obj()))
    picture.take_in()
    before = (picture.nodes_for(pod("x").cpu("3").obj()), picture.cache.nodes.requested[:1].tolist())
    option_of(picture, FOUR_CORES, waiting(cpus), 3)
    assert (picture.nodes_for(pod("x").cpu("3").obj()), picture.cache.nodes.requested[:1].tolist()) == before


def event(obj: Object, change: str = ADDED) -> WatchEvent:
    return WatchEvent(change, type(obj).__name__, None, obj, 0, 0)


STATES = st.sampled_from(["absent", "refused", "n1", "n2", "over"])


def as_pod(name: str, state: str) -> Pod:
    built = pod(name).cpu("1")
    if state == "refused":
        return built.condition("PodScheduled", "False", "Unschedulable").obj()
    return built.node("n1").phase("Succeeded").obj() if state == "over" else built.node(state).obj()


@given(st.lists(st.tuples(st.sampled_from("abc"), STATES, st.booleans()), max_size=20))
def test_a_picture_that_followed_is_as_one_that_starts_afresh(steps: list[tuple[str, str, bool]]) -> None:
    following = Picture(PROFILES, gates=DEFAULT_GATES)
    now: dict[str, Pod] = {}
    nodes = [node("n1").obj(), node("n2").obj()]
    for each in nodes:
        following.note(event(each))
    for name, state, looks in steps:
        if state == "absent":
            if name in now:
                following.note(event(now.pop(name), DELETED))
        else:
            now[name] = as_pod(name, state)
            following.note(event(now[name], MODIFIED))
        if looks:
            following.take_in()
    following.take_in()
    fresh = Picture(PROFILES, gates=DEFAULT_GATES)
    known: list[Object] = [*nodes, *now.values()]
    for obj in known:
        fresh.note(event(obj))
    fresh.take_in()
    for name in ("n1", "n2"):
        assert [*map(object_key, following.pods_on(name))] == [*map(object_key, fresh.pods_on(name))]
    assert following.refused.keys() == fresh.refused.keys()
    rows = [[picture.cache.nodes.rows_by_name[name] for name in ("n1", "n2")] for picture in (following, fresh)]
    asked = [picture.cache.nodes.requested[row].tolist() for picture, row in zip((following, fresh), rows, strict=True)]
    assert asked[0] == asked[1]
