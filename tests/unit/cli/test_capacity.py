"""`bayplan capacity`: its options, exit codes and formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bayplan.testing import builders as make

from .conftest import Bayplan

FileOf = Callable[..., str]


@pytest.fixture
def cluster(file_of: FileOf) -> str:
    web = make.deployment("web", "shop").replicas(1).template(make.pod("t").labels(app="web").cpu("1"))
    return file_of(make.node("a"), make.node("b").taint("gpu"), web)


def test_the_first_line_is_the_answer(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("capacity", "-f", cluster, "--pod", "cpu=1500m")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == "2 more pods like cpu=1500m fit."
    assert "cpu runs out: a pod requests 1500m, and a has the most left, 1." in lines
    assert lines[-2:] == [
        f"Next: bayplan capacity --pod cpu=1500m --replicas 12 -f {cluster}",
        "--details shows everything.",
    ]
    everything = bayplan("capacity", "-f", cluster, "--pod", "cpu=1500m", "--details").out
    assert "The next one fits on 0 of 2 nodes: Insufficient cpu (1 node) and " in everything


def test_pools_by_labels_of_the_users_choice(bayplan: Bayplan, file_of: FileOf) -> None:
    nodes = [make.node(name).label("team", team) for name, team in (("a", "x"), ("b", "x"), ("c", "y"))]
    document = bayplan("capacity", "-f", file_of(*nodes), "--pod", "cpu=4", "--by", "team", "-o", "json").json()
    assert [(pool["name"], pool["nodes"], pool["fits"]) for pool in document["pools"]] == [
        ("team=x", 2, 2),
        ("team=y", 1, 1),
    ]


def test_none_fits(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("capacity", "-f", cluster, "--pod", "cpu=99")
    assert (said.code, said.out.splitlines()[0]) == (
        1,
        "No more pods like cpu=99 fit: no node that they may run on has that much cpu.",
    )


@pytest.mark.parametrize(
    ("replicas", "code", "answer"),
    [
        ("4", 0, "Yes, 4 replicas fit: there is room for 4."),
        ("9", 1, "No, 9 replicas do not fit; there is room for only 4. 2 more nodes (like a) would be enough."),
    ],
)
def test_a_number_is_a_question(bayplan: Bayplan, cluster: str, replicas: str, code: int, answer: str) -> None:
    said = bayplan("capacity", "-f", cluster, "-n", "shop", "--workload", "deployment/web", "--replicas", replicas)
    assert (said.code, said.out.splitlines()[0]) == (code, answer)


def test_json_is_to_dict(bayplan: Bayplan, cluster: str) -> None:
    document = bayplan("capacity", "-f", cluster, "--pod", "cpu=1=2", "--pod", "cpu=2", "-o", "json").json()
    assert document["fits"] == 1
    assert [(pod["name"], pod["share"], pod["fits"]) for pod in document["pods"]] == [("cpu=1", 2, 2), ("cpu=2", 1, 1)]
    assert document["byNode"] == [{"node": "a", "zone": "-", "fits": [2, 1]}]


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, cluster: str, output: str) -> None:
    said = bayplan("capacity", "-f", cluster, "--pod", "cpu=1", "-o", output)
    assert "4 more pods like cpu=1 fit." in said.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--pod' or '--workload'"),
        (("--pod", "cpu=1", "--node", "8cpu,32Gi"), "'--node' needs '--replicas'"),
        (("--pod", "cpu=1", "--replicas", "0"), "0 is not in the range"),
        (("--pod", "nope.yaml"), "error: nope.yaml: no such file or directory"),
        (("--pod", "cpu=x"), "--pod cpu=x: Pod default/pod"),
        (("--workload", "deployment/nope"), "error: Deployment default/nope: not found in the input"),
    ],
)
def test_bad_input(bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("capacity", "-f", cluster, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_all_manifests_and_dumps(bayplan: Bayplan, shared: Path) -> None:
    """Alone, and together with the nodes of a dump."""
    nodes = str(shared / "data" / "nodes" / "honeycomb-nodes.json")
    files = sorted((shared / "data" / "manifests").glob("*.yaml")) + sorted((shared / "data" / "nodes").glob("*.json"))
    assert len(files) > 30
    for file in files:
        for beside in ([], [nodes] if str(file) != nodes else []):
            said = bayplan("capacity", "-f", str(file), *beside, "--pod", "cpu=250m,memory=64Mi", "--replicas", "3")
            assert said.code in (0, 1), f"{file.name}: {said.err}"
            assert said.out


GROUPS_ON = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")


def test_whole_pod_groups_are_counted_where_groups_are_on(bayplan: Bayplan, file_of: FileOf) -> None:
    nodes = [make.node(name).capacity(cpu="4", memory="8Gi", pods=10) for name in ("a", "b", "c")]
    members = [make.pod(f"p{number}").cpu("3").in_group("g") for number in range(2)]
    file = file_of(*nodes, make.pod_group("g").gang(2), *members)
    asked = ("capacity", "-f", file, "--workload", "podgroup/g")
    said = bayplan(*asked, *GROUPS_ON)
    assert (said.code, said.first_line) == (0, "There is room for 1 more group like default/g (2 pods).")
    document = json.loads(bayplan(*asked, *GROUPS_ON, "-o", "json").out)
    assert (document["format"], document["fits"]) == ("bayplan group capacity v1", 1)
    off = bayplan(*asked, "--kubernetes-version", "1.37")
    assert (off.code, "pod groups are off by default" in off.err) == (2, True)
    single = bayplan("capacity", "-f", file, "--pod", "cpu=1", *GROUPS_ON)
    assert (single.code, "without pod groups" in single.err) == (2, True)


def test_gangs_that_nobody_has_created_are_counted_by_size(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(*[make.node(name).capacity(cpu="4", memory="8Gi", pods=10) for name in ("a", "b", "c")])
    asked = ("capacity", "-f", file, "--pod", "cpu=3", *GROUPS_ON, "--gang", "2")
    said = bayplan(*asked)
    assert (said.code, said.first_line) == (0, "There is room for 1 more gang of 2 × cpu=3.")
    said = bayplan(*asked, "--replicas", "2")
    assert (said.code, said.first_line) == (1, "No: of 2 more gangs of 2 × cpu=3, 1 would fit.")
    said = bayplan(*asked, "--within", "rack")
    assert (said.code, "TopologyAwareWorkloadScheduling" in said.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pod", "cpu=1", "--within", "rack"), "'--within' needs '--gang'"),
        (("--workload", "deployment/web", "--gang", "2"), "'--gang' needs '--pod'"),
        (("--workload", "podgroup/g", "--gang", "2"), "one kind at a time"),
        (("--pod", "cpu=1", "--pod", "cpu=2", "--gang", "2"), "one kind at a time"),
        (("--pod", "cpu=1", "--gang", "2", "--by", "pool"), "without '--node' and '--by'"),
    ],
)
def test_what_does_not_go_together_with_groups(
    bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str
) -> None:
    said = bayplan("capacity", "-f", cluster, *arguments, *GROUPS_ON)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
