"""NodeResourcesBalancedAllocation: a pod that evens out a node's use scores above 75, one that skews it below."""

from __future__ import annotations

import numpy as np
import pytest
from tests.support.caches import cache_of, raw_and_normal_scores

from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.args import NodeResourcesBalancedAllocationArgs, ResourceWeight
from bayplan.core.framework.contract import PreScorePlugin, ScorePlugin
from bayplan.core.plugins.node_resources_balanced_allocation import BalanceState, NodeResourcesBalancedAllocation
from bayplan.model.kinds import Object
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

GPU = "nvidia.com/gpu"
EPHEMERAL = "ephemeral-storage"


def balancing(*names: str) -> NodeResourcesBalancedAllocation:
    return NodeResourcesBalancedAllocation(
        NodeResourcesBalancedAllocationArgs(tuple(ResourceWeight(name) for name in names))
    )


DEFAULT = NodeResourcesBalancedAllocation()
THREE = balancing("cpu", "memory", GPU)


def middling() -> NodeBuilder:
    return node("n").capacity({"cpu": "4", "memory": "8Gi"})


def old(cpu: str, memory: str) -> PodBuilder:
    return pod("old").cpu(cpu).memory(memory).running("n")


WANTED = pod("p").cpu("1").memory("1Gi")
WITH_GPU = pod("p").cpu("1").memory("1Gi").request({GPU: 1})

CASES = {
    # shares 1/2 and 3/8: 93 after; 1/4 and 1/4: 100 before
    "makes it worse": (DEFAULT, middling(), old("1", "2Gi"), WANTED, 71),
    # 1/2 and 7/8: 81 after; 1/4 and 3/4: 75 before
    "makes it better": (DEFAULT, middling(), old("1", "6Gi"), WANTED, 78),
    "changes nothing": (DEFAULT, middling(), old("1", "2Gi"), pod("p").cpu("1").memory("2Gi"), 75),
    # the pod asks for no memory, and no minimum is supposed: 1/4 and 0
    "only what is asked counts": (DEFAULT, middling(), None, pod("p").cpu("1"), 68),
    "pods that ask nothing take nothing": (DEFAULT, middling(), pod("old").running("n"), pod("p").cpu("1"), 68),
    # 1 and 0: 50 after, 100 before, and more than full is full
    "the worst": (DEFAULT, middling(), None, pod("p").cpu("9"), 50),
    "the best": (DEFAULT, middling(), old("9", "0"), pod("p").memory("8Gi"), 100),
    "a node without memory": (DEFAULT, middling().allocatable(memory=0), None, WANTED, 75),
    "a node with nothing": (DEFAULT, middling().allocatable(cpu=0, memory=0), None, WANTED, 75),
    # shares 1/4, 1/8, 1/2: deviation 0.1559, 84 after
    "three resources": (THREE, middling().capacity({GPU: 2}), None, WITH_GPU, 67),
    "three resources, one not offered": (THREE, middling(), old("1", "6Gi"), WITH_GPU, 78),
    "three resources, two not offered": (THREE, middling().allocatable(cpu=0), None, WITH_GPU, 75),
    "a scalar that is not asked for": (
        THREE, middling().capacity({GPU: 2}), old("1", "6Gi").request({GPU: 2}), WANTED, 78
    ),
    "ephemeral storage counts even if not asked for": (
        balancing("cpu", EPHEMERAL), middling().capacity({EPHEMERAL: "8Gi"}), old("2", "1"), pod("p").cpu("1"), 68,
    ),
    "requests of the pod as a whole count": (DEFAULT, middling(), None, pod("p").pod_request(cpu="1"), 68),
}  # fmt: skip


