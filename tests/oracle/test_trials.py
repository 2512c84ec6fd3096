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


@examples(120)
@given(worlds(), coming_pods(), st.data())
def test_decisions_in_trials_are_those_of_new_caches(world: World, coming: list[Pod], data: st.DataObject) -> None:
    objects: list[Object] = world_objects(world)
    cache = cache_of(*deepcopy(objects))
    placer, before = Placer(cache, PROFILES, keeps_ties=False), content_of(cache)
    victims = 0
    for _ in range(4):
        failing = data.draw(st.sampled_from([each.metadata.name for each in world.nodes]))
        pods = data.draw(st.permutations(coming))
        anew = cache_of(*deepcopy(objects))
        fail(anew, failing)
        slowly = Placer(anew, PROFILES, keeps_ties=False, reuse=False)
        with cache.trial():
            fail(cache, failing)
            placer.forget_nominations()
            for pod in pods:
                found = placer.place(pod)
                assert found == slowly.place(pod)
                victims += len(found.victims)
        assert content_of(cache) == before
    event(f"victims: {min(victims, 3)}")
