"""The fewest victims on any nodes, and budgets before pods."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.analysis.answers.least_disruption import Disruption, LeastDisruption
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

A, B = (make.node(name).capacity(cpu="4") for name in "ab")
BIG = make.pod("big").cpu("4").priority(9)


def app(name: str, cpu: str, node: str, priority: int = 0) -> PodBuilder:
    return owned(name).labels(app=name).cpu(cpu).priority(priority).running(node)


def least(*things: Builder[Any]) -> LeastDisruption:
    return cluster_of(*things, BIG).least_disruption("big")


def test_fewer_victims_than_kube_scheduler_takes() -> None:
    """It prefers four victims of priority 0 to one of priority 5."""
    small = [app(f"s{number}", "1", "a") for number in range(4)]
    cluster = cluster_of(A, B, *small, app("one", "4", "b", 5), BIG)
    assert len(cluster.explain("big").to_dict()["preemption"]["candidates"]["a"]["victims"]) == 4
    assert cluster.explain("big").to_dict()["preemption"]["selected"] == ["a"]
    found = cluster.least_disruption("big")
    assert (found.bound, found.node, found.victims, found.fits) == (Disruption(0, 1), "b", ("default/one",), True)


def test_budgets_come_before_pods() -> None:
    small = [app(f"s{number}", "1", "a") for number in range(4)]
    budget = make.budget("one").selects(app="one").allows(0)
    assert least(A, B, *small, app("one", "4", "b"), budget).bound == Disruption(0, 4)
    assert least(B, app("one", "4", "b"), budget).bound == Disruption(1, 1)


def test_a_resource_that_no_node_has() -> None:
    cluster = cluster_of(A, app("p", "4", "a"), make.pod("big2").request({"example.com/gpus": "1"}).priority(9))
    assert cluster.least_disruption("big2").bound is None


def test_only_pods_of_lower_priority_are_victims() -> None:
    assert least(A, app("p", "4", "a", 9)).bound is None


def test_other_rules_do_not_lower_the_bound() -> None:
    port = make.pod("big2").cpu("1").priority(9).port(80)
    cluster = cluster_of(A, make.pod("p").cpu("1").port(80).running("a"), port)
    found = cluster.least_disruption("big2")
    assert (found.bound, found.victims, found.fits) == (Disruption(0, 0), (), False)


def test_the_document() -> None:
    assert least(A, app("p", "4", "a")).to_dict() == {
        "atLeast": {"numPDBViolations": 0, "victims": 1},
        "node": "a",
        "victims": ["default/p"],
        "fits": True,
        "complete": True,
    }


def test_a_pod_that_is_not_there() -> None:
    with pytest.raises(InvalidObject, match="not found"):
        cluster_of(A).least_disruption("nobody")
