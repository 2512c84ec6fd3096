"""Karpenter's way down, seen in simulated clusters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.node_pools import autoscaler, pool, scaled, simulated, sizes

from bayplan.testing.builders import budget, deployment, node, pod
from bayplan.testing.pods import PodBuilder

DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
KARPENTER = autoscaler(mode="karpenter", disruption_budget="100%")
SMALL, LARGE = pool("small", "2", price=0.1), pool("large", "16", price=0.6)


def web(replicas: int, cpu: str = "1") -> Any:
    return deployment("web").replicas(replicas).selects(app="web").template(pod("web").labels(app="web").cpu(cpu))


def on(node_name: str, name: str = "p") -> PodBuilder:
    return pod(name).cpu("1").node(node_name)


def of_pool(name: str, pool_name: str, cpu: str) -> Any:
    return node(name).capacity(cpu=cpu, memory="16Gi").label("bayplan/node-pool", pool_name)


def test_an_empty_node_goes_within_a_minute() -> None:
    result = simulated([KARPENTER, SMALL, web(1)], 20, [scaled(10, "web", 0)])
    assert sizes(result, 9) == {"small": 1}
    assert sizes(result, 11) == {"small": 0}


def test_a_pool_may_wait_longer() -> None:
    patient = pool("small", "2", price=0.1, consolidate_after="5m")
    result = simulated([KARPENTER, patient, web(1)], 20, [scaled(10, "web", 0)])
    assert sizes(result, 14.5) == {"small": 1}
    assert sizes(result, 16) == {"small": 0}


def test_a_large_node_gives_way_to_a_small_one_that_is_there_first() -> None:
    result = simulated([KARPENTER, SMALL, LARGE, web(10)], 30, [scaled(10, "web", 2)])
    assert sizes(result, 9) == {"large": 1, "small": 0}
    assert sizes(result, 20) == {"small": 1, "large": 0}
    large, small = (next(each for each in result.run.nodes if each.pool == name) for name in ("large", "small"))
    assert large.until is not None
    assert small.since < large.until
    assert result.summary.pods.pending == 0


def test_several_nodes_go_together_when_their_pods_fit_on_one() -> None:
    things = [KARPENTER, pool("a", "4"), *(of_pool(f"n{number}", "a", "4") for number in range(4))]
    pods = [on(f"n{number}", f"p{number}") for number in range(4)]
    result = simulated([*things, *pods], 5)
    assert sizes(result, 5) == {"a": 1}
    assert len({each.until for each in result.run.nodes if each.until is not None}) <= 3


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({"consolidation_policy": "Never"}, 2),
        ({"consolidation_policy": "WhenEmpty"}, 1),
        ({"scale_down": False}, 2),
        ({"disruption_budget": "0"}, 2),
        ({}, 1),
    ],
)
def test_settings_say_what_may_go(changes: dict[str, Any], size: int) -> None:
    given = autoscaler(mode="karpenter", **{"disruption_budget": "100%", **changes})
    things = [given, pool("a"), of_pool("n1", "a", "4"), of_pool("n2", "a", "4"), on("n1")]
    assert sizes(simulated(things, 5), 5) == {"a": size}


@pytest.mark.parametrize(
    "stubborn",
    [
        [on("n1").annotations({DO_NOT_DISRUPT: "true"})],
        [on("n1").labels(app="web"), budget("b").selects(app="web").max_unavailable(0)],
        [on("n1").node_selector({"kubernetes.io/hostname": "n1"})],
    ],
    ids=["annotated", "budget", "fits nowhere else"],
)
def test_a_pod_in_the_way_keeps_its_node(stubborn: list[Any]) -> None:
    things = [KARPENTER, pool("a"), of_pool("n1", "a", "4"), of_pool("n2", "a", "4"), on("n2", "q"), *stubborn]
    result = simulated(things, 5)
    assert "n1" in [each.name for each in result.run.nodes if each.until is None]


def test_a_node_is_not_replaced_by_its_like() -> None:
    things = [KARPENTER, pool("a"), of_pool("n1", "a", "4"), on("n1")]
    assert [each.until for each in simulated(things, 10).run.nodes] == [None]


def test_no_more_nodes_of_a_pool_go_at_once_than_its_budget_says() -> None:
    given = autoscaler(mode="karpenter", disruption_budget="10%")
    things = [given, pool("a", max=20), *(of_pool(f"n{number}", "a", "4") for number in range(20))]
    gone = sorted(each.until for each in simulated(things, 10).run.nodes if each.until is not None)
    assert len(gone) > 4
    assert gone[0] == gone[1] < gone[2]
