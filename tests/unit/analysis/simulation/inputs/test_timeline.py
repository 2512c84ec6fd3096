"""Timelines: every verb is read, and every fault is told with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Cordon,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    ScaleWorkload,
    SetLabels,
    SetTaints,
)
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.model.errors import InvalidObject
from bayplan.model.node import Taint

SECOND = 1_000_000_000
POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a}]}}"


def write(folder: Path, text: str) -> Path:
    path = folder / "timeline.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    path = write(folder, text)
    with pytest.raises(InvalidObject) as caught:
        load_timeline(path)
    return [str(one).replace(f"{folder}/", "") for one in caught.value.faults]


def test_every_verb(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(POD % "from-file", encoding="utf-8")
    steps = load_timeline(
        write(
            tmp_path,
            f"""
- {{at: 1h30m, drain: [n1, n2]}}
- at: 10m
  apply: [app.yaml, {POD % "inline"}]
- {{at: 11m, scale: shop/deploy/web, replicas: 3}}
- {{at: 12m, delete: [web-1, shop/web-2, node/n3], grace: 5s}}
- {{at: 13m, cordon: n1}}
- {{at: 14m, uncordon: n1}}
- {{at: 15m, fail: n1}}
- {{at: 16m, recover: n1}}
- {{at: 17m, taint: n1, with: ["a=b:NoSchedule", "c-", "d:NoExecute-"]}}
- {{at: 18m, label: n1, with: {{zone: b, old: null}}}}
""",
        )
    )
    assert [plan.at // SECOND for plan in steps] == [600, 660, 720, 780, 840, 900, 960, 1020, 1080, 5400]
    applied, *others = [plan.command for plan in steps]
    assert isinstance(applied, Apply)
    assert [one.metadata.name for one in applied.objects] == ["from-file", "inline"]
    assert others == [
        ScaleWorkload((Reference("Deployment", "shop", "web"),), 3),
        DeleteObject(
            (Reference("Pod", "default", "web-1"), Reference("Pod", "shop", "web-2"), Reference("Node", "", "n3")), 5
        ),
        Cordon(("n1",)),
        Cordon(("n1",), unschedulable=False),
        NodesFail(("n1",)),
        NodesRecover(("n1",)),
        SetTaints(("n1",), (Taint(key="a", value="b", effect="NoSchedule"),), (("c", ""), ("d", "NoExecute"))),
        SetLabels(("n1",), {"zone": "b", "old": None}),
        Drain(("n1", "n2")),
    ]
    assert steps[0].source == f"{tmp_path}/timeline.yaml:3"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- at: soon\n  cordon: n1", "timeline.yaml:1: at: invalid duration 'soon'"),
        ("- at: 1m\n  cordon: n1\n- at: 2m\n", "timeline.yaml:3: no action; a step has exactly one of"),
        ("- cordon: n1", "timeline.yaml:1: `at` is missing"),
        ("- at: 1m\n  cordon: n1\n  drain: n2", "timeline.yaml:3: drain: both cordon and drain"),
        ("- at: 1m\n  cordon: n1\n  replicas: 2", "timeline.yaml:3: replicas: not allowed with cordon"),
        ("- at: 1m\n  scale: deploy/web", "timeline.yaml:1: replicas: expected a whole number"),
        ("- at: 1m\n  scale: deploy/web\n  replicas: 2147483648", "timeline.yaml:3: replicas: 2147483648 is more"),
        ("- at: 1m\n  scale: ds/web\n  replicas: 1", "timeline.yaml:2: scale: DaemonSet cannot be scaled"),
        ("- at: 1m\n  delete: a/b/c", "timeline.yaml:2: delete: 'a/b/c': unknown kind 'b'"),
        ("- at: 1m\n  taint: n1\n  with: a=b", "timeline.yaml:3: with: 'a=b' is not a taint"),
        ("- at: 1m\n  label: n1\n  with: {a: 1}", "timeline.yaml:3: with: expected labels"),
        ("- at: 1m\n  apply: none.yaml", "timeline.yaml:2: none.yaml: no such file or directory"),
        ("- at: 1m\n  apply: {kind: Pod}", "timeline.yaml:2: Pod ([0]): metadata.name"),
        ("- just text", "timeline.yaml:1: expected a step"),
        ("at: 1m", "timeline.yaml: expected one list of steps"),
        ("- {at: 1m", "timeline.yaml: line "),
        ("", "timeline.yaml: expected one list of steps"),
    ],
)
def test_faults_have_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    assert faults(tmp_path, text)[0].startswith(said)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    assert len(faults(tmp_path, "- {at: x, cordon: a}\n- {at: 1m}\n- {at: 1m, fail: 3}")) == 3


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidObject, match="No such file"):
        load_timeline(tmp_path / "none.yaml")
