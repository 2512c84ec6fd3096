"""How the answer of whatif reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned, unfolded, whatif

from bayplan.analysis.answers.whatif import WhatIf
from bayplan.report.answers.parts import Heading, Sentence, Table, Tone, cell
from bayplan.report.answers.whatif import whatif_parts
from bayplan.testing import builders as make
from bayplan.testing.building import Builder

A, B = make.node("a").capacity(cpu="2", memory="8Gi"), make.node("b").capacity(cpu="2", memory="8Gi")
HIGH = make.priority_class("high", 100)
NEW = make.pod("new").cpu("2").priority_class("high").manifest()
SMALL = make.pod("small").cpu("1").manifest()


def sentences(answer: WhatIf) -> list[str]:
    return [part.text for part in whatif_parts(answer, {}) if isinstance(part, Sentence)]


def tables(answer: WhatIf) -> dict[str, list[list[str]]]:
    """Rows by heading."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for part in unfolded(whatif_parts(answer, {})):
        if isinstance(part, Heading):
            heading = part.text
        elif isinstance(part, Table):
            found[heading] = [[cell(content).text for content in row] for row in part.rows]
    return found


@pytest.mark.parametrize(
    ("there", "new", "says", "tone"),
    [
        ([A], A, "This change does not affect any pods.", Tone.GOOD),
        ([A], SMALL, "With this change, 1 pod gets a node.", Tone.GOOD),
        ([], SMALL, "With this change, 1 pod is left without a node.", Tone.BAD),
        (
            [A, make.node("b").capacity(cpu="1"), HIGH, owned("p").cpu("1").running("a")],
            NEW,
            "With this change, 1 pod gets a node and 1 running pod is evicted.",
            Tone.WARN,
        ),
        (
            [A, HIGH, owned("p").cpu("1").running("a"), owned("q").cpu("1").running("a")],
            NEW,
            "With this change, 1 pod gets a node, 2 running pods are evicted and 2 pods are left without a node.",
            Tone.BAD,
        ),
    ],
)
def test_the_first_sentence_is_the_answer(there: list[Builder[Any]], new: Builder[Any], says: str, tone: Tone) -> None:
    first = next(whatif_parts(whatif(cluster_of(*there), new), {}))
    assert first == Sentence(says, tone)


def test_gates_and_budgets_come_next() -> None:
    low = owned("p").cpu("2").labels(app="x").running("a")
    found = whatif(cluster_of(A, HIGH, make.budget("b").selects(app="x").allows(0), low), NEW)
    _, gate, budget, *_ = whatif_parts(found, {"pdb": ["default/b"]})
    assert gate == Sentence("Fails --fail-on pdb: default/b.", Tone.BAD)
    assert budget == Sentence("Disruption budget default/b is violated by 1 eviction: default/p.", Tone.BAD)


def test_evictions_in_their_order_with_what_becomes_of_the_pods() -> None:
    found = whatif(
        cluster_of(
            A,
            B,
            HIGH,
            owned("p").cpu("2").priority(2, class_name="low").running("a"),
            owned("q").cpu("2").priority(1).running("b"),
        ),
        make.pod("new").cpu("2").priority_class("high").node_selector({"kubernetes.io/hostname": "a"}).manifest(),
    )
    shown = tables(found)
    assert shown["Evicted, in order"] == [
        ["1", "default/p", "low (2)", "a", "default/new", "runs on b, evicting 1 pod"],
        ["2", "default/q", "1", "b", "default/p", "pending"],
    ]
    assert shown["Pending because of the change"] == [
        ["default/q", "on b", "0/2 nodes are available: 2 Insufficient cpu"]
    ]
    assert shown["Pods that get a node"] == [["default/new", "new", "a", "default/p"]]


def test_a_bare_victim_is_gone_and_the_reason_of_others_is_named() -> None:
    found = cluster_of(A, B, owned("p").cpu("1").running("a"), make.pod("bare").cpu("1").running("a")).whatif(
        delete=["node/a"]
    )
    assert [row[-2:] for row in tables(found)["Evicted, in order"]] == [
        ["node deleted", "runs on b"],
        ["node deleted", "lost"],
    ]


def test_what_leaves_as_it_was_asked_to() -> None:
    owner = make.replica_set("r").replicas(1).template(make.pod("t").labels(app="x"))
    cluster = cluster_of(A, owner, owned("p", owner).running("a"), make.pod("waits").cpu("9"))
    found = cluster.whatif(delete=["rs/r", "pod/waits"])
    assert sentences(found)[0] == "With this change, 2 pods are removed as requested."
    assert tables(found)["Removed as requested"] == [
        ["default/p", "a", "deleted: ReplicaSet default/r"],
        ["default/waits", "pending", "deleted: Pod default/waits"],
    ]


def test_pods_that_land_elsewhere_though_nobody_evicts_them() -> None:
    found = cluster_of(A, make.pod("p").cpu("1")).whatif(add_nodes=["8cpu,32Gi=1"])
    assert sentences(found)[0] == "With this change, today's pending pods get other nodes; nothing else changes."
    assert tables(found)["Only because today's pending pods are placed"] == [
        ["default/p", "pending", "a", "8cpu-32gi-0"]
    ]


def test_nodes_with_the_largest_difference_first() -> None:
    found = whatif(
        cluster_of(A, B, make.node("c").capacity(cpu="2").unschedulable()),
        make.pod("p").cpu("2").manifest(),
        make.pod("q").cpu("1").memory("4Gi").manifest(),
        add_nodes=["1cpu,1Gi=1"],
    )
    assert tables(found)["Node usage"] == [
        ["a", "0 → 1", "0% → 100%", "0%"],
        ["b", "0 → 1", "0% → 50%", "0% → 50%"],
        ["1cpu-1gi-0", "- → 0", "- → 0%", "- → 0%"],
    ]


@pytest.mark.parametrize(
    ("cpu", "says"),
    [
        ("1", "The rollout of Deployment default/web replaces its pod."),
        (
            "9",
            "The rollout of Deployment default/web gets stuck: 1 of 1 old pods cannot be replaced, "
            "because a new pod gets no node.",
        ),
    ],
)
def test_an_update(cpu: str, says: str) -> None:
    owner = make.deployment("web").replicas(1).template(make.pod("t").labels(app="x"))
    pod = make.pod("p").owner(make.replica_set("web-1").owner(owner)).running("a")
    pod.labels({"pod-template-hash": "1"})
    new = make.deployment("web").manifest().replicas(1).template(make.pod("t").labels(app="x").cpu(cpu))
    assert says in sentences(whatif(cluster_of(A, owner, pod), new))


def test_a_drain_is_told_once() -> None:
    found = cluster_of(A, B, owned("p").cpu("1").running("a")).whatif(drain=["a"])
    assert "Yes: a can be drained: its pod gets a node." in sentences(found)
    assert list(tables(found)) == ["Evictions, in order", "Node usage"]
