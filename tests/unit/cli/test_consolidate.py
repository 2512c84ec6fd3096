"""`bayplan consolidate`: its options, exit codes and formats, and what it says to bad input."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.support.changed_clusters import owned

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version


@pytest.fixture
def cluster(file_of: Callable[..., str]) -> str:
    nodes = [make.node(name).capacity(cpu="4").label("pool", name) for name in "ab"]
    return file_of(*nodes, owned("p").cpu("2").running("a"), owned("q").cpu("1").running("b"))


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 0, "Yes: 1 of 2 nodes can be given back if 1 pod moves; no more can be."),
        (("-l", "pool=a"), 0, "Yes: 1 of 1 node can be given back if 1 pod moves; no more can be."),
        (("--max-moves", "0"), 1, "No: none of 2 nodes can be given back."),
    ],
)
def test_the_first_line_is_the_answer(
    bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], code: int, says: str
) -> None:
    said = bayplan("consolidate", "-f", cluster, *arguments)
    assert (said.code, said.first_line) == (code, says)


def test_json_is_to_dict(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("consolidate", "-f", cluster, "-o", "json")
    assert said.json() == answer_document("consolidation", NEWEST, Cluster.load(cluster).consolidate().to_dict())


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, cluster: str, output: str) -> None:
    assert "Yes: 1 of 2 nodes can be given back" in bayplan("consolidate", "-f", cluster, "-o", output).out


def test_a_script_instead_of_an_answer(bayplan: Bayplan, cluster: str) -> None:
    assert "kubectl drain a --timeout=30m" in bayplan("consolidate", "-f", cluster, "--script").out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-l", "pool=z"), "error: --selector: 'pool=z' selects no node"),
        (("--max-nodes", "0"), "--max-nodes"),
        (("--seconds", "nan"), "nan is not a number of seconds"),
    ],
)
def test_bad_input(bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("consolidate", "-f", cluster, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
