"""Failing nodes of clusters with pod groups against clusters in which the node's pods wait and the node is gone.

Whoever the audit says fits nowhere else, and nobody else, is without a node after `place` on the cluster built anew.
Nobody is evicted here. Whatever it says never fits is not placed in an empty cluster either.
"""

from __future__ import annotations

from collections import defaultdict
from copy import deepcopy

from hypothesis import event, given
from hypothesis import strategies as st
from tests.support.examples import examples

from bayplan.analysis.cluster import Cluster
from bayplan.config.releases import release_named
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodStatus, group_key
from bayplan.testing.builders import node, pod, pod_group

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    """Nodes in racks, groups of up to three pods with an owner each, and single pods; all of one priority."""
    names = [f"n{at}" for at in range(draw(st.integers(2, 5)))]
    nodes = [node(name).capacity(cpu="4", pods="9").labels(rack=draw(st.sampled_from("ab"))) for name in names]
    made: list[Object] = [each.obj() for each in nodes]
    for number in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 3))
        group = pod_group(f"g{number}")
        group = group.gang(draw(st.integers(1, size))) if draw(st.booleans()) else group
        made.append((group.within("rack") if draw(st.booleans()) else group).obj())
        where = draw(st.sampled_from(["", "", names[0], *names]))
        for at in range(size):
            member = pod(f"g{number}-{at}").cpu(draw(st.sampled_from(["1", "2", "3"]))).in_group(f"g{number}")
            member.owner("ReplicaSet", f"rs-g{number}")
            made.append((member.running(where) if where else member).obj())
    for number in range(draw(st.integers(0, 3))):
        single = pod(f"p{number}").cpu(draw(st.sampled_from(["1", "2"]))).owner("ReplicaSet", f"rs-p{number}")
        made.append(single.running(draw(st.sampled_from(names))).obj())
    return made


def unplaced(obj: Pod) -> Pod:
    waiting = deepcopy(obj)
    waiting.spec.node_name, waiting.status = "", PodStatus()
    return waiting


def without_node(objects: list[Object], failing: str) -> list[Object]:
    """What is left, without pods that waited before; those of the node wait."""
    left: list[Object] = []
    for obj in objects:
        if isinstance(obj, Node) and obj.metadata.name == failing:
            continue
        if not isinstance(obj, Pod):
            left.append(obj)
        elif obj.spec.node_name:
            left.append(unplaced(obj) if obj.spec.node_name == failing else obj)
    return left


def pending_in(objects: list[Object]) -> set[str]:
    cluster = Cluster(objects).under(release_named("1.37"))
    return {each.pod for each in cluster.place(feature_gates=ON).decisions if each.node is None}


@examples(80)
@given(clusters())
def test_who_is_left_over_when_a_node_fails(objects: list[Object]) -> None:
    expected: defaultdict[str, list[str]] = defaultdict(list)
    names = [obj.metadata.name for obj in objects if isinstance(obj, Node)]
    for failing in names:
        for pod_name in pending_in(deepcopy(without_node(objects, failing))):
            owner = f"ReplicaSet default/rs-{pod_name.removeprefix('default/').partition('-')[0]}"
            if failing not in expected[owner]:
                expected[owner].append(failing)
    findings = Cluster(deepcopy(objects)).under(release_named("1.37")).audit(feature_gates=ON).findings
    found = {each.object: list(each.nodes) for each in findings if each.rule == "node-failure-strands"}
    assert found == expected
    event(f"stranded: {len(found)}")


@examples(80)
@given(clusters())
def test_groups_that_never_fit_are_not_placed_in_an_empty_cluster(objects: list[Object]) -> None:
    expected = set()
    for group in (obj for obj in objects if isinstance(obj, PodGroup)):
        name = group.metadata.name
        pods = [unplaced(obj) for obj in objects if isinstance(obj, Pod) and group_key(obj) == f"default/{name}"]
        nodes = [deepcopy(obj) for obj in objects if isinstance(obj, Node)]
        if len(pending_in([*nodes, deepcopy(group), *pods])) == len(pods):
            expected.add(f"PodGroup default/{name}")
    findings = Cluster(deepcopy(objects)).under(release_named("1.37")).audit(feature_gates=ON).findings
    assert {each.object for each in findings if each.rule == "group-never-fits"} == expected
    event(f"never: {len(expected)}")
