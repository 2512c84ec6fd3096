"""A tenant's view: secrets in everything that others are called, and none of them in any answer."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.assistant.questions import Questions, message_of
from bayplan.assistant.replies import Reply
from bayplan.assistant.seclusion import Seclusion
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def secret_cluster() -> Cluster:
    """Two tenants on three nodes; whatever the other one names has `secret` in it."""
    numbers = count(1)

    def secret() -> str:
        return f"secret{next(numbers)}"

    other = secret()
    nodes = [make.node(name).capacity(cpu="4", memory="8Gi").labels(pool="general") for name in ("a", "b", "c")]
    theirs = [
        make.pod(f"{secret()}-{number}")
        .namespace(other)
        .cpu("3")
        .labels(app=secret(), **{secret(): secret()})
        .owner("ReplicaSet", secret())
        .running(node)
        for number, node in enumerate("abc")
    ]
    waiting = make.pod(secret()).namespace(other).cpu("9").labels(team=secret()).node_selector(**{secret(): secret()})
    budget = make.budget(secret()).namespace(other).selects(app=secret()).allows(0)
    web = make.pod("web").namespace("shop").cpu("3").priority(100)
    database = make.pod("db").namespace("shop").cpu("1").running("a")
    theirs += [waiting]
    objects: list[Builder[Any]] = [*nodes, *theirs, budget, make.deployment(secret()).namespace(other), web, database]
    return Cluster.from_objects([each.dict() for each in objects])


QUESTIONS: dict[str, dict[str, Any]] = {
    "pending": {},
    "explain": {"pod": "web", "least_disruption": True},
    "fix": {"pod": "shop/web"},
    "whatif": {"drain": ["b"], "add_nodes": ["8cpu,32Gi=1"]},
    "drain": {"nodes": ["a", "b"]},
    "exposure": {"pod": "db"},
    "capacity": {"requests": "cpu=1"},
    "audit": {},
    "defrag": {"wanted": "web"},
    "consolidate": {},
    "plan": {"catalog": "[{name: big, capacity: {cpu: 16, memory: 64Gi}, price: 2}]"},
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_answer_has_a_secret(question: str) -> None:
    cluster = secret_cluster()
    reply: Reply = getattr(Questions(lambda: cluster, namespace="shop"), question)(**QUESTIONS[question])
    assert reply["answer"]
    assert "secret" not in repr(reply)
    everything = getattr(Questions(lambda: cluster), question)(
        **{name: "shop/" + value if value in ("web", "db") else value for name, value in QUESTIONS[question].items()}
        if question in ("explain", "exposure", "defrag")
        else QUESTIONS[question]
    )
    if question in ("pending", "explain", "drain", "whatif", "audit"):
        assert "secret" in repr(everything), "there was something to hide"


@pytest.mark.parametrize("reference", ["secret1/x", "secret1/deployment/x", "nowhere/deployment/x"])
def test_other_namespaces_cannot_be_asked_about(reference: str) -> None:
    cluster = secret_cluster()
    asked = Questions(lambda: cluster, namespace="shop")
    for ask in (asked.explain, asked.fix, asked.exposure, asked.defrag):
        with pytest.raises(InvalidObject, match="only objects of namespace shop can be asked about"):
            ask(reference)
    with pytest.raises(InvalidObject, match="only objects of namespace shop"):
        asked.whatif(delete=[reference])
    with pytest.raises(InvalidObject, match="must be shop"):
        asked.whatif(manifests="{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: secret1}}")


def test_a_suggestion_names_nothing_of_others() -> None:
    mine, other = make.pod("web").namespace("shop"), make.pod("ledger").namespace("bank")
    cluster = Cluster.from_objects([make.node("node-1").dict(), mine.dict(), other.dict()])
    asked = Questions(lambda: cluster, namespace="shop")
    with pytest.raises(InvalidObject) as raised:
        asked.explain("ledger")
    assert "bank/ledger" in str(raised.value)
    message = message_of(asked, raised.value)
    assert "not found" in message
    assert "bank" not in message


def test_names_are_replaced_alike_each_time_and_own_ones_are_kept() -> None:
    mine, other = make.pod("web").namespace("shop"), make.pod("web").namespace("bank").labels(app="ledger")
    hidden = Seclusion([mine.obj(), other.obj(), make.node("node-1").obj()], "shop")
    assert hidden.hide("shop/web evicts bank/web from node-1") == "shop/web evicts hidden_1 from node-1"
    assert hidden.hide({"bank/web": ["ledger", 3, None]}) == {"hidden_1": ["hidden_2", 3, None]}
    assert hidden.hide("0/1 nodes are available") == "0/1 nodes are available"
