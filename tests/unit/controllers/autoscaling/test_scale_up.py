"""Cluster Autoscaler's way up, seen in simulated clusters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.devices import DRIVER, asks, claim_template, device, device_class
from tests.support.node_pools import autoscaler, pool, scaled, simulated, sizes

from bayplan.analysis.simulation.inputs.commands import Apply, PlannedCommand
from bayplan.model.node import Taint
from bayplan.model.node_pools import OfferedDevices
from bayplan.model.time_units import MINUTE
from bayplan.testing.builders import daemon_set, deployment, node, pod, priority_class
from bayplan.testing.pods import PodBuilder


def web(replicas: int, pattern: PodBuilder | None = None) -> Any:
    template = (pattern or pod("web").cpu("1")).labels(app="web")
    return deployment("web").replicas(replicas).selects(app="web").template(template)


@pytest.mark.parametrize(
    ("replicas", "fields", "nodes"),
    [
        (1, {}, 1),
        (4, {}, 1),
        (5, {}, 2),
        (40, {}, 10),
        (60, {}, 10),  # never more than max
        (1, {"min": 3}, 3),  # never fewer than min
        (5, {"max": 1}, 1),
    ],
)
def test_a_pool_gets_as_many_nodes_as_pods_take(replicas: int, fields: dict[str, Any], nodes: int) -> None:
    result = simulated([pool("a", **fields), web(replicas)], 5)
    assert sizes(result, 5) == {"a": nodes}
    assert result.summary.pods.pending == max(replicas - 4 * nodes, 0)


def test_pods_wait_for_the_scan_and_for_the_machine() -> None:
    result = simulated([pool("a", start_time="60s"), web(1)], 5)
    (waits,) = result.summary.waiting.values()
    assert 60 < waits.max < 60 + 10 + 11  # the scheduler looks again at least every 11 s while there are no nodes


def test_existing_nodes_are_used_first() -> None:
    result = simulated([pool("a"), node("n1").capacity(cpu="4", memory="16Gi"), web(4)], 5)
    assert sizes(result, 5) == {}


def test_machines_under_way_count_for_pods_that_come_later() -> None:
    result = simulated([pool("a", start_time="120s"), web(2)], 5, [scaled(1, "web", 4)])
    assert sizes(result, 5) == {"a": 1}


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        (pod("w").cpu("1").node_selector(disk="ssd"), {"ssd": 1}),
        (pod("w").cpu("1").tolerates("gpu").node_selector(gpu="yes"), {"gpu": 1}),
        (pod("w").cpu("1").node_selector(disk="tape"), {}),
        (pod("w").cpu("8"), {}),
    ],
)
def test_the_filters_of_the_scheduler_choose_the_pool(pattern: PodBuilder, chosen: dict[str, int]) -> None:
    pools = [
        pool("plain"),
        pool("ssd", labels={"disk": "ssd"}),
        pool("gpu", labels={"gpu": "yes"}, taints=[Taint(key="gpu", effect="NoSchedule")]),
    ]
    assert sizes(simulated([*pools, web(1, pattern)], 5), 5) == chosen


def test_pods_that_keep_apart_get_a_node_each() -> None:
    apart = pod("web").labels(app="web").cpu("100m").pod_anti_affinity("kubernetes.io/hostname", {"app": "web"})
    assert sizes(simulated([pool("a"), web(3, apart)], 5), 5) == {"a": 3}


def test_daemons_take_room_on_new_nodes() -> None:
    daemons = daemon_set("agent").selects(app="agent").template(pod("agent").labels(app="agent").cpu("2"))
    assert sizes(simulated([pool("a"), daemons, web(4)], 5), 5) == {"a": 2}


def test_daemons_alone_make_no_pool_grow() -> None:
    daemons = daemon_set("agent").selects(app="agent").template(pod("agent").labels(app="agent").cpu("8"))
    assert sizes(simulated([pool("a"), node("n1"), daemons], 5), 5) == {}


def test_pods_below_the_cutoff_make_no_pool_grow() -> None:
    low = priority_class("overprovisioning", value=-100)
    pattern = pod("w").cpu("1").priority(None, class_name="overprovisioning")
    assert sizes(simulated([low, pool("a"), web(1, pattern)], 5), 5) == {}


def test_a_pod_that_preempts_needs_no_new_node() -> None:
    high = priority_class("high", value=1000)
    urgent = pod("urgent").cpu("4").grace(120).priority(None, class_name="high")
    there = node("n1").capacity(cpu="4", memory="16Gi").label("bayplan/node-pool", "a")
    result = simulated([high, pool("a"), there, pod("lone").cpu("4").grace(120).node("n1"), urgent], 6)
    assert sizes(result, 6) == {"a": 1}
    assert result.summary.pods.preempted == 1


def test_all_pools_together_have_at_most_so_many_nodes() -> None:
    result = simulated([autoscaler(max_nodes=3), pool("a"), pool("b"), web(40)], 5)
    assert sum(sizes(result, 5).values()) == 3


def test_devices_of_the_template_make_a_pool_grow_from_nothing() -> None:
    offered = OfferedDevices(driver=DRIVER, devices=[device("gpu-0"), device("gpu-1")])
    trainer = pod("web").cpu("1").resource_claim("gpu", template="one")
    things = [
        pool("plain"),
        pool("gpu", devices=[offered]),
        device_class(),
        claim_template("one", asks("gpu")),
        web(3, trainer),
    ]
    result = simulated(things, 5)
    assert sizes(result, 5) == {"gpu": 2}
    assert result.summary.pods.pending == 0


def test_a_pool_that_may_have_more_gets_them_though_nothing_else_happens() -> None:
    things = [pool("a", max=1), web(5)]
    larger = PlannedCommand(round(3.5 * MINUTE), Apply((pool("a", max=2),)))
    assert sizes(simulated(things, 5), 5) == {"a": 1}
    assert sizes(simulated(things, 8, [larger]), 8) == {"a": 2}
