"""How a capacity reads."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import unfolded

from bayplan import Cluster
from bayplan.model.well_known import INSTANCE_TYPE
from bayplan.report.answers.capacity import capacity_parts
from bayplan.report.answers.parts import Bars, Sentence, Table, cell
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.terminal import rendered
from bayplan.testing import builders as make


def cluster_of(*built: Any) -> Cluster:
    return Cluster([each.obj() for each in built])


def sentences(cluster: Cluster, *pods: str, **settings: Any) -> list[str]:
    answer = cluster.capacity(pods, **settings)
    return [part.text for part in unfolded(capacity_parts(answer)) if isinstance(part, Sentence)]


ONE = make.node("a").capacity(cpu="4")


@pytest.mark.parametrize(
    ("pods", "settings", "answer"),
    [
        (("cpu=1",), {}, "4 more pods like cpu=1 fit."),
        (("cpu=3",), {}, "1 more pod like cpu=3 fits."),
        (("cpu=5",), {}, "No more pods like cpu=5 fit: no node that they may run on has that much cpu."),
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
    parts = unfolded(capacity_parts(cluster_of(*nodes).capacity(["cpu=4"])))
    assert "and 5 more nodes with 5 pods (-o json lists them all)" in [
        part.text for part in parts if isinstance(part, Sentence)
    ]
    zones, shown, _ = (part for part in parts if isinstance(part, Bars))
    assert [(bar.label, bar.text) for bar in zones.rows] == [("zone east", "10"), ("zone west", "10")]
    assert len(shown.rows) == 15


def test_amounts_are_in_units_for_people() -> None:
    parts = unfolded(capacity_parts(cluster_of(ONE).capacity(["cpu=1500m"])))
    _, table = (part for part in parts if isinstance(part, Table))
    assert list(table.rows[0]) == ["cpu", "all", "1", "4", "4", "4 (100%) on a", "1"]
    assert list(table.rows[1])[3:5] == ["32 GiB", "32 GiB"]


GENERAL = [make.node(f"g{number}").capacity(cpu="4").label(INSTANCE_TYPE, "small") for number in range(2)]
GPU = make.node("gpu").capacity(cpu="64", memory="64157Mi").label(INSTANCE_TYPE, "huge").taint("gpu")


def test_the_sentence_is_about_the_pool_that_counts() -> None:
    full = [make.pod(f"p{number}").cpu("3900m").running(f"g{number}") for number in range(2)]
    answer = cluster_of(*GENERAL, GPU, *full).capacity(["cpu=1"])
    assert sentences(cluster_of(*GENERAL, GPU, *full), "cpu=1")[0] == (
        "No more pods like cpu=1 fit on the 2 nodes open to them, where 98% of cpu is requested."
    )
    table = next(part for part in capacity_parts(answer) if isinstance(part, Table))
    assert [[cell(each).text for each in row] for row in table.rows] == [
        ["small", "2", "0", "0.2", "64 GiB", "Insufficient cpu"],
        ["huge gpu", "1", "0", "64", "62.7 GiB", "untolerated taint"],
    ]


def test_no_node_is_open() -> None:
    assert sentences(cluster_of(GPU), "cpu=1")[0] == "No more pods like cpu=1 fit: no node is open to them."


def test_the_short_answer_fits_one_screen() -> None:
    nodes = [
        make.node(f"n{number}").label(INSTANCE_TYPE, f"m{number}.24xlarge").taint(f"t{number}") for number in range(30)
    ]
    answer = cluster_of(*GENERAL, *nodes).capacity(["cpu=100,memory=1Gi,example.com/gpu=2"])
    lines = rendered(terminal_parts(capacity_parts(answer), details=False), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
