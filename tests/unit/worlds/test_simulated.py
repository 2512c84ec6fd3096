"""What a simulated world does with the scheduler's actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar

import pytest

from bayplan.controllers.contract import Controller
from bayplan.core.actions import Evict, SetCondition
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import Event, EvictAnswered
from bayplan.model.conditions import find_condition
from bayplan.model.pod import Pod
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.model.well_known import POD_SCHEDULED
from bayplan.store import Store, WatchEvent
from bayplan.testing.builders import pod
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.faults import CONFLICT, FaultRates
from bayplan.worlds.performing import Performer
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000_000_000_000
API_NS = 2 * MILLISECOND
UID = pod("p").obj().metadata.uid
AS_BEFORE = SetCondition("default/p", UID, "Unschedulable", "as before")
OTHERWISE = SetCondition("default/p", UID, "Unschedulable", "otherwise")


class Repeating:
    """A scheduler that says the same of one pod at given times."""

    def __init__(self, *times: int) -> None:
        self._times = list(times)

    def observe(self, event: Event, now: int) -> None:
        pass

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision:
        del self._times[0]
        return Decision(AS_BEFORE.pod, Outcome.UNSCHEDULABLE, actions=(AS_BEFORE,))

    def due_at(self, now: int) -> int | None:
        return max(self._times[0], now) if self._times else None


class Contradicting:
    """A controller that says otherwise at one time, right before the scheduler decides."""

    name: ClassVar[str] = "contradicting"
    watches: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, at: int) -> None:
        self._at: int | None = at

    def observe(self, change: WatchEvent, now: int) -> None:
        pass

    def reconcile(self, store: Store, now: int) -> None:
        if now == self._at:  # a controller is asked at the start, too
            Performer(store, None).perform(OTHERWISE, now)
            self._at = None

    def wake_at(self) -> int | None:
        return self._at


class Stage:
    """A pod that says "as before", and a world in which that is said again."""

    def __init__(self, *said_at: int, controllers: Sequence[Controller] = ()) -> None:
        self.store = Store()
        self.store.load([pod("p").obj()], STARTED_AT)
        self.somebody = Performer(self.store, None)
        self.somebody.perform(AS_BEFORE, STARTED_AT)
        self.versions_before = self.store.resource_version
        scheduler = Repeating(*(STARTED_AT + at for at in said_at))
        draws = Draws(1, Latencies(api_ns=API_NS, jitter=0.0))
        self.world = SimulatedWorld(self.store, scheduler, controllers, draws, started_at=STARTED_AT)

    def change(self, at: int) -> None:
        """Somebody says otherwise."""

        def say(now: int) -> None:
            self.somebody.perform(OTHERWISE, now)

        self.world.at(STARTED_AT + at, say)

    def run(self) -> tuple[str, int]:
        """What the pod says at the end, and how often that was written."""
        self.world.run_until(STARTED_AT + 10 * API_NS)
        condition = find_condition(self.store.get(Pod, "default", "p").status.conditions, POD_SCHEDULED)
        assert condition is not None
        return condition.message, self.store.resource_version - self.versions_before


def test_a_condition_that_says_nothing_new_is_not_written() -> None:
    assert Stage(0, API_NS, 2 * API_NS).run() == ("as before", 0)


def test_a_condition_on_its_way_is_written_if_the_pod_says_otherwise_by_then() -> None:
    stage = Stage(0)
    stage.change(at=API_NS // 2)
    assert stage.run() == ("as before", 2)


def test_a_condition_that_has_arrived_does_not_come_again() -> None:
    stage = Stage(0)
    stage.change(at=API_NS + 1)
    assert stage.run() == ("otherwise", 1)


def test_of_two_conditions_on_their_way_both_arrive() -> None:
    """The second change comes between the arrivals: it has the last word only until the second arrives."""
    stage = Stage(0, API_NS // 2)
    stage.change(at=3 * API_NS // 4)
    stage.change(at=5 * API_NS // 4)
    assert stage.run() == ("as before", 4)


def test_more_may_be_written_at_one_instant_than_the_log_keeps() -> None:
    """By a user's command, or by a controller."""
    seen = []

    class Listening(Repeating):
        def observe(self, event: Event, now: int) -> None:
            seen.append(event)

    store = Store(log_capacity=8)
    world = SimulatedWorld(store, Listening(), [], Draws(1, Latencies()), started_at=STARTED_AT)
    world.at(STARTED_AT, lambda now: store.load([pod(f"p{number}").obj() for number in range(100)], now))
    world.run_until(STARTED_AT + SECOND)
    assert len(seen) == 100


def test_a_condition_said_again_is_written_if_the_pod_has_changed_at_that_very_instant() -> None:
    at = 3 * API_NS
    assert Stage(0, at, controllers=[Contradicting(STARTED_AT + at)]).run() == ("as before", 2)


class Preempting:
    """A scheduler that evicts some pods at the start, and keeps the answers."""

    def __init__(self, *victims: Pod) -> None:
        self._evictions = tuple(
            Evict(f"default/{pod.metadata.name}", pod.metadata.uid, "n1", "r", "m", "n") for pod in victims
        )
        self._has_decided = False
        self.errors: dict[str, str] = {}

    def observe(self, event: Event, now: int) -> None:
        if isinstance(event, EvictAnswered):
            self.errors[event.pod] = event.error

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision:
        self._has_decided = True
        return Decision("default/preemptor", Outcome.NOMINATED, actions=self._evictions)

    def due_at(self, now: int) -> int | None:
        return None if self._has_decided else now


class FirstRefused(Random):
    """Draws what refuses the first action, and lets the others pass."""

    def __init__(self) -> None:
        super().__init__(0)
        self._drawn = iter((0.0,))

    def random(self) -> float:
        return next(self._drawn, 1.0)


@pytest.mark.parametrize("count", [2, 3])
def test_the_last_victim_is_spared_if_another_could_not_be_evicted(count: int) -> None:
    victims = [pod(f"v{number}").node("n1").obj() for number in range(count)]
    store = Store()
    store.load(victims, STARTED_AT)
    draws = Draws(1, Latencies(api_ns=API_NS, jitter=0.0))
    scheduler = Preempting(*victims)
    draws.random = FirstRefused()
    world = SimulatedWorld(store, scheduler, (), draws, started_at=STARTED_AT, faults=FaultRates(refused=0.5))
    world.run_until(STARTED_AT + SECOND)
    first, *others, last = (f"v{number}" for number in range(count))
    assert scheduler.errors == {f"default/{first}": CONFLICT, f"default/{last}": CONFLICT} | {
        f"default/{name}": "" for name in others
    }
    going = [one.metadata.name for one in store.list(Pod) if one.metadata.deletion_timestamp is not None]
    assert going == others
