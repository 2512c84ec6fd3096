"""All workloads, the most exposed first."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.answers.exposure.answer import ExposureRanking
from bayplan.analysis.cluster import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import budget, node, pod, priority_class, stateful_set
from bayplan.testing.building import Builder


def ranking(*things: Builder[Any], top: int = 20) -> ExposureRanking:
    return Cluster([thing.obj() for thing in things]).exposure_ranking(top=top)


def test_more_classes_above_count_before_a_smaller_share() -> None:
    found = ranking(
        node("a").capacity(cpu="4"),
        node("b").capacity(cpu="4"),
        priority_class("mid", 50),
        priority_class("high", 100),
        pod("full").cpu("4").priority(50).running("a"),
        pod("roomy").cpu("1").running("b"),
    )
    assert [(each.workload, each.outranked_by) for each in found.workloads] == [
        ("default/roomy", 4),
        ("default/full", 3),
    ]


def test_then_the_smaller_share_counts_and_then_protection() -> None:
    found = ranking(
        node("a").capacity(cpu="4"),
        node("b").capacity(cpu="4"),
        node("c").capacity(cpu="4"),
        budget("guard").selects(app="guarded").allows(0),
        pod("guarded").cpu("4").labels(app="guarded").running("a"),
        pod("plain").cpu("4").running("b"),
        pod("roomy").cpu("1").running("c"),
    )
    assert [each.workload for each in found.workloads] == ["default/plain", "default/guarded", "default/roomy"]


def test_a_workload_is_as_exposed_as_its_most_exposed_pod() -> None:
    owner = stateful_set("db")
    found = ranking(
        node("a").capacity(cpu="4"),
        node("b").capacity(cpu="2"),
        owner,
        pod("db-0").cpu("1").owner(owner).running("a"),
        pod("db-1").cpu("1").owner(owner).running("b"),
        pod("db-2").cpu("1").owner(owner),
    )
    (db,) = found.workloads
    assert (db.workload, db.pod_count, db.most.pod) == ("statefulset/db", 2, "default/db-1")


def test_what_nothing_evicts_comes_last_and_only_the_top_is_listed() -> None:
    things = (node("a"), pod("idle").running("a"), pod("one").cpu("1").running("a"), pod("two").cpu("1").running("a"))
    found = ranking(*things)
    assert found.workloads[-1].workload == "default/idle"
    assert (len(ranking(*things, top=2).workloads), found.workload_count, found.pod_count) == (2, 3, 3)


def test_an_empty_cluster() -> None:
    assert ranking() == ExposureRanking((), 0, 0)


def test_a_namespace_or_a_class_alone() -> None:
    things: list[Builder[Any]] = [
        node("n").capacity(cpu="4"),
        pod("a", "shop").cpu("1").priority_class("high").priority(5).running("n"),
        pod("b", "dev").cpu("1").running("n"),
        priority_class("high", 5),
    ]
    subject = Cluster([thing.obj() for thing in things])
    assert [each.workload for each in subject.exposure_ranking(namespace="dev").workloads] == ["dev/b"]
    assert [each.workload for each in subject.exposure_ranking(priority_class="high").workloads] == ["shop/a"]
    with pytest.raises(InvalidObject, match="--namespace: no pod has 'nope'; there are: dev, shop"):
        subject.exposure_ranking(namespace="nope")
    with pytest.raises(InvalidObject, match="--class: no pod has 'nope'; there are: high"):
        subject.exposure_ranking(priority_class="nope")
