"""Giving nodes back where there are pod groups: a gang keeps its quorum, or all of it moves at once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of

from bayplan.analysis.answers.moving import consolidate
from bayplan.analysis.answers.moving.consolidate import Consolidation
from bayplan.analysis.answers.moving.stock import Fixed
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

SECONDS = 5.0
A, B, C, D = (make.node(name).capacity(cpu="4").label("rack", rack) for name, rack in zip("abcd", "xxyy", strict=True))


def members(*nodes: str, cpu: str = "1") -> list[Builder[Any]]:
    pods = [make.pod(f"g-{at}").labels(app="g").cpu(cpu).in_group("g") for at in range(len(nodes))]
    return [pod.owner("ReplicaSet", "g").running(node) for pod, node in zip(pods, nodes, strict=True)]


def bare(node: str, cpu: str) -> Builder[Any]:
    """Keeps its node where it is."""
    return make.pod(f"bare-{node}").cpu(cpu).running(node)


def given_back(*things: Builder[Any], gates: str = ON, **rest: Any) -> Consolidation:
    return cluster_of(*things).consolidate(seconds=SECONDS, feature_gates=gates, **rest)


def test_pods_that_a_gang_can_spare_move() -> None:
    found = given_back(A, B, make.pod_group("g").gang(2), *members("a", "a", "b"))
    assert (found.nodes, found.moves, found.is_proven) == (["b"], 1, True)
    assert found.kept == {Fixed.GROUP.value: 1}


def test_a_gang_without_pods_to_spare_keeps_its_nodes() -> None:
    found = given_back(A, B, make.pod_group("g").gang(3), *members("a", "a", "b"))
    assert (found.nodes, found.kept, found.is_proven) == ([], {Fixed.GROUP.value: 2}, True)


def test_a_gang_on_one_node_moves_as_a_whole() -> None:
    found = given_back(A, B, bare("b", "1"), make.pod_group("g").gang(2), *members("a", "a"))
    assert (found.nodes, found.moves) == (["a"], 2)
    assert {each.step for each in found.draining.nodes[0].evictions} == {1}


def test_a_gang_that_a_budget_lets_go_one_by_one_is_left_alone() -> None:
    budget = make.budget("g").selects(app="g").allows(1)
    found = given_back(A, B, bare("b", "1"), make.pod_group("g").gang(2), *members("a", "a"), budget)
    assert found.nodes == []
    spared = given_back(A, B, bare("b", "1"), make.pod_group("g").gang(1), *members("a", "a"), budget)
    assert spared.nodes == []  # the second pod is no pod to spare


def test_a_group_that_goes_as_a_whole_is_not_moved_in_part() -> None:
    whole = make.pod_group("g").disrupted_as_a_whole()
    assert given_back(A, B, whole, *members("a", "a", "b")).nodes == []
    assert given_back(A, B, whole, *members("b", "b"), bare("a", "1")).nodes == ["b"]


def test_a_group_that_is_no_gang_and_goes_pod_by_pod_is_free_to_move() -> None:
    assert given_back(A, B, make.pod_group("g"), *members("a", "a", "b")).nodes == ["b"]


@pytest.mark.parametrize("is_small", [True, False], ids=["solver", "greedy"])
def test_nodes_together_take_no_more_pods_than_a_gang_can_spare(
    is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them alone could go: kubectl does not wait for new pods before it drains the next one."""
    if not is_small:
        monkeypatch.setattr(consolidate, "VARIABLES_MAX", 0)
    things = [A, B, C, D, bare("d", "1"), *members("a", "b", "c")]
    assert len(given_back(*things, make.pod_group("g").gang(2)).nodes) == 1
    assert len(given_back(*things, make.pod_group("g").gang(1)).nodes) == 2


def test_the_bound_counts_what_gangs_can_spare() -> None:
    found = given_back(A, B, C, D, bare("d", "1"), make.pod_group("g").gang(2), *members("a", "b", "c"))
    assert (found.bound, found.is_proven) == (1, True)


def test_a_gang_stays_in_its_domain() -> None:
    group = make.pod_group("g").gang(1).within("rack")
    assert given_back(A, B, C, group, *members("a", "b"), bare("a", "3"), bare("c", "1")).nodes == []
    found = given_back(A, B, C, group, *members("a", "b"), bare("a", "1"), bare("c", "1"))
    assert {each.pod: each.node for node in found.draining.nodes for each in node.evictions} == {"default/g-1": "a"}


def test_a_gang_on_one_node_that_has_to_stay_in_a_domain_is_left_alone() -> None:
    """While its pods end, new ones would have to go where these are."""
    group = make.pod_group("g").gang(2).within("rack")
    assert given_back(A, C, group, *members("a", "a"), bare("c", "1")).nodes == []
    assert given_back(A, C, group, *members("a", "a"), bare("c", "1"), gates="GenericWorkload=true").nodes == ["a"]
    no_gang = make.pod_group("g").within("rack")
    assert given_back(A, C, no_gang, *members("a", "a"), bare("c", "1")).nodes == []


def test_without_the_gate_nothing_is_kept_together() -> None:
    assert len(given_back(A, B, make.pod_group("g").gang(3), *members("a", "a", "b"), gates="").nodes) == 1
