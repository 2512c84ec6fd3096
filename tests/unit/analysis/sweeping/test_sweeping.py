"""`bayplan.sweep`: the same table whoever did the runs, and however often it was interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.sweeping.stories import MOST, story_cluster, urgent

import bayplan
from bayplan.analysis.sweeping.local_engine import LocalEngine, Task
from bayplan.analysis.sweeping.ray_engine import RayMissingError, check_answers
from bayplan.analysis.sweeping.runs import RunOutcome, Story, do_run
from bayplan.analysis.sweeping.sweep_result import SweepResult

AXES = {"seed": [1, 2, 3], MOST: ["LeastAllocated", "MostAllocated", "NoSuchStrategy"]}


def swept(**settings: Any) -> SweepResult:
    return bayplan.sweep(story_cluster(), AXES, timeline=urgent(), until="5m", **settings)


def rows(result: SweepResult) -> list[tuple[str, ...]]:
    return [tuple(map(str, row)) for row in zip(*result.table.values(), strict=True)]


class Interrupted:
    """Ends after so many runs, in an order of its own, as a machine that is switched off would."""

    def __init__(self, after: int, seed: int) -> None:
        self.after, self.draws = after, random.Random(seed)
        self.done: list[RunOutcome] = []

    def run(self, story: Story, tasks: Iterable[Task]) -> Generator[RunOutcome, None, None]:
        waiting = list(tasks)
        self.draws.shuffle(waiting)
        for number, (name, spec) in enumerate(waiting):
            if number == self.after:
                raise KeyboardInterrupt
            self.done.append(do_run(story, name, spec))
            yield self.done[-1]


@pytest.fixture(scope="module")
def whole() -> SweepResult:
    return swept(processes=1)


def test_any_number_of_processes_gives_the_same_table(whole: SweepResult) -> None:
    assert rows(swept(processes=3)) == rows(whole)
    assert list(whole.table)[:7] == ["place", "run", MOST, "seed", "error", "digest", "partial"]
    assert whole.table.rows == 9


def test_a_failed_run_is_a_row_with_its_error_and_seed(whole: SweepResult) -> None:
    failed = whole.table["error"] != ""
    assert list(whole.table["seed"][failed]) == [1, 2, 3]
    assert set(whole.table[MOST][failed]) == {"NoSuchStrategy"}
    assert whole.summary.failed == 3
    assert "scoringStrategy" in whole.summary.failures[0].error


def test_interrupted_and_resumed_it_gives_the_same_table(tmp_path: Path, whole: SweepResult) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (bayplan[arrow])")
    out = tmp_path / "out"
    engines = [Interrupted(1, seed) for seed in range(10)]
    for engine in engines:
        with pytest.raises(KeyboardInterrupt):
            swept(engine=engine, out=out, resume=True)
    last = Interrupted(99, 99)
    result = swept(engine=last, out=out, resume=True)
    assert rows(result) == rows(whole)
    done = Counter(outcome.run for engine in (*engines, last) for outcome in engine.done if not outcome.error)
    assert set(done.values()) == {1}  # only those that fail are done again
    assert result.to_arrow().equals(whole.to_arrow())


@pytest.mark.slow
def test_killed_at_random_ten_times_and_resumed_it_gives_the_same_table(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed (bayplan[arrow])")
    axes, draws, out = {**AXES, "seed": "1..30"}, random.Random(31), tmp_path / "out"

    def work() -> None:
        bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", out=out, resume=True, processes=2)

    kept = [0]
    for number in range(10):
        process = get_context("fork").Process(target=work)
        process.start()
        wanted, until = kept[-1] + draws.randint(1, 6), time.monotonic() + 60
        while process.is_alive() and on_disk(out) < wanted and time.monotonic() < until:
            time.sleep(draws.random() / 100)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL if number % 2 else signal.SIGINT)
        process.join()
        kept.append(on_disk(out))
    assert kept[1] > 0
    assert kept == sorted(kept)  # nothing that was done is lost
    assert kept[-1] < 90  # the last one had something to do
    result = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", out=out, resume=True, processes=2)
    whole = bayplan.sweep(story_cluster(), axes, timeline=urgent(), until="5m", processes=2)
    assert rows(result) == rows(whole)
    assert result.to_arrow().equals(whole.to_arrow())


def on_disk(out: Path) -> int:
    """Runs that a sweep would find there, counted without changing anything."""
    parquet: Any = import_module("pyarrow.parquet")
    names = {row["run"] for path in out.glob("part-*.parquet") for row in parquet.read_table(path).to_pylist()}
    recent = out / "recent.jsonl"
    lines = recent.read_bytes().split(b"\n")[:-1] if recent.exists() else []
    return len(names | {json.loads(line)["run"] for line in lines})


def test_progress_is_told(whole: SweepResult) -> None:
    told: list[tuple[int, int, int]] = []
    swept(processes=1, progress=lambda *numbers: told.append(numbers))
    assert told[0] == (1, 9, 0)
    assert told[-1] == (9, 9, 3)


def test_equal_runs_are_done_once() -> None:
    engine = Interrupted(99, 1)
    axes = {"config": [None, {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}]}
    result = bayplan.sweep(story_cluster(), {**axes, "weight.ImageLocality": [1]}, until=60, engine=engine)
    assert (len(engine.done), result.table.rows) == (1, 2)


def test_any_run_can_be_had_again_and_compared(whole: SweepResult) -> None:
    run = whole.simulate(1)
    assert run.run.seed == whole.table["seed"][1]
    assert run.summary.pods.preempted == whole.table["pods.preempted"][1]
    assert len(whole.compare(0, 3).runs) == 2


def test_the_summary_compares_with_the_baseline(whole: SweepResult) -> None:
    summary = whole.summary
    assert summary.points[0].differences == {}
    waits = summary.points[0].figures["pods.placed"]
    placed = whole.table["pods.placed"][:3]
    assert waits.mean == pytest.approx(placed.mean())
    assert summary.points[2].figures == {}
    other = bayplan.sweep(
        story_cluster(), {"weight.ImageLocality": [1, 2]}, until=60, baseline={"weight.ImageLocality": 2}
    )
    assert other.summary.baseline == 1


def test_what_cannot_be_done() -> None:
    with pytest.raises(ValueError, match="engine must be local or ray, not 'spark'"):
        swept(engine="spark")


def test_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(RayMissingError, match=r"engine ray needs Ray: pip install 'bayplan\[ray\]'"):
        swept(engine="ray")


def test_nobody_at_the_address_of_a_ray_cluster() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        with pytest.raises(OSError, match=f"no Ray cluster at .*:{port}: Connection refused"):
            check_answers(f"127.0.0.1:{port}")
        listening.listen()
        check_answers(f"ray://127.0.0.1:{port}")
    with pytest.raises(OSError, match=r"no Ray cluster at .*:99999"):
        check_answers("127.0.0.1:99999")
    check_answers("auto")  # for Ray to find


def test_pandas_gets_the_table(whole: SweepResult) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed (bayplan[pandas])")
    frame = whole.to_pandas()
    assert frame.shape == (9, len(whole.table))
    assert frame.groupby(MOST)["pods.preempted"].mean()["LeastAllocated"] == whole.table["pods.preempted"][:3].mean()


def test_a_sweep_shows_itself(whole: SweepResult) -> None:
    assert repr(whole).startswith("<SweepResult: 9 runs: 3 points, 3 seeds. ")
    assert "NoSuchStrategy" in whole._repr_html_()


def test_local_processes_by_default() -> None:
    assert LocalEngine().processes >= 1
