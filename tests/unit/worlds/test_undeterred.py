"""A refusal that a controller does not expect does not end the cluster it lives in."""

from __future__ import annotations

from typing import ClassVar

from bayplan.model.cluster import Namespace
from bayplan.model.meta import ObjectMeta
from bayplan.model.time_units import SECOND
from bayplan.store import Forbidden, Store, WatchEvent
from bayplan.store.rules import RULES
from bayplan.worlds.delays import Draws, Latencies
from bayplan.worlds.embedded import NoScheduler
from bayplan.worlds.simulated import SimulatedWorld
from bayplan.worlds.undeterred import PAUSE_NS, Undeterred

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
    undeterred = Undeterred(controller, lambda name, words: reported.append((name, words)))
    world = SimulatedWorld(store, NoScheduler(), [undeterred], Draws(1, Latencies()), started_at=STARTED_AT)
    world.at(STARTED_AT, lambda now: store.load([Namespace(metadata=ObjectMeta(name="n"))], now))
    world.run_until(STARTED_AT + 10 * PAUSE_NS)
    assert controller.tried_at == [0, PAUSE_NS, 2 * PAUSE_NS]
    assert reported == [("refused", 'namespaces "n" is forbidden: no reason')] * 2
    assert controller.heard == 1, "what happens meanwhile is heard"
