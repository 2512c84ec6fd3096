"""`bayplan simulate`: output, gates, journal, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.simulation.worlds import URGENT

from bayplan.cli.main import run
from bayplan.testing import builders as make
from bayplan.worlds.simulated import SimulatedWorld

from .conftest import Bayplan

CLUSTER = """
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: a, resources: {requests: {cpu: 2}}}]}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "timeline.yaml").write_text(URGENT, encoding="utf-8")
    return str(tmp_path / "cluster.yaml"), str(tmp_path / "timeline.yaml")


def test_the_table_says_who_made_room(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "-f", files[0], "--timeline", files[1], "--until", "10m"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "10 min on 1 node: 5 pods, 3 placed, 0 finished, 2 preempted; 2 pods pending at the end." in said.out
    assert "the only node where evicting pods makes room" in said.out
    assert "Pending at the end: default/web-" in said.out
    assert "0/1 nodes are available: 1 Insufficient cpu." in said.out


def test_json_alone_on_stdout_and_the_same_twice(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for _ in range(2):
        run(["simulate", "-f", files[0], "--timeline", files[1], "--seed", "3", "-o", "json"])
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    plain = json.loads(texts[0])
    assert (plain["format"], plain["seed"], plain["seconds"]) == ("bayplan simulation v1", 3, 3660.0)


@pytest.mark.parametrize(
    ("gate", "code"), [("pending", 1), ("evicts=none", 1), ("evicts=high", 0), ("loop", 0), ("pdb", 0)]
)
def test_gates(files: tuple[str, str], capsys: pytest.CaptureFixture[str], gate: str, code: int) -> None:
    assert run(["simulate", "-f", files[0], "--timeline", files[1], "--until", "10m", "--fail-on", gate]) == code
    assert ("failed: " in capsys.readouterr().err) == bool(code)


def test_a_bug_leaves_the_journal_and_says_where(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be replayed, up to where it ends."""

    def breaks(*_: Any) -> None:
        raise AssertionError("a pod is in two places")

    journal = tmp_path / "journal"
    with monkeypatch.context() as patched:
        patched.setattr(SimulatedWorld, "_send_all", breaks)
        assert run(["simulate", "-f", files[0], "--until", "10m", "--journal", str(journal)]) == 3
    assert f"the journal up to that point is in {journal}.part" in capsys.readouterr().err
    assert not journal.exists()
    assert run(["replay", f"{journal}.part"]) == 0
    assert capsys.readouterr().out == "1 decision, all as recorded. Wake-ups: upstream.\n"


def test_the_journal_can_be_replayed(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    assert run(["simulate", "-f", files[0], "--timeline", files[1], "--until", "10m", "--journal", str(journal)]) == 0
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("journal")] == ["journal"]
    assert run(["replay", str(journal)]) == 0
    assert "all as recorded" in capsys.readouterr().out


def test_a_journal_and_the_output_say_which_wakeups_were_used(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    arguments = ["simulate", "-f", files[0], "--until", "10m", "--wakeups", "complete"]
    assert run([*arguments, "--journal", str(journal)]) == 0
    assert "Wake-ups: complete." in capsys.readouterr().out
    assert run(["replay", str(journal)]) == 0
    assert "all as recorded. Wake-ups: complete." in capsys.readouterr().out
    assert run([*arguments, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["wakeups"] == "complete"
    journal.write_text(journal.read_text().replace('"complete"', '"some"', 1))
    assert run(["replay", str(journal)]) == 2
    assert "wakeups: expected upstream or complete" in capsys.readouterr().err


def test_limits_of_preemption_hold_and_are_in_the_journal(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = tmp_path / "journal"
    arguments = ["simulate", "-f", files[0], "--timeline", files[1], "--until", "10m", "--journal", str(journal)]
    assert run([*arguments, "--evictions-per-minute", "1", "--preemption-loop-rounds", "3"]) == 0
    head = json.loads(journal.read_text().partition("\n")[0])
    assert head["safety"] == {
        "foreign_victims": "allow",
        "evictions_per_minute": 1,
        "evictions_per_minute_per_namespace": 0,
        "preemption_loop_rounds": 3,
    }
    assert run(["replay", str(journal)]) == 0
    journal.write_text(journal.read_text().replace('"allow"', '"some"', 1))
    capsys.readouterr()
    assert run(["replay", str(journal)]) == 2
    assert "line 1: safety: 'some' is not a valid ForeignVictims" in capsys.readouterr().err


TAINTED = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}},
 spec: {taints: [{key: price, value: "10", effect: NoSchedule}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}],
 tolerations: [{key: price, operator: Lt, value: "50"}]}}
"""


def test_feature_gates_are_heeded_and_kept_in_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, journal = tmp_path / "tainted.yaml", tmp_path / "journal"
    cluster.write_text(TAINTED, encoding="utf-8")
    plain = ["simulate", "-f", str(cluster), "--until", "1m", "--fail-on", "pending"]
    assert run(plain) == 1
    assert run([*plain, "--feature-gates", "TaintTolerationComparisonOperators=true", "--journal", str(journal)]) == 0
    assert run(["replay", str(journal)]) == 0
    assert "all as recorded" in capsys.readouterr().out
    written = journal.read_text(encoding="utf-8")
    journal.write_text(written.replace("ComparisonOperators=true", "ComparisonOperators=false", 1), encoding="utf-8")
    assert run(["replay", str(journal)]) == 1
    journal.write_text(written.replace("Taint", "Saint", 1), encoding="utf-8")
    assert run(["replay", str(journal)]) == 2
    assert "line 1: featureGates: unrecognized feature gate: Saint" in capsys.readouterr().err


def test_the_kubernetes_version_is_kept_in_the_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster, journal = tmp_path / "tainted.yaml", tmp_path / "journal"
    cluster.write_text(TAINTED, encoding="utf-8")
    assert run(["simulate", "-f", str(cluster), "--kubernetes-version", "1.37", "--journal", str(journal)]) == 0
    assert "no new claims to deallocate" not in capsys.readouterr().out
    assert run(["replay", str(journal)]) == 0
    written = journal.read_text(encoding="utf-8")
    journal.write_text(written.replace('"kubernetesVersion":"1.37",', "", 1), encoding="utf-8")
    assert run(["replay", str(journal)]) == 1
    journal.write_text(written.replace('"1.37"', '"1.12"', 1), encoding="utf-8")
    assert run(["replay", str(journal)]) == 2
    assert "line 1: kubernetesVersion: Kubernetes 1.12 is not known" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "There is no cluster to read"),
        (["-f", "none.yaml"], "none.yaml: no such file"),
        (["--until", "later"], "invalid duration"),
        (["--until", "0s"], "must be greater than 0"),
        (["--fail-on", "rain"], "expected evicts, evicts=CLASS, pdb, pending, loop or deadlock"),
        (["--fail-on", "evicts=gold"], "no PriorityClass gold; known classes: high"),
        (["--timeline", "none.yaml"], "none.yaml: No such file"),
        (["--nodes", "nodes.yaml"], "'nodes.yaml': expected FILE=N"),
        (["--nodes", "nodes.yaml=0"], "expected FILE=N, or a node such as 8cpu,32Gi=N, with N from 1"),
        (["--nodes", "none.yaml=2"], "none.yaml: no such file"),
        (["--trace", "magic:x"], "expected openb:DIR"),
        (["--config", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_input_is_one_message_and_writes_nothing(
    files: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    given = arguments if not arguments or "-f" in arguments else ["-f", files[0], *arguments]
    assert run(["simulate", "--journal", str(tmp_path / "journal"), *given]) == 2
    heard = capsys.readouterr()
    assert said in heard.err
    assert heard.out == ""
    assert not list(tmp_path.glob("journal*"))


def test_nodes_from_a_template(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    template = tmp_path / "node.yaml"
    template.write_text(
        "{apiVersion: v1, kind: Node, metadata: {name: big}, status: {allocatable: {cpu: 8, pods: 9}}}",
        encoding="utf-8",
    )
    assert run(["simulate", "-f", files[0], "--nodes", f"{template}=11", "--until", "1m", "-o", "json"]) == 0
    names = [one["name"] for one in json.loads(capsys.readouterr().out)["nodes"]]
    assert names == ["n1", *(f"big-{place:02}" for place in range(11))]


def test_a_template_without_room_is_told(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "node.yaml"
    template.write_text("{apiVersion: v1, kind: Node, metadata: {name: bare}}", encoding="utf-8")
    assert run(["simulate", "-f", files[0], "--nodes", f"{template}=2"]) == 2
    assert "Node bare: status.allocatable: is missing" in capsys.readouterr().err


def test_the_headline_tells_pods_that_had_a_node_from_the_others(bayplan: Bayplan, file_of: Callable[..., str]) -> None:
    pods = (make.pod("old").running("n1"), make.pod("new"), make.pod("large").cpu("9"))
    said = bayplan("simulate", "-f", file_of(make.node("n1"), *pods), "--until", "1m")
    assert said.first_line.startswith(
        "1 min on 1 node: 1 pod had a node at the start, 1 of 2 others got one; 0 finished, 0 preempted; 1 pod pending"
    )
