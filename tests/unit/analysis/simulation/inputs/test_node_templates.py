"""What `--nodes` stands for: nodes written out in the option itself, and copies of nodes in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.model.errors import InvalidObject

NODE = "{apiVersion: v1, kind: Node, metadata: {name: big}, status: {allocatable: {cpu: 64, memory: 8Gi, pods: 9}}}"
FORM = "expected a node such as 8cpu,32Gi or 8cpu,32Gi,nvidia.com/gpu:4"


@pytest.mark.parametrize(
    ("spec", "first_name", "allocatable"),
    [
        ("8cpu,32Gi=1", "8cpu-32gi-0", {"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ("32Gi,8cpu=1", "32gi-8cpu-0", {"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ("8cpu, 32Gi=1", "8cpu-32gi-0", {"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ("500mcpu,1.5G=1", "500mcpu-1.5g-0", {"cpu": "500m", "memory": "1.5G", "pods": "110"}),
        ("cpu:8,memory:32Gi=1", "cpu-8-memory-32gi-0", {"cpu": "8", "memory": "32Gi", "pods": "110"}),
        ("8cpu,32Gi,pods:250=1", "8cpu-32gi-pods-250-0", {"cpu": "8", "memory": "32Gi", "pods": "250"}),
        (
            "8cpu,32Gi,nvidia.com/gpu:4,ephemeral-storage:100Gi=1",
            "8cpu-32gi-nvidia.com-gpu-4-ephemeral-storage-100gi-0",
            {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4", "ephemeral-storage": "100Gi"},
        ),
    ],
)
def test_a_plain_node(spec: str, first_name: str, allocatable: dict[str, str]) -> None:
    (node,) = nodes_like([spec])
    assert node.metadata.name == first_name
    assert node.metadata.labels == {"kubernetes.io/hostname": first_name}
    assert node.status.allocatable == allocatable


def test_plain_nodes_are_numbered_like_copies_of_a_template() -> None:
    names = [node.metadata.name for node in nodes_like(["8cpu,32Gi=11", "4cpu,16Gi=1"])]
    assert names == [*(f"8cpu-32gi-{place:02}" for place in range(11)), "4cpu-16gi-0"]


def test_plain_nodes_and_templates_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node.yaml").write_text(NODE, encoding="utf-8")
    names = [node.metadata.name for node in nodes_like(["node.yaml=2", "8cpu,32Gi=1"])]
    assert names == ["big-0", "big-1", "8cpu-32gi-0"]


@pytest.mark.parametrize("file", ["3nodes.yaml", "8cpu.yaml", "2026/nodes.yaml", "./8cpu", "a,b.yaml", "folder"])
def test_what_is_taken_for_a_file(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text(NODE, encoding="utf-8")
    assert [node.metadata.name for node in nodes_like([f"{file}=1"])] == ["big-0"]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("8cpu=5", f"memory is missing; {FORM}"),
        ("32Gi=5", f"cpu is missing; {FORM}"),
        ("pods:10=5", f"cpu is missing; {FORM}"),
        ("8cpu,4cpu,32Gi=5", f"cpu is given twice; {FORM}"),
        ("8cpu,32Gi,memory:1Gi=5", f"memory is given twice; {FORM}"),
        ("8cpu,32Gi,=5", f"'' is not a quantity; {FORM}"),
        ("8cpu,32GiB=5", f"'32GiB' is not a quantity; {FORM}"),
        ("8cores,32Gi=5", f"'8cores' is not a quantity; {FORM}"),
        ("8cpu,lots=5", f"'lots' is not a quantity; {FORM}"),
        ("8cpu,32Gi,pods:many=5", f"'many' is not a quantity; {FORM}"),
        ("cpu,32Gi=5", f"'' is not a quantity; {FORM}"),
        ("8cpu,32Gi,gpu:4=5", f"'gpu' is not the name of a resource, such as nvidia.com/gpu; {FORM}"),
        ("8cpu,32Gi,a b/c:4=5", f"'a b/c' is not the name of a resource, such as nvidia.com/gpu; {FORM}"),
        ("0cpu,32Gi=5", f"cpu must be greater than 0; {FORM}"),
        ("-8cpu,32Gi=5", f"cpu must be greater than 0; {FORM}"),
        ("8cpu,32Gi,pods:0=5", f"pods must be greater than 0; {FORM}"),
        ("8cpu,32Gi,nvidia.com/gpu:500m=5", f"nvidia.com/gpu must be a whole number, not 500m; {FORM}"),
        ("8cpu,32=5", f"memory of 32 is less than 1Mi; {FORM}"),
        ("8cpu,32m=5", f"memory of 32m is less than 1Mi; {FORM}"),
    ],
)
def test_a_plain_node_that_cannot_be_read(spec: str, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        nodes_like([spec])
    assert str(caught.value) == f"--nodes: {spec!r}: {message}"


def test_the_same_plain_node_twice_is_refused() -> None:
    with pytest.raises(InvalidObject) as caught:
        nodes_like(["8cpu,32Gi=2", "8cpu,32Gi=1"])
    assert str(caught.value) == "8cpu,32Gi: Node 8cpu-32gi-0: metadata.name: this name is already taken"
