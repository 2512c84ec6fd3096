"""Buying nodes: the cheapest that hold, what survives a failure, and what no node type can hold."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of

from bayplan.analysis.answers.planning.plan import NodePlan
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

SECONDS = 8.0
HOST = "kubernetes.io/hostname"


def kind(name: str, cpu: int, price: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "capacity": {"cpu": cpu, "memory": "64Gi"}, "price": price, **more}


def pods(number: int, cpu: str) -> list[PodBuilder]:
    return [make.pod(f"p{cpu}-{each}").labels(app="web").cpu(cpu) for each in range(number)]


def planned(catalog: list[dict[str, Any]], *things: Builder[Any], survive: str = "") -> NodePlan:
    return cluster_of(*things).plan(catalog, survive=survive, seconds=SECONDS)


def bought(found: NodePlan) -> dict[str, int] | None:
    return None if found.bought is None else {f"{each.name}{each.zone}": each.number for each in found.bought}


def test_the_cheapest_mix() -> None:
    found = planned([kind("small", 4, 10), kind("large", 16, 30)], *pods(5, "4"))
    assert (bought(found), found.price, found.is_proven) == ({"small": 1, "large": 1}, 40, True)
    assert len(found.placements) == 5


def test_pods_are_not_cut_to_pieces() -> None:
    found = planned([kind("small", 4, 10)], *pods(2, "3"))
    assert (bought(found), found.bound) == ({"small": 2}, 20)


def test_labels_and_taints_decide_where_pods_may_go() -> None:
    catalog = [
        kind("cheap", 8, 1, taints=[{"key": "spot", "effect": "NoSchedule"}]),
        kind("dear", 8, 9, labels={"disk": "ssd"}),
    ]
    assert bought(planned(catalog, *pods(1, "1"))) == {"dear": 1}
    assert bought(planned(catalog, make.pod("p").cpu("1").tolerates("spot"))) == {"cheap": 1}
    assert bought(planned(catalog, make.pod("p").tolerates("spot").node_selector(disk="ssd"))) == {"dear": 1}


def test_what_the_solver_leaves_out_takes_more_nodes() -> None:
    apart = [pod.pod_anti_affinity(HOST, {"app": "web"}) for pod in pods(3, "1")]
    found = planned([kind("small", 4, 10)], *apart)
    assert (bought(found), found.bound, found.is_proven) == ({"small": 3}, 10, False)
    assert found.gap == pytest.approx(2 / 3)


def test_existing_nodes_are_used() -> None:
    node = make.node("here").capacity(cpu="4")
    found = planned([kind("small", 4, 10)], node, *pods(2, "3"))
    assert (bought(found), found.placed_before) == ({"small": 1}, 1)
    assert bought(planned([kind("small", 4, 10)], node, *pods(1, "3"))) == {}


def test_daemons_take_their_share() -> None:
    daemons = make.daemon_set("d").template(make.pod("d").labels(app="d").cpu("1"))
    found = planned([kind("small", 4, 10)], daemons, *pods(2, "2"))
    assert (bought(found), found.pods, found.bound) == ({"small": 2}, 2, 20)


def test_nothing_that_runs_is_preempted() -> None:
    node, low = make.node("here").capacity(cpu="4"), make.pod("low").cpu("4").running("here")
    found = planned([kind("small", 4, 10)], node, low, make.pod("high").cpu("4").priority(9))
    assert (bought(found), dict(found.placements)) == ({"small": 1}, {"default/high": "small-1"})


def test_any_one_node_may_fail() -> None:
    found = planned([kind("small", 4, 10)], *pods(2, "4"), survive="node")
    assert (bought(found), found.is_proven) == ({"small": 3}, True)
    mixed = planned([kind("small", 4, 10), kind("large", 8, 18)], *pods(2, "4"), survive="node")
    assert (mixed.works, mixed.price) == (True, 30)


def test_any_zone_may_fail() -> None:
    found = planned([kind("small", 4, 10, zones=["a", "b"])], *pods(2, "4"), survive="zone")
    assert (bought(found), found.price) == ({"smalla": 2, "smallb": 2}, 40)
    three = planned([kind("small", 4, 10, zones=["a", "b", "c"])], *pods(2, "4"), survive="zone")
    assert three.price == 30


def test_pods_that_no_node_type_can_hold_are_named() -> None:
    found = planned([kind("small", 4, 10)], *pods(1, "4"), make.pod("huge").cpu("5"))
    assert (found.works, bought(found), list(found.impossible)) == (False, {"small": 1}, ["default/huge"])
    assert "Insufficient cpu" in found.impossible["default/huge"]


def test_a_catalog_that_has_too_few_nodes() -> None:
    found = planned([kind("small", 4, 10, max=1)], *pods(2, "4"))
    assert (found.works, found.bound) == (False, None)


def test_no_pods_need_no_nodes() -> None:
    assert (bought(planned([kind("small", 4, 10)])), planned([kind("small", 4, 10)]).pods) == ({}, 0)


def test_free_nodes_are_fine() -> None:
    found = planned([kind("own", 4, 0)], *pods(3, "4"))
    assert (found.works, found.price, found.gap, found.is_proven) == (True, 0, 0, True)


def test_surviving_a_zone_takes_zones() -> None:
    with pytest.raises(InvalidObject, match="--survive: zone: the catalog needs types with at least two zones"):
        planned([kind("small", 4, 10)], *pods(1, "1"), survive="zone")


def test_the_document() -> None:
    document = planned([kind("small", 4, 10)], *pods(1, "1")).to_dict()
    assert document["nodes"] == [{"name": "small", "zone": None, "number": 1, "price": 10.0}]
    assert (document["price"], document["priceAtLeast"], document["gap"], document["proven"]) == (10, 10, 0, True)
    assert document["placements"] == {"default/p1-0": "small-1"}


def test_a_resource_that_no_node_has() -> None:
    asking = make.pod("p").cpu("1").request({"example.com/fpga": 1}).limit({"example.com/fpga": 1})
    found = planned([kind("small", 4, 10)], make.node("a"), asking)
    assert found.impossible == {"default/p": "0/2 nodes are available: 2 Insufficient example.com/fpga"}


def test_prices_of_a_second() -> None:
    """A millionth makes a difference there."""
    found = planned([kind("small", 4, 0.000043), kind("large", 8, 0.000085)], *pods(2, "4"))
    assert (bought(found), found.is_proven) == ({"large": 1}, True)
    assert found.bound == pytest.approx(0.000085)


def test_more_pods_than_the_catalog_has_nodes_for() -> None:
    found = planned([kind("small", 4, 10, max=1)], *pods(2, "4"))
    assert (found.bought, found.bound, found.impossible) == (None, None, {})


def test_pods_of_daemons_are_not_among_those_that_need_a_node() -> None:
    agent = make.daemon_set("agent").template(make.pod("t").labels(app="agent").cpu("1"))
    found = planned([kind("small", 4, 10)], make.node("a").capacity(cpu="2"), agent, *pods(1, "3"))
    assert (found.pods, found.placed_before, list(found.placements)) == (1, 0, ["default/p3-0"])


def test_a_bound_is_known_even_if_no_nodes_were_found() -> None:
    """The pods must be apart, which the solver does not know, and there is only one node."""
    apart = [pod.pod_anti_affinity(HOST, {"app": "web"}) for pod in pods(2, "1")]
    found = planned([kind("small", 4, 10, max=1)], *apart)
    assert (found.bought, found.bound) == (None, 10)


TOPOLOGY = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


def racks(*sizes: int) -> list[Builder[Any]]:
    return [
        make.node(f"{rack}{number}").capacity(cpu="4", memory="64Gi", pods=20).labels(rack=rack)
        for rack, size in zip("abc", sizes, strict=False)
        for number in range(size)
    ]


def gang(name: str, size: int, cpu: str = "4") -> list[Builder[Any]]:
    members = [make.pod(f"{name}-{number}").cpu(cpu).in_group(name) for number in range(size)]
    return [make.pod_group(name).gang(size).within("rack"), *members]


def in_rack(name: str, price: float) -> dict[str, Any]:
    return kind(f"more-{name}", 4, price, labels={"rack": name})


def planned_with_groups(catalog: list[dict[str, Any]], *things: Builder[Any]) -> NodePlan:
    return cluster_of(*things).plan(catalog, seconds=SECONDS, feature_gates=TOPOLOGY)


def test_a_gang_is_completed_in_the_rack_that_costs_least() -> None:
    """Room for three is in each rack; in rack d four nodes would be needed, which are cheaper one by one."""
    found = planned_with_groups([in_rack("a", 10), in_rack("b", 12), in_rack("d", 9)], *racks(3, 3), *gang("g", 4))
    assert (bought(found), found.price, found.is_proven) == ({"more-a": 1}, 10, True)
    assert found.placed_before == 3


def test_a_rack_of_its_own_is_bought_where_that_costs_less() -> None:
    found = planned_with_groups([in_rack("a", 50), in_rack("d", 9)], *racks(3), *gang("g", 4))
    assert (bought(found), found.is_proven) == ({"more-d": 4}, True)


def test_each_gang_has_a_rack_of_its_own_choice() -> None:
    found = planned_with_groups([in_rack("a", 10), in_rack("b", 10)], *racks(2, 3), *gang("g", 3), *gang("h", 3))
    assert (found.price, found.is_proven) == (10, True)
    assert bought(found) == {"more-a": 1}


def test_a_gang_stays_where_its_pods_are() -> None:
    there = make.pod("g-there").cpu("4").in_group("g").running("b0")
    found = planned_with_groups([in_rack("a", 1), in_rack("b", 10)], *racks(3, 1), *gang("g", 2), there)
    assert (bought(found), found.is_proven) == ({"more-b": 2}, True)
