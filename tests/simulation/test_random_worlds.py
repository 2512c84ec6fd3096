"""Random worlds with faults: what must hold holds after every step, and what should heal heals.

Seeds can be chosen: `make sim SEEDS=1000 FIRST=200` runs those and prints the ones that fail.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.random_worlds.world import STARTED_AT, GoesInCircles, RandomWorld
from tests.support.checkers import (
    check_always,
    check_devices_not_shared,
    check_not_overcommitted,
    check_quiet,
    check_settled,
)

from bayplan.cli.main import cli, run
from bayplan.core.actions import Evict
from bayplan.core.deciding import Decider
from bayplan.core.decision import Decision
from bayplan.core.lifecycle import PodState
from bayplan.core.reuse.board import Board
from bayplan.core.scheduler import Scheduler
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.serving.metrics.registry import Metrics
from bayplan.store import Store
from bayplan.worlds.driving import DecidingScheduler
from bayplan.worlds.journal import FORMAT, JournalWriter, Player, read_head, scheduler_for
from bayplan.worlds.live_observers import LiveObserver
from bayplan.worlds.performing import Performer
from bayplan.worlds.simulated import SimulatedWorld

FIRST = int(os.environ.get("FIRST", "0"))
#: As many as `test_random_draws` looks at, which shows that everything that can be drawn is drawn in them.
SEEDS = int(os.environ.get("SEEDS", "40"))
#: Few enough for workers to share them evenly.
SEEDS_PER_TEST = 4
#: Long enough for every backoff and grace period, and far from the five minutes after which all is tried again.
CALM_SECONDS = 90
REST_WITHIN_MS = 10_000
BACKOFF_SECONDS = 11
#: Then a pod gives up that waits for its volumes.
VOLUMES_WITHIN_SECONDS = 600


def live_through(seed: int) -> RandomWorld:
    """One world from start to rest: every decision checked, the state on the way, and what it has come to."""
    random_world = RandomWorld(seed, checked=True, on_decision=check_evictions)
    with suppress(GoesInCircles):
        run_to_the_end(random_world)
        check_at_rest(random_world)
    return random_world


def check_evictions(decision: Decision, now: int) -> None:
    evictions = {action.pod for action in decision.actions if isinstance(action, Evict)}
    assert evictions <= set(decision.victims), "an eviction without a preemptor"


def run_to_the_end(random_world: RandomWorld) -> None:
    world = random_world.world
    for second in range(random_world.seconds + CALM_SECONDS):
        world.run_until(STARTED_AT + second * SECOND)
        check_always(random_world.scheduler)
        check_not_overcommitted(random_world.store, random_world.overcommitted, random_world.scheduler.cache.gates)
        check_devices_not_shared(random_world.store)


def check_at_rest(random_world: RandomWorld) -> None:
    """What was tried and could not be helped is left alone; a pod that backs off gets its chance first."""
    world, store, scheduler = random_world.world, random_world.store, random_world.scheduler
    for _ in range(3):
        run_to_a_moment_of_rest(world, scheduler)
        check_quiet(store, scheduler)
        if not any(record.state in (PodState.ACTIVE, PodState.BACKOFF) for record in scheduler.queue.queued_pods()):
            break
        world.run_until(world.now + BACKOFF_SECONDS * SECOND)
    check_settled(store, scheduler)


def run_to_a_moment_of_rest(world: SimulatedWorld, scheduler: Scheduler) -> None:
    for _ in range(REST_WITHIN_MS):
        on_the_way = scheduler.pods_on_the_way()
        if world.is_at_rest and not on_the_way:
            return
        in_vain = world.is_at_rest and all(waits_in_vain(key, world.store, scheduler) for key in on_the_way)
        world.run_until(world.now + (VOLUMES_WITHIN_SECONDS * SECOND if in_vain else MILLISECOND))
    raise AssertionError("busy for no reason")


def waits_in_vain(key: str, store: Store, scheduler: Scheduler) -> bool:
    """Whether a pod waits for a volume of a class that has been deleted since it got its node."""
    pod, objects = scheduler.on_the_way(key), scheduler.cache.objects
    written = pod.written if pod is not None else ()
    found = [objects.find(obj) for obj in written]
    claims = [claim for claim in found if isinstance(claim, PersistentVolumeClaim)]
    classes = {each.metadata.name for each in store.list(StorageClass)}
    return any(claim.spec.storage_class_name not in classes for claim in claims)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FIRST, FIRST + SEEDS, SEEDS_PER_TEST))
def test_worlds_hold_and_heal(start: int) -> None:
    """A few seeds at a time; every one that fails is named."""
    failing: dict[int, str] = {}
    for seed in range(start, min(start + SEEDS_PER_TEST, FIRST + SEEDS)):
        try:
            live_through(seed)
        except Exception as error:
            failing[seed] = f"{type(error).__name__}: {error}"
    assert not failing, "\n".join(f"seed {seed}: {why}" for seed, why in failing.items())


def journal_of(seed: int, metrics: Metrics | None = None) -> str:
    """What a scheduler observes and decides; with metrics, one that is measured."""
    out = io.StringIO()
    character = RandomWorld(seed).character
    settings = {"config": character.configuration, "featureGates": character.feature_gates}
    settings["wakeups"] = character.wakeups.value
    journal = JournalWriter(out, {"seed": seed, "startedAt": STARTED_AT, **settings})
    observers: list[LiveObserver] = []

    def measured(scheduler: Scheduler) -> DecidingScheduler:
        if metrics is None:
            return scheduler
        observers.append(metrics.watch(scheduler))
        return metrics.measured(scheduler)

    def decided(decision: Decision, now: int) -> None:
        journal.decision(decision, now)
        for observer in observers:
            observer.decided(decision, now, 0)

    instruments = None if metrics is None else metrics.instruments
    random_world = RandomWorld(
        seed, instruments=instruments, drive=measured, on_event=journal.event, on_decision=decided
    )
    with suppress(GoesInCircles):
        random_world.world.run_until(STARTED_AT + random_world.seconds * SECOND)
    return out.getvalue()


@pytest.mark.parametrize("seed", range(4))
def test_measuring_changes_nothing(seed: int) -> None:
    """The scheduler hears and decides the same at the same times, and some of its attempts were timed."""
    metrics = Metrics()
    assert journal_of(seed, metrics) == journal_of(seed)
    assert b"scheduler_plugin_evaluation_total{" in metrics.render()


def test_measuring_takes_the_same_shortcuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many attempts are skipped because of what another pod was told, and as many answers for a node reused."""
    taken: Counter[str] = Counter()

    def counted(owner: type, name: str) -> None:
        original = getattr(owner, name)

        def counting(*arguments: Any) -> Any:
            taken[name] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, counting)

    counted(Scheduler, "_refuse_again")
    counted(Board, "update")
    counted(Decider, "_followed")
    journal_of(1)
    plain, taken = taken, Counter()
    journal_of(1, Metrics())
    assert taken == plain
    assert min(plain.values()) > 0
    assert len(plain) == 3


