"""A sweep as a file: paths beside it, and faults with file and field."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.analysis.simulation.replaying.recorded_worlds import record

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.sweeping.preparing import Preparation
from bayplan.analysis.sweeping.sweep_file import read_sweep
from bayplan.model.errors import InvalidObject
from bayplan.model.time_units import SECOND

CLUSTER = """
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 20}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}}
"""
WHOLE = """
base:
  files: cluster.yaml
  timeline: story.yaml
  until: 2min
  kubernetesVersion: "1.37"
axes:
  seed: 1..3
  config: [default, packed.yaml]
  nodes: [node.yaml=2]
  trace: ["csv:arrivals.csv"]
baseline: {config: packed.yaml}
measures: [pods.placed]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    (tmp_path / "node.yaml").write_text(CLUSTER.partition("---")[0].replace("n1", "extra"), encoding="utf-8")
    (tmp_path / "story.yaml").write_text("- {at: 1m, cordon: n1}\n", encoding="utf-8")
    (tmp_path / "arrivals.csv").write_text("arrival,cpu\n10,1\n", encoding="utf-8")
    (tmp_path / "packed.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", encoding="utf-8"
    )
    return tmp_path


def written(folder: Path, text: str) -> str:
    path = folder / "sweep.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_recording_beside_the_sweep_can_be_all_there_is(folder: Path) -> None:
    record(folder / "a.rec", Cluster.load(folder / "cluster.yaml"), until_ns=60 * SECOND)
    base = "base: {recording: a.rec, recordingOptions: {nodes: false}}"
    found = read_sweep(written(folder, f"{base}\naxes: {{nodes: [node.yaml=2]}}\n")).base
    assert found.recording == str(folder / "a.rec")
    assert found.recording_options == {"nodes": False}
    assert not found.has_version
    as_axis = read_sweep(written(folder, "base: {until: 1m}\naxes: {recording: [a.rec]}\n"))
    assert as_axis.design.points == ({"recording": str(folder / "a.rec")},)
    named = read_sweep(written(folder, "base: {recording: a.rec, kubernetesVersion: '1.36'}\naxes: {seed: [1]}\n"))
    assert named.base.has_version


def test_files_are_beside_the_sweep(folder: Path) -> None:
    found = read_sweep(written(folder, WHOLE))
    assert found.base.cluster.kubernetes_version == "1.37"
    assert found.measures == ("pods.placed",)
    assert found.design.baseline == 1
    assert len(found.design) == 6
    prepared = Preparation(found.base, found.design)
    assert prepared.spec_at(3).config_name == str(folder / "packed.yaml")
    assert list(prepared.story.traces) == [f"csv:{folder / 'arrivals.csv'}"]
    assert [node.metadata.name for nodes in prepared.story.nodes.values() for node in nodes] == ["extra-0", "extra-1"]


def test_nodes_without_a_number_are_said_as_they_are_written(folder: Path) -> None:
    found = read_sweep(written(folder, "base: {files: cluster.yaml}\naxes: {nodes: [8cpu]}\n"))
    assert found.design.points == ({"nodes": "8cpu"},)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("axes: {seed: [1]}", r"sweep\.yaml: base\.files: there is nothing to simulate"),
        ("base: {files: cluster.yaml}", r"sweep\.yaml: axes: expected a mapping"),
        ("base: {fils: cluster.yaml}\naxes: {seed: [1]}", r"base\.fils: unknown field; did you mean files"),
        ("bases: {}\naxes: {seed: [1]}", r"sweep\.yaml: bases: unknown field; did you mean base"),
        ("base: {files: nothing.yaml}\naxes: {seed: [1]}", r"nothing\.yaml"),
        ("base: [1]\naxes: {seed: [1]}", r"base: expected an object"),
        ("base: {files: cluster.yaml}\naxes: {seeds: [1]}", r"axes\.seeds: no such axis; did you mean seed"),
        (
            "base: {files: cluster.yaml, kubernetesVersion: 3}\naxes: {seed: [1]}",
            r"base\.kubernetesVersion: '3' is not a version of Kubernetes",
        ),
        ("base: {files: cluster.yaml}\naxes: {seed: [1]}\nmeasures: 3", "measures: expected a list"),
        (
            "base: {trace: 'csv:arrivals.csv', traceOptions: {shrnk: 1}}\naxes: {seed: [1]}",
            r"base\.traceOptions\.shrnk: unknown field; did you mean shrink",
        ),
        (
            "base: {recording: a.rec, recordingOptions: [1]}\naxes: {seed: [1]}",
            r"base\.recordingOptions: expected an object",
        ),
        ("base: {files: cluster.yaml}\naxes: {seed: [1]}\nbaseline: 3", r"baseline: expected an object"),
        ("- 1", r"sweep\.yaml: expected one object"),
        ("a: [", r"sweep\.yaml"),
    ],
)
def test_faults_name_the_file_and_the_field(folder: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        read_sweep(written(folder, text))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InvalidObject, match=r"no-such-sweep\.yaml: No such file"):
        read_sweep("no-such-sweep.yaml")
