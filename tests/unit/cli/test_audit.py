"""`bayplan audit`: its options, exit codes and formats, SARIF among them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan.analysis.answers.audit.rules import RULES
from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]


@pytest.fixture
def careless(file_of: FileOf) -> str:
    """Nothing but a warning."""
    return file_of(make.node("a"), make.deployment("web").template(make.pod("t").labels(app="web")))


def test_the_first_line_counts_and_the_fix_follows(bayplan: Bayplan, careless: str) -> None:
    said = bayplan("audit", "-f", careless)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "1 warning in 0 pods on 1 node."
    assert lines[1] == "warning: Containers request no cpu or no memory: Deployment default/web."
    assert lines[2] == f"→ {RULES['no-requests'].fix}"
    everything = bayplan("audit", "-f", careless, "--details").out
    assert "Containers request no cpu or no memory. (warning, no-requests)" in everything.splitlines()


@pytest.mark.parametrize(("level", "code"), [("error", 0), ("warning", 1), ("note", 1)])
def test_the_level_that_fails(bayplan: Bayplan, careless: str, level: str, code: int) -> None:
    assert bayplan("audit", "-f", careless, "--fail-on", level).code == code


def test_nothing_is_wrong(bayplan: Bayplan, careless: str) -> None:
    said = bayplan("audit", "-f", careless, "--ignore", "no-requests", "--fail-on", "note")
    assert (said.code, said.out) == (
        0,
        f"No problems found in 0 pods on 1 node ({len(RULES)} rules checked).\n",
    )


def test_json_is_to_dict(bayplan: Bayplan, careless: str) -> None:
    document = bayplan("audit", "-f", careless, "-o", "json").json()
    assert document["counts"] == {"error": 0, "warning": 1, "note": 0}
    (finding,) = document["findings"]
    assert (finding["rule"], finding["object"], finding["file"]) == ("no-requests", "Deployment default/web", careless)


def test_sarif_names_the_line(bayplan: Bayplan, tmp_path: Path) -> None:
    file = tmp_path / "pods.yaml"
    file.write_text(
        "# A comment.\n---\nkind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: [{name: c}]}\n"
    )
    document = bayplan("audit", "-f", str(file), "-o", "sarif").json()
    regions = [result["locations"][0]["physicalLocation"]["region"] for result in document["runs"][0]["results"]]
    assert regions == [{"startLine": 3}]


def test_sarif_names_the_file(bayplan: Bayplan, careless: str) -> None:
    document = bayplan("audit", "-f", careless, "-o", "sarif").json()
    (result,) = document["runs"][0]["results"]
    location = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": f"file://{careless}"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fail-on", "panic"), "'panic' is not one of"),
        (("--ignore", "nope"), "'nope' is not one of"),
        (("-f", "nope.yaml"), "nope.yaml: no such file or directory"),
    ],
)
def test_bad_input(bayplan: Bayplan, careless: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("audit", "-f", careless, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_all_manifests_and_dumps(bayplan: Bayplan, shared: Path) -> None:
    """Alone, and together with the nodes of a dump."""
    nodes = str(shared / "data" / "nodes" / "honeycomb-nodes.json")
    files = sorted((shared / "data" / "manifests").glob("*.yaml")) + sorted((shared / "data" / "nodes").glob("*.json"))
    assert len(files) > 30
    for file in files:
        for beside in ([], [nodes] if str(file) != nodes else []):
            said = bayplan("audit", "-f", str(file), *beside)
            assert said.code in (0, 1), f"{file.name}: {said.err}"
            assert said.out
