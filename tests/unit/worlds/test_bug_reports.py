"""What is left of a bug that was survived: a log line, a count and a journal, each of them bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bayplan.cli.main import cli
from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.cache import Cache
from bayplan.core.events import ObjectAdded, ObjectRemoved
from bayplan.core.queue import SchedulingQueue
from bayplan.model.structs import replace
from bayplan.testing.builders import node, pod
from bayplan.worlds import bug_reports, recent_journal
from bayplan.worlds.bug_reports import FILES_MAX, BugReports
from bayplan.worlds.guarded import GuardedScheduler
from bayplan.worlds.journal import head_of

NODE = node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()


class Log:
    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, message: str, **fields: Any) -> None:
        self.lines.append((message, fields))


def reports(folder: Path) -> tuple[BugReports, Log]:
    log = Log()
    return BugReports(log, head_of(load_configuration(None, release=DEFAULT_RELEASE), None, ""), folder), log


def guarded(bugs: BugReports) -> GuardedScheduler:
    return bugs.guard(build_scheduler(load_configuration(None, release=DEFAULT_RELEASE), started_at=0), started_at=0)


def raised(message: str) -> ValueError:
    try:
        raise ValueError(message)
    except ValueError as error:
        return error


def break_cache(scheduler: GuardedScheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod goes, and its end raises."""
    running = pod("running").cpu("1").obj()
    running = replace(running, spec=replace(running.spec, node_name="n"))
    for obj in (NODE, running, pod("waiting").cpu("4").obj()):
        scheduler.observe(ObjectAdded(obj), 1)
    while scheduler.decide(1) is not None:
        pass

    def broken(*_: Any) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(Cache, "_vacate", broken)
    scheduler.observe(ObjectRemoved(running), 2)


def test_the_first_of_a_kind_is_logged_with_its_traceback_and_the_others_in_a_line(tmp_path: Path) -> None:
    bugs, log = reports(tmp_path)
    for number in range(3):
        bugs("attempt", f"default/{number}", raised("broken"))
    first, *others = log.lines
    assert first[1]["err"] == "ValueError: broken"
    assert first[1]["traceback"].endswith("ValueError: broken\n")
    assert "test_bug_reports.py" in first[1]["traceback"]
    assert [fields for _, fields in others] == [
        {"err": "ValueError: broken", "where": "attempt", "object": f"default/{number}"} for number in (1, 2)
    ]
    assert bugs.counts == {("attempt",): 3}


def test_its_journal_is_private_and_shows_the_bug_when_it_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "bugs"
    bugs, log = reports(folder)
    break_cache(guarded(bugs), monkeypatch)
    bugs.finish()
    (file,) = folder.iterdir()
    assert log.lines[0][1]["journal"] == str(file)
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    replayed = CliRunner().invoke(cli, ["replay", str(file)])
    assert replayed.exit_code == 3
    assert f"{file}: line 6: a bug: event Pod default/running: ValueError: broken (at " in replayed.output
    assert "1 decision, all as recorded" in replayed.output
    monkeypatch.undo()
    assert CliRunner().invoke(cli, ["replay", str(file)]).exit_code == 0, "once the bug is gone"


def test_a_journal_of_an_attempt_ends_with_what_became_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("broken")

    bugs, _ = reports(tmp_path)
    scheduler = guarded(bugs)
    monkeypatch.setattr(SchedulingQueue, "assume", broken)
    for obj in (NODE, pod("p").obj()):
        scheduler.observe(ObjectAdded(obj), 1)
    scheduler.decide(1)
    bugs.finish()
    (file,) = tmp_path.iterdir()
    assert '"outcome":"error"' in file.read_text().splitlines()[-1]
    replayed = CliRunner().invoke(cli, ["replay", str(file)])
    assert "1 decision, all as recorded" in replayed.output
    assert "a bug: attempt default/p: ValueError: broken" in replayed.output


def test_a_journal_holds_what_happened_lately_and_what_was_known_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_journal, "LINES", 10)
    bugs, _ = reports(tmp_path)
    scheduler = guarded(bugs)
    scheduler.observe(ObjectAdded(NODE), 1)
    for number in range(95):
        scheduler.observe(ObjectAdded(pod(f"p{number}").obj()), 1)
    bugs("event", "", raised("broken"))
    bugs.finish()
    (file,) = tmp_path.iterdir()
    lines = file.read_text().splitlines()
    assert sum('"known":' in line for line in lines) == 80
    assert sum('"in":' in line for line in lines) == 16


def test_only_the_latest_journals_are_kept(tmp_path: Path) -> None:
    for number in range(FILES_MAX):
        (tmp_path / f"bug-{number}.jsonl").touch()
    (tmp_path / "notes").touch()
    bugs, _ = reports(tmp_path)
    guarded(bugs)
    bugs("event", "", raised("broken"))
    bugs.finish()
    names = {file.name for file in tmp_path.iterdir()}
    assert len(names) == FILES_MAX + 1
    assert "bug-0.jsonl" not in names


def test_a_journal_that_would_be_too_large_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug_reports, "FILE_BYTES_MAX", 1000)
    bugs, log = reports(tmp_path)
    break_cache(guarded(bugs), monkeypatch)
    bugs.finish()
    assert [*tmp_path.iterdir()] == []
    assert log.lines[-1][0] == "The journal of a bug could not be written"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    bugs, log = reports(tmp_path)
    guarded(bugs)
    bugs("event", "", raised("broken"))
    bugs.finish()
    assert [*tmp_path.iterdir()] == []
    assert "only its owner" in log.lines[-1][1]["err"]
