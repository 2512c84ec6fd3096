"""Journals of live schedulers: files that rotate, replayed together, from the middle, and one by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.cli.main import run
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind
from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod
from bayplan.worlds.journal import JournalWriter
from bayplan.worlds.live_journal import LiveJournal, journal_files

STARTED_AT = 1_700_000_000 * SECOND
HEAD = {"startedAt": STARTED_AT, "config": None}
FILE_BYTES = 2_000


def open_journal(path: Path | str, files_max: int = 100, troubles: list[str] | None = None) -> LiveJournal:
    report = [] if troubles is None else troubles
    return LiveJournal(str(path), HEAD, file_bytes=FILE_BYTES, files_max=files_max, on_trouble=report.append)


def live(journal: LiveJournal, pods: int = 12) -> None:
    """A scheduler that binds one pod after the other, and is watched by the journal."""
    scheduler = build_scheduler(load_configuration(release=DEFAULT_RELEASE), started_at=STARTED_AT)
    for step, event in enumerate(_events(pods)):
        now = STARTED_AT + step * SECOND
        scheduler.observe(event, now)
        journal.observed(event, now)
        while scheduler.due_at(now) == now:
            decision = scheduler.decide(now)
            if decision is None:
                continue
            journal.decided(decision, now, 0)
            for bind in (action for action in decision.actions if isinstance(action, Bind)):
                answer = BindAnswered(bind.pod, bind.uid)
                scheduler.observe(answer, now)
                journal.observed(answer, now)
    journal.close()


def _events(pods: int) -> Iterator[Event]:
    yield ObjectAdded(node("n").obj())
    for number in range(pods):
        made = pod(f"p{number:02}").request(cpu="10m").obj()
        yield ObjectAdded(made)
        yield ObjectChanged(made, replace(made, spec=replace(made.spec, node_name="n")))


def parts(folder: Path) -> list[int]:
    return [json.loads(file.read_text().partition("\n")[0])["part"] for file in journal_files(folder)]


def test_a_file_is_one_journal_however_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live(open_journal(tmp_path / "journal"))
    assert (tmp_path / "journal").stat().st_size > FILE_BYTES
    assert run(["replay", str(tmp_path / "journal")]) == 0
    assert "all as recorded" in capsys.readouterr().out


def test_the_files_of_a_directory_are_one_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live(open_journal(tmp_path))
    assert parts(tmp_path) == list(range(1, len(parts(tmp_path)) + 1))
    assert len(parts(tmp_path)) >= 3
    assert run(["replay", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("24 decisions, all as recorded.")


def test_a_path_that_ends_with_a_slash_becomes_a_directory(tmp_path: Path) -> None:
    live(open_journal(f"{tmp_path}/new/"))
    assert parts(tmp_path / "new")


def test_a_later_file_begins_with_what_is_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live(open_journal(tmp_path))
    last = journal_files(tmp_path)[-1]
    known = [json.loads(line)["known"]["kind"] for line in last.read_text().splitlines() if '"known"' in line]
    assert known[0] == "Node"
    assert set(known[1:]) == {"Pod"}
    # A binding may be under way where it begins, of which it knows nothing.
    assert run(["replay", str(last)]) <= 1
    assert "decisions" in capsys.readouterr().out


def test_the_oldest_files_are_deleted_and_the_others_still_replay(tmp_path: Path) -> None:
    live(open_journal(tmp_path, files_max=2))
    assert len(parts(tmp_path)) == 2
    assert parts(tmp_path)[0] > 1
    assert run(["replay", str(tmp_path)]) <= 1


def test_another_run_goes_on_in_files_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live(open_journal(tmp_path), pods=1)
    live(open_journal(tmp_path), pods=1)
    assert [file.name for file in journal_files(tmp_path)] == ["journal-000001.jsonl", "journal-000002.jsonl"]
    assert parts(tmp_path) == [1, 1]
    assert run(["replay", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("4 decisions, all as recorded.")


def test_a_decision_that_differs_is_shown_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    live(open_journal(tmp_path), pods=1)
    (file,) = journal_files(tmp_path)
    file.write_text(file.read_text().replace('"node":"n"', '"node":"m"'))
    assert run(["replay", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith(f"{file}: line ")


def test_a_directory_without_a_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(tmp_path)]) == 2
    assert "there is no journal in this directory" in capsys.readouterr().err


def test_a_full_disk_ends_the_journal_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object) -> None:
        raise OSError(28, "No space left on device")

    troubles: list[str] = []
    journal = open_journal(tmp_path, troubles=troubles)
    monkeypatch.setattr(JournalWriter, "event", write)
    live(journal)
    assert troubles == ["the journal ends here: No space left on device"]
