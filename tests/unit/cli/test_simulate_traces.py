"""`bayplan simulate --trace`: what each option does to a small trace, seen in the JSON of the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.cli.main import run

#: Ten pods, one each minute, for half a minute each.
MINUTES = "arrival,duration,cpu,name\n" + "".join(f"{60 * minute},30,1,p{minute}\n" for minute in range(10))
OPENB_NODES = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(f"g{place},8000,65536,2,T4\n" for place in range(4))
OPENB_PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time
whole,4000,1024,2,1000,T4,LS,100,400,150
share,6000,2048,1,250,,BE,0,50,0
"""
AZURE = """\
arrival_s,cores,memory_gib,duration_min_s,duration_max_s,censored
0,2,4,900,1100,0
300,1,1.75,600,600,1
"""
NODE = "{apiVersion: v1, kind: Node, metadata: {name: big}, status: {allocatable: {cpu: 8, memory: 32Gi, pods: 9}}}"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openb").mkdir()
    for name, text in {
        "node.yaml": NODE,
        "minutes.csv": MINUTES,
        "vms.csv": AZURE,
        "openb/openb_node_list_gpu_node.csv": OPENB_NODES,
        "openb/openb_pod_list_default.csv": OPENB_PODS,
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")


def simulated(capsys: pytest.CaptureFixture[str], arguments: str) -> dict[str, Any]:
    """The JSON of a run."""
    assert run(["simulate", *arguments.split(), "-o", "json"]) == 0
    plain: dict[str, Any] = json.loads(capsys.readouterr().out)
    return plain


def pods(plain: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {pod["key"].removeprefix("trace/"): pod for pod in plain["pods"]}


@pytest.mark.parametrize(
    ("options", "names", "created"),
    [
        pytest.param("", [f"p{minute}" for minute in range(10)], range(0, 600, 60), id="as it is"),
        pytest.param("--shrink 0.3", ["p3", "p6", "p9"], [180, 360, 540], id="shrunk"),
        pytest.param("--stretch 2", [f"p{minute}" for minute in range(10)], range(0, 1200, 120), id="stretched"),
        pytest.param("--shrink 0.1 --repeat 2", ["p9", "p9-r2"], [540, 1080], id="repeated"),
    ],
)
def test_who_comes_and_when(
    options: str, names: list[str], created: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    found = pods(simulated(capsys, f"--nodes node.yaml=1 --trace csv:minutes.csv {options}"))
    assert list(found) == names
    assert [pod["created"] for pod in found.values()] == list(created)


def test_a_trace_on_plain_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    plain = simulated(capsys, "--nodes 8cpu,32Gi=1 --nodes node.yaml=1 --trace csv:minutes.csv --no-departures")
    assert {pod["node"] for pod in plain["pods"]} == {"8cpu-32gi-0", "big-0"}


def test_pods_leave_after_their_time_unless_told_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "--nodes node.yaml=1 --trace csv:minutes.csv"
    leaving = pods(simulated(capsys, arguments)).values()
    assert {pod["end"] for pod in leaving} == {"finished"}
    assert all(pod["ended"] - pod["started"] == pytest.approx(30) for pod in leaving)
    staying = simulated(capsys, f"{arguments} --no-departures")
    assert [pod["end"] for pod in pods(staying).values()] == ["running"] * 8 + ["pending"] * 2  # 8 CPUs


def test_stretching_makes_them_run_longer(capsys: pytest.CaptureFixture[str]) -> None:
    found = pods(simulated(capsys, "--nodes node.yaml=1 --trace csv:minutes.csv --stretch 2")).values()
    assert all(pod["ended"] - pod["started"] == pytest.approx(60) for pod in found)


@pytest.mark.parametrize(("option", "expected"), [("", ["g0", "g1", "g2", "g3"]), ("--trace-nodes 2", ["g0", "g2"])])
def test_openb_brings_its_nodes(option: str, expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    plain = simulated(capsys, f"--trace openb:openb {option}")
    assert [node["name"] for node in plain["nodes"]] == expected
    assert {name: pod["class"] for name, pod in pods(plain).items()} == {"share": "qos-be", "whole": "qos-ls"}
    assert plain["summary"]["pods"]["placed"] == 2


def test_azure_needs_nodes_from_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    plain = simulated(capsys, "--nodes node.yaml=2 --trace azure:vms.csv --until 2h")
    assert [node["name"] for node in plain["nodes"]] == ["big-0", "big-1"]
    first, censored = pods(plain).values()
    assert first["ended"] - first["started"] == pytest.approx(1000)
    assert censored["end"] == "running"
