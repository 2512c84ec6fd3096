"""What a change must not do."""

from __future__ import annotations

import pytest
from tests.support.changed_clusters import cluster_of, owned, whatif

from bayplan.analysis.answers.gates import KINDS, gates_failed
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.gates import parse_gates
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

CLUSTER = cluster_of(
    make.node("a").capacity(cpu="2"),
    make.priority_class("high", 100),
    make.priority_class("low", 1),
    make.budget("b").selects(app="x").allows(0),
    owned("p").cpu("2").labels(app="x").priority(1, class_name="low").running("a"),
)
NEW = make.pod("new").cpu("2").priority_class("high").manifest()


@pytest.mark.parametrize(
    ("gates", "failed"),
    [
        ("evicts", {"evicts": ["default/p"]}),
        ("evicts=low", {"evicts=low": ["default/p"]}),
        ("evicts=high", {}),
        ("evicts=none", {}),
        ("pdb, pending", {"pdb": ["default/b"], "pending": ["default/p"]}),
    ],
)
def test_which_gates_fail(gates: str, failed: dict[str, list[str]]) -> None:
    assert gates_failed(whatif(CLUSTER, NEW), parse_gates([gates], CLUSTER, KINDS)) == failed


def test_pods_without_a_class_have_a_name_too() -> None:
    cluster = cluster_of(
        make.node("a").capacity(cpu="2"), make.priority_class("high", 9), owned("p").cpu("2").running("a")
    )
    failed = gates_failed(whatif(cluster, NEW), parse_gates(["evicts=none"], cluster, KINDS))
    assert failed == {"evicts=none": ["default/p"]}


def test_a_budget_that_stops_a_drain_fails_its_gate() -> None:
    found = CLUSTER.whatif(drain=["a"])
    assert gates_failed(found, parse_gates(["evicts", "pdb"], CLUSTER, KINDS)) == {"pdb": ["default/b"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evict", "'evict': expected evicts, evicts=CLASS, pdb or pending"),
        ("pdb=x", "'pdb=x': expected evicts, evicts=CLASS, pdb or pending"),
        ("evicts=", "'evicts=': expected evicts, evicts=CLASS, pdb or pending"),
        ("pdb,", "'': expected evicts, evicts=CLASS, pdb or pending"),
        ("evicts=hihg", "no PriorityClass hihg; known classes: high, low"),
    ],
)
def test_gates_that_do_not_exist(text: str, message: str) -> None:
    with pytest.raises(InvalidObject, match=f"--fail-on: {message}"):
        parse_gates([text], CLUSTER, KINDS)


def test_a_class_that_only_pods_name_is_known() -> None:
    assert parse_gates(["evicts=old"], Cluster([owned("p").priority(1, class_name="old").running("a").obj()]), KINDS)
