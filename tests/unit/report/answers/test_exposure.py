"""What a reader sees first, and how the circumstances are worded."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import unfolded

from bayplan.analysis.cluster import Cluster
from bayplan.report.answers.exposure import exposure_parts, ranking_parts
from bayplan.report.answers.parts import Bars, Cell, Next, Part, Sentence, Table
from bayplan.testing.builders import budget, deployment, node, pod, priority_class, replica_set
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

NODE = node("n").capacity(cpu="4", memory="8Gi", pods=3)
POD = pod("a").cpu("1").labels(app="a").running("n", since=9)


def cluster(*things: Builder[Any]) -> Cluster:
    return Cluster([thing.obj() for thing in things])


def sentences(parts: list[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Sentence)]


def said(*things: Builder[Any]) -> list[str]:
    return sentences(list(exposure_parts(cluster(*things).exposure("a"))))


def test_the_first_line_answers() -> None:
    assert (
        said(NODE, POD)[0] == "A pod with priority 1 or higher that requests more than 3 cores on n evicts default/a."
    )


def test_a_request_of_any_size() -> None:
    full = pod("b").cpu("3").priority(9).running("n")
    assert said(NODE, POD, full)[0] == "A pod with priority 1 or higher that requests any cpu on n evicts default/a."


def test_a_node_with_all_its_pods() -> None:
    others = [pod(name).running("n", since=1) for name in "bc"]
    expected = "that must run on n evicts default/a: the node has reached its maximum number of pods."
    assert said(NODE, POD, *others)[0] == f"A pod with priority 1 or higher {expected}"


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        ([], "No PodDisruptionBudget covers it."),
        (
            [budget("g").selects(app="a").allows(2)],
            "PodDisruptionBudget default/g allows 2 more disruptions, and protects the pod only after that.",
        ),
        (
            [budget("g").selects(app="a").allows(0)],
            "PodDisruptionBudget default/g allows no disruptions: the pod is evicted only as a last resort.",
        ),
    ],
)
def test_budgets(guards: list[Builder[Any]], expected: str) -> None:
    assert said(NODE, POD, *guards)[-1] == expected


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], "No other pod on n is evicted first."),
        ([pod("b").cpu("1").priority(-1).running("n")], "On n, 1 other pod is evicted first."),
    ],
)
def test_how_many_go_before_it(others: list[PodBuilder], expected: str) -> None:
    assert expected in said(NODE, POD, *others)


def test_classes_and_what_they_do_with_a_free_choice() -> None:
    parts = unfolded(exposure_parts(cluster(NODE, POD, priority_class("high", 9)).exposure("a")))
    (table,) = [part for part in parts if isinstance(part, Table)]
    first = [each.text if isinstance(each, Cell) else each for each in table.rows[0]]
    assert first == ["high", "9", "more than 3 cores", "default/a", "evicts it"]


def test_a_workload_has_a_table_of_its_pods() -> None:
    web = deployment("web")
    made = replica_set("web-1").owner(web)
    replicas = [pod(name).cpu("1").owner(made).running("n") for name in ("w1", "w2")]
    parts = unfolded(exposure_parts(cluster(NODE, web, made, *replicas).exposure("deployment/web")))
    table = [part for part in parts if isinstance(part, Table)][-1]
    assert [row[0] for row in table.rows] == ["default/w2", "default/w1"]


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ([NODE, pod("a")], "Nothing can evict default/a: it has no node yet."),
        (
            [NODE, pod("a").running("n")],
            "Nothing can evict default/a: evicting it frees nothing that a preemptor could need.",
        ),
    ],
)
def test_what_nothing_can_evict(things: list[Builder[Any]], expected: str) -> None:
    assert said(*things)[0] == expected


def test_a_given_preemptor_comes_first() -> None:
    subject = cluster(NODE, POD)
    evicting = subject.exposure("a", against=[pod("x").cpu("4").priority(5).dict()])
    assert sentences(list(exposure_parts(evicting)))[0] == "Yes: default/x evicts default/a to run on n."
    harmless = subject.exposure("a", against=[pod("x").cpu("1").priority(5).dict()])
    assert sentences(list(exposure_parts(harmless)))[0] == "No: default/a is not evicted by default/x."


def test_a_ranking_has_a_bar_for_each_workload() -> None:
    parts = unfolded(ranking_parts(cluster(NODE, POD, pod("idle").running("n")).exposure_ranking()))
    assert sentences(parts)[0].startswith(
        "The most important workload that can be evicted is default/a. A pod with priority 1 or higher "
    )
    (bars,) = [part for part in parts if isinstance(part, Bars)]
    assert [(bar.label, bar.text) for bar in bars.rows] == [
        ("default/a", "more than 3 cores (75%), 2 classes above"),
        ("default/idle", "nothing evicts it"),
    ]


def test_a_ranking_leads_with_the_most_important_that_another_class_can_evict() -> None:
    classes = [priority_class(name, value) for name, value in (("top", 9), ("high", 5), ("low", 1))]
    pods = [
        pod(f"of-{each}").cpu("1").priority_class(each).priority(value).running("n", since=9)
        for each, value in (("top", 9), ("high", 5), ("low", 1))
    ]
    first, table, following, *_ = ranking_parts(cluster(NODE, *classes, *pods).exposure_ranking())
    assert isinstance(first, Sentence)
    assert first.text.startswith("The most important workload that can be evicted is default/of-high (class high).")
    assert isinstance(table, Table)
    assert [row[:3] for row in table.rows] == [("high", "5", "default/of-high"), ("low", "1", "default/of-low")]
    assert following == Next("bayplan exposure default/of-high")


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        ([], "Nothing can be evicted: no pod runs in this cluster."),
        ([NODE, pod("idle").running("n")], "Nothing can evict any of the running pods."),
    ],
)
def test_a_cluster_in_which_nothing_is_exposed(things: list[Builder[Any]], expected: str) -> None:
    assert sentences(list(ranking_parts(cluster(*things).exposure_ranking())))[0] == expected
