"""How a capacity reads."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.parts import Bars, Sentence, Table
from bayplan.testing import builders as make


def cluster_of(*built: Any) -> Cluster:
    return Cluster([each.obj() for each in built])


def sentences(cluster: Cluster, *pods: str, **settings: Any) -> list[str]:
    answer = cluster.capacity(pods, **settings)
    return [part.text for part in capacity_parts(answer) if isinstance(part, Sentence)]


ONE = make.node("a").capacity(cpu="4")


@pytest.mark.parametrize(
    ("pods", "settings", "answer"),
    [
        (("cpu=1",), {}, "4 more pods like cpu=1 fit."),
        (("cpu=3",), {}, "1 more pod like cpu=3 fits."),
        (("cpu=5",), {}, "No more pods like cpu=5 fit."),
        (("cpu=1=2", "cpu=2"), {}, "1 set of 2 × cpu=1 + 1 × cpu=2 fits; in total, 2 like cpu=1 and 1 like cpu=2."),
        (("cpu=3",), {"replicas": 1}, "Yes, 1 replica fits: there is room for 1."),
        (
            ("cpu=3",),
            {"replicas": 3},
            "No, 3 replicas do not fit; there is room for only 1. 2 more nodes (like a) would be enough.",
        ),
        (
            ("cpu=5",),
            {"replicas": 1},
            "No, 1 replica does not fit; there is room for none. Adding nodes does not help.",
        ),
    ],
)
def test_the_answer_in_one_sentence(pods: tuple[str, ...], settings: dict[str, Any], answer: str) -> None:
    assert sentences(cluster_of(ONE), *pods, **settings)[0] == answer


def test_evictions() -> None:
    cluster = cluster_of(ONE, make.pod("low").cpu("3").priority(-1).running("a"))
    said = sentences(cluster, "cpu=1")
    assert "With preemption of lower-priority pods, 4 replicas fit; this evicts 1 pod." in said


def test_many_nodes_are_summed_up() -> None:
    nodes = [make.node(f"n{number:02}").zone("east" if number % 2 else "west") for number in range(20)]
    parts = list(capacity_parts(cluster_of(*nodes).capacity(["cpu=4"])))
    assert "and 5 more nodes with 5 pods (-o json lists them all)" in [
        part.text for part in parts if isinstance(part, Sentence)
    ]
    zones, shown, _ = (part for part in parts if isinstance(part, Bars))
    assert [(bar.label, bar.text) for bar in zones.rows] == [("zone east", "10"), ("zone west", "10")]
    assert len(shown.rows) == 15


def test_amounts_are_in_the_units_of_manifests() -> None:
    (table,) = (part for part in capacity_parts(cluster_of(ONE).capacity(["cpu=1500m"])) if isinstance(part, Table))
    assert list(table.rows[0]) == ["cpu", "all", "1", "4", "0", "4", "4 on a", "100%", "1"]
    assert list(table.rows[1])[3:6] == ["32Gi", "0", "32Gi"]
