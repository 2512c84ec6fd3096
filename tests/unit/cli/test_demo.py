"""`bayplan demo`: the story holds, and what it tells to try next works."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from bayplan.cli.demo import FILES, STORY

from .conftest import Bayplan


def test_story(bayplan: Bayplan, tmp_path: Path) -> None:
    """What was foretold happens: the urgent pod evicts whom `explain` named, and more follows from it."""
    page = tmp_path / "page.html"
    said = bayplan("demo", "--report", str(page))
    assert (said.code, said.err) == (0, "")
    assert (
        "shop/fraud-check does not fit on any of the 6 nodes; evicting dev/report-2 from node-2 would make room."
        in said.out
    )
    assert "node-2 is cheapest: no budget violated (node-1 violates shop/db); highest victim priority 0" in said.out
    (happened,) = [line for line in said.out.splitlines() if line.startswith("      5 min   shop/fraud-check ")]
    assert "node-2   dev/report-2 (0)" in happened
    assert "1 budget violation" in said.out
    assert "preemption chain" in said.out
    assert f"\n{page}\n" in said.out
    assert page.read_text(encoding="utf-8").startswith("<!")
    assert "bayplan demo --write " in said.out


def test_nothing_is_written_beside_the_report(
    bayplan: Bayplan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder one stands in stays as it is; the page goes to where temporary files are."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    monkeypatch.setattr("os.getuid", lambda: 4711)
    bayplan("demo")
    assert list(here.iterdir()) == []
    assert [file.name for file in elsewhere.iterdir()] == ["bayplan-demo-4711.html"], "one for each user"


def test_commands_it_tells_to_try_work(bayplan: Bayplan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = bayplan("demo", "--write", "here", "--report", "page.html")
    assert sorted(file.name for file in (tmp_path / "here").iterdir()) == sorted((*FILES, STORY))
    commands = [line.split()[1:] for line in said.out.splitlines() if line.startswith("  bayplan ")]
    assert len(commands) == 4
    for command in commands:
        tried = bayplan(*command)
        # All but the simulation are about a pod that does not fit.
        assert (tried.code, tried.err) == (0 if command[0] == "simulate" else 1, "")
    # The same victims in all files together as in the story, where other pods have not come yet.
    assert bayplan(*commands[0]).first_line in said.out


def test_written_files_are_named_and_the_story_is_not_told_again(bayplan: Bayplan, tmp_path: Path) -> None:
    said = bayplan("demo", "--write", str(tmp_path))
    assert said.first_line.startswith(f"{tmp_path} has the files of the demo's cluster: cluster.yaml, ")
    assert "An hour passes" not in said.out
    assert "What to try next" in said.out


def test_writing_twice_changes_nothing(bayplan: Bayplan, tmp_path: Path) -> None:
    assert bayplan("demo", "--write", str(tmp_path), "--report", str(tmp_path / "page.html")).code == 0
    assert bayplan("demo", "--write", str(tmp_path), "--report", str(tmp_path / "page.html")).code == 0


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
