"""Searches that stop early: how many nodes are enough, in which order they are met, where the next one begins."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, chosen_node

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.columns.node_order import NodeOrder
from bayplan.core.cycle import attempt
from bayplan.core.deciding import Decider
from bayplan.core.sampling import wanted_count
from bayplan.testing.builders import node, pod


@pytest.mark.parametrize(
    ("nodes", "percentage", "wanted"),
    [
        (99, 0, 99),
        (100, 0, 100),
        (200, 0, 100),
        (250, 0, 120),
        (500, 0, 230),
        (1000, 0, 420),
        (5000, 0, 500),
        (5625, 0, 281),
        (6000, 0, 300),
        (10000, 0, 500),
        (1000, 30, 300),
        (1000, 5, 100),
        (200, 100, 200),
    ],
)
def test_how_many_are_enough(nodes: int, percentage: int, wanted: int) -> None:
    """The share shrinks with the size of the cluster and never goes below a hundred nodes."""
    assert wanted_count(nodes, percentage) == wanted


def test_nodes_are_met_zone_by_zone_in_turn() -> None:
    """One node of each zone, then the next of each; zones stand in the order of their first node."""
    order = NodeOrder()
    for name, zone in [("a1", "z1"), ("a2", "z1"), ("b1", "z2"), ("a3", "z1"), ("c1", ""), ("b2", "z2")]:
        order.put(name, {"topology.kubernetes.io/zone": zone} if zone else {})
    assert order.names() == ["a1", "b1", "c1", "a2", "b2", "a3"]
    order.put("a1", {"topology.kubernetes.io/zone": "z9"})
    assert order.names() == ["a1", "b1", "c1", "a2", "b2", "a3"], "a label alone does not change the list"
    order.remove("b1")
    assert order.names() == ["a2", "b2", "c1", "a1", "a3"]


def test_search_stops_and_goes_on_where_it_stopped() -> None:
    """With 200 equal nodes and an adaptive share the first search sees nodes 0 to 99, the next the others."""
    cache = cache_of(*(node(f"n{i:03}").capacity(cpu="4", memory="8Gi", pods=110).obj() for i in range(200)))
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 0,
    }
    profiles = build_profiles(load_configuration(config, release=DEFAULT_RELEASE))
    info = cache.info(pod("p").cpu("100m").obj())
    first = attempt(profiles["default-scheduler"], info, cache.view())
    assert first.filtered is not None
    assert first.filtered.feasible_rows.tolist() == list(range(100))
    assert first.next_start == 100
    decider = Decider(profiles)
    view = cache.view()
    assert [chosen_node(decider, info, view) for _ in range(3)] == ["n000", "n100", "n000"]


def test_every_node_counts_unless_the_configuration_says_otherwise() -> None:
    """The default looks at all nodes, however many there are."""
    cache = cache_of(*(node(f"n{i:03}").capacity(cpu="4", memory="8Gi", pods=110).obj() for i in range(200)))
    profiles = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
    found = attempt(profiles["default-scheduler"], cache.info(pod("p").obj()), cache.view())
    assert found.filtered is not None
    assert len(found.filtered.feasible_rows) == 200
