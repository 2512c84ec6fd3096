"""`bayplan sweep`: formats, exit codes, interrupts, and input that cannot be used."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.documents import check_document
from tests.unit.analysis.simulation.replaying.recorded_worlds import record
from tests.unit.cli.conftest import Bayplan

from bayplan.analysis.cluster import Cluster
from bayplan.cli import demo
from bayplan.model.time_units import SECOND

SWEEP = """
base: {files: [cluster.yaml, arrivals.yaml], timeline: story.timeline, until: 25m}
axes:
  seed: 1..6
  args.NodeResourcesFit.scoringStrategy.type: [LeastAllocated, MostAllocated]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    demo.write_files(tmp_path)
    (tmp_path / "sweep.yaml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def changed(old: str, new: str) -> None:
    assert old in SWEEP
    Path("sweep.yaml").write_text(SWEEP.replace(old, new), encoding="utf-8")


def test_every_format(bayplan: Bayplan) -> None:
    text = bayplan("sweep", "sweep.yaml", "--out", "out")
    assert text.code == 0
    assert text.first_line.startswith("12 runs: 2 points, 6 seeds. ")
    assert "sweep: 12 of 12 runs in " in text.err
    document = bayplan("sweep", "sweep.yaml", "--out", "out", "--resume", "-o", "json")
    check_document(document.json())
    assert document.json()["runs"] == 12
    assert "sweep:" not in document.err  # nothing was left to do
    assert "| figure | point |" in bayplan("sweep", "sweep.yaml", "--out", "out", "--resume", "-o", "markdown").out
    page = bayplan("sweep", "sweep.yaml", "--out", "out", "--resume", "-o", "html").out
    assert "The worst run" in page
    assert '<svg class="area"' in page
    assert os.listdir("out") == ["runs.parquet"]


@pytest.mark.usefixtures("says_version")
@pytest.mark.parametrize(
    ("base", "axis", "notes"),
    [
        ("", "", 1),
        ('kubernetesVersion: "1.36", ', "", 0),
        ("", '  kubernetesVersion: ["1.36", "1.37"]\n', 0),
    ],
)
def test_a_version_that_nobody_named_is_noted_once(base: str, axis: str, notes: int, bayplan: Bayplan) -> None:
    named = SWEEP.replace("base: {", f"base: {{{base}").replace("seed: 1..6\n", "seed: [1]\n") + axis
    Path("sweep.yaml").write_text(named, encoding="utf-8")
    outcome = bayplan("sweep", "sweep.yaml")
    assert outcome.code == 0
    assert outcome.err.count("nothing says which version of Kubernetes the cluster has: the scheduler of v1") == notes


def test_one_run_again(bayplan: Bayplan) -> None:
    changed("seed: 1..6", "seed: [2]")
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed (bayplan[arrow])")
    bayplan("sweep", "sweep.yaml", "--out", "out")
    row = pq.read_table("out/runs.parquet").to_pylist()[0]
    again = bayplan("sweep", "sweep.yaml", "--run", row["run"], "-o", "json").json()
    assert again["seed"] == 2
    assert again["summary"]["pods"]["preempted"] == row["pods.preempted"]
    unknown = bayplan("sweep", "sweep.yaml", "--run", "nothing")
    assert (unknown.code, unknown.err) == (2, "error: --run: no run nothing in this sweep\n")


def test_bounds_decide_the_exit_code(bayplan: Bayplan) -> None:
    changed("seed: 1..6", "seed: [1, 2]")
    met = bayplan("sweep", "sweep.yaml", "--fail-on", "pods.preempted.high > 0")
    assert met.code == 1
    assert "failed: pods.preempted.high > 0: type LeastAllocated has " in met.err
    assert bayplan("sweep", "sweep.yaml", "--fail-on", "pods.preempted.low > 1000").code == 0


def test_combinations_that_are_invalid_are_rows(bayplan: Bayplan) -> None:
    changed("[LeastAllocated, MostAllocated]", "[LeastAllocated, Nonsense]")
    some = bayplan("sweep", "sweep.yaml", "-o", "json").json()
    assert (some["failed"], len(some["points"][1]["figures"])) == (6, 0)
    assert {failure["seed"] for failure in some["failures"]} == {1, 2, 3, 4, 5, 6}
    changed("[LeastAllocated, MostAllocated]", "[Nonsense]")
    none = bayplan("sweep", "sweep.yaml")
    assert none.code == 1
    assert none.first_line.endswith("All failed.")


def test_a_measure_that_no_run_has(bayplan: Bayplan) -> None:
    changed("seed: 1..6", "seed: [1]")
    Path("sweep.yaml").write_text(Path("sweep.yaml").read_text() + "measures: [pods.preemptd, pods.placed]\n")
    outcome = bayplan("sweep", "sweep.yaml")
    assert outcome.code == 0
    assert "note: measures: no run has a figure pods.preemptd; did you mean pods.preempted" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.yaml"], "nothing.yaml: No such file"),
        (["sweep.yaml", "--resume"], "--resume needs --out"),
        (["sweep.yaml", "--out", "no/such/out"], "--out: no/such/out: no such directory"),
        (["sweep.yaml", "--out", "sweep.yaml"], "--out: sweep.yaml is not a directory"),
        (["sweep.yaml", "--report", "no/such/page"], "--report: no/such/page: no such directory"),
        (["sweep.yaml", "--fail-on", "pods"], "--fail-on: 'pods': expected a bound"),
    ],
)
def test_what_cannot_be_used(arguments: list[str], message: str, bayplan: Bayplan) -> None:
    outcome = bayplan("sweep", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_an_unknown_path_in_an_axis(bayplan: Bayplan) -> None:
    changed("scoringStrategy.type", "scoringStrategy.typ")
    outcome = bayplan("sweep", "sweep.yaml")
    assert outcome.code == 2
    assert "sweep.yaml: axes.args.NodeResourcesFit.scoringStrategy.typ: " in outcome.err
    assert "unknown field" in outcome.err


def test_an_engine_that_is_not_installed(bayplan: Bayplan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = bayplan("sweep", "sweep.yaml", "--engine", "ray")
    assert (outcome.code, outcome.err) == (2, "error: --engine: engine ray needs Ray: pip install 'bayplan[ray]'\n")


def test_a_full_disk(bayplan: Bayplan) -> None:
    changed("seed: 1..6", "seed: [1]")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    usual = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    try:
        outcome = bayplan("sweep", "sweep.yaml", "--out", "out", "--processes", "1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, usual)
    assert outcome.code == 2
    assert "error: out/recent.jsonl: File too large\n" in outcome.err
    assert "note: not finished; the runs that are done are in out: go on with --resume\n" in outcome.err
    assert bayplan("sweep", "sweep.yaml", "--out", "out", "--resume", "-o", "json").json()["runs"] == 2


def test_a_recording_that_was_cut_off_in_mid_write(bayplan: Bayplan) -> None:
    record(Path("a.rec"), Cluster.load("cluster.yaml", "arrivals.yaml"), until_ns=600 * SECOND)
    whole = Path("a.rec").read_bytes()
    Path("sweep.yaml").write_text("base: {recording: a.rec}\naxes: {seed: [1]}\n", encoding="utf-8")
    Path("a.rec").write_bytes(whole[:-200])
    some = bayplan("sweep", "sweep.yaml")
    assert some.code == 0
    assert "note: a.rec was cut off: its last " in some.err
    Path("a.rec").write_bytes(whole[:100])
    none = bayplan("sweep", "sweep.yaml")
    assert (none.code, none.err) == (
        2,
        "error: a.rec: holds nothing: it was cut off before the first list of objects was complete\n",
    )


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done_and_it_goes_on_from_there(bayplan: Bayplan) -> None:
    changed("seed: 1..6", "seed: 1..60")
    main = "from bayplan.cli.main import main; main()"
    arguments = [sys.executable, "-c", main, "sweep", "sweep.yaml", "--out", "out", "--processes", "2"]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    recent = Path("out/recent.jsonl")
    until = time.monotonic() + 60
    while time.monotonic() < until and not (recent.exists() and recent.read_bytes().count(b"\n") >= 3):
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert b"go on with --resume" in said
    done = recent.read_bytes().count(b"\n")
    assert 3 <= done < 120
    resumed = bayplan("sweep", "sweep.yaml", "--out", "out", "--resume", "-o", "json")
    assert (resumed.code, resumed.json()["runs"], resumed.json()["missing"]) == (0, 120, 0)
