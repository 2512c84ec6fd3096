"""Random worlds are not dull: whatever their tables offer happens, and pods are placed, refused and preempted."""

from __future__ import annotations

from collections import Counter

import pytest

from bayplan.core.decision import Decision
from bayplan.model.kinds import KINDS
from bayplan.model.time_units import SECOND
from bayplan.testing.random_world import STARTED_AT, GoesInCircles, RandomWorld

SEEDS = 40
#: Enough for most of what happens, and far less than the rest of a world's time costs.
SECONDS = 40


class Meter:
    """What happened in some worlds."""

    def __init__(self) -> None:
        self.offered: set[str] = set()
        self.drawn: Counter[str] = Counter()
        self.kinds: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.in_circles = 0
        for seed in range(SEEDS):
            self._live_through(seed)

    def _live_through(self, seed: int) -> None:
        world = RandomWorld(seed, on_decision=self._decided)
        log = world.store.watch(since=0, essential=True)
        try:
            world.world.run_until(STARTED_AT + min(SECONDS, world.seconds) * SECOND)
        except GoesInCircles:
            self.in_circles += 1
        self.offered |= world.draw.offered
        self.drawn += world.draw.drawn
        self.kinds |= {change.kind for change in log.read()}

    def _decided(self, decision: Decision, now: int) -> None:
        self.outcomes[decision.outcome] += 1


@pytest.fixture(scope="module")
def meter() -> Meter:
    return Meter()


def test_everything_that_can_be_drawn_is_drawn(meter: Meter) -> None:
    """Every kind, constraint and change of the tables, and every value of a field that has a choice."""
    assert sorted(meter.offered - set(meter.drawn)) == []
    assert len(meter.offered) > 150


def test_every_kind_of_object_is_in_some_world(meter: Meter) -> None:
    assert sorted(set(KINDS) - meter.kinds) == []


def test_pods_are_placed_refused_and_preempted(meter: Meter) -> None:
    decided = sum(meter.outcomes[outcome] for outcome in ("assumed", "unschedulable", "nominated"))
    assert decided > 50 * SEEDS
    assert meter.outcomes["assumed"] > decided // 20
    assert meter.outcomes["unschedulable"] > decided // 5
    assert meter.outcomes["nominated"] > SEEDS
    assert meter.in_circles < SEEDS // 5, "few worlds end early, because preempting and recreating goes on and on"
