"""`bayplan defrag`: its options, exit codes and formats, and what it says to bad input."""

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

FileOf = Callable[..., str]
FOR = ("--seconds", "5", "--for")


@pytest.fixture
def cluster(file_of: FileOf) -> str:
    return file_of(
        *(make.node(name).capacity(cpu="4") for name in "ab"),
        owned("p").cpu("2").running("a"),
        owned("q").cpu("2").running("b"),
        make.pod("big").cpu("4"),
        make.pod("huge").cpu("9"),
    )


@pytest.mark.parametrize(
    ("wanted", "code", "says"),
    [
        ("big", 0, "Yes: 1 move makes room for default/big on a, and fewer would not do."),
        ("cpu=2", 0, "No moves are needed: default/pod-1 fits on a."),
        ("huge", 1, "No: no moves can make room for default/huge."),
    ],
)
def test_the_first_line_is_the_answer(bayplan: Bayplan, cluster: str, wanted: str, code: int, says: str) -> None:
    said = bayplan("defrag", "-f", cluster, *FOR, wanted)
    assert (said.code, said.first_line) == (code, says)


def test_json_is_to_dict(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("defrag", "-f", cluster, *FOR, "big", "-o", "json")
    assert said.json() == answer_document("defrag", NEWEST, Cluster.load(cluster).defrag("big").to_dict())


@pytest.mark.parametrize("output", ["markdown", "html"])
def test_other_formats(bayplan: Bayplan, cluster: str, output: str) -> None:
    assert "Yes: 1 move makes room" in bayplan("defrag", "-f", cluster, *FOR, "big", "-o", output).out


def test_a_script_instead_of_an_answer(bayplan: Bayplan, cluster: str) -> None:
    said = bayplan("defrag", "-f", cluster, *FOR, "big", "--script")
    assert (said.code, said.first_line) == (0, "#!/bin/sh")
    assert [line for line in said.out.splitlines() if line.startswith("move default p replicaset/somebody ")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--for'"),
        (("--for", "nobody"), "error: Pod default/nobody: not found in the input"),
        (("--for", "p"), "error: Pod default/p: runs on a already, so it needs no room"),
        (("--for", "cpu=lots"), "error: "),
        (("--for", "big", "--max-moves", "0"), "--max-moves"),
    ],
)
def test_bad_input(bayplan: Bayplan, cluster: str, arguments: tuple[str, ...], message: str) -> None:
    said = bayplan("defrag", "-f", cluster, *arguments)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


GROUPS_ON = (
    "--kubernetes-version",
    "1.37",
    "--feature-gates",
    "GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
)


@pytest.fixture
def crowded(file_of: FileOf) -> str:
    """A gang needs both nodes of one rack; in each rack one is half full."""
    return file_of(
        *(make.node(f"{rack}{number}").capacity(cpu="4").labels(rack=rack) for rack in "ab" for number in range(2)),
        owned("p").cpu("2").running("a0"),
        owned("q").cpu("2").running("b0"),
        make.pod_group("g").gang(2).within("rack"),
        *(make.pod(f"g{number}").cpu("4").in_group("g") for number in range(2)),
    )


@pytest.mark.parametrize("wanted", ["podgroup/g", "default/podgroup/g", "g1"])
def test_room_is_made_for_a_whole_group(bayplan: Bayplan, crowded: str, wanted: str) -> None:
    said = bayplan("defrag", "-f", crowded, *FOR, wanted, *GROUPS_ON)
    assert (said.code, said.first_line) == (
        0,
        "Yes: 1 move makes room for podgroup/g on rack=a, and fewer would not do.",
    )
    assert "a0 and a1 stay cordoned until the last pod has left." in said.out
    assert ("default/g, which is tried as a whole" in said.err) == (wanted == "g1")


def test_a_group_has_a_script_and_a_document_too(bayplan: Bayplan, crowded: str) -> None:
    asked = ("defrag", "-f", crowded, *FOR, "podgroup/g", *GROUPS_ON)
    script = bayplan(*asked, "--script").out
    assert 'target="a0 a1"' in script
    assert script.count("--for=condition=PodScheduled") == 2
    document = bayplan(*asked, "-o", "json").json()
    assert (document["format"], document["domain"], document["cordoned"]) == (
        "bayplan group defrag v1",
        "a",
        ["a0", "a1"],
    )


def test_a_group_is_refused_where_groups_are_off(bayplan: Bayplan, crowded: str) -> None:
    said = bayplan("defrag", "-f", crowded, *FOR, "podgroup/g", "--kubernetes-version", "1.37")
    assert (said.code, said.out) == (2, "")
    assert "pod groups are off by default" in said.err
