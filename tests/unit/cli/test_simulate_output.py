"""`bayplan simulate`: Parquet files, extras that are missing, and the same bytes from the same seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.simulation.worlds import URGENT

from bayplan.cli.main import run
from bayplan.report.simulation.parquet import write_parquet

CLUSTER = """
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec: {containers: [{name: a, resources: {requests: {cpu: 2, memory: 1Gi}}}]}
"""
RUN = ["simulate", "-f", "cluster.yaml", "--timeline", "timeline.yaml", "--until", "10m"]
FILES = ["nodes.parquet", "pods.parquet", "preemptions.parquet", "series.parquet", "victims.parquet"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "timeline.yaml").write_text(URGENT, encoding="utf-8")
    return tmp_path


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_markdown_and_html_say_what_the_table_says(capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for output in ("table", "markdown", "html"):
        assert run([*RUN, "-o", output]) == 0
        said[output] = capsys.readouterr().out
    headline, *_ = said["table"].splitlines()
    assert said["markdown"].startswith(f"### bayplan simulate\n\n**{headline}**\n")
    assert "#### 1 preemption\n\n| at | preemptor |" in said["markdown"]
    assert f'<p class="answer">{headline}</p>' in said["html"]


def test_parquet_files_hold_what_the_json_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run([*RUN, "-o", "json", "--parquet", "run"]) == 0
    said = capsys.readouterr()
    assert said.err == "note: tables written to run\n"
    assert names_in(folder / "run") == FILES
    plain = json.loads(said.out)
    pods = parquet.read_table(folder / "run" / "pods.parquet").to_pylist()
    shared = ("key", "class", "created", "bound", "started", "ended", "end", "cpu", "memory")
    assert [{field: pod[field] for field in shared} for pod in pods] == [
        {field: pod[field] for field in shared} for pod in plain["pods"]
    ]
    victims = parquet.read_table(folder / "run" / "victims.parquet").to_pylist()
    assert [one["pod"] for one in victims] == [one["pod"] for one in plain["preemptions"][0]["victims"]]


def test_an_earlier_run_is_replaced_and_nothing_else(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    (folder / "run").mkdir()
    for name in ("pods.parquet", "mine.txt"):
        (folder / "run" / name).write_text("earlier", encoding="utf-8")
    assert run([*RUN, "--parquet", "run"]) == 0
    assert names_in(folder / "run") == sorted([*FILES, "mine.txt"])
    assert (folder / "run" / "pods.parquet").read_bytes().startswith(b"PAR1")
    assert (folder / "run" / "mine.txt").read_text(encoding="utf-8") == "earlier"


@pytest.mark.parametrize("there_before", [True, False])
def test_tables_that_cannot_be_written_leave_the_earlier_ones(there_before: bool, folder: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    if there_before:
        (folder / "run").mkdir()
        (folder / "run" / "pods.parquet").write_text("earlier", encoding="utf-8")
    tables: dict[str, Any] = {"pods": arrow.table({"key": ["a"]}), "nodes": "no table"}
    with pytest.raises(AttributeError):
        write_parquet(tables, folder / "run")
    assert (folder / "run").exists() == there_before
    if there_before:
        assert names_in(folder / "run") == ["pods.parquet"]
        assert (folder / "run" / "pods.parquet").read_text(encoding="utf-8") == "earlier"


def test_a_missing_extra_is_told_before_the_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    before = names_in(folder)
    assert run([*RUN, "--journal", "journal", "--parquet", "run"]) == 2
    said = "error: --parquet: Arrow tables and Parquet files need pyarrow: pip install 'bayplan[arrow]'\n"
    assert capsys.readouterr() == ("", said)
    assert names_in(folder) == before


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_in_another_process(folder: Path) -> None:
    """Whatever order sets and dictionaries of text have there."""
    pytest.importorskip("pyarrow")
    written = []
    for hash_seed in ("1", "2"):
        outputs = ["--report", "report.html", "--journal", "journal", "--parquet", "run", "-o", "json"]
        answer = in_a_process([*RUN, "--seed", "7", *outputs], hash_seed)
        files = [folder / "report.html", folder / "journal", *(folder / "run" / name for name in FILES)]
        written.append([answer, *(path.read_bytes() for path in files)])
    assert json.loads(written[0][0])["summary"]["pods"]["preempted"] == 2
    for first, second, what in zip(*written, ["JSON", "report", "journal", *FILES], strict=True):
        assert first == second, what


def in_a_process(arguments: list[str], hash_seed: str) -> bytes:
    """What a command prints."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", "from bayplan.cli.main import main; main()", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, timeout=120, check=True).stdout
