"""Random worlds in which preemption is limited: no minute has too many evictions, and wide limits change nothing."""

from __future__ import annotations

import io
from collections import defaultdict
from contextlib import suppress

import pytest
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld
from tests.support.checkers import check_always

from bayplan.core.actions import Evict
from bayplan.core.decision import Decision
from bayplan.core.preemption.safety import UPSTREAM, ForeignVictims, PreemptionSafety
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.worlds.journal import JournalWriter, Player, read_head, scheduler_for

#: Limits that no world of this size reaches.
WIDE = PreemptionSafety(ForeignVictims.NEVER, 10**6, 10**6, 10**6)


class Evictions:
    """When pods were evicted, by namespace; "" has all of them."""

    def __init__(self) -> None:
        self.at: defaultdict[str, list[int]] = defaultdict(list)

    def note(self, decision: Decision, now: int) -> None:
        for action in decision.actions:
            if isinstance(action, Evict):
                self.at[""].append(now)
                self.at[action.pod.partition("/")[0]].append(now)

    def most_in_a_minute(self, namespace: str) -> int:
        times = self.at[namespace]
        return max((sum(at <= other < at + MINUTE for other in times) for at in times), default=0)


@pytest.mark.parametrize("seed", range(12))
def test_no_minute_has_more_evictions_than_it_may(seed: int) -> None:
    limit, namespace_limit = 1 + seed % 4, 1 + seed % 3
    seen = Evictions()
    safety = PreemptionSafety(evictions_per_minute=limit, evictions_per_minute_per_namespace=namespace_limit)
    random_world = RandomWorld(seed, checked=True, safety=safety, on_decision=seen.note)
    for second in range(0, random_world.seconds + 120, 5):
        random_world.world.run_until(STARTED_AT + second * SECOND)
        check_always(random_world.scheduler)
    assert seen.most_in_a_minute("") <= limit
    assert all(seen.most_in_a_minute(namespace) <= namespace_limit for namespace in seen.at if namespace)


def test_the_limits_are_met_somewhere() -> None:
    """Else the test above would show nothing."""
    withheld = 0
    for seed in range(6):
        random_world = RandomWorld(seed, safety=PreemptionSafety(evictions_per_minute=1))
        random_world.world.run_until(STARTED_AT + random_world.seconds * SECOND)
        withheld += random_world.scheduler.guard.figures.withheld.total()
    assert withheld > 10


def journal_of(seed: int, safety: PreemptionSafety) -> str:
    out = io.StringIO()
    character = RandomWorld(seed).character
    head = {"config": character.configuration, "featureGates": character.feature_gates, "startedAt": STARTED_AT}
    head |= {"wakeups": character.wakeups.value, "safety": _plain(safety)}
    journal = JournalWriter(out, head)
    random_world = RandomWorld(seed, safety=safety, on_event=journal.event, on_decision=journal.decision)
    with suppress(GoesInCircles):
        random_world.world.run_until(STARTED_AT + random_world.seconds * SECOND)
    return out.getvalue()


def _plain(safety: PreemptionSafety) -> dict[str, object]:
    return {name: getattr(safety, name) for name in PreemptionSafety.__dataclass_fields__}


@pytest.mark.parametrize("seed", range(6))
def test_wide_limits_change_nothing(seed: int) -> None:
    """All bookkeeping is done, and every decision is that of a scheduler without limits."""
    limited, free = journal_of(seed, WIDE), journal_of(seed, UPSTREAM)
    assert limited.partition("\n")[2] == free.partition("\n")[2]


@pytest.mark.parametrize("seed", range(4))
def test_what_was_withheld_is_withheld_in_a_replay(seed: int) -> None:
    safety = PreemptionSafety(evictions_per_minute=1, preemption_loop_rounds=1)
    lines = iter(journal_of(seed, safety).splitlines())
    assert list(Player(scheduler_for(read_head(lines))).play(lines)) == []