@pytest.mark.parametrize(("plugin", "on", "there", "wants", "expected"), CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("with_neighbors", [False, True], ids=["alone", "among others"])
def test_score(
    plugin: NodeResourcesBalancedAllocation,
    on: NodeBuilder,
    there: PodBuilder | None,
    wants: PodBuilder,
    expected: int,
    with_neighbors: bool,
) -> None:
    """The score compares how even the shares are with the pod and without it."""
    objects: list[Object] = [on.obj(), *([there.obj()] if there else [])]
    if with_neighbors:
        objects += [node("plain").obj(), node("rich").capacity({GPU: 4, EPHEMERAL: "1Gi"}).obj()]
    scores = raw_and_normal_scores(plugin, cache_of(*objects), wants.obj())
    assert scores is not None
    assert scores[0]["n"] == expected


SKIPPED = {
    "nothing asked": (DEFAULT, pod("p")),
    "explicit zeros": (DEFAULT, pod("p").cpu("0").memory("0")),
    "only what is not configured": (balancing("memory", EPHEMERAL), pod("p").cpu("1")),
    "a scalar nobody knows": (balancing(GPU), pod("p").cpu("1")),
}


@pytest.mark.parametrize(("plugin", "wants"), SKIPPED.values(), ids=SKIPPED.keys())
def test_skips_pods_that_ask_for_none_of_it(plugin: NodeResourcesBalancedAllocation, wants: PodBuilder) -> None:
    """Such pods cannot be balanced by, and must not crowd one node."""
    assert raw_and_normal_scores(plugin, cache_of(middling().obj()), wants.obj()) is None


def test_large_amounts_become_floats_before_they_are_divided() -> None:
    """Above 2**53 dividing rounded numbers differs from rounding the quotient, and upstream does the former."""
    capacity, wanted = 1253085797567488425, 1002468638053990881
    assert float(wanted) / float(capacity) < wanted / capacity, "the example shows nothing"
    cache = cache_of(*(node(name).capacity(memory=capacity).obj() for name in ("a", "b")))
    info, view = cache.info(pod("p").memory(wanted).obj()), cache.view()
    state = DEFAULT.pre_score(info, view, np.arange(2))
    assert isinstance(state, BalanceState)
    # The exact quotient would give 54.
    assert DEFAULT.score(state, view, ALL_ROWS).tolist() == [55, 55]
    assert DEFAULT.score(state, view, np.array([0])).tolist() == [55]


def test_takes_part_in_its_extension_points() -> None:
    """It prepares and scores."""
    assert isinstance(DEFAULT, PreScorePlugin)
    assert isinstance(DEFAULT, ScorePlugin)


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 1, 0], [1, 2], [2, 0]])
def test_scores_come_in_the_order_in_which_nodes_are_asked_about(rows: list[int]) -> None:
    """A node that is even, one that the pod makes worse and one that it makes better."""
    cache = cache_of(
        *(node(name).capacity({"cpu": "4", "memory": "8Gi"}).obj() for name in "abc"),
        pod("on-b").cpu("3").running("b").obj(),
        pod("on-c").memory("6Gi").running("c").obj(),
    )
    info, view = cache.info(pod("p").cpu("1").memory("1Gi").obj()), cache.view()
    state = DEFAULT.pre_score(info, view, row_array(rows))
    assert isinstance(state, BalanceState)
    assert DEFAULT.score(state, view, row_array(rows)).tolist() == [[71, 72, 78][row] for row in rows]


def test_a_node_may_lose_all_of_a_resource_between_two_pods() -> None:
    """What is kept of nodes that have some of everything is of no use from then on."""
    cache = cache_of(middling().obj(), node("m").capacity({"cpu": "4", "memory": "8Gi"}).obj())

    def scores() -> list[int]:
        info, view = cache.info(WANTED.obj()), cache.view()
        state = DEFAULT.pre_score(info, view, row_array([0, 1]))
        assert isinstance(state, BalanceState)
        found: list[int] = DEFAULT.score(state, view, row_array([0, 1])).tolist()
        return found

    assert scores() == [71, 71]
    cache.add_node(middling().allocatable(memory=0).obj())
    cache.add_pod(old("1", "0").obj())
    assert scores() == [75, 71]
