"""The example of examples/packing, with a few lines in the form of the traces that it is made for."""

from __future__ import annotations

import gzip
import runpy
import shutil
from pathlib import Path

import pytest

from bayplan.analysis.sweeping.preparing import Preparation
from bayplan.analysis.sweeping.runs import do_run
from bayplan.analysis.sweeping.sweep_file import read_sweep

EXAMPLE = Path(__file__).parents[2] / "examples" / "packing"
AZURE = """arrival_s,batch,cores,memory_gib,duration_min_s,duration_max_s,censored
0,0,8,14,900,1100,0
300,1,8,14,900,900,0
300,100,1,1.75,68700,72000,1
"""
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
long-ago,1000,1024,0,0,,LS,Running,0,50,0
before,6000,12288,1,460,,LS,Running,40,300000,50
late,12000,16384,2,1000,,BE,Running,172000,172600,
last,1000,1024,0,0,,Burstable,Running,172900,172960,
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in EXAMPLE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    with gzip.open(tmp_path / "day.csv.gz", "wt", encoding="utf-8") as stream:
        stream.write(AZURE)
    (tmp_path / "pods.csv").write_text(OPENB, encoding="utf-8")
    return tmp_path


def made(folder: Path, script: str, source: str, target: str) -> list[str]:
    runpy.run_path(str(folder / script))["main"](str(folder / source), str(folder / target))
    return (folder / target).read_text(encoding="utf-8").splitlines()[1:]


def test_the_day_of_azure(folder: Path) -> None:
    rows = made(folder, "azure_day.py", "day.csv.gz", "azure_day.csv")
    assert rows == ["0,1000,8,14336Mi,critical,1000", "300,,1,1792Mi,batch,10"]
    assert_runs(folder / "azure.yaml", placed=2)


def test_the_days_of_openb(folder: Path) -> None:
    rows = made(folder, "openb_days.py", "pods.csv", "openb_days.csv")
    assert rows == [
        "0,299900,6000m,12288Mi,460,critical,1000",
        "171900,600,12000m,16384Mi,2000,batch,10",
        "172800,60,1000m,1024Mi,,batch,10",  # when the sweep ends
    ]
    assert_runs(folder / "openb.yaml", placed=2)


def assert_runs(path: Path, placed: int) -> None:
    found = read_sweep(str(path))
    prepared = Preparation(found.base, found.design)
    assert len(prepared.names) == 80
    outcome = do_run(prepared.story, "first", prepared.spec_at(0))
    assert (outcome.error, outcome.figures["pods.placed"]) == ("", placed)
    assert outcome.figures.keys() >= set(found.measures)
