"""What is said of a pod group, part by part."""

from __future__ import annotations

from typing import Any

from tests.support.changed_clusters import unfolded
from tests.unit.testing.test_group_stories import gang, node, pod

from bayplan import Cluster
from bayplan.report.answers.groups import group_parts
from bayplan.report.answers.parts import Heading, Sentence, Table, Tone, cell


def parts_of(*objects: dict[str, Any], gates: str = "GenericWorkload=true") -> list[Any]:
    cluster = Cluster.from_objects(objects, kubernetes_version="1.37")
    return list(group_parts(cluster.explain_group("default/g", feature_gates=gates).document()))


def table_of(parts: list[Any], column: str) -> Table:
    """The one with this column first."""
    return next(part for part in parts if isinstance(part, Table) and part.columns[0] == column)


def test_a_gang_that_does_not_fit_says_which_member_is_the_first_and_why() -> None:
    members = [pod(name, "g", cpu="2") for name in ("x", "y", "z")]
    answer, table, first, why, lack, *_ = parts_of(node("a"), gang("g", 3), *members)
    assert answer.text == "The group default/g does not fit now: 2 of 3 pods would find a node."
    assert isinstance(table, Table)
    assert [cell(row[1]).text for row in table.rows] == ["a", "a", "-"]
    assert first == Heading("The first that does not fit: default/z")
    assert why == Sentence("1 node: too little cpu (2 requested, at most 0 free) (a)")
    assert lack == Sentence(
        "The pod that is left asks for 2 cores of cpu; 0 cores are free in all, at most 0 cores on one node."
    )


def test_a_group_that_fits_says_so() -> None:
    answer, table = parts_of(node("a"), gang("g", 1), pod("x", "g"))
    assert answer.text == "The group default/g fits: 1 pod would be bound."
    assert [cell(row[1]).text for row in table.rows] == ["a"]


def test_a_group_that_fits_in_part_says_how_many() -> None:
    answer, *_ = parts_of(node("a"), gang("g", 1), pod("x", "g", cpu="3"), pod("y", "g", cpu="3"))
    assert answer.text == "The group default/g fits in part: 1 of 2 pods would be bound."


def test_victims_are_named() -> None:
    parts = parts_of(node("a"), pod("low", cpu="3", on="a"), gang("g", 1, priority=5), pod("x", "g", "2", priority=5))
    assert Sentence("It would evict 1 pod: default/low.", Tone.WARN) in parts
    assert Table(("pod", "goes to"), [("default/x", "a")]) in parts
    assert [[cell(each).text for each in row] for row in table_of(unfolded(parts), "unit").rows] == [
        ["default/low", "default/low", "0", "0", "is evicted"]
    ]


def test_a_group_outside_of_the_queue_says_what_keeps_it_there() -> None:
    answer, missing, table = parts_of(node("a"), gang("g", 2), pod("x", "g"))
    assert answer.text == "The group default/g is kept out of the queue."
    assert missing.text == "It needs 2 pods, and 1 exists: 1 pod to come."
    assert table.rows == [
        ("default/x", "GangScheduling", "waiting for minCount pods from a gang to appear in scheduling queue")
    ]


def test_nothing_is_said_of_nodes_for_members_that_were_not_tried() -> None:
    answer, *rest = parts_of(node("a"), gang("g", 1), pod("x", "g", priority=5))
    assert answer.text.startswith("The group default/g is not even tried: all pods in a single pod group should have")
    assert not any(isinstance(part, Table) for part in rest)


def test_a_gated_member_is_no_pod_that_is_missing() -> None:
    gated = pod("y", "g")
    gated["spec"]["schedulingGates"] = [{"name": "wait"}]
    answer, table = parts_of(node("a"), gang("g", 2), pod("x", "g"), gated)
    assert answer.text == "The group default/g is kept out of the queue."
    assert [row[0] for row in table.rows] == ["default/y"]


def test_domains_are_compared() -> None:
    one, other = node("a"), node("b", cpu="1")
    for each, zone in ((one, "east"), (other, "west")):
        each["metadata"]["labels"] = {"zone": zone}
    group = gang("g", 2)
    group["spec"]["schedulingConstraints"] = {"topology": [{"key": "zone"}]}
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    parts = parts_of(one, other, group, pod("x", "g"), pod("y", "g"), gates=gates)
    assert [[cell(each).text for each in row[:4]] for row in table_of(parts, "domain").rows] == [
        ["east", "1", "2", "yes"],
        ["west", "1", "1", "no"],
    ]
