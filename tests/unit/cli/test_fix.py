"""`bayplan fix`: exit codes, formats, and bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.model.pod import NodeSelectorRequirement, NodeSelectorTerm
from bayplan.report.answers.fix import fix_parts
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]
NODE = make.node("n").capacity(cpu="4")
ELSEWHERE = NodeSelectorRequirement(key="metadata.name", operator="In", values=["gone"])


@pytest.mark.parametrize("output", ["table", "json", "markdown", "html"])
def test_all_formats(bayplan: Bayplan, file_of: FileOf, output: str) -> None:
    said = bayplan("fix", "x", "-f", file_of(NODE, make.pod("x").cpu("5")), "-o", output)
    assert (said.code, said.err) == (0, "")
    assert "kubectl patch pod x" in said.out


def test_json_is_the_answer_of_the_method(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(NODE, make.pod("x").cpu("5"))
    assert bayplan("fix", "x", "-f", file, "-o", "json").json() == answer_document(
        "fix", NEWEST, Cluster.load(file).fix("x").to_dict()
    )


@pytest.mark.parametrize(
    ("wanting", "code"),
    [
        pytest.param(make.pod("x"), 0, id="it fits"),
        pytest.param(make.pod("x").running("n"), 0, id="it runs"),
        pytest.param(make.pod("x").cpu("5"), 0, id="there is a fix"),
        pytest.param(make.pod("x").node_affinity(NodeSelectorTerm(match_fields=[ELSEWHERE])), 1, id="there is none"),
    ],
)
def test_exit_codes(bayplan: Bayplan, file_of: FileOf, wanting: object, code: int) -> None:
    assert bayplan("fix", "x", "-f", file_of(NODE, wanting)).code == code


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("b",), "error: Pod default/b: not found in the input"),
        (("done",), "error: Pod default/done: status.phase: Failed: the pod has finished"),
        (("other",), "no profile for scheduler 'other'"),
        ((), "Missing argument 'POD'"),
    ],
)
def test_bad_input(bayplan: Bayplan, file_of: FileOf, arguments: tuple[str, ...], message: str) -> None:
    things = (NODE, make.pod("done").running("n").phase("Failed"), make.pod("other").scheduler("other"))
    said = bayplan("fix", *arguments, "-f", file_of(*things))
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_all_manifests_and_dumps(bayplan: Bayplan, shared: Path) -> None:
    """Every workload of the manifests on the nodes of a dump, and the pods that wait in other dumps."""
    data = shared / "data"
    nodes = data / "nodes" / "honeycomb-nodes.json"
    cluster = Cluster.load(data / "manifests", nodes)
    workloads = {key.rstrip("0123456789"): key for key in cluster.pending_pods()}
    for pod in workloads.values():
        parts = list(fix_parts(cluster.fix(pod)))
        assert parts, pod
    for file in sorted((data / "nodes").glob("troubleshoot-pod-*.json")):
        (pod,) = Cluster.load(file).pods
        said = bayplan("fix", pod, "-f", str(file), "-f", str(data / "nodes" / "troubleshoot-nodes.json"))
        assert said.code in (0, 1), (file, said.err)
