"""What evicts the pods of a group: one of them is enough where it goes as a whole, and the group's priority counts."""

from __future__ import annotations

import pytest
from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of, racks

from bayplan import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make


def training(*, whole: bool, priority: int = 0, pods: int = 0) -> Cluster:
    """Two pods of a group that fill two nodes; theirs may be another priority than the group's."""
    group = make.pod_group("g").gang(2).priority(priority)
    members = [make.pod(f"g-{at}").cpu("3").in_group("g").priority(pods).running(f"r0-{at}") for at in range(2)]
    classes = [make.priority_class("urgent", 100)]
    return cluster_of(*racks(2), group.disrupted_as_a_whole() if whole else group, *members, *classes)


def test_a_group_that_goes_as_a_whole_goes_for_a_pod_that_needs_one_node() -> None:
    found = training(whole=True).exposure("podgroup/g", feature_gates=ON)
    assert [pod.lowest.thresholds[0].victims for pod in found.pods] == [("default/g-0", "default/g-1")] * 2
    assert found.group is not None
    assert (found.group.goes_as_a_whole, found.group.running, found.group.needed) == (True, 2, 2)


def test_otherwise_its_pods_go_one_by_one() -> None:
    found = training(whole=False).exposure("podgroup/g", feature_gates=ON)
    assert [pod.lowest.thresholds[0].victims for pod in found.pods] == [("default/g-0",), ("default/g-1",)]


def test_the_priority_that_counts_is_the_groups() -> None:
    found = training(whole=True, priority=50, pods=7).exposure("g-0", feature_gates=ON)
    assert [pod.priority for pod in found.pods] == [50]
    without = training(whole=True, priority=50, pods=7).exposure("g-0")
    assert [pod.priority for pod in without.pods] == [7]


def test_a_group_that_is_not_there() -> None:
    with pytest.raises(InvalidObject, match="podgroup/default/h: not found in the input"):
        training(whole=True).exposure("podgroup/h", feature_gates=ON)
