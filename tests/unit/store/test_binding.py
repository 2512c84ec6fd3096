"""Binding a pod to a node, and when that is refused."""

from __future__ import annotations

import pytest

from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.store import Conflict, NotFound, Store
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

NOON = 1_767_268_800 * SECOND  # 2026-01-01T12:00:00Z


def test_binding_sets_the_node_and_says_scheduled() -> None:
    """The reason, the message and the generation seen go with the old condition; so does the nomination."""
    store = Store()
    store.create(node("n1").manifest().zone("z1").obj(), 0)
    waiting = pod("a").nominated("n2").obj()
    waiting.status.conditions = [
        Condition(type="First", status="True"),
        Condition(
            type="PodScheduled",
            status="False",
            reason="Unschedulable",
            message="0/3 nodes",
            observed_generation=1,
            last_transition_time="2026-01-01T00:00:00Z",
        ),
        Condition(type="Last", status="True"),
    ]
    store.load([waiting], 0)
    old = store.get(Pod, "default", "a")
    bound = store.bind("default", "a", "n1", "pod-default-a", NOON, annotations={"by": "hand"})
    assert store.get(Pod, "default", "a") is bound
    assert (bound.spec.node_name, bound.status.nominated_node_name) == ("n1", "")
    assert bound.status.conditions == [
        Condition(type="First", status="True"),
        Condition(type="PodScheduled", status="True", last_transition_time="2026-01-01T12:00:00Z"),
        Condition(type="Last", status="True"),
    ]
    assert (bound.metadata.generation, bound.metadata.resource_version) == (1, "3")
    assert bound.metadata.labels == {"topology.kubernetes.io/zone": "z1"}
    assert bound.metadata.annotations == {"by": "hand"}
    assert (old.spec.node_name, old.status.nominated_node_name, old.metadata.labels) == ("", "n2", {})
    assert store.pods_on_node("n1") == [bound]


def test_the_node_need_not_exist() -> None:
    store = Store()
    store.create(pod("a").manifest().obj(), 0)
    bound = store.bind("default", "a", "nowhere", "", NOON)
    assert [condition.type for condition in bound.status.conditions] == ["PodScheduled"]
    assert bound.metadata.labels == {}


@pytest.mark.parametrize(
    ("given", "uid", "message"),
    [
        pytest.param(
            pod("a").node("n1"),
            "",
            'Operation cannot be fulfilled on pods/binding "a": pod a is already assigned to node "n1"',
            id="assigned",
        ),
        pytest.param(
            pod("a").gate("example.com/x"),
            "",
            'Operation cannot be fulfilled on pods/binding "a": pod a has non-empty .spec.schedulingGates',
            id="gated",
        ),
        pytest.param(
            pod("a").node("n1").terminating(),
            "",
            'Operation cannot be fulfilled on pods/binding "a": pod a is being deleted, cannot be assigned to a host',
            id="being deleted",
        ),
        pytest.param(
            pod("a").node("n1"),
            "other",
            'Operation cannot be fulfilled on pods "a": StorageError: invalid object, Code: 4, '
            "Key: /registry/pods/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
            "UID in precondition: other, UID in object meta: pod-default-a",
            id="uid",
        ),
    ],
)
def test_refused_bindings(given: PodBuilder, uid: str, message: str) -> None:
    store = Store()
    store.load([given.obj()], 0)
    with pytest.raises(Conflict) as refused:
        store.bind("default", "a", "n1", uid, NOON)
    assert str(refused.value) == message
    assert store.resource_version == 1


def test_binding_a_missing_pod() -> None:
    with pytest.raises(NotFound, match=r'^pods "zzz" not found$'):
        Store().bind("default", "zzz", "n1", "", NOON)
