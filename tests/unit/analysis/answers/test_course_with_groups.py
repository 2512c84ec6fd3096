"""What becomes of pod groups when a cluster changes: all of a gang or nothing, and units are evicted as a whole."""

from __future__ import annotations

from typing import Any

from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of, gang, racks

from bayplan import Cluster
from bayplan.analysis.answers.whatif import WhatIf
from bayplan.testing import builders as make


def whatif(cluster: Cluster, *applied: Any, **rest: Any) -> WhatIf:
    return cluster.whatif([each.dict() for each in applied], feature_gates=ON, **rest)


def nodes_of(answer: WhatIf) -> dict[str, str]:
    return {fate.pod: fate.node_after for fate in answer.placed}


def test_a_gang_that_does_not_fit_whole_gets_no_node() -> None:
    answer = whatif(cluster_of(*racks(2)), *gang(3))
    assert nodes_of(answer) == {}
    assert sorted(fate.pod for fate in answer.pending) == ["default/g-0", "default/g-1", "default/g-2"]


def test_with_one_more_node_all_of_it_does() -> None:
    answer = whatif(cluster_of(*racks(2), *gang(3)), add_nodes=["r0-0=1"])
    assert len(nodes_of(answer)) == 3


def test_a_lower_quorum_is_enough() -> None:
    answer = whatif(cluster_of(*racks(2), *gang(3)), make.pod_group("g").gang(2))
    assert sorted(nodes_of(answer)) == ["default/g-0", "default/g-1"]


def test_a_gang_stays_in_one_domain() -> None:
    assert set(nodes_of(whatif(cluster_of(*racks(2, 3)), *gang(3, within="rack"))).values()) == {"r1-0", "r1-1", "r1-2"}


def test_a_group_that_is_evicted_goes_as_a_whole() -> None:
    unit = make.pod_group("low").gang(2).disrupted_as_a_whole()
    running = [make.pod(f"low-{at}").cpu("3").in_group("low").running(f"r0-{at}") for at in range(2)]
    answer = whatif(cluster_of(*racks(2), unit, *running), *gang(1, priority=9))
    assert sorted(each.pod for each in answer.evicted) == ["default/low-0", "default/low-1"]


def test_without_the_gate_pods_of_a_group_are_placed_one_by_one() -> None:
    answer = cluster_of(*racks(2)).whatif([each.dict() for each in gang(3)])
    assert len(nodes_of(answer)) == 2


def test_the_more_important_group_comes_first() -> None:
    """Its pods came later; the priority is the PodGroup's."""
    group = make.pod_group("late").gang(2).priority(5)
    late = [make.pod(f"late-{at}").cpu("3").in_group("late").priority(5) for at in range(2)]
    answer = whatif(cluster_of(*gang(2), group, *late), *racks(2))
    assert sorted(nodes_of(answer)) == ["default/late-0", "default/late-1"]


def test_draining_a_node_moves_the_group_where_it_may_be() -> None:
    """A member whose group runs in a rack cannot go to another one."""
    group, *members = gang(2, within="rack")
    running = [member.running(f"r0-{at}").owner(make.job("j")) for at, member in enumerate(members)]
    stays = cluster_of(*racks(2, 2), group, *running).drain(["r0-0"], feature_gates=ON)
    assert len(stays.pending) == 1
