"""Which candidate is cheapest: each criterion decides in turn, and what they leave is a tie."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.support.preemption_attempts import Tried, tried

from bayplan.core.preemption.select import (
    HIGHEST_PRIORITY,
    PRIORITY_SUM,
    START_TIME,
    VICTIM_COUNT,
    VIOLATIONS,
)
from bayplan.testing.builders import budget, node, pod

LOWEST = -(1 << 31)
ORDER = [VIOLATIONS, HIGHEST_PRIORITY, PRIORITY_SUM, VICTIM_COUNT, START_TIME]


@dataclass(frozen=True)
class V:
    """A victim."""

    priority: int
    since: int | str | None = None
    guarded: bool = False


def choice(nodes: dict[str, list[V]]) -> Tried:
    """Every pod has to go: the newcomer fills a node."""
    pods = []
    for name, victims in nodes.items():
        for place, victim in enumerate(victims):
            built = pod(f"{name}-{place}").cpu("100m").priority(victim.priority).running(name, victim.since)
            pods.append(built.labels(guarded="yes") if victim.guarded else built)
    wanting = pod("wanting").cpu("4").priority(1000)
    return tried(wanting, *map(node, nodes), *pods, budget("pdb").selects(guarded="yes").allows(0))


CASES: dict[str, tuple[dict[str, list[V]], list[str], str]] = {
    "fewest broken budgets": (
        {"a": [V(1, guarded=True)], "b": [V(99), V(98), V(97)]},
        ["b"],
        VIOLATIONS,
    ),
    "pods count, whatever their number": (
        {"a": [V(1, guarded=True), V(1, guarded=True)], "b": [V(99, guarded=True), V(98)]},
        ["b"],
        VIOLATIONS,
    ),
    "lowest of the highest priorities": (
        {"x": [V(10), V(10)], "y": [V(10)], "z": [V(9), V(9), V(9)]},
        ["z"],
        HIGHEST_PRIORITY,
    ),
    "negative priorities are low": ({"a": [V(0)], "b": [V(-5)]}, ["b"], HIGHEST_PRIORITY),
    "smallest sum": ({"a": [V(10), V(2)], "b": [V(10), V(1)]}, ["b"], PRIORITY_SUM),
    "one victim less weighs more than any priority": ({"a": [V(10), V(-9)], "b": [V(10)]}, ["b"], PRIORITY_SUM),
    "a victim of the lowest priority there is weighs nothing": (
        {"a": [V(10), V(LOWEST)], "b": [V(10)]},
        ["b"],
        VICTIM_COUNT,
    ),
    "latest start": ({"a": [V(10, 100)], "b": [V(10, 200)]}, ["b"], START_TIME),
    "the earliest start on each node counts": (
        {"a": [V(10, 900), V(10, 100)], "b": [V(10, 300), V(10, 200)]},
        ["b"],
        START_TIME,
    ),
    "only of victims with the highest priority": (
        {"a": [V(10, 100), V(1, 900)], "b": [V(10, 200), V(1, 50)]},
        ["b"],
        START_TIME,
    ),
    "no start time is the latest": ({"a": [V(10, 100)], "b": [V(10)]}, ["b"], START_TIME),
    "years that nanoseconds in 64 bits cannot tell are early or late": (
        {"a": [V(10, "0001-01-01T00:00:00Z")], "b": [V(10, 100)], "c": [V(10, "9999-12-31T23:59:59Z")]},
        ["c"],
        START_TIME,
    ),
    "even the last year is before no start time": (
        {"a": [V(10, "9999-12-31T23:59:59Z")], "b": [V(10)]},
        ["b"],
        START_TIME,
    ),
    "one known start time makes the node old": (
        {"a": [V(10, 100), V(10)], "b": [V(10, 101), V(10)]},
        ["b"],
        START_TIME,
    ),
    "a tie": ({"a": [V(10, 100)], "b": [V(10, 50)], "c": [V(10, 100)]}, ["a", "c"], START_TIME),
    "all equal": ({"a": [V(10)], "b": [V(10)]}, ["a", "b"], START_TIME),
}


@pytest.mark.parametrize(("nodes", "expected", "decided_by"), CASES.values(), ids=CASES.keys())
def test_choice(nodes: dict[str, list[V]], expected: list[str], decided_by: str) -> None:
    """The nodes that are left, and the criterion that was the last to be asked."""
    done = choice(nodes)
    assert set(done.candidates) == set(nodes)
    assert done.selected == expected
    criteria = [step["criterion"] for step in done.record["choice"]]
    assert criteria == ORDER[: ORDER.index(decided_by) + 1]


def test_criteria_narrow_one_after_another() -> None:
    """Each criterion looks only at what the one before left."""
    done = choice(
        {
            "broken": [V(1, guarded=True)],
            "high": [V(20)],
            "sum": [V(10), V(10)],
            "old": [V(10, 100)],
            "new": [V(10, 200)],
        }
    )
    assert done.selected == ["new"]
    kept = [step["kept"] for step in done.record["choice"]]
    assert kept == [
        ["high", "new", "old", "sum"],
        ["new", "old", "sum"],
        ["new", "old"],
        ["new", "old"],
        ["new"],
    ]


def test_a_single_candidate_needs_no_criterion() -> None:
    done = choice({"a": [V(10)]})
    assert done.selected == ["a"]
    assert done.record["choice"] == []


def test_no_candidate() -> None:
    done = tried(pod("wanting").cpu("4").priority(5), node("n"), pod("a").cpu("1").priority(5).running("n"))
    assert done.selected == []
    assert done.candidates == {}
