"""How much is missing on nodes that lack a resource."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.shortage import Shortage, shortages, written_amount
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def test_most_free_and_most_offered() -> None:
    things: list[Builder[Any]] = [
        make.node("a").capacity(cpu="4", memory="8Gi"),
        make.node("b").capacity(cpu="8", memory="8Gi"),
        make.node("tainted").capacity(cpu="6").taint("k"),
        make.pod("on-a").cpu("1").running("a"),
        make.pod("on-b").cpu("6").running("b"),
        make.pod("x").cpu("5").memory("16Gi"),
    ]
    why = Cluster.from_objects([thing.dict() for thing in things]).explain("default/x")
    gib = 1 << 30
    assert shortages(why.explanation) == [
        Shortage("cpu", 5000, 3000, "a", 8000),
        Shortage("memory", 16 * gib, 8 * gib, "a", 8 * gib),
    ]


def test_nothing_is_short_where_nothing_is_looked_at() -> None:
    assert shortages(Cluster.from_objects([make.pod("x").dict()]).explain("default/x").explanation) == []


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 4000, "4"),
        ("cpu", 1500, "1500m"),
        ("memory", 8 << 30, "8Gi"),
        ("memory", 1536 << 20, "1.5Gi"),
        ("memory", 100, "100"),
        ("hugepages-2Mi", 4 << 20, "4Mi"),
        ("nvidia.com/gpu", 2048, "2048"),
    ],
)
def test_amounts_as_in_a_manifest(resource: str, amount: int, text: str) -> None:
    assert written_amount(resource, amount) == text
