"""`bayplan drain`: its options, exit codes and formats, and what it says to bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.changed_clusters import owned

from bayplan import Cluster
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]


@pytest.fixture
def cluster(file_of: FileOf) -> str:
    return file_of(
        *(make.node(name).capacity(cpu="2").label("pool", "x") for name in "ab"),
        make.node("c").capacity(cpu="1"),
        make.replica_set("idle").replicas(0).template(make.pod("t").labels(app="idle")),
        owned("p").cpu("2").running("a"),
        owned("q").cpu("1").running("c"),
        make.budget("other").selects(app="other"),
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("a",), 0, "Yes: a can be drained: its pod gets a node."),
        (("a", "b"), 1, "No: if a and b are drained, 1 pod is left without a node."),
        (("-l", "pool=x"), 1, "No: if a and b are drained, 1 pod is left without a node."),
        (
            ("-l", "pool=x", "--rolling"),
            0,
            "Yes: a and b can be drained one after another: their pod gets a node.",
        ),
    ],
)
def test_the_first_line_is_the_answer(
    bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], code: int, says: str
) -> None:
    said = bayplan("drain", "-f", cluster, *arguments)
    assert (said.code, said.first_line, said.err) == (code, says, "")


def test_short_unless_details_are_wanted(bayplan: Bayplan, cluster: str) -> None:
    lines = bayplan("drain", "-f", cluster, "a", "b").out.splitlines()
    assert lines[-2:] == [f"Next: bayplan drain --rolling a b -f {cluster}", "--details shows everything."]
    assert "Evictions, in order" in bayplan("drain", "-f", cluster, "a", "b", "--details").out


def test_json_is_to_dict(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("drain", "-f", cluster, "a", "-o", "json")
    assert said.json() == answer_document("drain", NEWEST, Cluster.load(cluster).drain(["a"]).to_dict())


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, cluster: str, output: str) -> None:
    assert "Yes: a can be drained" in bayplan("drain", "-f", cluster, "a", "-o", output).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'NODES...' or option '-l' / '--selector': there is nothing to drain."),
        (("nowhere",), "error: Node nowhere: not found in the input"),
        (("-l", "pool=z"), "error: --selector: 'pool=z' selects no node"),
        (("-l", "pool in"), "error: --selector: "),
    ],
)
def test_bad_input(bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("drain", "-f", cluster, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_published_dumps_can_be_drained(bayplan: Bayplan, shared: Path) -> None:
    folder = shared / "data" / "nodes"
    for nodes in sorted(folder.glob("*-nodes.json")):
        pods = nodes.with_name(nodes.name.replace("nodes", "pods"))
        files = [argument for path in (nodes, pods) if path.exists() for argument in ("-f", str(path))]
        names = list(Cluster.load(nodes).build_cache(gates=DEFAULT_GATES).nodes.rows_by_name)
        for rolling in ((), ("--rolling",)):
            said = bayplan("drain", *files, *names, *rolling, "-o", "json")
            assert said.code in (0, 1), said.err
            assert [node["node"] for node in said.json()["nodes"]] == names
