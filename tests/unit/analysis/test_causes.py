"""What keeps a pod off nodes, by name."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.testing.builders import claim, node, pod, volume
from bayplan.testing.building import Builder

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DATA = claim("data").bound("v")


def causes_of(*things: Builder[Any]) -> list[tuple[int, str]]:
    document = Cluster([thing.obj() for thing in things]).explain("x").document()
    assert sum(cause["count"] for cause in document["causes"]) == len(document["filter"])
    return [(cause["count"], cause["cause"]) for cause in document["causes"]]


CASES: dict[str, tuple[list[Builder[Any]], list[tuple[int, str]]]] = {
    "each taint by itself": (
        [
            node("a").taint("gpu", "yes"),
            node("b").taint("gpu", "yes"),
            node("c").taint("dedicated").taint("soft", effect="PreferNoSchedule"),
            pod("x"),
        ],
        [(2, "taint gpu=yes:NoSchedule"), (1, "taint dedicated:NoSchedule")],
    ),
    "a taint that is tolerated is not named": (
        [node("a").taint("gpu").taint("other"), pod("x").tolerates("gpu", operator="Exists")],
        [(1, "taint other:NoSchedule")],
    ),
    "a cordon": ([node("a").unschedulable(), pod("x")], [(1, "cordoned")]),
    "a label that other nodes have": (
        [node("a"), node("b").label("pool", "gpu").unschedulable(), pod("x").node_selector(pool="gpu")],
        [(1, "cordoned"), (1, "node selector pool=gpu")],
    ),
    "a label with a typo": (
        [node("a").label("pool", "general"), pod("x").node_selector(pool="generall")],
        [(1, "node selector pool=generall (no node has it; did you mean pool=general, 1 node?)")],
    ),
    "an affinity": (
        [node("a").label("disk", "hdd"), pod("x").node_affinity("disk=ssd")],
        [(1, "node affinity disk in (ssd)")],
    ),
    "how much is free": (
        [node("a").capacity(cpu="4"), pod("y").cpu("3").running("a"), pod("x").cpu("2")],
        [(1, "too little cpu (2 requested, at most 1 free)")],
    ),
    "nodes that are too small": (
        [node("a").capacity(cpu="4"), pod("x").cpu("5")],
        [(1, "too little cpu (5 requested, these nodes have at most 4)")],
    ),
    "a port": (
        [node("a"), pod("y").port(80).running("a"), pod("x").port(80).port(81)],
        [(1, "host port taken: 80/TCP")],
    ),
    "its anti-affinity": (
        [
            node("a").label(HOST, "a"),
            pod("y").labels(app="y").running("a"),
            pod("x").pod_anti_affinity(HOST, "app=y"),
        ],
        [(1, f"its anti-affinity to app=y in the same {HOST}")],
    ),
    "its affinity": (
        [node("a").label(HOST, "a"), pod("x").pod_affinity(HOST, "app=y")],
        [(1, f"its affinity to app=y in the same {HOST}")],
    ),
    "another pod's anti-affinity": (
        [
            node("a").label(HOST, "a"),
            pod("y").pod_anti_affinity(HOST, "app=x").running("a"),
            pod("x").labels(app="x"),
        ],
        [(1, f"anti-affinity of default/y in the same {HOST}")],
    ),
    "a volume elsewhere": (
        [
            node("a").label(ZONE, "a"),
            DATA,
            volume("v").bound_to(DATA).node_affinity(f"{ZONE}=b"),
            pod("x").claim("data"),
        ],
        [(1, f"claim data is on volume v ({ZONE} in (b))")],
    ),
    "a claim that does not exist": (
        [node("a"), pod("x").claim("none")],
        [(1, 'persistentvolumeclaim "none" not found')],
    ),
}


@pytest.mark.parametrize(("things", "expected"), CASES.values(), ids=CASES)
def test_causes(things: list[Builder[Any]], expected: list[tuple[int, str]]) -> None:
    assert causes_of(*things) == expected


def test_a_spread_says_how_many_pods_each_domain_has() -> None:
    zones = [node(name).label(ZONE, name) for name in "ab"]
    there = [pod(f"w{number}").labels(app="w").running("a") for number in range(3)]
    full = pod("full").cpu("4").running("b")
    wanting = pod("x").labels(app="w").cpu("1").spread(ZONE, "app=w")
    assert causes_of(*zones, *there, full, wanting) == [
        (1, "too little cpu (1 requested, at most 0 free)"),
        (1, f"spread over {ZONE}: a has 3, the least is 0, maxSkew 1"),
    ]


def test_what_is_too_small_is_apart_from_what_is_full() -> None:
    found = causes_of(
        node("big").capacity(cpu="8"),
        node("small").capacity(cpu="2"),
        pod("y").cpu("6").running("big"),
        pod("x").cpu("4"),
    )
    assert found == [
        (1, "too little cpu (4 requested, at most 2 free)"),
        (1, "too little cpu (4 requested, these nodes have at most 2)"),
    ]


def test_a_preference_keeps_nobody_away() -> None:
    """The pod whose rule it is is named, not one that would only rather be alone."""
    found = causes_of(
        node("a").label(HOST, "a"),
        pod("a-first").pod_anti_affinity(HOST, "app=x", weight=9).running("a"),
        pod("y").pod_anti_affinity(HOST, "app=x").running("a"),
        pod("x").labels(app="x"),
    )
    assert found == [(1, f"anti-affinity of default/y in the same {HOST}")]


def test_room_that_is_promised_is_not_free() -> None:
    found = causes_of(
        node("a").capacity(cpu="4"),
        pod("y").cpu("1").running("a"),
        pod("promised").cpu("2").priority(9).nominated("a"),
        pod("x").cpu("3"),
    )
    assert found == [(1, "too little cpu (3 requested, at most 1 free)")]
