"""`bayplan plan`: its options, exit codes and formats, and what it says to bad input."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "catalog.yaml"
    path.write_text("- {name: small, capacity: {cpu: 4}, price: 10}\n")
    return str(path)


@pytest.fixture
def pods(file_of: Callable[..., str]) -> str:
    return file_of(make.pod("p").cpu("3"), make.pod("q").cpu("3"))


def test_pods_of_manifests(bayplan: Bayplan, pods: str, catalog: str) -> None:
    said = bayplan("plan", "--pods", pods, "--nodes", catalog)
    assert (said.code, said.first_line) == (0, "Yes: 2 pods fit with 2 more nodes for 20; nothing cheaper is enough.")


def test_pending_pods_of_a_cluster_with_a_node_to_lose(bayplan: Bayplan, pods: str, catalog: str) -> None:
    said = bayplan("plan", "-f", pods, "--nodes", catalog, "--survive", "node")
    assert (
        said.first_line
        == "Yes: 2 pods fit with 3 more nodes for 30, also without any one node; nothing cheaper is enough."
    )


def test_json_is_to_dict(bayplan: Bayplan, pods: str, catalog: str) -> None:
    said = bayplan("plan", "-f", pods, "--nodes", catalog, "-o", "json")
    assert said.json() == answer_document("plan", NEWEST, Cluster.load(pods).plan(catalog).to_dict())


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, pods: str, catalog: str, output: str) -> None:
    assert "2 pods fit with 2 more nodes for 20" in bayplan("plan", "-f", pods, "--nodes", catalog, "-o", output).out


def test_pods_that_no_node_type_can_hold(bayplan: Bayplan, catalog: str, file_of: Callable[..., str]) -> None:
    said = bayplan("plan", "--pods", file_of(make.pod("huge").cpu("9")), "--nodes", catalog)
    assert said.code == 1
    assert "default/huge" in said.out
    assert "Insufficient cpu" in said.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- {name: small, capacity: {cpu: 4}, price: -1}", "small: price: -1 is not a price: it must not be negative"),
        ("- {name: small, capacity: {cpu: x}, price: 1}", "small: capacity"),
        ("nonsense: [", "line 2, column 1: did not find expected node content"),
        ("", "the catalog has no node types"),
    ],
)
def test_bad_catalogs(bayplan: Bayplan, pods: str, catalog: str, text: str, message: str) -> None:
    Path(catalog).write_text(text)
    said = bayplan("plan", "--pods", pods, "--nodes", catalog)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert catalog in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--nodes", "nowhere.yaml"), "There is no cluster to read: name files with -f"),
        (("--pods", "{pods}", "--nodes", "nowhere.yaml"), "nowhere.yaml"),
        (("--pods", "{pods}"), "Missing option '--nodes'"),
        (("--pods", "{pods}", "--nodes", "{catalog}", "--survive", "zone"), "--survive: zone: the catalog needs"),
    ],
)
def test_bad_usage(bayplan: Bayplan, pods: str, catalog: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("plan", *(each.format(pods=pods, catalog=catalog) for each in arguments))
    assert (said.code, said.out) == (2, "")
    assert message in said.err
