"""Ties are kept as rows, and come out as the names that they were; the choice between them is by name."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import cycle, islice

import pytest

from bayplan.analysis import tied_nodes
from bayplan.analysis.bench.building import build_cache, pods_of
from bayplan.analysis.bench.workloads import WORKLOADS
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.placement import PlacedPod, Placement, Placer, place_pods
from bayplan.analysis.tie_breaks import tie_break
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.cache import Cache
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

PROFILES = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))


@pytest.fixture(params=[0, 64], ids=["follows every change", "follows few changes"])
def follows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small clusters, in which one change would be many, are treated like large ones as well."""
    monkeypatch.setattr(tied_nodes, "_ROWS_PER_CHANGE", request.param)


def nodes(count: int) -> list[Node]:
    """All alike, the names not in the order of the rows."""
    return [node(f"n{number * 7 % count}").capacity(cpu="4", memory="8Gi", pods="110").obj() for number in range(count)]


def cache_of(objects: list[Node] | list[Pod]) -> Cache:
    cache = Cache(gates=DEFAULT_GATES)
    for obj in objects:
        cache.add(obj)
    return cache


def pods(count: int) -> list[Pod]:
    """Several of each kind in turn: equal ones that fill nodes up, others in between, and some that must evict."""
    kinds: list[Callable[[PodBuilder], PodBuilder]] = [
        *[lambda new: new.cpu("500m").memory("1Gi")] * 12,
        lambda new: new.cpu("250m").labels(app="s").spread("kubernetes.io/hostname", "app=s"),
        *[lambda new: new.cpu("3")] * 9,
        *[lambda new: new.cpu("3").priority(10)] * 2,
    ]
    return [kind(pod(f"p{number}")).obj() for number, kind in enumerate(islice(cycle(kinds), count))]


@pytest.mark.usefixtures("follows")
@pytest.mark.parametrize("node_count", [5, 40, 200])
@pytest.mark.parametrize("rule", ["name", "seed:5"])
def test_the_same_names_as_computed_from_scratch(node_count: int, rule: str) -> None:
    def placed(*, reuse: bool) -> Placement:
        return place_pods(cache_of(nodes(node_count)), PROFILES, pods(120), tie_break(rule), reuse=reuse)

    quick, slow = placed(reuse=True), placed(reuse=False)
    assert quick.to_dict() == slow.to_dict()
    assert quick == slow
    assert len({len(decision.ties) for decision in quick.decisions}) > 3


@pytest.mark.usefixtures("follows")
@pytest.mark.parametrize("name", ["basic", "mixed", "spread", "anti-affinity", "preempt"])
def test_the_same_names_as_computed_from_scratch_in_workloads(name: str) -> None:
    """In *basic* every third pod finds a single node that its predecessor has made better than all others."""
    workload, waiting = WORKLOADS[name], pods_of(WORKLOADS[name], 90)

    def placed(*, reuse: bool) -> Placement:
        return place_pods(
            build_cache(workload, 70, waiting, DEFAULT_GATES), PROFILES, waiting, tie_break("name"), reuse=reuse
        )

    assert placed(reuse=True) == placed(reuse=False)


@pytest.mark.usefixtures("follows")
@pytest.mark.parametrize("rule", ["name", "seed:5", "seed:6"])
def test_the_same_names_as_computed_from_scratch_while_nodes_change(rule: str) -> None:
    """Taints and sizes change between decisions on pods of several kinds."""

    def placed(*, reuse: bool) -> list[PlacedPod]:
        cache = cache_of(nodes(60))
        placer = Placer(cache, PROFILES, tie_break(rule), reuse=reuse)
        decisions = []
        for number, waiting in enumerate(pods(180)):
            if number % 3 == 0:
                cache.add_node(changed(number))
            decisions.append(placer.place(waiting))
        return decisions

    def changed(number: int) -> Node:
        built = node(f"n{number % 60}").capacity(cpu=str(3 + number % 5), memory="8Gi", pods="110")
        return (built.taint("soft", effect="PreferNoSchedule") if number % 2 else built).obj()

    quick = placed(reuse=True)
    assert quick == placed(reuse=False)
    assert len({len(decision.ties) for decision in quick}) > 5


@pytest.mark.usefixtures("follows")
@pytest.mark.parametrize("bytes_max", [0, 10_000_000])
def test_the_same_names_for_templates_in_turn(bytes_max: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each template has ties of its own, which are followed from one of its pods to the next, or begun anew."""
    monkeypatch.setattr(tied_nodes, "_FOLLOWED_BYTES_MAX", bytes_max)
    waiting = [pod(f"p{number}").cpu(f"{100 + 50 * (number % 12)}m").memory("64Mi").obj() for number in range(150)]

    def placed(*, reuse: bool) -> Placement:
        return place_pods(cache_of(nodes(90)), PROFILES, waiting, tie_break("name"), reuse=reuse)

    assert placed(reuse=True) == placed(reuse=False)


def test_names_are_those_of_the_decision_whatever_becomes_of_the_nodes() -> None:
    cache = cache_of(nodes(3))
    decision = Placer(cache, PROFILES).place(pod("x").obj())
    cache.remove_pod("default/x")
    for name in ("n0", "n1", "n2"):
        cache.remove_node(name)
        cache.add_node(node(f"other-{name}").obj())
    assert not {"n0", "n1", "n2"} & set(cache.nodes.rows_by_name)
    assert decision.tied == ("n0", "n1", "n2")
    assert (len(decision.ties), "n1" in decision.ties, "other-n1" in decision.ties) == (3, True, False)


def test_a_bit_for_each_node_is_kept_not_a_name() -> None:
    node_count, pod_count = 4_000, 100
    cache, waiting = cache_of(nodes(node_count)), [pod(f"p{number}").cpu("1").obj() for number in range(pod_count)]
    placer = Placer(cache, PROFILES)
    placer.place(pod("first").obj())
    tracemalloc.start()
    try:
        decisions = [placer.place(pending) for pending in waiting]
        kept_before = tracemalloc.get_traced_memory()[0]
        ties = [decision.ties for decision in decisions]
        del decisions
    finally:
        tracemalloc.stop()
    assert sum(len(tied) for tied in ties) > pod_count * node_count / 2
    assert kept_before < pod_count * (node_count / 8 + 4_000)


def test_a_draw_depends_on_names_not_on_the_order_of_objects() -> None:
    waiting = [pod(f"p{number}").cpu("1").obj() for number in range(30)]
    keys = [f"default/p{number}" for number in range(30)]

    def drawn(in_cluster: list[Node], seed: int) -> list[str | None]:
        placement = Cluster([*in_cluster, *waiting]).place(keys, ties=f"seed:{seed}")
        return [decision.node for decision in placement.decisions]

    assert drawn(nodes(20), 3) == drawn(nodes(20)[::-1], 3)
    assert drawn(nodes(20), 3) != drawn(nodes(20), 4)
