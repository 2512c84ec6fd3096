"""The document of an explanation: what it adds to the plain data of the conformance cases."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.analysis.explanation import PodExplanation
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def explain(pod: str, *builders: Builder[Any]) -> PodExplanation:
    return Cluster.from_objects([builder.dict() for builder in builders]).explain(pod)


@pytest.mark.parametrize(
    ("asked", "builder", "facts"),
    [
        (
            "x",
            make.pod("x").priority(7),
            {"key": "default/x", "priority": 7, "preemptionPolicy": "PreemptLowerPriority"},
        ),
        ("x", make.pod("x").never_preempts(), {"preemptionPolicy": "Never", "node": None, "workload": None}),
        ("x", make.pod("x").running("a"), {"node": "a", "phase": "Running"}),
        ("x", make.pod("x").cpu("1500m").memory("1Gi"), {"requests": {"cpu": 1500, "memory": 1 << 30}}),
        (
            "deploy/web",
            make.deployment("web").template(make.pod("web").labels(app="web")),
            {"key": "default/web-new-1", "workload": "Deployment default/web"},
        ),
    ],
)
def test_what_was_asked_about(asked: str, builder: Builder[Any], facts: dict[str, Any]) -> None:
    pod = explain(asked, make.node("a"), builder).document()["pod"]
    assert {key: pod[key] for key in facts} == facts


def test_nodes_with_nobody_to_evict() -> None:
    why = explain(
        "x",
        *(make.node(name).capacity(cpu="1") for name in "ba"),
        make.node("tainted").taint("k"),
        make.pod("equal").cpu("1").priority(1).running("a"),
        make.pod("lower").cpu("1").running("b"),
        make.pod("x").cpu("1").priority(1),
    )
    assert why.document()["preemption"]["withoutVictims"] == ["a"]


@pytest.mark.parametrize("all_reasons", [False, True])
def test_the_document_only_adds_keys(all_reasons: bool) -> None:
    why = explain("x", make.node("a").capacity(cpu="1"), make.pod("x").cpu("2"))
    document, plain = why.document(all_reasons=all_reasons), why.to_dict(all_reasons=all_reasons)
    assert document.keys() - plain.keys() == {"pod", "causes", "shortages"}
    assert document["preemption"].keys() - plain["preemption"].keys() == {"withoutVictims"}
    for key in plain.keys() - {"preemption"}:
        assert document[key] == plain[key]
    for key, value in plain["preemption"].items():
        assert document["preemption"][key] == value
