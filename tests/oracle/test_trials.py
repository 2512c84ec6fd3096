"""Decisions in trials, one trial after another in one cache, against decisions in a cache built anew for each of them.

What is kept of earlier decisions must hold although everything was undone in between.
"""

from __future__ import annotations

from copy import deepcopy

from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.placing_slowly import PROFILE, world_objects
from tests.oracle.preemption_clusters import World, wanting_pods, worlds
from tests.support.caches import cache_of, content_of
from tests.support.examples import examples

from bayplan.analysis.placement import Placer
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod

PROFILES = {PROFILE.scheduler_name: PROFILE}


@st.composite
def coming_pods(draw: st.DrawFn) -> list[Pod]:
    """Pods of several priorities, the same ones for all trials."""
    pods = draw(st.lists(wanting_pods(("cpu",)), min_size=1, max_size=4))
    for number, each in enumerate(pods):
        each.metadata.name = f"new{number}"
        each.metadata.uid = f"uid-new{number}"
        each.spec.priority = draw(st.sampled_from([100, 60, 20, 5]))
    return pods


def fail(cache: Cache, node: str) -> None:
    for row in reversed(cache.nodes.pod_rows[cache.nodes.rows_by_name[node]].copy()):
        cache.remove_row(row)
    cache.remove_node(node)


@st.composite
def nodes_with_other_specs(draw: st.DrawFn, nodes: list[Node]) -> list[Node]:
    """Some of the nodes, cordoned or with other taints; some of them twice."""
    changed = deepcopy(draw(st.lists(st.sampled_from(nodes), max_size=3)))
    for each in changed:
        each.spec.unschedulable = draw(st.booleans())
        each.spec.taints = draw(st.sampled_from([each.spec.taints, [], [Taint(key="odd", effect="NoSchedule")]]))
    return changed


def try_and_take_back(cache: Cache, placer: Placer, pods: list[Pod]) -> None:
    """A trial inside a trial leaves nothing behind."""
    before = content_of(cache)
    with cache.trial():
        for pod in pods:
            placer.place(pod)
    assert content_of(cache) == before
    placer.forget_nominations()


@examples(120)
@given(worlds(), coming_pods(), st.data())
def test_decisions_in_trials_are_those_of_new_caches(world: World, coming: list[Pod], data: st.DataObject) -> None:
    objects: list[Object] = world_objects(world)
    cache = cache_of(*deepcopy(objects))
    placer, before = Placer(cache, PROFILES, keeps_ties=False), content_of(cache)
    victims = 0
    for _ in range(4):
        failing = data.draw(st.sampled_from([each.metadata.name for each in world.nodes]))
        changed = data.draw(nodes_with_other_specs(world.nodes))
        pods = data.draw(st.permutations(coming))
        anew = cache_of(*deepcopy(objects), *changed)
        fail(anew, failing)
        slowly = Placer(anew, PROFILES, keeps_ties=False, reuse=False)
        with cache.trial():
            for each in changed:
                cache.add(each)
            fail(cache, failing)
            placer.forget_nominations()
            try_and_take_back(cache, placer, data.draw(st.permutations(coming)))
            for pod in pods:
                found = placer.place(pod)
                assert found == slowly.place(pod)
                victims += len(found.victims)
        assert content_of(cache) == before
        event(f"changed: {len(changed)}")
    event(f"victims: {min(victims, 3)}")
