"""Kinds of nodes, and one more of a kind."""

from __future__ import annotations

from bayplan.analysis.answers.fixing.node_kinds import KINDS_MAX, daemons_like, node_like, one_of_each_kind
from bayplan.model.node import Node
from bayplan.testing.builders import node, pod


def names(*nodes: Node) -> list[str]:
    return [each.metadata.name for each in one_of_each_kind(nodes)]


def test_a_kind_is_what_a_node_offers_and_how_it_is_marked() -> None:
    same = [node("a").obj(), node("b").obj()]
    other = [node("c").capacity(cpu="2").obj(), node("d").zone("z").obj(), node("e").taint("gpu").obj()]
    assert names(*same, *other) == ["c", "a", "d", "e"]  # the smallest first, then by name


def test_cordoned_nodes_are_no_pattern() -> None:
    assert names(node("a").unschedulable().obj()) == []


def test_among_many_nodes_labels_of_a_single_one_do_not_count() -> None:
    many = [node(f"n{number:02}").zone("z").label("serial", str(number)).obj() for number in range(KINDS_MAX + 1)]
    assert names(*many) == ["n00"]
    assert len(names(*many[:3])) == 3


def test_one_more_has_a_name_of_its_own() -> None:
    made = node_like(node("a").zone("z").obj(), {"a", "a-copy"})
    assert made.metadata.name == "a-copy-2"
    assert made.metadata.labels == {"kubernetes.io/hostname": "a-copy-2", "topology.kubernetes.io/zone": "z"}


def test_daemons_come_along() -> None:
    (made,) = daemons_like([pod("agent").cpu("1").running("a").obj()], "b")
    assert (made.metadata.name, made.spec.node_name) == ("agent-on-b", "b")
