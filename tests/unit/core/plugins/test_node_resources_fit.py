"""NodeResourcesFit: what fails on a node, in which words, and how full nodes are scored."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.support.caches import cache_of, raw_and_normal_scores, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    NodeResourcesFitArgs,
    ResourceWeight,
    ScoringStrategy,
    ShapePoint,
)
from bayplan.core.framework.contract import (
    FilterPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    Ready,
    ScorePlugin,
)
from bayplan.core.framework.verdict import SUCCESS, CycleError, Status, unresolvable, unschedulable
from bayplan.core.plugins.node_resources_fit import (
    DEMANDS_MAX,
    NodeResourcesFit,
)
from bayplan.model.kinds import Object
from bayplan.model.quantity import parse_quantity, whole_value
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

GPU = "nvidia.com/gpu"
FPGA = "example.com/fpga"
HUGE = "hugepages-2Mi"
GI = 1 << 30


def small() -> NodeBuilder:
    return node("n").capacity(cpu="1", memory="1Gi", pods=3)


def running(name: str = "old") -> PodBuilder:
    return pod(name).running("n")


@dataclass
class Case:
    wants: PodBuilder
    expected: Status
    on: NodeBuilder = field(default_factory=small)
    there: tuple[PodBuilder, ...] = ()
    ignored: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()


FILTER_CASES = {
    "fits exactly": Case(pod("p").cpu("1").memory("1Gi"), SUCCESS),
    "cpu": Case(pod("p").cpu("600m"), unschedulable("Insufficient cpu"), there=(running().cpu("500m"),)),
    "memory": Case(pod("p").memory("600Mi"), unschedulable("Insufficient memory"), there=(running().memory("500Mi"),)),
    "more than the whole node": Case(pod("p").cpu("1001m"), unresolvable("Insufficient cpu")),
    "one of two more than the whole node": Case(
        pod("p").cpu("600m").memory("2Gi"),
        unresolvable("Insufficient cpu", "Insufficient memory"),
        there=(running().cpu("500m"),),
    ),
    "a node that says nothing of pods takes none": Case(
        pod("p"), unschedulable("Too many pods"), on=node("n").allocatable(pods=0)
    ),
    "too many pods alone is never hopeless": Case(
        pod("p").cpu("1m"), unschedulable("Too many pods"), on=small().allocatable(pods=1), there=(running(),)
    ),
    "all reasons together, in order": Case(
        pod("p").request({"memory": "2Gi", "cpu": "2", "ephemeral-storage": "1", GPU: 1, FPGA: 1}),
        unresolvable(
            "Too many pods",
            "Insufficient cpu",
            "Insufficient memory",
            "Insufficient ephemeral-storage",
            f"Insufficient {FPGA}",
            f"Insufficient {GPU}",
        ),
        on=small().allocatable(pods=0),
    ),
    "too many pods keeps a hopeless resource hopeless": Case(
        pod("p").cpu("2"), unresolvable("Too many pods", "Insufficient cpu"), on=small().allocatable(pods=0)
    ),
    "a pod that asks nothing fits on a node that is overcommitted": Case(
        pod("p"), SUCCESS, there=(running().cpu("9"),)
    ),
    "what is not asked for may be overcommitted": Case(pod("p").memory("1Mi"), SUCCESS, there=(running().cpu("9"),)),
    "an explicit 0 is as good as nothing": Case(
        pod("p").request({"cpu": "0", GPU: 0}), SUCCESS, there=(running().cpu("9"),)
    ),
    "containers without requests take no room in the filter": Case(
        pod("p").cpu("1").memory("1Gi"), SUCCESS, there=(running("a"), running("b"))
    ),
    "ephemeral storage": Case(
        pod("p").request({"ephemeral-storage": "2Gi"}),
        unschedulable("Insufficient ephemeral-storage"),
        on=small().capacity({"ephemeral-storage": "3Gi"}),
        there=(running().request({"ephemeral-storage": "2Gi"}),),
    ),
    "huge pages": Case(
        pod("p").request({HUGE: "4Mi"}),
        unschedulable(f"Insufficient {HUGE}"),
        on=small().capacity({HUGE: "6Mi"}),
        there=(running().request({HUGE: "4Mi"}),),
    ),
    "an extended resource the node has": Case(pod("p").request({GPU: 2}), SUCCESS, on=small().capacity({GPU: 2})),
    "an extended resource nobody has": Case(pod("p").request({GPU: 1}), unresolvable(f"Insufficient {GPU}")),
    "an extended resource that is taken": Case(
        pod("p").request({GPU: 1}),
        unschedulable(f"Insufficient {GPU}"),
        on=small().capacity({GPU: 1}),
        there=(running().request({GPU: 1}),),
    ),
    "an ignored resource": Case(pod("p").request({GPU: 1}), SUCCESS, ignored=frozenset({GPU})),
    "an ignored group": Case(pod("p").request({GPU: 1}), SUCCESS, groups=frozenset({"nvidia.com"})),
    "the group of another resource": Case(
        pod("p").request({GPU: 1, FPGA: 1}), unresolvable(f"Insufficient {GPU}"), groups=frozenset({"example.com"})
    ),
    "only extended resources can be ignored": Case(
        pod("p").request({HUGE: "2Mi", "cpu": "2"}),
        unresolvable("Insufficient cpu", f"Insufficient {HUGE}"),
        ignored=frozenset({HUGE, "cpu"}),
    ),
    "init containers and overhead count": Case(
        pod("p").cpu("100m").init(cpu="800m").overhead(cpu="201m"), unresolvable("Insufficient cpu")
    ),
    "requests of the pod as a whole replace those of containers": Case(
        pod("p").cpu("100m").pod_request(cpu="1100m"), unresolvable("Insufficient cpu")
    ),
}


@pytest.mark.parametrize("case", FILTER_CASES.values(), ids=FILTER_CASES.keys())
def test_filter(case: Case) -> None:
    """A node fails for every resource it is short of, and hopelessly if one exceeds the empty node."""
    plugin = NodeResourcesFit(
        NodeResourcesFitArgs(ignored_resources=case.ignored, ignored_resource_groups=case.groups), gates=DEFAULT_GATES
    )
    cache = cache_of(case.on.obj(), *(there.obj() for there in case.there))
    assert verdicts(plugin, cache, case.wants.obj()) == {"n": case.expected}


def test_takes_part_in_its_extension_points() -> None:
    """It prepares, filters and scores."""
    plugin = NodeResourcesFit(gates=DEFAULT_GATES)
    for point in (PreFilterPlugin, FilterPlugin, PreScorePlugin, ScorePlugin):
        assert isinstance(plugin, point)


def test_more_resources_than_bits_is_an_error() -> None:
    """A pod that asks for more resources than a code has bits ends the attempt, and one with just as many does not."""
    cache = cache_of(small().obj())
    most = {f"example.com/r{number:02}": 1 for number in range(DEMANDS_MAX)}
    status = verdicts(NodeResourcesFit(gates=DEFAULT_GATES), cache, pod("p").request(most).obj())["n"]
    assert status == unresolvable(*(f"Insufficient {name}" for name in most))
    with pytest.raises(CycleError, match="at most 61 resources, not 62"):
        verdicts(NodeResourcesFit(gates=DEFAULT_GATES), cache, pod("p").request({**most, GPU: 1}).obj())


def test_filter_follows_a_what_if_view() -> None:
    """In a what-if view a node is judged without the pods that left it there, and the real view stays."""
    cache = cache_of(small().obj(), running("a").cpu("700m").obj(), running("b").cpu("300m").obj())
    plugin, info, view = NodeResourcesFit(gates=DEFAULT_GATES), cache.info(pod("p").cpu("500m").obj()), cache.view()
    outcome = plugin.pre_filter(info, view)
    without = view.what_if()
    without.usage.shift(view.pods, np.array([0]), np.array([0]), -1)
    assert plugin.filter(outcome.state, without, ALL_ROWS).tolist() == [0]
    assert plugin.filter(outcome.state, view, ALL_ROWS).tolist() != [0]


def test_rows_may_be_given_in_any_way() -> None:
    """Codes and scores of a row are the same alone, among others and out of order."""
    nodes = [node(f"n{i}").capacity(cpu=f"{i}", memory=f"{5 - i}Gi").obj() for i in range(5)]
    cache = cache_of(*nodes, pod("old").cpu("1").memory("2Gi").running("n2").obj())
    plugin, info, view = (
        NodeResourcesFit(gates=DEFAULT_GATES),
        cache.info(pod("p").cpu("1500m").memory("2Gi").obj()),
        cache.view(),
    )
    wanted = plugin.pre_filter(info, view).state
    scored = plugin.pre_score(info, view, np.arange(5))
    codes, scores = plugin.filter(wanted, view, ALL_ROWS), plugin.score(scored, view, ALL_ROWS)
    assert len(set(codes.tolist())) == 4
    assert len(set(scores.tolist())) > 2
    for rows in ([4, 0, 2], [3], []):
        picked = np.array(rows, dtype=np.intp)
        for whole, part in (
            (codes, plugin.filter(wanted, view, picked)),
            (scores, plugin.score(scored, view, picked)),
        ):
            assert part.dtype == np.int64
            assert part.tolist() == whole[picked].tolist()
    one_by_one = [plugin.filter(wanted, view, np.array([row])).item() for row in range(5)]
    assert one_by_one == codes.tolist()


# ---------------------------------------------------------------- scores


def strategy(kind: str, *, shape: tuple[tuple[int, int], ...] = (), **weights: int) -> NodeResourcesFitArgs:
    """Weights by resource; `gpu` and `ephemeral` are short for the long names."""
    long = {"gpu": GPU, "ephemeral": "ephemeral-storage"}
    resources = tuple(ResourceWeight(long.get(name, name), weight) for name, weight in weights.items())
    points = tuple(ShapePoint(utilization, score) for utilization, score in shape)
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(kind, resources or ScoringStrategy().resources, points)
    )


LEAST = strategy(LEAST_ALLOCATED)
MOST = strategy(MOST_ALLOCATED)
RISING = ((0, 0), (100, 10))


def middling() -> NodeBuilder:
    return node("n").capacity({"cpu": "4", "memory": "8Gi"})


USED = pod("old").cpu("1").memory("2Gi").running("n")
WANTED = pod("p").cpu("1").memory("1Gi")

SCORE_CASES = {
    # cpu (4000-2000)/4000 = 50, memory 5/8 = 62
    "least": (LEAST, middling(), USED, WANTED, 56),
    # cpu 50, memory 3/8 = 37
    "most": (MOST, middling(), USED, WANTED, 43),
    # (50*3 + 62) // 4
    "least, weighted": (strategy(LEAST_ALLOCATED, cpu=3, memory=1), middling(), USED, WANTED, 53),
    "least, nothing asked": (LEAST, middling(), None, pod("p"), 97),
    "least, nothing asked by two": (LEAST, middling(), pod("old").running("n"), pod("p"), 95),
    "least, overfull counts 0": (LEAST, middling(), pod("old").cpu("9").memory("2Gi").running("n"), WANTED, 31),
    "most, overfull counts 100": (MOST, middling(), pod("old").cpu("9").memory("2Gi").running("n"), WANTED, 68),
    "a node without cpu is judged by memory": (LEAST, middling().allocatable(cpu=0), USED, WANTED, 62),
    "a node with nothing scores 0": (LEAST, middling().allocatable(cpu=0, memory=0), USED, WANTED, 0),
    "a scalar that is asked for": (
        strategy(MOST_ALLOCATED, cpu=1, gpu=1),
        middling().capacity({GPU: 8}),
        pod("old").cpu("1").request({GPU: 1}).running("n"),
        pod("p").cpu("1").request({GPU: 2}),
        43,  # (50 + 37) // 2
    ),
    "a scalar that is not asked for": (
        strategy(MOST_ALLOCATED, gpu=1, cpu=1),
        middling().capacity({GPU: 8}),
        pod("old").cpu("1").request({GPU: 1}).running("n"),
        pod("p").cpu("1"),
        50,
    ),
    "a scalar the node has none of": (
        strategy(MOST_ALLOCATED, cpu=1, gpu=1), middling(), USED, pod("p").cpu("1").request({GPU: 2}), 50
    ),
    "no resource to judge by": (strategy(MOST_ALLOCATED, gpu=1), middling().capacity({GPU: 8}), USED, WANTED, 0),
    "a resource nobody knows": (strategy(LEAST_ALLOCATED, unheard=5, cpu=1), middling(), USED, WANTED, 50),
    "ephemeral storage counts even if not asked for, without a minimum": (
        strategy(LEAST_ALLOCATED, ephemeral=1),
        middling().capacity({"ephemeral-storage": 100}),
        pod("old").request({"ephemeral-storage": 25}).running("n"),
        pod("p"),
        75,
    ),
    "requests of the pod as a whole are not seen": (LEAST, middling(), None, pod("p").pod_request(cpu="3"), 97),
    "ratio, rising": (strategy(REQUESTED_TO_CAPACITY_RATIO, shape=RISING), middling(), USED, WANTED, 44),  # 43.5
    "ratio, rising, overfull": (
        strategy(REQUESTED_TO_CAPACITY_RATIO, shape=RISING, cpu=1),
        middling(), pod("old").cpu("9").running("n"), WANTED, 100,
    ),
    "ratio, weighted": (
        strategy(REQUESTED_TO_CAPACITY_RATIO, shape=RISING, cpu=2, memory=5), middling(), USED, WANTED, 41
    ),  # (50*2 + 37*5) / 7 = 40.7
    "ratio, zeros are left out": (
        strategy(REQUESTED_TO_CAPACITY_RATIO, shape=((40, 0), (100, 10)), cpu=1, memory=3),
        middling(), USED, WANTED, 16,  # cpu only: 100*10/60
    ),
    "ratio, only zeros": (
        strategy(REQUESTED_TO_CAPACITY_RATIO, shape=((90, 0), (100, 10))), middling(), USED, WANTED, 0
    ),
    "ratio, a node without cpu": (
        strategy(REQUESTED_TO_CAPACITY_RATIO, shape=((0, 5), (100, 5)), cpu=1, memory=1),
        middling().allocatable(cpu=0), USED, WANTED, 50,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("args", "on", "there", "wants", "expected"), SCORE_CASES.values(), ids=SCORE_CASES.keys())
@pytest.mark.parametrize("with_a_neighbor", [False, True], ids=["alone", "among others"])
def test_score(
    args: NodeResourcesFitArgs,
    on: NodeBuilder,
    there: PodBuilder | None,
    wants: PodBuilder,
    expected: int,
    with_a_neighbor: bool,
) -> None:
    """Each strategy weighs the resources that the node has and the pod is judged by."""
    objects: list[Object] = [
        on.obj(),
        *([there.obj()] if there else []),
        *([node("other").obj()] if with_a_neighbor else []),
    ]
    scores = raw_and_normal_scores(NodeResourcesFit(args, gates=DEFAULT_GATES), cache_of(*objects), wants.obj())
    assert scores is not None
    raw, normal = scores
    assert raw["n"] == normal["n"] == expected


def in_go(product: int, divisor: int) -> int:
    """A division of int64: what is too large has lost its upper bits, and it is truncated toward zero."""
    wrapped = (product + 2**63) % 2**64 - 2**63
    return abs(wrapped) // divisor * (1 if wrapped > 0 else -1)


@pytest.mark.parametrize("memory", ["81Pi", "82Pi", "100Pi", "500Pi", "2Ei", "7Ei"])
@pytest.mark.parametrize("kind", [LEAST_ALLOCATED, MOST_ALLOCATED])
def test_a_hundredfold_may_be_too_large_for_an_int64(kind: str, memory: str) -> None:
    """On one node and on many; a score below zero is for the framework to refuse."""
    plugin = NodeResourcesFit(strategy(kind, cpu=1, memory=2), gates=DEFAULT_GATES)
    cache = cache_of(node("a").capacity(cpu="4", memory=memory).obj(), node("b").capacity(cpu="4", memory="1Gi").obj())
    wanted = pod("p").cpu("1").memory("0.9Pi").obj()
    capacity, asked = whole_value(parse_quantity(memory)), whole_value(parse_quantity("0.9Pi"))
    cpu, rest = (25, asked) if kind == MOST_ALLOCATED else (75, capacity - asked)
    expected = in_go(cpu + 2 * in_go(rest * 100, capacity), 3)
    view = cache.view()
    state = plugin.pre_score(cache.info(wanted), view, np.arange(2))
    assert plugin.score(state, view, ALL_ROWS)[0] == plugin.score(state, view, row_array([0]))[0] == expected


@pytest.mark.parametrize(("each", "expected"), [(72 * 10**17, 100), (8 * 10**18, 0), (91 * 10**17, 0)])
def test_what_pods_use_may_be_too_large_for_an_int64(each: int, expected: int) -> None:
    """The sum turns negative; its hundredfold may not be, and then lies beyond every point of the shape."""
    plugin = NodeResourcesFit(strategy(REQUESTED_TO_CAPACITY_RATIO, shape=RISING, memory=1), gates=DEFAULT_GATES)
    users = [running(name).memory(str(each)).node("n").obj() for name in ("one", "two")]
    cache = cache_of(node("n").capacity(memory="16Gi").obj(), *users)
    view = cache.view()
    state = plugin.pre_score(cache.info(pod("p").memory("1").obj()), view, np.arange(1))
    assert plugin.score(state, view, ALL_ROWS)[0] == plugin.score(state, view, row_array([0]))[0] == expected


def test_ratio_leaves_out_zeros_beside_nodes_that_lack_a_resource() -> None:
    """A node that lacks cpu does not change how its neighbors are judged by theirs."""
    args = strategy(REQUESTED_TO_CAPACITY_RATIO, shape=((40, 0), (100, 10)), cpu=3, memory=1)
    lacking = node("lacking").capacity(cpu=0, memory="2Gi")
    idle = node("idle").capacity(cpu="10", memory="2Gi")  # cpu 10% counts 0 and is left out, memory 50%
    scores = raw_and_normal_scores(
        NodeResourcesFit(args, gates=DEFAULT_GATES),
        cache_of(lacking.obj(), idle.obj()),
        pod("p").cpu("1").memory("1Gi").obj(),
    )
    assert scores is not None
    assert scores[0] == {"lacking": 16, "idle": 16}


def test_pre_filter_neither_rejects_nor_skips() -> None:
    """A pod without requests still needs a place among the pods of a node."""
    cache = cache_of(small().obj())
    assert isinstance(NodeResourcesFit(gates=DEFAULT_GATES).pre_filter(cache.info(pod("p").obj()), cache.view()), Ready)
