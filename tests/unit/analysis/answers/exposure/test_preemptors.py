"""Given pods as preemptors."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import deployment, node, pod, priority_class
from bayplan.testing.building import Builder

THINGS = (
    node("n").capacity(cpu="4"),
    node("m").capacity(cpu="4").label("pool", "b"),
    priority_class("high", 100),
    pod("a").cpu("3").running("n"),
    pod("b").cpu("3").priority(50).running("m"),
)


def against(*new: Builder[Any]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    cluster = Cluster([thing.obj() for thing in THINGS])
    answer = cluster.exposure("a", against=[each.dict() for each in new])
    return [(each.outcome.node, each.evicts, each.evicts_if_pinned) for each in answer.against]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(pod("x").cpu("1"), ("m", (), ()), id="it fits"),
        pytest.param(pod("x").cpu("2").priority(10), ("n", ("default/a",), ("default/a",)), id="it evicts"),
        pytest.param(pod("x").cpu("2"), ("", (), ()), id="it does not outrank"),
        pytest.param(
            pod("x").cpu("2").priority(60).node_affinity("pool=b"),
            ("m", (), ()),
            id="its own wishes hold on the pod's node, too",
        ),
        pytest.param(
            deployment("x").template(pod("t").cpu("4").labels(app="x").priority_class("high")).replicas(1),
            ("n", ("default/a",), ("default/a",)),
            id="the next pod of a workload, with its class",
        ),
    ],
)
def test_what_it_does(new: Builder[Any], expected: tuple[str, tuple[str, ...], tuple[str, ...]]) -> None:
    assert against(new) == [expected]


def test_each_is_decided_alone() -> None:
    """Were both placed, the second would find the pod gone."""
    first, second = pod("x").cpu("2").priority(10), pod("y").cpu("2").priority(10)
    assert [evicted for _, evicted, _ in against(first, second)] == [("default/a",), ("default/a",)]


def test_there_must_be_one() -> None:
    with pytest.raises(InvalidObject, match="contains no pod without a node"):
        against(priority_class("higher", 1000), pod("x").running("n"))
