"""`bayplan whatif`: its options, exit codes and formats, and what it says to bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.changed_clusters import owned

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]

EVICTED = "With this change, 1 pod gets a node, 1 running pod is evicted and 1 pod is left without a node."


@pytest.fixture
def cluster(file_of: FileOf) -> str:
    return file_of(
        make.node("a").capacity(cpu="2"),
        make.priority_class("high", 100),
        make.priority_class("low", 1),
        make.replica_set("idle").replicas(0).template(make.pod("t").labels(app="idle")),
        make.budget("guard").selects(app="x").allows(0),
        owned("old").cpu("2").labels(app="x").priority(1, class_name="low").running("a"),
    )


@pytest.fixture
def new(file_of: FileOf) -> str:
    return file_of(make.pod("new").cpu("2").priority_class("high").manifest(), name="new.json")


def test_the_first_line_is_the_answer(bayplan: Bayplan, cluster: str, new: str) -> None:
    said = bayplan("whatif", "-f", cluster, "--apply", new)
    assert (said.code, said.err) == (0, "")
    assert said.first_line == EVICTED


@pytest.mark.parametrize(
    ("gates", "code", "says"),
    [
        (("--fail-on", "evicts=high"), 0, []),
        (
            ("--fail-on", "evicts=low,pdb"),
            1,
            ["Fails --fail-on evicts=low: default/old.", "Fails --fail-on pdb: default/guard."],
        ),
        (("--fail-on", "evicts=high", "--fail-on", "pending"), 1, ["Fails --fail-on pending: default/old."]),
    ],
)
def test_gates(bayplan: Bayplan, cluster: str, new: str, gates: tuple[str, ...], code: int, says: list[str]) -> None:
    said = bayplan("whatif", "-f", cluster, "--apply", new, *gates)
    assert said.code == code
    assert [line for line in said.out.splitlines() if line.startswith("Fails --fail-on")] == says


def test_json_is_to_dict_with_the_gates(bayplan: Bayplan, cluster: str, new: str) -> None:
    said = bayplan("whatif", "-f", cluster, "--apply", new, "--fail-on", "pdb", "-o", "json")
    expected = {**Cluster.load(cluster).whatif([new]).to_dict(), "failed": {"pdb": ["default/guard"]}}
    assert said.json() == json.loads(json.dumps(answer_document("whatif", NEWEST, expected)))


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, cluster: str, new: str, output: str) -> None:
    assert EVICTED in bayplan("whatif", "-f", cluster, "--apply", new, "-o", output).out


def test_several_files_as_a_shell_expands_them(bayplan: Bayplan, cluster: str, new: str, file_of: FileOf) -> None:
    room = file_of(make.node("b"), name="room.json")
    said = bayplan("whatif", "-f", cluster, "--apply", new, room)
    assert said.first_line == "With this change, 1 pod gets a node."


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--delete", "pod/old"), "With this change, 1 pod is removed as requested."),
        (("--drain", "a"), "With this change, a drain is blocked by disruption budget default/guard."),
        (("--add-nodes", "a=2"), "This change does not affect any pods."),
    ],
)
def test_other_changes(bayplan: Bayplan, cluster: str, change: tuple[str, ...], says: str) -> None:
    said = bayplan("whatif", "-f", cluster, *change)
    assert (said.code, said.first_line) == (0, says)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "There is no change: use --apply, --delete, --drain or --add-nodes."),
        (("--delete", "pod/odl"), "error: Pod default/odl: not found in the input; did you mean default/old?"),
        (("--drain", "b"), "error: Node b: not found in the input"),
        (("--add-nodes", "nothing=1"), "nothing"),
        (("--add-nodes", "a"), "error: --add-nodes: 'a': expected NODE=N, FILE=N, or a node such as"),
        (("--add-nodes", "x=2"), "error: --add-nodes: 'x=2': x is neither a node of the cluster nor a file"),
        (("--delete", "pod/old", "--fail-on", "evict"), "error: --fail-on: 'evict': expected evicts, evicts=CLASS"),
        (("--apply", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_bad_input(bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("whatif", "-f", cluster, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_all_faults_of_what_is_applied_are_named(bayplan: Bayplan, cluster: str, file_of: FileOf) -> None:
    bad = [make.pod(name).priority_class("missing").manifest() for name in ("p", "q")]
    said = bayplan("whatif", "-f", cluster, "--apply", file_of(*bad, name="bad.json"))
    assert said.code == 2
    assert said.err.count("no PriorityClass with name missing was found") == 2
    assert all("bad.json: Pod default/" in line for line in said.err.splitlines())


def test_what_is_wrong_with_a_template_is_found_in_its_file(bayplan: Bayplan, cluster: str, file_of: FileOf) -> None:
    bad = make.deployment("bad").template(make.pod("t").priority_class("missing")).manifest()
    said = bayplan("whatif", "-f", cluster, "--apply", file_of(bad, name="bad.json"))
    assert "bad.json: Deployment default/bad: spec.template.spec.priorityClassName: no PriorityClass" in said.err


def test_kinds_that_are_of_no_use_are_noted(bayplan: Bayplan, cluster: str, tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n---\n"
        "{apiVersion: v1, kind: Pod, metadata: {name: y}, spec: {containers: [{name: c}]}}\n"
    )
    said = bayplan("whatif", "-f", cluster, "--apply", str(file))
    assert (said.code, "ignored 1 object of kinds that do not affect scheduling: 1 ConfigMap" in said.err) == (0, True)


def test_a_cluster_without_nodes(bayplan: Bayplan, new: str, file_of: FileOf) -> None:
    said = bayplan("whatif", "-f", file_of(make.priority_class("high", 1), name="empty.json"), "--apply", new)
    assert (said.code, said.first_line) == (0, "With this change, 1 pod is left without a node.")


def test_published_manifests_can_be_applied_to_published_nodes(bayplan: Bayplan, shared: Path) -> None:
    nodes, manifests = shared / "data" / "nodes", shared / "data" / "manifests"
    there = [*nodes.glob("*-nodes.json"), *manifests.glob("*class*.yaml")]
    cluster = [argument for path in there for argument in ("-f", str(path))]
    applied = 0
    for path in sorted(manifests.glob("*.yaml")):
        said = bayplan("whatif", *cluster, "--apply", str(path), "-o", "json")
        assert said.code == 0, f"{path.name}: {said.err}"
        applied += 1
    assert applied == 28


def test_a_class_that_is_missing_is_an_error_of_the_workload_that_is_applied(bayplan: Bayplan, file_of: FileOf) -> None:
    """Even if the workload has its pods, and is in the cluster already."""
    pattern = make.pod("t").labels(app="web")
    web = make.deployment("web").replicas(1).template(pattern)
    made = make.replica_set("web-1").replicas(1).template(pattern).owner(web)
    pods = [make.pod("web-1-a").labels(app="web").running("a").owner(made)]
    now = file_of(make.node("a"), make.priority_class("high", 5), web, made, *pods)
    bad = make.deployment("web").replicas(1).template(pattern.priority(None, class_name="missing")).manifest()
    said = bayplan("whatif", "-f", now, "--apply", file_of(bad, name="bad.json"))
    assert said.code == 2
    assert "Deployment default/web: spec.template.spec.priorityClassName: no PriorityClass" in said.err
