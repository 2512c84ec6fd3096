"""Which pool grows."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.support.node_pools import pool

from bayplan.controllers.autoscaling.expanders import best
from bayplan.controllers.autoscaling.packing import Option
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.model.node_pools import EXPANDERS, AutoscalerSpec
from bayplan.testing.builders import pod


def option(name: str, nodes: int, pods: int, cpu: str = "4", **fields: Any) -> Option:
    """So many pods of a CPU and 4Gi on so many nodes of 16Gi."""
    asked = tuple(pod(f"{name}-{number}").cpu("1").memory("4Gi").obj() for number in range(pods))
    return Option(ScaledPool.of(pool(name, cpu, **fields), Settings.of(AutoscalerSpec())), nodes, asked)


EXACT = option("exact", nodes=2, pods=8)
WASTEFUL = option("wasteful", nodes=2, pods=9, cpu="16")
FEW = option("few", nodes=1, pods=3)
CHEAP = option("cheap", nodes=3, pods=8, price=0.2)
WANTED = option("wanted", nodes=4, pods=1, priority=5)


@pytest.mark.parametrize(
    ("expander", "chosen"),
    [
        ("least-waste", "exact"),
        ("most-pods", "wasteful"),
        ("least-nodes", "few"),
        ("price", "cheap"),
        ("priority", "wanted"),
    ],
)
def test_each_expander_has_its_favorite(expander: str, chosen: str) -> None:
    found = best([EXACT, WASTEFUL, FEW, CHEAP, WANTED], [expander], Random(0))
    assert found is not None
    assert found.pool.name == chosen


def test_a_second_expander_breaks_ties_of_the_first() -> None:
    other = option("other", nodes=2, pods=8, price=0.5)
    found = best([EXACT, other], ["least-waste", "price"], Random(0))
    assert found is not None
    assert found.pool.name == "other"


def test_ties_that_are_left_are_broken_by_the_seed() -> None:
    options = [option(name, nodes=1, pods=4) for name in ("a", "b", "c")]
    chosen = [found.pool.name for seed in range(30) if (found := best(options, ["random"], Random(seed)))]
    assert set(chosen) == {"a", "b", "c"}
    again = [found.pool.name for seed in range(30) if (found := best(options, ["random"], Random(seed)))]
    assert chosen == again


def test_no_options_give_nothing() -> None:
    assert all(best([], [expander], Random(0)) is None for expander in EXPANDERS)
