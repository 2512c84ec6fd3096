"""A refusal that a controller does not expect does not end the cluster it lives in."""

from __future__ import annotations

from typing import ClassVar

import pytest

from bayplan.model.cluster import Namespace
from bayplan.model.meta import ObjectMeta
from bayplan.model.time_units import SECOND
from bayplan.store import Forbidden, Store, WatchEvent
from bayplan.store.rules import RULES
from bayplan.worlds.bugs import CONTROLLER
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.embedded import NoScheduler
from bayplan.worlds.resilient_controllers import PAUSE_MAX_NS, PAUSE_NS, ResilientController
from bayplan.worlds.simulated import SimulatedWorld

STARTED_AT = 1_700_000_000 * SECOND


class Refused:
    """Is refused as often as it is told to be, and due at once until it is not."""

    name: ClassVar[str] = "refused"
    watches: ClassVar[frozenset[str]] = frozenset({"Namespace"})

    def __init__(self, times: int) -> None:
        self._times = times
        self.tried_at: list[int] = []
        self._is_done = False
        self.heard = 0

    def observe(self, change: WatchEvent, now: int) -> None:
        self.heard += 1

    def reconcile(self, store: Store, now: int) -> None:
        self.tried_at.append(now - STARTED_AT)
        if len(self.tried_at) <= self._times:
            raise Forbidden.because(RULES[Namespace], "n", "no reason")
        self._is_done = True

    def wake_at(self) -> int | None:
        return None if self._is_done else 0


def test_a_refused_controller_is_reported_pauses_and_tries_again() -> None:
    store, controller = Store(), Refused(times=2)
    reported: list[tuple[str, str]] = []
    resilient = ResilientController(lambda: controller, lambda name, words: reported.append((name, words)))
    world = SimulatedWorld(store, NoScheduler(), [resilient], Draws(1, Latencies()), started_at=STARTED_AT)
    world.at(STARTED_AT, lambda now: store.load([Namespace(metadata=ObjectMeta(name="n"))], now))
    world.run_until(STARTED_AT + 10 * PAUSE_NS)
    assert controller.tried_at == [0, PAUSE_NS, 2 * PAUSE_NS]
    assert reported == [("refused", 'namespaces "n" is forbidden: no reason')] * 2
    assert controller.heard == 1, "what happens meanwhile is heard"


class Buggy:
    """Raises in each of its first lives; the last one works."""

    name: ClassVar[str] = "buggy"
    watches: ClassVar[frozenset[str]] = frozenset({"Namespace"})

    def __init__(self, raises_in: str) -> None:
        self._raises_in = raises_in
        self.heard: list[str] = []
        self.acted_at: list[int] = []

    def _perhaps_raise(self, where: str) -> None:
        if where == self._raises_in:
            raise ValueError("broken")

    def observe(self, change: WatchEvent, now: int) -> None:
        self._perhaps_raise("observe")
        self.heard.append(change.new.metadata.name)

    def reconcile(self, store: Store, now: int) -> None:
        self._perhaps_raise("reconcile")
        self.acted_at.append(now - STARTED_AT)

    def wake_at(self) -> int | None:
        self._perhaps_raise("wake_at")
        return None if self.acted_at else 0


@pytest.mark.parametrize("raises_in", ["observe", "reconcile", "wake_at"])
def test_after_a_bug_a_controller_is_made_again_and_told_of_everything(raises_in: str) -> None:
    lives: list[Buggy] = []
    bugs: list[tuple[str, str, str]] = []

    def make() -> Buggy:
        lives.append(Buggy(raises_in if not lives else ""))
        return lives[-1]

    def report(where: str, about: str, error: Exception) -> None:
        bugs.append((where, about, str(error)))

    store = Store()
    resilient = ResilientController(make, lambda name, words: None, report)
    world = SimulatedWorld(store, NoScheduler(), [resilient], Draws(1, Latencies()), started_at=STARTED_AT)
    world.at(STARTED_AT, lambda now: store.load([Namespace(metadata=ObjectMeta(name="n"))], now))
    world.run_until(STARTED_AT + 10 * PAUSE_NS)
    assert bugs == [(CONTROLLER, "buggy", "broken")]
    assert len(lives) == 2
    assert lives[1].heard == ["n"]
    assert lives[1].acted_at == [PAUSE_NS]


def test_a_controller_that_always_fails_is_tried_less_and_less_often() -> None:
    bugs: list[str] = []
    resilient = ResilientController(
        lambda: Buggy("reconcile"), lambda name, words: None, lambda _where, about, _error: bugs.append(about)
    )
    world = SimulatedWorld(Store(), NoScheduler(), [resilient], Draws(1, Latencies()), started_at=STARTED_AT)
    world.run_until(STARTED_AT + 10 * PAUSE_MAX_NS)
    assert len(bugs) == 15  # after 0, 1, 3, 7, 15, 31 and 63 s, and then each minute


def test_one_object_that_raises_keeps_a_controller_from_no_other() -> None:
    class Picky(Buggy):
        def observe(self, change: WatchEvent, now: int) -> None:
            if change.new.metadata.name == "bad":
                raise ValueError("broken")
            super().observe(change, now)

    lives: list[Picky] = []

    def make() -> Picky:
        lives.append(Picky(""))
        return lives[-1]

    store, bugs = Store(), []
    store.load([Namespace(metadata=ObjectMeta(name=name)) for name in ("a", "bad", "c")], STARTED_AT)
    resilient = ResilientController(make, lambda name, words: None, lambda _where, about, _error: bugs.append(about))
    world = SimulatedWorld(store, NoScheduler(), [resilient], Draws(1, Latencies()), started_at=STARTED_AT)
    world.run_until(STARTED_AT + 10 * PAUSE_NS)
    assert lives[-1].heard == ["a", "c"]
    assert bugs == ["buggy", "buggy: Namespace bad"]
