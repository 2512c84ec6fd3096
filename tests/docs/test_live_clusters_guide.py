"""The guide about live clusters: its commands print what it shows, about a cluster in another process."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.cli import demo
from bayplan.cli.main import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "live-clusters.md"
FILE = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TRANSCRIPT = re.compile(r"^```shell\n(.*?)^```$", re.DOTALL | re.MULTILINE)
UP = "from bayplan.cli.main import main; main()"


@pytest.fixture
def beside_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The demo's cluster, running, and its kubeconfig where kubectl would look."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", "kubeconfig")
    demo.write_files(Path("demo-cluster"))
    files = ["-f", "demo-cluster/cluster.yaml", "demo-cluster/urgent.yaml"]
    options = ["--listen", "127.0.0.1:0", "--write-kubeconfig", "kubeconfig", "--no-scheduler", "--no-controllers"]
    with subprocess.Popen([sys.executable, "-c", UP, "up", *files, *options], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"Cluster ready")
        yield
        process.terminate()


@pytest.mark.slow
@pytest.mark.usefixtures("beside_a_cluster")
def test_the_commands_of_the_guide_print_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name, content in FILE.findall(page):
        Path(name).write_text(content)
    transcripts = TRANSCRIPT.findall(page)
    assert len(transcripts) == 5
    for transcript in transcripts:
        printed: Iterator[str] = iter(())
        for line in transcript.splitlines():
            if line.startswith("$ bayplan "):
                run(line.removeprefix("$ bayplan ").split())
                printed = iter(capsys.readouterr().out.splitlines())
            else:
                assert line in printed, f"not printed, or not in this order: {line}"
