"""Runs in processes: all of them, in whatever order, though processes die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.unit.analysis.sweeping.stories import prepared

from bayplan.analysis.sweeping import local_engine
from bayplan.analysis.sweeping.local_engine import DEATHS_MAX, LocalEngine, Task
from bayplan.analysis.sweeping.runs import RunOutcome, RunSpec, Story, do_run


def tasks(seeds: int) -> tuple[Story, list[Task]]:
    found = prepared({"seed": f"1..{seeds}"})
    return found.story, [(name, found.spec_at(place)) for place, name in enumerate(found.names)]


def test_processes_find_what_one_process_finds() -> None:
    story, wanted = tasks(6)
    alone = {outcome.run: outcome for outcome in LocalEngine(1).run(story, wanted)}
    crew = {outcome.run: outcome for outcome in LocalEngine(3).run(story, wanted)}
    assert crew == alone
    assert len(crew) == 6


def test_no_more_runs_are_asked_for_than_processes_can_take() -> None:
    story, wanted = tasks(8)
    asked: list[str] = []

    def given() -> object:
        for name, spec in wanted:
            asked.append(name)
            yield name, spec

    running = LocalEngine(2).run(story, given())  # type: ignore[arg-type]
    next(running)
    assert len(asked) <= 4
    running.close()


def test_a_run_whose_process_dies_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    story, wanted = tasks(4)
    unlucky, died = wanted[1][0], tmp_path / "died"

    def dies_once(story: Story, name: str, spec: RunSpec) -> RunOutcome:
        if name == unlucky and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return do_run(story, name, spec)

    monkeypatch.setattr(local_engine, "do_run", dies_once)
    found = {outcome.run: outcome for outcome in LocalEngine(2).run(story, wanted)}
    assert died.exists()
    assert found == {name: do_run(story, name, spec) for name, spec in wanted}


def test_a_run_that_always_kills_its_process_is_a_row_and_the_others_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    story, wanted = tasks(4)
    unlucky = wanted[0][0]

    def dies(story: Story, name: str, spec: RunSpec) -> RunOutcome:
        if name == unlucky:
            os.kill(os.getpid(), signal.SIGKILL)
        return do_run(story, name, spec)

    monkeypatch.setattr(local_engine, "do_run", dies)
    found = {outcome.run: outcome for outcome in LocalEngine(2).run(story, wanted)}
    assert len(found) == 4
    assert found[unlucky].error == f"its process died {DEATHS_MAX} times (out of memory?)"
    assert [name for name, outcome in found.items() if outcome.error] == [unlucky]


def test_closing_ends_the_processes() -> None:
    story, wanted = tasks(8)
    before = set(os.listdir("/proc"))
    running = LocalEngine(2).run(story, wanted)
    next(running)
    running.close()
    own = {each for each in set(os.listdir("/proc")) - before if each.isdigit() and _parent(each) == os.getpid()}
    assert own == set()


def _parent(process: str) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    except OSError:
        return 0
