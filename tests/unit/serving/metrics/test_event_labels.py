"""What upstream calls a change."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.serving.metrics.event_labels import labels_of
from bayplan.testing.builders import claim, node, pod, service, storage_class

PENDING = pod("p")
RUNNING = pod("p").node("n")
FOREIGN = pod("p").scheduler("other")


def changed(old: Any, new: Any) -> Event:
    return ObjectChanged(old.obj(), new.obj())


@pytest.mark.parametrize(
    ("event", "labels"),
    [
        (ObjectAdded(PENDING.obj()), {"UnscheduledPodAdd"}),
        (ObjectAdded(RUNNING.obj()), {"AssignedPodAdd"}),
        (ObjectAdded(FOREIGN.obj()), set()),
        (changed(FOREIGN, FOREIGN), set()),
        (ObjectRemoved(RUNNING.obj()), {"AssignedPodDelete"}),
        (ObjectRemoved(PENDING.obj()), {"UnscheduledPodDelete"}),
        (changed(PENDING, RUNNING), {"AssignedPodAdd"}),
        (changed(RUNNING, RUNNING), {"AssignedPodUpdate"}),
        (changed(PENDING, pod("p").labels(a="b")), {"UnscheduledPodUpdate", "UnscheduledPodUpdatePodLabel"}),
        (
            changed(pod("p").gate("g"), PENDING),
            {"UnscheduledPodUpdate", "UnscheduledPodUpdatePodSchedulingGatesEliminated"},
        ),
        (ObjectAdded(node("n").obj()), {"NodeAdd"}),
        (changed(node("n"), node("n")), set()),
        (changed(node("n").taint("a"), node("n").label("b")), {"NodeUpdateNodeTaint", "NodeUpdateNodeLabel"}),
        (ObjectAdded(storage_class("s").obj()), {"storage.k8s.io/StorageClassAdd"}),
        (changed(claim("c"), claim("c")), {"PersistentVolumeClaimUpdate"}),
        (ObjectAdded(service("s").obj()), set()),
        (BindAnswered("default/p", "u"), set()),
    ],
)
def test_a_change_has_the_labels_that_upstream_gives_it(event: Event, labels: set[str]) -> None:
    assert set(labels_of(event, {"default-scheduler"})) == labels
