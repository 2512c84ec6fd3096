"""`bayplan place`: the queue's order, what is left out, exit codes and output."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan import Cluster
from bayplan.config.releases import NEWEST_RELEASE
from bayplan.report.json_output import answer_document
from bayplan.testing import builders as make

from .conftest import Bayplan

NEWEST = NEWEST_RELEASE.version

FileOf = Callable[..., str]


def test_all_pending_pods_and_those_of_workloads(bayplan: Bayplan, file_of: FileOf) -> None:
    web = make.deployment("web").replicas(2).template(make.pod("web").labels(app="web"))
    file = file_of(make.node("a"), web, make.pod("x"), make.pod("runs").running("a"))
    said = bayplan("place", "-f", file)
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()[3:6]] == [
        "default/web-new-1",
        "default/web-new-2",
        "default/x",
    ]
    assert said.first_line == "All 3 pods placed on 1 node."


def test_only_the_pods_named(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a"), make.pod("x"), make.pod("y"), make.pod("z"))
    decisions = bayplan("place", "-f", file, "z", "default/x", "-o", "json").json()["decisions"]
    assert [one["pod"] for one in decisions] == ["default/x", "default/z"]


def test_some_pod_stays_unplaced(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("place", "-f", file_of(make.node("a"), make.pod("x").cpu("99")))
    assert said.code == 1
    assert "Unplaced: default/x\n0/1 nodes are available: 1 Insufficient cpu." in said.out


def test_evicting_is_placing(bayplan: Bayplan, file_of: FileOf) -> None:
    low, high = make.pod("low").cpu("4").running("a"), make.pod("x").cpu("4").priority(1)
    said = bayplan("place", "-f", file_of(make.node("a"), low, high))
    assert said.code == 0
    assert said.out.splitlines()[3].split() == ["default/x", "a", "default/low"]


def test_pods_of_other_schedulers_can_be_spared(bayplan: Bayplan, file_of: FileOf) -> None:
    low, high = make.pod("low").cpu("4").scheduler("else").running("a"), make.pod("x").cpu("4").priority(1)
    file = file_of(make.node("a"), low, high)
    assert bayplan("place", "-f", file).code == 0
    assert bayplan("place", "-f", file, "--foreign-victims", "never").code == 1
    assert (
        "1 pod of other schedulers"
        in bayplan("explain", "x", "-f", file, "--foreign-victims", "never", "--details").out
    )


def test_json_is_to_dict(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a"), make.node("b"), make.pod("x"), make.pod("y").cpu("99"))
    said = bayplan("place", "-f", file, "-o", "json")
    assert (said.code, said.err) == (1, "")
    assert said.json() == answer_document("placement", NEWEST, Cluster.load(file).place().to_dict())


def test_ties_by_seed(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(*(make.node(f"n{number}") for number in range(20)), make.pod("x"))
    nodes = {
        bayplan("place", "-f", file, "-o", "json", "--ties", f"seed:{seed}").json()["decisions"][0]["node"]
        for seed in range(8)
    }
    assert len(nodes) > 1
    assert bayplan("place", "-f", file, "-o", "json").json()["decisions"][0]["node"] == "n0"


def test_pods_left_out_are_noted(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(
        make.node("a"),
        make.pod("x"),
        make.pod("g").gate("example.com/later"),
        make.pod("f1").scheduler("other"),
        make.pod("f2").scheduler("other"),
    )
    said = bayplan("place", "-f", file)
    assert said.code == 0
    assert said.err.splitlines() == [
        "note: skipped default/g: waiting for scheduling gates: [example.com/later]",
        "note: skipped 2 pods (default/f1 and default/f2): no profile for scheduler 'other'",
    ]


def test_feature_gates_are_heeded(bayplan: Bayplan, file_of: FileOf) -> None:
    file = file_of(make.node("a").taint("price", "10"), make.pod("x").tolerates("price", "50", operator="Lt"))
    assert bayplan("place", "-f", file).code == 1
    assert bayplan("place", "-f", file, "--feature-gates", "TaintTolerationComparisonOperators=true").code == 0


def test_gated_pod_that_was_asked_for(bayplan: Bayplan, file_of: FileOf) -> None:
    said = bayplan("place", "g", "-f", file_of(make.node("a"), make.pod("g").gate("later")))
    assert said.code == 1
    assert said.out == "There are no pods to place.\n"
    said = bayplan("place", "g", "--gated", "-f", file_of(make.node("a"), make.pod("g").gate("later")))
    assert said.code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("runs", "error: Pod default/runs: spec.nodeName: already has node a, so it is not pending\n"),
        ("f", "no profile for scheduler 'other'; known profiles: default-scheduler"),
        ("nobody", "error: Pod default/nobody: not found"),
        ("job/none", "error: Job default/none: not found"),
    ],
)
def test_pods_that_cannot_be_asked_for(bayplan: Bayplan, file_of: FileOf, name: str, message: str) -> None:
    file = file_of(make.node("a"), make.pod("runs").running("a"), make.pod("f").scheduler("other"))
    said = bayplan("place", name, "-f", file)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
