"""Outcomes on disk: none is lost, whatever happens to the process that wrote them."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

from bayplan.analysis.simulation.results.columns import Columns
from bayplan.analysis.sweeping.run_store import PART_ROWS, RECENT, TABLE, RunStore
from bayplan.analysis.sweeping.runs import RunOutcome
from bayplan.model.errors import InvalidObject

pytest.importorskip("pyarrow", reason="pyarrow is not installed (bayplan[arrow])")


def outcome(number: int) -> RunOutcome:
    if number % 10 == 3:
        return RunOutcome(f"run-{number}", error="invalid")
    extra = {"waiting.high.p99": number / 7} if number % 2 else {}
    return RunOutcome(f"run-{number}", "", "d", False, {"pods.placed": float(number), **extra})


def test_what_was_added_is_there_without_a_word_at_the_end(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "out", resume=False)
    wanted = [outcome(number) for number in range(PART_ROWS * 2 + 5)]
    for each in wanted:
        store.add(each)
    found = RunStore(tmp_path / "out", resume=True).found
    assert list(found.values()) == wanted


def test_a_line_that_was_cut_off_costs_one_run(tmp_path: Path) -> None:
    store = RunStore(tmp_path, resume=False)
    for number in range(5):
        store.add(outcome(number))
    recent = tmp_path / RECENT
    recent.write_bytes(recent.read_bytes()[:-20])
    again = RunStore(tmp_path, resume=True)
    assert list(again.found) == [f"run-{number}" for number in range(4)]
    again.add(outcome(4))
    assert list(RunStore(tmp_path, resume=True).found) == [f"run-{number}" for number in range(5)]


def test_the_whole_table_takes_the_place_of_all_parts(tmp_path: Path) -> None:
    store = RunStore(tmp_path, resume=False)
    for number in range(PART_ROWS + 1):
        store.add(outcome(number))
    columns = {"run": ["a", "b"], "seed": [1, 2], "error": ["", ""], "digest": ["x", "y"], "partial": [False, True]}
    arrays = {name: np.array(values) for name, values in columns.items()} | {"pods.placed": np.array([1.0, np.nan])}
    store.finish(Columns(arrays))
    assert [path.name for path in tmp_path.iterdir()] == [TABLE]
    found = RunStore(tmp_path, resume=True).found
    assert found == {
        "a": RunOutcome("a", "", "x", False, {"pods.placed": 1.0}),
        "b": RunOutcome("b", "", "y", True, {}),
    }


def test_results_are_not_overwritten_by_mistake(tmp_path: Path) -> None:
    RunStore(tmp_path, resume=False).add(outcome(1))
    with pytest.raises(InvalidObject, match=r"has results already.*--resume"):
        RunStore(tmp_path, resume=False)


def test_a_full_disk_is_told_and_costs_nothing_that_was_there(tmp_path: Path) -> None:
    store = RunStore(tmp_path, resume=False)
    for number in range(PART_ROWS):
        store.add(outcome(number))
    (tmp_path / RECENT).symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: .*recent\.jsonl"):
        store.add(outcome(PART_ROWS))
    (tmp_path / RECENT).unlink()
    assert len(RunStore(tmp_path, resume=True).found) == PART_ROWS


def test_a_table_that_does_not_fit_on_the_disk_leaves_all_runs_where_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RunStore(tmp_path, resume=False)
    wanted = [outcome(number) for number in range(PART_ROWS + 5)]
    for each in wanted:
        store.add(each)

    def full(_table: object, path: Path) -> None:
        path.write_bytes(b"the beginning")
        raise OSError(errno.ENOSPC, "Error writing bytes to file. Detail: [errno 28] No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(OSError, match=r"No space left on device: .*runs\.parquet"):
        store.finish(Columns({"run": np.array(["a"])}))
    monkeypatch.undo()
    assert list(RunStore(tmp_path, resume=True).found.values()) == wanted
    assert not list(tmp_path.glob(".*"))
