"""Whom another scheduler evicts for whom."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.testing.builders import pod
from bayplan.worlds.shadow_preemptions import MARKS_LAST_NS, Preempted, SeenPreemptions, ShadowVictim, is_marked

OURS = frozenset({"default-scheduler"})


@pytest.mark.parametrize("victims_first", [True, False])
def test_victims_and_nomination_come_in_either_order(victims_first: bool) -> None:
    seen = SeenPreemptions()
    steps: list[Callable[[], None]] = [
        lambda: seen.marked(ShadowVictim("v"), "n", 1),
        lambda: seen.marked(ShadowVictim("w"), "n", 2),
        lambda: seen.nominated("p", "n"),
    ]
    for step in steps if victims_first else reversed(steps):
        step()
    found = seen.victims_of("p")
    assert found is not None
    assert (found.node, set(found.victims), found.is_shared) == ("n", {ShadowVictim("v"), ShadowVictim("w")}, False)


def test_several_preemptors_of_one_node_share_its_victims() -> None:
    seen = SeenPreemptions()
    seen.nominated("p", "n")
    seen.marked(ShadowVictim("v"), "n", 1)
    seen.nominated("q", "n")
    seen.marked(ShadowVictim("w"), "n", 2)
    assert (
        seen.victims_of("p")
        == seen.victims_of("q")
        == Preempted("n", (ShadowVictim("v"), ShadowVictim("w")), is_shared=True)
    )


def test_the_next_preemptor_of_a_node_starts_anew() -> None:
    seen = SeenPreemptions()
    seen.nominated("p", "n")
    seen.marked(ShadowVictim("v"), "n", 1)
    seen.over("p")
    seen.nominated("q", "n")
    assert seen.victims_of("p") is None
    assert seen.victims_of("q") == Preempted("n")


def test_a_pod_that_waits_for_another_node_leaves_the_first() -> None:
    seen = SeenPreemptions()
    seen.nominated("p", "n")
    seen.marked(ShadowVictim("v"), "n", 1)
    seen.nominated("p", "m")
    assert seen.victims_of("p") == Preempted("m")


def test_marks_are_forgotten() -> None:
    seen = SeenPreemptions()
    seen.marked(ShadowVictim("v"), "n", 1)
    seen.forget_before(2)
    assert seen.has_marked("v")
    seen.nominated("p", "n")
    assert seen.victims_of("p") == Preempted("n"), "too long ago to be for this one"
    seen.forget_before(2 + MARKS_LAST_NS)
    assert not seen.has_marked("v")


@pytest.mark.parametrize(
    ("status", "reason", "by", "marked"),
    [
        ("True", "PreemptionByScheduler", "default-scheduler", True),
        ("False", "PreemptionByScheduler", "default-scheduler", False),
        ("True", "DeletionByTaintManager", "default-scheduler", False),
        ("True", "PreemptionByScheduler", "another", False),
    ],
)
def test_whose_victim_it_is(status: str, reason: str, by: str, marked: bool) -> None:
    message = f"{by}: preempting to accommodate a higher priority pod"
    assert is_marked(pod("v").condition("DisruptionTarget", status, reason, message).obj(), OURS) is marked
