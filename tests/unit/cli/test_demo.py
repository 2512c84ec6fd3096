"""`bayplan demo`: the story holds, and what it tells to try next works."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.cli.demo import FILES

from .conftest import Bayplan


def test_story(bayplan: Bayplan) -> None:
    said = bayplan("demo")
    assert (said.code, said.err) == (0, "")
    assert "4 of 5 pods placed" in said.out
    assert "shop/fraud-check fits on none of 6 nodes; evicting dev/report-2 from node-2 would make room." in said.out
    assert "node-2 is cheapest: no budget broken (node-1 breaks shop/db); highest victim priority 0" in said.out
    assert "bayplan demo --write " in said.out


def test_nothing_is_written_unless_asked(bayplan: Bayplan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bayplan("demo")
    assert list(tmp_path.iterdir()) == []


def test_commands_it_tells_to_try_work(bayplan: Bayplan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = bayplan("demo", "--write", "here")
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == sorted(FILES)
    commands = [line.split()[1:] for line in said.out.splitlines() if line.startswith("  bayplan ")]
    assert len(commands) == 3
    for command in commands:
        tried = bayplan(*command)
        assert tried.code == 1, "each of them is about a pod that does not fit"
        assert tried.err == ""
    # The same victims in the files as in the story, where other pods have been placed before.
    assert bayplan(*commands[0]).first_line in said.out


def test_writing_twice_changes_nothing(bayplan: Bayplan, tmp_path: Path) -> None:
    assert bayplan("demo", "--write", str(tmp_path)).code == 0
    assert bayplan("demo", "--write", str(tmp_path)).code == 0


def test_other_peoples_files_are_left_alone(bayplan: Bayplan, tmp_path: Path) -> None:
    (tmp_path / FILES[0]).write_text("mine")
    said = bayplan("demo", "--write", str(tmp_path))
    assert (said.code, said.out) == (2, "")
    assert (tmp_path / FILES[0]).read_text() == "mine"


def test_folder_that_cannot_be_made(bayplan: Bayplan, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = bayplan("demo", "--write", str(tmp_path / "file"))
    assert said.code == 2
    assert said.err.startswith("error: ")
