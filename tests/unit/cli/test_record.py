"""`bayplan record`: a running cluster on disk, to be played again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayplan as api
from bayplan.analysis.recordings.reader import RecordingReader
from bayplan.model.pod import Pod
from bayplan.testing import cluster
from bayplan.testing.live_cluster import LiveCluster

from .conftest import Bayplan

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: acme-web}
spec:
  replicas: 2
  selector: {matchLabels: {app: acme-web}}
  template:
    metadata: {labels: {app: acme-web}}
    spec: {containers: [{name: main, image: acme/web, env: [{name: A, value: hunter2}]}]}
"""
pytestmark = pytest.mark.usefixtures("signals")


@pytest.fixture
def live() -> Iterator[LiveCluster]:
    with cluster(nodes=2) as running:
        yield running


def started(live: LiveCluster, *arguments: str, before: str = "") -> subprocess.Popen[str]:
    """A recorder that has listed everything; `before` is what the process does first."""
    code = f"{before or 'pass'}; from bayplan.cli.main import main; main()"
    command = [sys.executable, "-c", code, "record", "--kubeconfig", str(live.kubeconfig), *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "recording until" not in (line := process.stderr.readline()):
        assert line, "recording has not begun"
    return process


def ended(process: subprocess.Popen[str], number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    return process.returncode, err


def test_a_life_is_recorded_and_played_again(live: LiveCluster, tmp_path: Path, bayplan: Bayplan) -> None:
    path = tmp_path / "week.rec"
    process = started(live, "-o", str(path))
    live.apply(WEB)
    live.wait_until("deployment/acme-web available")
    live.apply(WEB.replace("replicas: 2", "replicas: 3"))
    live.wait_until(
        lambda running: len(running.list("Pod")) == 3 and running.wait_until("deployment/acme-web available")
    )
    time.sleep(0.5)  # or the last pod would be placed when all is over
    code, err = ended(process)
    assert code == 0
    assert "events recorded in" in err
    assert b"hunter2" not in path.read_bytes()
    life = api.load_recording(path)
    assert life.kubernetes_version == "v1.36.4"
    found = api.simulate(recording=life).run.fidelity
    assert found is not None
    assert (found.placed, found.placed_here) == (3, 3)
    again = bayplan("simulate", "--recording", str(path))
    assert again.code == 0
    assert "Compared with the recording\n3 pods got a node while it was recorded; 3 (100.0%) got one here" in again.out


def test_a_recording_is_continued_after_it_was_killed(live: LiveCluster, tmp_path: Path) -> None:
    path = tmp_path / "week.rec"
    process = started(live, "-o", str(path))
    ended(process, signal.SIGKILL)
    live.apply(WEB)
    live.wait_until("deployment/acme-web available")
    code, _ = ended(started(live, "-o", str(path)))
    assert code == 0
    reader = RecordingReader(str(path))
    assert not any(isinstance(obj, Pod) for obj in reader.objects)
    pods = {happening.event.new.metadata.name for happening in reader if isinstance(happening.event.new, Pod)}  # type: ignore[union-attr]
    assert len(pods) == 2


def test_recording_ends_by_itself_and_under_other_names(live: LiveCluster, tmp_path: Path) -> None:
    path = tmp_path / "week.rec"
    live.apply(WEB)
    live.wait_until("deployment/acme-web available")
    process = started(live, "-o", str(path), "--for", "1s", "--anonymize")
    process.communicate(timeout=20)
    assert process.returncode == 0
    assert os.listdir(tmp_path) == ["week.rec"]
    reader = RecordingReader(str(path))
    assert "acme" not in repr([reader.objects, list(reader)])
    assert sum(isinstance(obj, Pod) for obj in reader.objects) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "{tmp}/none/a"], "no such directory"),
        (["-o", "{tmp}/a", "--keep", "3"], "need a directory"),
        (["-o", "{tmp}/a/", "--anonymize"], "writes one file"),
        (["-o", "{tmp}/b", "--from", "{tmp}/a"], "needs --anonymize"),
        (["-o", "{tmp}/b", "--from", "{tmp}/a", "--anonymize"], "no such file"),
        (["-o", "{tmp}/a", "--for", "soon"], "soon"),
        (["-o", "{tmp}/a", "--kubeconfig", "{tmp}/none"], "none"),
        ([], "Missing option"),
    ],
)
def test_bad_input(bayplan: Bayplan, tmp_path: Path, arguments: list[str], message: str) -> None:
    outcome = bayplan("record", *(argument.format(tmp=tmp_path) for argument in arguments))
    assert outcome.code == 2
    assert message in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_recording_is_left_alone(live: LiveCluster, tmp_path: Path, bayplan: Bayplan) -> None:
    (tmp_path / "a").write_text("mine")
    outcome = bayplan("record", "--kubeconfig", str(live.kubeconfig), "-o", str(tmp_path / "a"))
    assert outcome.code == 2
    assert "is not a recording" in outcome.err
    assert (tmp_path / "a").read_text() == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="limits of file sizes")
def test_a_disk_that_is_full(live: LiveCluster, tmp_path: Path) -> None:
    """A limit of the size of files stands for it: it comes in the same way."""
    path = tmp_path / "week.rec"
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))"
    process = started(live, "-o", str(path), before=limited)
    deadline, number = time.monotonic() + 60, 0
    while process.poll() is None and time.monotonic() < deadline:
        number += 1
        live.apply(WEB.replace("acme-web", f"acme-web-{number}"))
        time.sleep(0.2)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 2
    assert "cannot be written: File too large; what was recorded until then is in it" in err
    reader = RecordingReader(str(path))
    assert len(list(reader)) > 0
    assert reader.notes == []


@pytest.mark.parametrize("arguments", [["--recording", "{tmp}/none"], ["--no-recorded-nodes"]])
def test_recordings_that_cannot_be_played(bayplan: Bayplan, tmp_path: Path, arguments: list[str]) -> None:
    outcome = bayplan("simulate", *(argument.format(tmp=tmp_path) for argument in arguments))
    assert outcome.code == 2
    assert "no such file" in outcome.err or "needs '--recording'" in outcome.err
