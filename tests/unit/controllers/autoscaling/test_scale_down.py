"""Cluster Autoscaler's way down, seen in simulated clusters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.node_pools import autoscaler, pool, scaled, simulated, sizes

from bayplan.model.volumes import EmptyDirVolumeSource, Volume
from bayplan.testing.builders import budget, daemon_set, deployment, node, pod
from bayplan.testing.pods import PodBuilder

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
POOL_LABEL = "bayplan/node-pool"


def web(replicas: int, pattern: PodBuilder | None = None, name: str = "web") -> Any:
    template = (pattern or pod(name).cpu("1")).labels(app=name)
    return deployment(name).replicas(replicas).selects(app=name).template(template)


def of_pool(name: str, cpu: str = "4") -> Any:
    return node(name).capacity(cpu=cpu, memory="16Gi").label(POOL_LABEL, "a")


def on(name: str, node_name: str) -> PodBuilder:
    """A pod of the Deployment's only ReplicaSet would be too much to write: one that may be evicted."""
    return pod(name).cpu("1").memory("1Gi").annotations({SAFE: "true"}).node(node_name)


def test_a_node_that_nobody_needs_goes_after_ten_minutes() -> None:
    result = simulated([pool("a"), web(4)], 40, [scaled(20, "web", 0)])
    assert sizes(result, 29.9) == {"a": 1}
    assert sizes(result, 31) == {"a": 0}


@pytest.mark.parametrize(("fields", "minutes"), [({"unneeded_time": "2m"}, 23), ({"unneeded_time": "15m"}, 36)])
def test_a_pool_may_have_its_own_time(fields: dict[str, Any], minutes: int) -> None:
    result = simulated([pool("a", **fields), web(4)], 40, [scaled(20, "web", 0)])
    assert sizes(result, minutes - 2) == {"a": 1}
    assert sizes(result, minutes) == {"a": 0}


def test_no_node_goes_within_ten_minutes_of_a_new_one() -> None:
    things = [pool("a", unneeded_time="1m"), web(4), web(0, name="other")]
    result = simulated(things, 40, [scaled(20, "web", 0), scaled(20.5, "other", 40)])
    assert [each for each in result.run.nodes if each.until is not None and each.until < 30 * 60] == []


def test_a_pool_keeps_its_smallest_size() -> None:
    result = simulated([pool("a", min=2), web(12)], 60, [scaled(20, "web", 0)])
    assert sizes(result, 19) == {"a": 3}
    assert sizes(result, 60) == {"a": 2}


def test_pods_move_to_other_nodes() -> None:
    result = simulated([pool("a"), web(8)], 60, [scaled(20, "web", 2)])
    assert sizes(result, 60) == {"a": 1}
    assert result.summary.pods.pending == 0


@pytest.mark.parametrize(("cpu", "size"), [("1900m", 1), ("2", 2)])
def test_a_node_that_is_half_full_stays(cpu: str, size: int) -> None:
    """Each node has one pod, and any would fit beside the other."""
    things = [pool("a"), of_pool("n1"), of_pool("n2"), on("p1", "n1").cpu(cpu), on("p2", "n2").cpu(cpu)]
    assert sizes(simulated(things, 20), 20) == {"a": size}


@pytest.mark.parametrize(
    "stubborn",
    [
        pod("p").cpu("1").node("n1"),
        on("p", "n1").annotations({SAFE: "false"}),
        pod("p").cpu("1").node("n1").volume(Volume(name="tmp", empty_dir=EmptyDirVolumeSource())),
    ],
    ids=["lone", "not safe", "local storage"],
)
def test_a_pod_in_the_way_keeps_its_node(stubborn: PodBuilder) -> None:
    things = [pool("a"), of_pool("n1"), of_pool("n2"), stubborn]
    result = simulated(things, 20)
    assert [each.name for each in result.run.nodes if each.until is None] == ["n1"]


def test_a_budget_that_allows_nothing_keeps_the_node() -> None:
    covering = budget("b").selects(app="web").max_unavailable(0)
    things = [pool("a"), of_pool("n1"), of_pool("n2"), on("p", "n1").labels(app="web"), covering]
    assert [each.name for each in simulated(things, 20).run.nodes if each.until is None] == ["n1"]


def test_pods_that_fit_nowhere_else_keep_their_node() -> None:
    things = [pool("a"), of_pool("n1"), of_pool("n2"), on("p1", "n1").node_selector({"kubernetes.io/hostname": "n1"})]
    assert [each.name for each in simulated(things, 20).run.nodes if each.until is None] == ["n1"]


def test_nodes_of_no_pool_stay() -> None:
    result = simulated([pool("a"), node("n1"), of_pool("n2")], 20)
    assert [each.name for each in result.run.nodes if each.until is None] == ["n1"]


def test_a_node_may_be_exempt() -> None:
    exempt = of_pool("n1").annotations({"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"})
    assert sizes(simulated([pool("a"), exempt], 20), 20) == {"a": 1}


def test_nothing_goes_where_that_is_turned_off() -> None:
    assert sizes(simulated([autoscaler(scale_down=False), pool("a"), of_pool("n1")], 30), 30) == {"a": 1}


def test_daemons_do_not_keep_a_node_and_leave_with_it() -> None:
    daemons = daemon_set("agent").selects(app="agent").template(pod("agent").labels(app="agent").cpu("100m"))
    result = simulated([pool("a"), of_pool("n1"), daemons], 20)
    assert sizes(result, 20) == {"a": 0}
    assert [pod.end for pod in result.run.pods if pod.ended is None] == []


def test_at_most_ten_nodes_go_at_a_time() -> None:
    things = [pool("a", max=30), *(of_pool(f"n{number}") for number in range(14))]
    result = simulated(things, 20)
    gone = sorted(each.until for each in result.run.nodes if each.until is not None)
    assert len(gone) == 14
    assert gone[9] == gone[0]
    assert gone[10] >= gone[0] + 5


def test_cost_is_hours_times_price() -> None:
    result = simulated([pool("a", price=0.5, min=1, max=1), pool("b", price=2.0, min=2, max=2)], 120)
    summary = result.summary
    assert summary.cost == pytest.approx(2 * 0.5 + 4 * 2.0)
    assert summary.node_hours == pytest.approx(6)
    assert summary.pools["b"].node_hours == pytest.approx(4)
