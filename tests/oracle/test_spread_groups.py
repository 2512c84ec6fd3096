"""Groups of nodes that spreading scores alike: whatever happens to the pods, they give what scoring node by node gives.

Random clusters, constraints and feasible nodes; pods come and go, some that count and some that do not, and groups that
were made once follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.caches import cache_of
from tests.support.examples import examples

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray, row_array
from bayplan.core.framework.contract import Skip
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread, grouping
from bayplan.core.plugins.pod_topology_spread.grouping import SpreadGroups
from bayplan.core.scoring import final_scores
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod, service

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PLUGIN = PodTopologySpread(gates=DEFAULT_GATES)
NODE_COUNT = 6

#: Zone and whether the node has a taint; an empty zone is one, None is none.
node_kinds = st.tuples(st.sampled_from((*"abcabcabcabcabcabc", "", "", None)), st.booleans())
#: Topology key, maxSkew and the pods that are selected.
constraint_kinds = st.tuples(st.sampled_from((ZONE, HOST)), st.integers(1, 4), st.sampled_from("xxxxy"))
one_by_key = st.lists(constraint_kinds, max_size=2, unique_by=lambda kind: kind[0])
#: A pod that counts, or another, comes to a node; -1: one of them goes.
steps = st.lists(st.tuples(st.integers(-1, NODE_COUNT), st.booleans(), st.integers(0, 3)), max_size=12)


@dataclass(frozen=True)
class Scene:
    cache: Cache
    wanting: Pod
    feasible_rows: RowArray


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    kinds = draw(st.lists(node_kinds, min_size=NODE_COUNT, max_size=NODE_COUNT))
    nodes = []
    for number, (zone, tainted) in enumerate(kinds):
        built = node(f"n{number}").capacity(cpu=8, memory="8Gi", pods=99).label(HOST, f"n{number}")
        built = built.label(ZONE, zone) if zone is not None else built
        nodes.append((built.taint("old", "", "NoSchedule") if tainted else built).obj())
    wanting = pod("wanting").labels(app="x")
    for key, max_skew, app in draw(one_by_key | one_by_key | st.lists(constraint_kinds, max_size=3)):
        taints = draw(st.sampled_from((None, "Honor")))
        wanting = wanting.spread(key, {"app": app}, max_skew=max_skew, when="ScheduleAnyway", node_taints_policy=taints)
    if draw(st.booleans()):
        wanting = wanting.node_selector({ZONE: "a"})
    cache = cache_of(*nodes, service("s", app="x").obj())
    rows = draw(st.lists(st.integers(0, NODE_COUNT - 1), min_size=1, unique=True).map(sorted))
    return Scene(cache, wanting.obj(), row_array(rows))


def scores_one_by_one(scene: Scene) -> list[int] | None:
    info, view = scene.cache.info(scene.wanting), scene.cache.view()
    state = PLUGIN.pre_score(info, view, scene.feasible_rows)
    return None if isinstance(state, Skip) else final_scores(PLUGIN, PLUGIN, state, view, scene.feasible_rows).tolist()


def scores_by_group(scene: Scene, groups: SpreadGroups) -> list[int]:
    return [int(score) for score in groups.scores()[groups.groups[scene.feasible_rows]]]


def take_step(cache: Cache, number: int, step: tuple[int, bool, int]) -> None:
    """Pods stand on nodes that are not there, too."""
    where, counts, which = step
    present = list(cache.pods.rows_by_key)
    if where >= 0:
        cache.add_pod(pod(f"p{number}").labels(app="x" if counts else "y").running(f"n{where}").obj())
    elif present:
        cache.remove_pod(present[which % len(present)])


@examples(200)
@given(scenes(), steps, st.booleans())
def test_groups_that_follow_give_what_scoring_one_by_one_gives(
    scene: Scene, taken: list[tuple[int, bool, int]], asks_each_time: bool
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(grouping, "NODES_PER_GROUP", 0)
        made = followed = 0
        groups: SpreadGroups | None = None
        wanting = scene.cache.info(scene.wanting)
        for number, step in enumerate([*taken, (0, True, 0)]):
            take_step(scene.cache, number, step)
            if not asks_each_time and number < len(taken) and number % 3:
                continue
            view = scene.cache.view()
            if groups is not None and groups.follow(wanting, view, scene.feasible_rows):
                followed += 1
            else:
                groups = PLUGIN.group_nodes(wanting, view, scene.feasible_rows)
                made += groups is not None
            if groups is not None:
                assert scores_by_group(scene, groups) == scores_one_by_one(scene)
        event(f"groups {'followed' if followed else 'made' if made else 'not made'}")


def spread_over_zones(node_count: int) -> Scene:
    nodes = (
        node(f"n{number}").label(ZONE, "abc"[number % 3]).label(HOST, f"n{number}") for number in range(node_count)
    )
    cache = cache_of(*(each.obj() for each in nodes), service("s", app="x").obj())
    return Scene(cache, pod("wanting").labels(app="x").obj(), np.arange(node_count))


def groups_of(scene: Scene) -> SpreadGroups | None:
    return PLUGIN.group_nodes(scene.cache.info(scene.wanting), scene.cache.view(), scene.feasible_rows)


@pytest.mark.parametrize("change", ["a node", "a service", "feasible nodes"])
def test_they_do_not_outlast_what_they_were_made_from(change: str) -> None:
    scene = spread_over_zones(200)
    wanting = scene.cache.info(scene.wanting)
    groups = groups_of(scene)
    assert groups is not None
    rows = scene.feasible_rows
    assert groups.follow(wanting, scene.cache.view(), rows)
    if change == "a node":
        scene.cache.add_node(node("n0").label(ZONE, "b").label(HOST, "n0").obj())
    elif change == "a service":
        scene.cache.add(service("t", app="x", tier="").obj())
        assert groups.follow(wanting, scene.cache.view(), rows)  # it does not select the pod
        scene.cache.objects.remove(service("s", app="x").obj())
    else:
        rows = rows[1:]
    assert not groups.follow(wanting, scene.cache.view(), rows)


def test_there_are_none_where_nodes_are_few() -> None:
    assert groups_of(spread_over_zones(100)) is None
    assert groups_of(spread_over_zones(200)) is not None
