"""Random worlds with faults: what must hold holds after every step, and what should heal heals.

Seeds can be chosen: `make sim SEEDS=1000 FIRST=200` runs those and prints the ones that fail.
"""

from __future__ import annotations

import io
import os

import pytest

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.actions import Evict
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.scheduler import Decision, Scheduler
from bayplan.testing.checkers import check_always, check_not_overcommitted, check_quiet, check_settled
from bayplan.testing.random_world import STARTED_AT, RandomWorld
from bayplan.worlds.delays import SECOND
from bayplan.worlds.journal import JournalWriter, read_head, replay

FIRST = int(os.environ.get("FIRST", "0"))
SEEDS = int(os.environ.get("SEEDS", "200"))
#: Long enough for every backoff and grace period, and far from the five minutes after which all is tried again.
CALM_SECONDS = 90


def live_through(seed: int) -> None:
    """One world from start to rest, checked on the way and at the end."""
    evicted: list[str] = []

    def check(decision: Decision, now: int) -> None:
        evictions = [action.pod for action in decision.actions if isinstance(action, Evict)]
        evicted.extend(action.uid for action in decision.actions if isinstance(action, Evict))
        assert set(evictions) <= set(decision.victims), "an eviction without a preemptor"

    random_world = RandomWorld(seed, on_decision=check)
    world, store, scheduler = random_world.world, random_world.store, random_world.scheduler
    end = STARTED_AT + random_world.seconds * SECOND
    for second in range(random_world.seconds):
        world.run_until(STARTED_AT + second * SECOND)
        check_always(scheduler)
        check_not_overcommitted(store)
    world.run_until(end + CALM_SECONDS * SECOND)
    check_always(scheduler)
    check_not_overcommitted(store)
    check_quiet(store, scheduler)
    check_settled(store, scheduler)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FIRST, FIRST + SEEDS, 20))
def test_worlds_hold_and_heal(start: int) -> None:
    """Twenty seeds at a time; every one that fails is named."""
    failing: dict[int, str] = {}
    for seed in range(start, min(start + 20, FIRST + SEEDS)):
        try:
            live_through(seed)
        except AssertionError as error:
            failing[seed] = str(error)
    assert not failing, "\n".join(f"seed {seed}: {why}" for seed, why in failing.items())


def journal_of(seed: int) -> str:
    out = io.StringIO()
    journal = JournalWriter(out, {"seed": seed})
    random_world = RandomWorld(seed, on_event=journal.event, on_decision=journal.decision)
    random_world.world.run_until(STARTED_AT + random_world.seconds * SECOND)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_bytes_and_replays(seed: int) -> None:
    """Twice the same journal, and a fresh scheduler that is told the same decides the same."""
    journal = journal_of(seed)
    assert journal == journal_of(seed)
    assert journal.count("\n") > 50
    lines = iter(journal.splitlines())
    read_head(lines)
    scheduler = Scheduler(build_profiles(load_configuration(None)), PrioritySort().sort_key, started_at=STARTED_AT)
    assert list(replay(lines, scheduler)) == []


def test_worlds_without_faults(seed: int = 7) -> None:
    """A quick look at one seed that everything above depends on."""
    live_through(seed)
