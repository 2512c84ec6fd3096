"""Giving nodes back: which, how many at most, and which must stay."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.analysis.answers.moving import consolidate
from bayplan.analysis.answers.moving.consolidate import Consolidation
from bayplan.analysis.answers.moving.stock import Fixed
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

SECONDS = 5.0
A, B, C = (make.node(name).capacity(cpu="4").label("pool", name) for name in "abc")


def app(name: str, cpu: str, node: str) -> PodBuilder:
    return owned(name).labels(app=name).cpu(cpu).running(node)


def given_back(*things: Builder[Any], **rest: Any) -> Consolidation:
    return cluster_of(*things).consolidate(seconds=SECONDS, **rest)


def test_an_empty_node_can_go() -> None:
    found = given_back(A, B, app("p", "4", "a"))
    assert (found.nodes, found.moves, found.is_proven) == (["b"], 0, True)


def test_pods_are_gathered_on_as_few_nodes_as_possible() -> None:
    found = given_back(A, B, C, make.pod("p").cpu("2").running("a"), app("q", "1", "b"), app("r", "1", "c"))
    assert (found.nodes, found.moves, found.bound) == (["b", "c"], 2, 2)
    assert {each.pod: each.node for node in found.draining.nodes for each in node.evictions} == {
        "default/q": "a",
        "default/r": "a",
    }


def test_of_as_many_nodes_those_with_fewer_moves() -> None:
    small = [app(f"s{number}", "1", "b") for number in range(2)]
    assert given_back(A, B, app("p", "2", "a"), *small).nodes == ["a"]


def test_a_pod_must_run_somewhere() -> None:
    found = given_back(A, app("p", "1", "a"))
    assert (found.nodes, found.bound, found.is_proven) == ([], 0, True)


@pytest.mark.parametrize(
    ("stays", "why"),
    [
        (make.pod("p").cpu("1").running("a"), Fixed.BARE),
        (make.pod("p").owner(make.job("j")).cpu("1").running("a"), Fixed.JOB),
    ],
)
def test_nodes_that_stay_because_of_a_pod(stays: PodBuilder, why: Fixed) -> None:
    found = given_back(A, B, stays, app("q", "4", "b"))
    assert (found.nodes, found.kept) == ([], {why.value: 1})


def test_a_daemon_goes_with_its_node() -> None:
    daemon = make.pod("p").owner(make.daemon_set("d")).cpu("1").running("a")
    found = given_back(A, B, daemon, app("q", "4", "b"))
    assert (found.nodes, found.draining.options) == (["a"], ["--ignore-daemonsets"])


def test_a_budget_lets_pods_go_one_by_one() -> None:
    pods = [owned(f"p{number}").labels(app="web").cpu("1").running("a") for number in range(2)]
    budget = make.budget("web").selects(app="web")
    assert given_back(A, B, *pods, app("q", "2", "b"), budget.allows(1), max_nodes=1).nodes == ["b"]
    assert given_back(A, B, *pods, make.pod("q").cpu("2").running("b"), budget.allows(1)).nodes == ["a"]
    assert given_back(A, B, *pods, make.pod("q").cpu("2").running("b"), budget.allows(0)).nodes == []


def test_what_a_solver_does_not_know_keeps_a_node() -> None:
    """Each pod would have room beside the other, but they must not be together."""
    host = "kubernetes.io/hostname"
    nodes = [make.node(name).capacity(cpu="4").label(host, name) for name in "ab"]
    pods = [
        owned(f"p-{name}").labels(app="web").cpu("1").pod_anti_affinity(host, {"app": "web"}).running(name)
        for name in "ab"
    ]
    found = given_back(*nodes, *pods)
    assert (found.nodes, found.bound, found.is_proven) == ([], 1, False)


def test_only_nodes_with_the_labels_and_no_more_than_asked_for() -> None:
    assert given_back(A, B, C, app("p", "1", "a"), selector="pool=c").nodes == ["c"]
    assert len(given_back(A, B, C, max_nodes=1).nodes) == 1
    pods = [app("p", "1", "a"), app("q", "1", "b"), app("r", "1", "c")]
    assert given_back(A, B, C, *pods, max_moves=0).nodes == []
    assert len(given_back(A, B, C, *pods, max_moves=1).nodes) == 1


def test_nobody_is_preempted() -> None:
    low, high = app("low", "3", "a").priority(0), app("high", "3", "b").priority(9)
    assert given_back(A, B, low, high).nodes == []


def test_a_cluster_too_large_for_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes with few pods go first, and the bound comes from amounts alone."""
    monkeypatch.setattr(consolidate, "VARIABLES_MAX", 0)
    bare = make.pod("bare").cpu("1").running("a")
    found = given_back(A, B, C, bare, app("p", "2", "a"), app("q", "1", "b"), app("r", "2", "c"))
    assert (found.nodes, found.bound, found.is_proven) == (["b"], 1, True)
    assert given_back(A, B, C, bare, app("q", "1", "b"), max_moves=0).nodes == ["c"]


def test_a_node_whose_pod_has_room_nowhere_does_not_count_in_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of 3 cpu does not fit where 1 cpu is free, however many such nodes there are."""
    monkeypatch.setattr(consolidate, "VARIABLES_MAX", 0)
    nodes = [make.node(name).capacity(cpu="4") for name in "abcde"]
    found = given_back(*nodes, *(app(f"p-{name}", "3", name) for name in "abcde"))
    assert (found.nodes, found.bound, found.is_proven) == ([], 0, True)


def test_a_selector_that_selects_nothing() -> None:
    with pytest.raises(InvalidObject, match="selects no node"):
        given_back(A, selector="pool=z")


def test_the_document() -> None:
    document = given_back(A, B, app("p", "4", "a")).to_dict()
    assert (document["nodes"], document["atMost"], document["freed"]["b"]["cpu"]) == (["b"], 1, 4000)