@pytest.mark.parametrize("seed", range(4))
def test_not_sending_conditions_that_say_nothing_new_makes_no_difference(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler hears the same, at the same times, and decides the same as if all of them were performed."""
    journal = journal_of(seed)
    monkeypatch.setattr(Performer, "is_idle", lambda *_: False)
    assert journal_of(seed) == journal


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_bytes_and_replays(seed: int) -> None:
    """Twice the same journal, and a fresh scheduler that is told the same decides the same."""
    journal = journal_of(seed)
    assert journal == journal_of(seed)
    assert journal.count("\n") > 50
    lines = iter(journal.splitlines())
    assert list(Player(scheduler_for(read_head(lines))).play(lines)) == []


HASHED = """
import sys
from tests.simulation.test_random_worlds import journal_of
sys.stdout.write(journal_of(1))
"""


def test_the_order_of_hashes_changes_nothing() -> None:
    """Three processes with three hash seeds write the same journal."""
    root = Path(__file__).parents[2]
    journals = {
        subprocess.run(
            [sys.executable, "-c", HASHED],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert journals == {journal_of(1).encode()}


def test_replay_from_the_command_line(tmp_path: Path) -> None:
    """A journal that is played back agrees; one that was tampered with does not; other files are refused."""
    file = tmp_path / "run.journal"
    journal = journal_of(2)
    file.write_text(journal)
    runner = CliRunner()
    agreed = runner.invoke(cli, ["replay", str(file)])
    assert agreed.exit_code == 0, agreed.output
    assert "all as recorded" in agreed.output
    file.write_text(journal.replace('"outcome":"assumed"', '"outcome":"error"', 1))
    differs = runner.invoke(cli, ["replay", str(file)])
    assert differs.exit_code == 1
    assert "1 of " in differs.output
    file.write_text("{}\n")
    assert "expected the format" in str(runner.invoke(cli, ["replay", str(file)]).exception)


def journal_with(head: dict[str, Any], *lines: Any) -> str:
    whole = {"format": FORMAT, "startedAt": STARTED_AT, **head}
    return "".join(json.dumps(line) + "\n" for line in (whole, *lines))


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ({"config": 1.5}, {}, "line 1: config: expected a KubeSchedulerConfiguration, or null"),
        ({"podMaxInUnschedulablePodsNs": "5m"}, {}, "line 1: podMaxInUnschedulablePodsNs: expected a whole number"),
        ({}, {"t": 0, "in": "x"}, "line 2: Expected `object`, got `str`"),
        ({}, {"t": 0, "in": {"added": {"kind": "Pod", "metadata": {"name": 5}}}}, "line 2: Expected `str`, got `int`"),
        (
            {},
            {
                "t": 0,
                "in": {"added": {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "x"}}}},
            },
            "line 2: Node n: status.allocatable[cpu]: 'x': quantities must match",
        ),
    ],
)
def test_a_damaged_journal_is_told_with_its_line(
    head: dict[str, Any], line: Any, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.journal"
    file.write_text(journal_with(head, line))
    assert run(["replay", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {file}: {said}")


def test_one_world_holds_and_heals() -> None:
    """A quick look at one seed; the others take their time elsewhere."""
    live_through(7)
