"""Karpenter's way up, seen in simulated clusters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.node_pools import autoscaler, pool, simulated, sizes

from bayplan.model.node_pools import NodePool
from bayplan.testing.builders import deployment, pod

KARPENTER = autoscaler(mode="karpenter", scale_down=False)
SMALL, MIDDLE, LARGE = pool("small", "2", price=0.1), pool("middle", "4", price=0.2), pool("large", "16", price=0.6)


def web(replicas: int, cpu: str = "1") -> Any:
    return deployment("web").replicas(replicas).selects(app="web").template(pod("web").labels(app="web").cpu(cpu))


def grown(pools: list[NodePool], *things: Any) -> dict[str, int]:
    result = simulated([KARPENTER, *pools, *things], 5)
    assert result.summary.pods.pending == 0
    return {name: size for name, size in sizes(result, 5).items() if size}


@pytest.mark.parametrize(
    ("replicas", "cpu", "nodes"),
    [
        (1, "1", {"small": 1}),
        (2, "1", {"small": 1}),
        (3, "1", {"middle": 1}),
        (16, "1", {"large": 1}),
        (17, "1", {"large": 1, "small": 1}),
        (1, "3", {"middle": 1}),
    ],
)
def test_pods_get_the_cheapest_node_that_holds_them_together(replicas: int, cpu: str, nodes: dict[str, int]) -> None:
    assert grown([SMALL, MIDDLE, LARGE], web(replicas, cpu)) == nodes


def test_pools_of_a_higher_priority_come_first() -> None:
    assert grown([SMALL, pool("reserved", "4", price=9.0, priority=10)], web(2)) == {"reserved": 1}


def test_a_full_pool_gives_way_to_the_next() -> None:
    reserved = pool("reserved", "4", price=9.0, priority=10, max=1)
    assert grown([SMALL, reserved], web(6)) == {"reserved": 1, "small": 1}


def test_pods_that_come_within_ten_seconds_share_a_node() -> None:
    assert grown([SMALL, LARGE], *(pod(f"p{number}").cpu("1") for number in range(10))) == {"large": 1}


def test_a_pod_that_no_pool_holds_stays_pending() -> None:
    result = simulated([KARPENTER, SMALL, pod("huge").cpu("64"), pod("p").cpu("1")], 5)
    assert sizes(result, 5) == {"small": 1}
    assert result.summary.pods.pending == 1
