"""Which request of which claim nodes cannot meet, and what keeps which devices from it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.devices import (
    DRIVER,
    asks,
    asks_first_of,
    claim_of,
    device,
    device_class,
    held,
    slice_of,
    with_claims,
)

from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.resource_claims import (
    ALL_DEVICES,
    Counter,
    CounterSet,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceTaint,
    ResourcePool,
)
from bayplan.testing.builders import node, pod

GPU = f'device.driver == "{DRIVER}"'
MODEL_A = f'device.attributes["{DRIVER}"].model == "a"'
MODEL_B = f'device.attributes["{DRIVER}"].model == "b"'
BROKEN = DeviceTaint(key="broken", effect="NoSchedule")
USED = held(claim_of("taken", asks("r")), "n1", "d1", by=[pod("user").obj()])
NODES = (node("n1").obj(), device_class("gpu", GPU))


def causes_of(*things: Object, claims: tuple[str, ...] = ("c",)) -> list[dict[str, Any]]:
    document = Cluster([*things, with_claims(pod("x").obj(), *claims)]).explain("x").document()
    assert sum(cause["count"] for cause in document["causes"]) == len(document["filter"])
    assert {cause["plugin"] for cause in document["causes"]} == {"DynamicResources"}
    causes: list[dict[str, Any]] = document["causes"]
    return causes


def texts_of(*things: Object, claims: tuple[str, ...] = ("c",)) -> list[tuple[int, str]]:
    return [(cause["count"], cause["cause"]) for cause in causes_of(*things, claims=claims)]


def test_every_obstacle_is_named_and_the_nearest_to_being_usable_comes_first() -> None:
    offered = slice_of(
        "n1",
        device("d0", model="a"),
        device("d1", model="a"),
        device("d2", model="b"),
        device("d3", model="a", taints=[BROKEN]),
    )
    (cause,) = causes_of(*NODES, offered, USED, claim_of("c", asks("r", MODEL_A, count=2)))
    assert cause["cause"] == (
        "claim default/c, request r: n1 has 1 of 2: 1 in use by default/user (d1); "
        f"1 tainted broken:NoSchedule (d3); 1 not selected by request: {MODEL_A} (d2)"
    )
    assert cause["reasons"] == ["cannot allocate all claims"]
    assert cause["deviceRequests"] == [
        {
            "claim": "default/c",
            "request": "r",
            "deviceClass": "gpu",
            "mode": "ExactCount",
            "count": 2,
            "node": "n1",
            "available": 1,
            "obstacles": [
                {
                    "reason": "in use",
                    "count": 1,
                    "devices": ["d1"],
                    "claims": ["default/taken"],
                    "usedBy": ["default/user"],
                },
                {"reason": "tainted broken:NoSchedule", "count": 1, "devices": ["d3"]},
                {
                    "reason": f"not selected by request: {MODEL_A}",
                    "selector": {"of": "request", "cel": MODEL_A},
                    "count": 1,
                    "devices": ["d2"],
                },
            ],
        }
    ]


def test_a_selector_of_the_class_is_told_from_one_of_the_request() -> None:
    (cause,) = causes_of(
        node("n1").obj(),
        device_class("gpu", MODEL_A),
        slice_of("n1", device("d0", model="b")),
        claim_of("c", asks("r", MODEL_B)),
    )
    assert cause["cause"] == f"claim default/c, request r: n1 has 0 of 1: 1 not selected by class gpu: {MODEL_A} (d0)"
    assert cause["deviceRequests"][0]["obstacles"][0]["selector"] == {"of": "class", "cel": MODEL_A}


def test_a_device_that_is_not_selected_is_not_said_to_be_in_use() -> None:
    """Nothing would be won if it were free."""
    found = texts_of(*NODES, slice_of("n1", device("d1", model="b")), USED, claim_of("c", asks("r", MODEL_A)))
    assert found == [(1, f"claim default/c, request r: n1 has 0 of 1: 1 not selected by request: {MODEL_A} (d1)")]


def test_nodes_with_the_same_obstacles_are_one_cause_that_describes_the_best() -> None:
    taken = claim_of("taken", asks("r", count=3))
    found = texts_of(
        *NODES,
        node("n2").obj(),
        node("none").obj(),
        slice_of("n1", device("d0"), device("d1"), device("d2"), device("d3")),
        slice_of("n2", device("d0"), device("d1"), device("d2")),
        held(taken, "n1", "d0", "d1", "d2", by=[pod("user").obj()]),
        held(claim_of("other", asks("r")), "n2", "d0", by=[pod("user2").obj()]),
        claim_of("c", asks("r", count=3)),
    )
    assert found == [
        (2, "claim default/c, request r: n2 has 2 of 3: 1 in use by default/user2 (d0)"),
        (1, "claim default/c, request r: these nodes have no devices"),
    ]


def test_a_request_that_could_be_met_is_not_blamed() -> None:
    found = texts_of(
        *NODES,
        slice_of("n1", device("d0", model="a")),
        claim_of("c", asks("fine", MODEL_A), asks("bad", MODEL_B)),
    )
    assert found == [(1, f"claim default/c, request bad: n1 has 0 of 1: 1 not selected by request: {MODEL_B} (d0)")]


def test_requests_that_take_devices_from_each_other() -> None:
    found = texts_of(
        *NODES, slice_of("n1", device("d0")), claim_of("c", asks("one")), claim_of("d", asks("two")), claims=("c", "d")
    )
    text = (
        "claim default/c and claim default/d: each request could be met alone, but not all of them together (2 devices)"
    )
    assert found == [(1, text)]


def test_devices_that_do_not_go_together() -> None:
    numa = DeviceConstraint(match_attribute=f"{DRIVER}/numa")
    found = texts_of(
        *NODES,
        slice_of("n1", device("d0", numa=0), device("d1", numa=1)),
        claim_of("c", asks("r", count=2), constraints=[numa]),
    )
    text = f"n1 has 2 of 2, but they do not go together: all must have the same {DRIVER}/numa"
    assert found == [(1, f"claim default/c, request r: {text}")]


def test_all_devices_of_a_node() -> None:
    found = texts_of(
        *NODES, slice_of("n1", device("d0"), device("d1")), USED, claim_of("c", asks("r", mode=ALL_DEVICES))
    )
    assert found == [(1, "claim default/c, request r wants all devices of n1: 1 in use by default/user (d1)")]


def test_every_alternative_of_a_list_is_told() -> None:
    choice = asks_first_of("best", asks("large", MODEL_A), asks("small", MODEL_B))
    found = texts_of(*NODES, slice_of("n1", device("d0", model="c")), claim_of("c", choice))
    first = f"request best/large: n1 has 0 of 1: 1 not selected by request: {MODEL_A} (d0)"
    second = f"request best/small: n1 has 0 of 1: 1 not selected by request: {MODEL_B} (d0)"
    assert found == [(1, f"claim default/c, {first}; or {second}")]


def test_a_capacity_that_is_too_small() -> None:
    small: dict[str, RawQuantity] = {"memory": "8Gi"}
    found = texts_of(
        *NODES, slice_of("n1", device("d0", capacity=dict(small))), claim_of("c", asks("r", capacity={"memory": "9Gi"}))
    )
    assert found == [(1, "claim default/c, request r: n1 has 0 of 1: 1 too little memory left (d0)")]


def test_counters_that_devices_share() -> None:
    """Half of a GPU is in use, so that the whole one cannot be had."""

    def part(name: str, amount: str) -> Any:
        made = device(name)
        made.consumes_counters = [
            DeviceCounterConsumption(counter_set="gpu", counters={"slices": Counter(value=amount)})
        ]
        return made

    pool = ResourcePool(name="n1", generation=1, resource_slice_count=2)
    counters = slice_of("n1", name="counters", pool="n1")
    counters.spec.pool = pool
    counters.spec.shared_counters = [CounterSet(name="gpu", counters={"slices": Counter(value="2")})]
    parts = slice_of("n1", part("whole", "2"), part("half", "1"), pool="n1")
    parts.spec.pool = pool
    half = held(claim_of("taken", asks("r")), "n1", "half", by=[pod("user").obj()])
    found = texts_of(*NODES, counters, parts, half, claim_of("c", asks("r")))
    text = "1 too little slices left to share with devices in use (whole); 1 in use by default/user (half)"
    assert found == [(1, f"claim default/c, request r: n1 has 0 of 1: {text}")]


def test_a_claim_whose_devices_are_elsewhere() -> None:
    mine = held(claim_of("c", asks("r")), "gone", "d0")
    assert mine.status.allocation is not None
    by_name = NodeSelectorRequirement(key="metadata.name", operator="In", values=["gone"])
    mine.status.allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[by_name])])
    found = texts_of(*NODES, mine)
    assert found == [(1, f"claim default/c has {DRIVER}/gone/d0, usable only where metadata.name in (gone)")]


@pytest.mark.parametrize("length", [80, 300])
def test_a_long_expression_is_cut_in_the_text_alone(length: int) -> None:
    long = " || ".join([MODEL_A] * (length // len(MODEL_A) + 1))
    (cause,) = causes_of(*NODES, slice_of("n1", device("d0", model="b")), claim_of("c", asks("r", long)))
    assert (long in cause["cause"]) is (len(long) <= 100)
    assert len(cause["cause"]) < 220
    assert cause["deviceRequests"][0]["obstacles"][0]["selector"]["cel"] == long
