"""At first sight: the choice is the one that a full attempt makes, and there is none where more has to be asked."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.analysis.placement import place_pods
from bayplan.analysis.tie_breaks import smallest_name
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.deciding import Decider
from bayplan.core.decision import Fits
from bayplan.core.reuse.board import Board
from bayplan.core.reuse.first_sight import best_at_first_sight
from bayplan.core.reuse.node_board import NodeBoard, node_board_for
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod, service
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

PROFILE = default_profile()
#: Unlike each other in what they have, in a label and in a taint that is not binding.
NODES: tuple[Object, ...] = (
    node("a").capacity(cpu=2, memory="4Gi").obj(),
    node("b").capacity(cpu=8, memory="8Gi").label("disk", "ssd").obj(),
    node("c").capacity(cpu=8, memory="32Gi").taint("old", "", "PreferNoSchedule").obj(),
    node("d").capacity(cpu=8, memory="32Gi").unschedulable().obj(),
)
ON_B = pod("on-b").cpu(5).memory("1Gi").labels(app="x").running("b").obj()

PODS = {
    "fits everywhere": pod("p").cpu(1).memory("1Gi"),
    "too large for some": pod("p").cpu(4).memory("1Gi"),
    "asks for nothing": pod("p"),
    "selects nodes": pod("p").cpu(1).node_selector({"disk": "ssd"}),
    "prefers nodes": pod("p").cpu(1).node_affinity("disk in (ssd)", weight=9),
    "tolerates what others avoid": pod("p").cpu(1).tolerates("old"),
}


def at_first_sight(wanted: PodBuilder, *objects: Object) -> Fits | None:
    cache = cache_of(*objects)
    info, view = cache.info(wanted.obj()), cache.view()
    node_board = node_board_for(PROFILE, info, view)
    assert isinstance(node_board, NodeBoard)
    return best_at_first_sight(PROFILE, info, view, node_board)


@pytest.mark.parametrize("names", ["abc", "cab", "bca"])
def test_of_equal_nodes_the_one_with_the_smallest_name_is_taken(names: str) -> None:
    """However the rows are ordered."""
    found = at_first_sight(pod("p").cpu(1), *(node(name).capacity(cpu=2, memory="4Gi").obj() for name in names))
    assert found is not None
    assert found.row == names.index("a")
    assert found.tied_rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", PODS)
def test_it_is_the_choice_of_a_full_attempt(kind: str) -> None:
    cache = cache_of(*NODES, ON_B)
    expected = Decider({PROFILE.scheduler_name: PROFILE}, reuse=False).decide(
        cache.info(PODS[kind].obj()), cache.view()
    )
    found = at_first_sight(PODS[kind], *NODES, ON_B)
    assert isinstance(expected, Fits)
    assert found is not None
    assert (found.row, found.total) == (expected.row, expected.total)
    assert sorted(found.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())


@pytest.mark.parametrize(
    ("wanted", "others"),
    [
        (pod("p").cpu(64), ()),
        (pod("p").cpu(1).pod_anti_affinity("disk", "app=x"), ()),
        (pod("p").cpu(1).labels(app="x"), (service("s", app="x").obj(),)),
        (pod("p").cpu(1).claim("unbound"), ()),
        (pod("p").cpu(1), (pod("waits").cpu(1).nominated("b").obj(),)),
    ],
    ids=["fits nowhere", "anti-affinity", "default spreading", "a claim", "a nominated pod"],
)
def test_there_is_none_where_more_has_to_be_asked(wanted: PodBuilder, others: tuple[Object, ...]) -> None:
    assert at_first_sight(wanted, *NODES, ON_B, *others) is None


def test_nothing_is_kept_of_a_pod_until_there_is_another_like_it() -> None:
    cache = cache_of(*NODES)
    decider = Decider({PROFILE.scheduler_name: PROFILE})
    kept = []
    waiting = [cache.info(pod(f"p{number}").cpu(cpu).obj()) for number, cpu in enumerate((1, 2, 1))]
    for each in waiting:
        decider.decide(each, cache.view())
        kept.append(sum(kind is Board for kind, _, _ in decider._answers))
    assert kept == [0, 0, 1]


def test_a_score_may_look_at_more_than_pods_ask_for() -> None:
    """Storage counts in it, and no pod mentions any."""
    scored = [{"name": name, "weight": 1} for name in ("cpu", "memory", "ephemeral-storage")]
    fit = {"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "LeastAllocated", "resources": scored}}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [fit]}],
    }
    profiles = build_profiles(load_configuration(configuration, release=DEFAULT_RELEASE))
    chosen = []
    for reuse in (True, False):
        cache = cache_of(
            node("a").capacity({"cpu": 8, "memory": "8Gi", "ephemeral-storage": "1Gi"}).obj(),
            node("b").capacity({"cpu": 8, "memory": "9Gi", "ephemeral-storage": "1Gi"}).obj(),
        )
        placed = place_pods(
            cache,
            profiles,
            [pod(f"p{size}").cpu(size).memory(f"{4 - size}Gi").obj() for size in range(1, 4)],
            smallest_name,
            reuse=reuse,
        )
        chosen.append([(decision.node, decision.total) for decision in placed.decisions])
    assert chosen[0] == chosen[1]
