"""`bayplan simulate` and Ctrl-C, in a process of its own: a partial result that says so, and exit code 130."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bayplan.analysis.simulation.running import Progress
from bayplan.cli.main import run

CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}}
"""
#: More than any machine gets through before the interrupt.
TRACE = "arrival,duration,cpu\n" + "".join(f"{second},20,1\n" for second in range(60_000))
MAIN = "from bayplan.cli.main import main; main()"
BOUND_SECONDS = 60.0

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "trace.csv").write_text(TRACE, encoding="utf-8")
    return tmp_path


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A run that has begun: so much stands in its journal that some of it has left the buffer."""
    command = [sys.executable, "-c", MAIN, "simulate", "-f", "cluster.yaml", "--trace", "csv:trace.csv"]
    process = subprocess.Popen(
        [*command, "--journal", "journal", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        ends_at = time.monotonic() + BOUND_SECONDS
        unfinished = Path("journal.part")
        while not (unfinished.exists() and unfinished.stat().st_size) and time.monotonic() < ends_at:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def test_the_summary_the_report_and_the_journal_are_of_a_part(folder: Path) -> None:
    with running("--report", "report.html") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_SECONDS)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "ended early" in out
    assert '<p class="partial">' in (folder / "report.html").read_text(encoding="utf-8")
    replayed = subprocess.run(
        [sys.executable, "-c", MAIN, "replay", "journal"], capture_output=True, text=True, timeout=120, check=False
    )
    assert (replayed.returncode, "all as recorded" in replayed.stdout) == (0, True), replayed


def test_json_of_a_part() -> None:
    with running("-o", "json") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=BOUND_SECONDS)
    assert process.returncode == 130, err
    plain = json.loads(out)
    assert plain["partial"] is True
    assert 0 <= plain["seconds"] < 60_000
    assert len(plain["pods"]) == plain["summary"]["pods"]["created"]


def test_twice_means_now(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The second interrupt ends everything: nothing is printed, and neither journal nor report is left behind."""

    def interrupt_twice(*_: int) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    @contextmanager
    def impatient(*_: object) -> Iterator[Progress]:
        yield interrupt_twice

    monkeypatch.setattr("bayplan.cli.simulate.progress_bar", impatient)
    before = sorted(folder.iterdir())
    arguments = ["--until", "10m", "--report", "report.html", "--journal", "journal", "-o", "json"]
    assert run(["simulate", "-f", "cluster.yaml", *arguments]) == 130
    assert capsys.readouterr().out == ""
    assert sorted(folder.iterdir()) == before
