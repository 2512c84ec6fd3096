"""Random worlds whose scheduler has bugs: something raises now and then, and what must hold holds all the same."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any
from zlib import crc32

import pytest
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld
from tests.simulation.test_random_worlds import CALM_SECONDS, check_at_rest
from tests.support.checkers import check_always, check_devices_not_shared, check_not_overcommitted

from bayplan.core.binding import Binding
from bayplan.core.cache import Cache
from bayplan.core.columns.counters import Counters
from bayplan.core.columns.pods import PodTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.decision import Choice
from bayplan.core.evictions import Evictions
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.in_flight import InFlight
from bayplan.core.queue.nominations import Nominations
from bayplan.core.reservations import Reservations
from bayplan.core.scheduler import Scheduler
from bayplan.core.snapshot import View
from bayplan.model.time_units import SECOND
from bayplan.worlds.guarded import GuardedScheduler
from bayplan.worlds.journal import JournalWriter, Player, read_head, scheduler_for

#: Where exceptions come from: in the middle of everything that changes what the scheduler remembers.
PLACES: tuple[tuple[type, str], ...] = (
    (Decider, "decide"),
    (Decider, "_board"),
    (Cache, "add_pod"),
    (Cache, "add_node"),
    (Cache, "remove_node"),
    (Cache, "nominate"),
    (Cache, "_vacate"),
    (Cache, "_account"),
    (Cache, "update_row"),
    (Counters, "on_pod"),
    (PodTable, "add"),
    (PodTable, "remove"),
    (SchedulingQueue, "pop"),
    (SchedulingQueue, "move"),
    (SchedulingQueue, "assume"),
    (SchedulingQueue, "return_failed"),
    (SchedulingQueue, "_requeue"),
    (SchedulingQueue, "_park"),
    (SchedulingQueue, "update"),
    (SchedulingQueue, "delete"),
    (InFlight, "finish"),
    (Nominations, "set"),
    (Evictions, "ask"),
    (Evictions, "answer"),
    (Reservations, "take"),
    (Reservations, "answered"),
    (Reservations, "undo"),
    (Reservations, "show"),
    (Binding, "take"),
    (Binding, "_go_on"),
    (Binding, "_bind"),
    (Binding, "_forget"),
    (Binding, "arrived"),
    (Binding, "bind_answered"),
    (Binding, "expire"),
    (Scheduler, "_preempt"),
)


class InjectedError(Exception):
    """A bug that was put there."""


class Injection:
    """Raises, before or after what is asked for, while it is on."""

    def __init__(self, seed: int, share: float) -> None:
        self._random = random.Random(seed)
        self._share = share
        self.is_on = False
        self.raised = 0

    def into(self, monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        @wraps(original)
        def injected(*arguments: Any, **named: Any) -> Any:
            self._perhaps_raise(owner, name)
            answer = original(*arguments, **named)
            self._perhaps_raise(owner, name)
            return answer

        monkeypatch.setattr(owner, name, injected)

    def kept_out_of(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def undisturbed(*arguments: Any, **named: Any) -> Any:
            was_on, self.is_on = self.is_on, False
            try:
                return original(*arguments, **named)
            finally:
                self.is_on = was_on

        return undisturbed

    def _perhaps_raise(self, owner: type, name: str) -> None:
        if self.is_on and self._random.random() < self._share:
            self.raised += 1
            raise InjectedError(f"{owner.__name__}.{name}")


def live_through_bugs(seed: int, monkeypatch: pytest.MonkeyPatch, share: float) -> int:
    """How many bugs were survived."""
    injection = Injection(seed, share)
    for owner, name in PLACES:
        injection.into(monkeypatch, owner, name)
    met: list[Exception] = []
    drivers: list[GuardedScheduler] = []

    def guarded(scheduler: Scheduler) -> GuardedScheduler:
        drivers.append(GuardedScheduler(scheduler, lambda _where, _about, error: met.append(error)))
        return drivers[0]

    monkeypatch.setattr(Scheduler, "restore", injection.kept_out_of(Scheduler.restore))
    world = RandomWorld(seed, checked=True, drive=guarded)
    injection.is_on = True
    with suppress(GoesInCircles):
        for second in range(world.seconds + CALM_SECONDS):
            injection.is_on = second < world.seconds * 2 // 3
            world.world.run_until(STARTED_AT + second * SECOND)
            if not drivers[0].is_broken:
                injection.is_on = False
                check_always(world.scheduler)
            check_not_overcommitted(world.store, world.overcommitted, world.scheduler.cache.gates)
            check_devices_not_shared(world.store)
        check_at_rest(world)
    others = [error for error in met if not isinstance(error, InjectedError)]
    if others:
        raise others[0]
    return injection.raised


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_a_world_heals_from_bugs_of_the_scheduler(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live_through_bugs(seed, monkeypatch, share=0.002) > 5


def curse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts of some pods raise, and so does the end of others: always the same ones."""
    decide, remove = Decider.decide, SchedulingQueue.delete

    def cursed_decide(self: Decider, info: PodInfo, view: View) -> Choice:
        if crc32(info.key.encode()) % 7 == 0:
            raise InjectedError("attempt")
        return decide(self, info, view)

    def cursed_delete(self: SchedulingQueue, key: str, now: int, *, bound_to: str = "") -> None:
        remove(self, key, now, bound_to=bound_to)
        if crc32(key.encode()) % 5 == 0:
            raise InjectedError("end")

    monkeypatch.setattr(Decider, "decide", cursed_decide)
    monkeypatch.setattr(SchedulingQueue, "delete", cursed_delete)


@pytest.mark.parametrize("seed", range(3))
def test_a_journal_of_a_scheduler_that_met_bugs_replays(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new scheduler meets the same bugs, survives them in the same way, and decides the same."""
    curse(monkeypatch)
    out = io.StringIO()
    character = RandomWorld(seed).character
    settings = {"config": character.configuration, "featureGates": character.feature_gates}
    journal = JournalWriter(out, {"startedAt": STARTED_AT, "wakeups": character.wakeups.value, **settings})
    met: list[str] = []

    def guarded(scheduler: Scheduler) -> GuardedScheduler:
        return GuardedScheduler(scheduler, lambda where, _about, _error: met.append(where))

    world = RandomWorld(seed, drive=guarded, on_event=journal.event, on_decision=journal.decision)
    with suppress(GoesInCircles):
        world.world.run_until(STARTED_AT + world.seconds * SECOND)
    assert {"attempt", "event"} <= set(met)
    lines = iter(out.getvalue().splitlines())
    player = Player(scheduler_for(read_head(lines)))
    assert list(player.play(lines)) == []
    assert len(player.bugs) == len(met)
