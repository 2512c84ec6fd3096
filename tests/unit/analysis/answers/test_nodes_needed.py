"""Which nodes so many replicas take."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster, InvalidObject
from bayplan.testing import builders as make


def cluster_of(*built: Any) -> Cluster:
    return Cluster([each.obj() for each in built])


def needed(cluster: Cluster, pod: Any, replicas: int, *nodes: str) -> dict[str, int | None]:
    answer = cluster.capacity([pod], replicas=replicas, nodes=nodes)
    return {each.kind: each.nodes for each in answer.needed}


def test_copies_of_the_nodes_that_there_are() -> None:
    small, large = make.node("small").capacity(cpu="2"), make.node("large").capacity(cpu="8")
    assert needed(cluster_of(small, large), "cpu=1", 20) == {"like small": 5, "like large": 2}


def test_none_where_all_fit() -> None:
    assert needed(cluster_of(make.node("a").capacity(cpu="2")), "cpu=1", 2) == {}


def test_nodes_that_the_user_describes() -> None:
    cluster = cluster_of(make.node("a").capacity(cpu="2"))
    assert needed(cluster, "cpu=1", 20, "8cpu,32Gi", "500mcpu,1Gi") == {"8cpu,32Gi": 3, "500mcpu,1Gi": None}


def test_the_type_of_an_instance_is_its_name() -> None:
    nodes = [make.node(name).label("node.kubernetes.io/instance-type", "m5") for name in "ab"]
    answer = cluster_of(*nodes).capacity(["cpu=4"], replicas=3)
    assert [(each.kind, each.existing, each.nodes, each.fits) for each in answer.needed] == [("m5", 2, 1, 3)]


def test_nodes_of_one_type_that_differ_are_kinds_of_their_own() -> None:
    plain, tainted = (make.node(name).label("node.kubernetes.io/instance-type", "m5") for name in "ab")
    assert needed(cluster_of(plain, tainted.taint("gpu")), "cpu=4", 2) == {"m5 like a": 1, "m5 like b": None}


def test_new_nodes_come_in_all_zones_of_their_kind() -> None:
    nodes = [make.node(name).zone(name) for name in "abc"]
    spread = make.pod("x").labels(app="x").cpu("4").spread("topology.kubernetes.io/zone", "app=x").manifest()
    assert needed(cluster_of(*nodes), spread.dict(), 9) == {"like a": 6}


def test_daemons_take_their_part_of_a_new_node() -> None:
    agent = make.daemon_set("agent").template(make.pod("t").labels(app="agent").cpu("1"))
    cluster = cluster_of(make.node("a").capacity(cpu="2"), agent)
    assert needed(cluster, "cpu=1", 4) == {"like a": 2}


def test_a_node_in_a_bad_state_now_is_copied_as_it_would_be() -> None:
    sick = make.node("a").taint("node.kubernetes.io/disk-pressure")
    assert needed(cluster_of(sick), "cpu=4", 2) == {"like a": 2}


def test_a_kind_that_is_not_understood() -> None:
    with pytest.raises(InvalidObject, match="--node: '8cpu=1'"):
        needed(cluster_of(make.node("a")), "cpu=1", 99, "8cpu")
