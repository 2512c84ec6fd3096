"""Replacing and patching objects and their status: what stays, what conflicts, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from bayplan.model.cluster import PriorityClass
from bayplan.model.meta import Condition, OwnerReference
from bayplan.model.node import Node
from bayplan.model.pod import NodeSelectorTerm, Pod, PodSchedulingGate, Toleration
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import StorageClass
from bayplan.model.workloads import Deployment
from bayplan.store import ApiError, Conflict, Invalid, NotFound, Store
from bayplan.testing.builders import budget, deployment, node, node_term, pod, priority_class, storage_class

SPEC_REFUSED = (
    'Pod "a" is invalid: spec: Forbidden: pod updates may not change fields other than '
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
    "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it "
    "was previously negative)"
)


@pytest.fixture
def store() -> Store:
    """A pod, a gated pod, a node, a deployment."""
    made = Store()
    made.create(pod("a").manifest().cpu("1").image("pause:3").labels(app="a").obj(), 0)
    made.create(pod("g").manifest().gate("example.com/x", "example.com/y").node_selector(pool="main").obj(), 0)
    made.create(node("n1").manifest().obj(), 0)
    made.create(deployment("web").manifest().obj(), 0)
    return made


def with_spec(**fields: Any) -> Callable[[Any], Any]:
    return lambda one: replace(one, spec=replace(one.spec, **fields))


def with_status(**fields: Any) -> Callable[[Any], Any]:
    return lambda one: replace(one, status=replace(one.status, **fields))


def with_metadata(**fields: Any) -> Callable[[Any], Any]:
    return lambda one: replace(one, metadata=replace(one.metadata, **fields))


def test_replacing_over_the_read_version(store: Store) -> None:
    """The old struct stays as it was; the new one has the next version."""
    old = store.get(Pod, "default", "a")
    new = store.replace(with_metadata(labels={"app": "b"})(old), 9)
    assert (old.metadata.labels, old.metadata.resource_version) == ({"app": "a"}, "1")
    assert (new.metadata.labels, new.metadata.resource_version) == ({"app": "b"}, "5")
    assert store.get(Pod, "default", "a") is new
    (change,) = store.log.since(4)
    assert (change.type, change.old, change.new, change.at) == ("MODIFIED", old, new, 9)
    with pytest.raises(Conflict) as refused:
        store.replace(with_metadata(labels={"app": "c"})(old), 9)
    assert str(refused.value) == (
        'Operation cannot be fulfilled on pods "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


def test_replacing_without_a_version_is_unconditional(store: Store) -> None:
    old = store.get(Pod, "default", "a")
    store.modify_status(Pod, "default", "a", with_status(phase="Running"), 0)
    new = store.replace(with_metadata(resource_version="", uid="", labels={})(old), 0)
    assert (new.metadata.uid, new.status.phase, new.metadata.labels) == ("pod-default-a-1", "Running", {})


def test_some_kinds_are_never_replaced_unconditionally(store: Store) -> None:
    stored = store.create(budget("b").manifest().obj(), 0)
    with pytest.raises(Invalid, match=r"metadata.resourceVersion: Invalid value: 0: must be specified for an update"):
        store.replace(with_metadata(resource_version="", labels={"a": "b"})(stored), 0)
    with pytest.raises(Invalid, match=r'^PodDisruptionBudget.policy "b" is invalid'):
        store.update_status(with_metadata(resource_version="", labels={"a": "b"})(stored), 0)
    store.modify(PodDisruptionBudget, "default", "b", with_metadata(resource_version="", labels={"a": "b"}), 0)


def test_what_belongs_to_the_server_stays(store: Store) -> None:
    meddled = with_metadata(
        creation_timestamp="2001-01-01T00:00:00Z",
        deletion_timestamp="2001-01-01T00:00:00Z",
        deletion_grace_period_seconds=5,
        generation=44,
        labels={},
    )
    old = store.get(Pod, "default", "a").metadata
    new = store.modify(Pod, "default", "a", meddled, 0).metadata
    assert new == replace(old, labels={}, resource_version="5")


REFUSED: list[Any] = [
    pytest.param("modify", with_metadata(uid="other"), 409, None, id="uid"),
    pytest.param(
        "modify",
        with_metadata(name="other"),
        400,
        "the name of the object (other) does not match the name on the URL (a)",
        id="name",
    ),
    pytest.param(
        "modify",
        with_metadata(namespace="other"),
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
        id="namespace",
    ),
    pytest.param("modify", with_spec(node_name="n1"), 422, SPEC_REFUSED, id="node name"),
    pytest.param("modify", with_spec(priority=3), 422, SPEC_REFUSED, id="priority"),
    pytest.param("modify", with_spec(node_selector={"x": "y"}), 422, SPEC_REFUSED, id="node selector"),
    pytest.param("modify", with_spec(containers=[]), 422, SPEC_REFUSED, id="containers"),
    pytest.param("modify", with_spec(termination_grace_period_seconds=1), 422, SPEC_REFUSED, id="grace"),
    pytest.param(
        "modify",
        with_spec(scheduling_gates=[PodSchedulingGate(name="example.com/z")]),
        422,
        'Pod "a" is invalid: spec.schedulingGates[0].name: Forbidden: only deletion is allowed, '
        "but found new scheduling gate 'example.com/z'",
        id="gate",
    ),
    pytest.param("modify", with_metadata(resource_version="3"), 409, None, id="patch with a stale version"),
    pytest.param("modify_status", with_metadata(resource_version="3"), 409, None, id="status with a stale version"),
]


@pytest.mark.parametrize(("method", "change", "code", "message"), REFUSED)
def test_refused_changes_of_a_pod(
    store: Store, method: str, change: Callable[[Any], Any], code: int, message: str | None
) -> None:
    version = store.resource_version
    with pytest.raises(ApiError) as refused:
        getattr(store, method)(Pod, "default", "a", change, 0)
    assert refused.value.code == code
    if message is not None:
        assert str(refused.value) == message
    assert store.resource_version == version


def test_another_uid_conflicts_in_the_storages_words(store: Store) -> None:
    with pytest.raises(Conflict) as refused:
        store.modify(Node, "", "n1", with_metadata(uid="other"), 0)
    assert str(refused.value) == (
        'Operation cannot be fulfilled on nodes "n1": StorageError: invalid object, Code: 4, '
        "Key: /registry/minions/n1, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: "
        "UID in precondition: other, UID in object meta: node-n1-3"
    )


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda one: with_spec(containers=[replace(one.spec.containers[0], image="pause:4")])(one), id="image"
        ),
        pytest.param(
            lambda one: with_spec(tolerations=[*one.spec.tolerations, Toleration(key="x")])(one), id="toleration added"
        ),
        pytest.param(with_spec(tolerations=[Toleration(key="x")]), id="tolerations replaced, and defaulted again"),
        pytest.param(
            lambda one: with_spec(tolerations=[Toleration(key="x"), *reversed(one.spec.tolerations)])(one),
            id="toleration put first",
        ),
        pytest.param(
            lambda one: with_spec(tolerations=[replace(held, toleration_seconds=5) for held in one.spec.tolerations])(
                one
            ),
            id="tolerated for longer",
        ),
        pytest.param(with_spec(active_deadline_seconds=60), id="deadline"),
        pytest.param(lambda one: with_spec(tolerations=[])(with_spec(active_deadline_seconds=5)(one)), id="defaulted"),
        pytest.param(
            with_spec(priority=None, preemption_policy=None, active_deadline_seconds=5),
            id="priority left out",
        ),
    ],
)
def test_allowed_changes_of_a_pod(store: Store, change: Callable[[Pod], Pod]) -> None:
    """Each is a new generation."""
    new = store.modify(Pod, "default", "a", change, 0)
    assert (new.metadata.generation, new.metadata.resource_version) == (2, "5")
    assert (new.spec.priority, new.spec.preemption_policy) == (0, "PreemptLowerPriority")
    assert len(new.spec.tolerations) >= 2


def test_a_toleration_stays(store: Store) -> None:
    kept = store.modify(Pod, "default", "a", with_spec(tolerations=[Toleration(key="x")]), 0)
    others = [one for one in kept.spec.tolerations if one.key != "x"]
    with pytest.raises(Invalid, match=r"spec\.tolerations: Forbidden: existing toleration can not be modified"):
        store.modify(Pod, "default", "a", with_spec(tolerations=others), 0)


def test_a_deadline_is_only_brought_forward(store: Store) -> None:
    store.modify(Pod, "default", "a", with_spec(active_deadline_seconds=60), 0)
    store.modify(Pod, "default", "a", with_spec(active_deadline_seconds=50), 0)
    for later in (60, None):
        with pytest.raises(Invalid):
            store.modify(Pod, "default", "a", with_spec(active_deadline_seconds=later), 0)


REQUIRED_TERM = node_term("zone in (z1, z2)")


@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        pytest.param(with_spec(scheduling_gates=[PodSchedulingGate(name="example.com/y")]), True, id="gate removed"),
        pytest.param(with_spec(scheduling_gates=[]), True, id="all gates removed"),
        pytest.param(with_spec(node_selector={"pool": "main", "disk": "ssd"}), True, id="selector narrowed"),
        pytest.param(with_spec(node_selector={"pool": "other"}), False, id="selector changed"),
        pytest.param(with_spec(node_selector={}), False, id="selector removed"),
        pytest.param(with_spec(affinity=None), None, id="affinity still absent"),
    ],
)
def test_changes_of_a_gated_pod(store: Store, change: Callable[[Pod], Pod], allowed: bool | None) -> None:
    """Where it may go can be narrowed for as long as it is gated."""
    if allowed is False:
        with pytest.raises(Invalid):
            store.modify(Pod, "default", "g", change, 0)
        return
    new = store.modify(Pod, "default", "g", change, 0)
    assert new.metadata.generation == (2 if allowed else 1)


def test_a_gated_pods_affinity_is_only_added_to(store: Store) -> None:
    def required(*terms: NodeSelectorTerm) -> Callable[[Pod], Pod]:
        return with_spec(affinity=pod("x").node_affinity(*terms).obj().spec.affinity)

    narrower = replace(
        REQUIRED_TERM, match_expressions=[*REQUIRED_TERM.match_expressions, *node_term("disk").match_expressions]
    )
    store.modify(Pod, "default", "g", required(REQUIRED_TERM), 0)
    store.modify(Pod, "default", "g", required(narrower), 0)
    for wider in (required(REQUIRED_TERM), required(narrower, REQUIRED_TERM), with_spec(affinity=None)):
        with pytest.raises(Invalid):
            store.modify(Pod, "default", "g", wider, 0)


def test_status_and_spec_are_written_apart(store: Store) -> None:
    """A write to one leaves the other, and one that would change only the other writes nothing."""
    old = store.get(Pod, "default", "a")
    assert store.modify(Pod, "default", "a", with_status(phase="Failed"), 0) is old
    assert store.modify_status(Pod, "default", "a", with_spec(node_name="n3"), 0) is old
    assert store.resource_version == 4
    new = store.modify_status(Pod, "default", "a", with_status(phase="Running"), 0)
    assert (new.status.phase, new.metadata.generation) == ("Running", 1)
    assert new.spec is old.spec
    both = with_spec(replicas=5)(with_status(replicas=5)(store.get(Deployment, "default", "web")))
    written = store.replace(both, 0)
    assert (written.spec.replicas, written.status.replicas, written.metadata.generation) == (5, 0, 2)
    written = store.update_status(with_spec(replicas=9)(with_status(replicas=5)(written)), 0)
    assert (written.spec.replicas, written.status.replicas, written.metadata.generation) == (5, 5, 2)


def test_a_status_set_on_what_was_read_is_written_like_any_other(store: Store) -> None:
    """The same comes of it as of a patch; over what is not stored any more it is refused."""
    store.create(pod("b").manifest().cpu("1").image("pause:3").labels(app="a").obj(), 0)
    old, other = store.get(Pod, "default", "a"), store.get(Pod, "default", "b")
    running = replace(old.status, phase="Running")
    new = store.set_status(old, running, 9)
    assert store.get(Pod, "default", "a") is new
    patched = store.modify_status(Pod, "default", "b", lambda one: replace(one, status=running), 9)
    assert replace(new, metadata=old.metadata) == replace(patched, metadata=old.metadata)
    assert new.metadata == replace(old.metadata, resource_version="6")
    assert store.set_status(new, replace(running), 9) is new
    for stale in (old, other):
        with pytest.raises(Conflict, match="the object has been modified"):
            store.set_status(stale, running, 9)
    store.delete(Pod, "default", "a", 9, grace_seconds=0)
    with pytest.raises(NotFound, match=r'^pods "a" not found$'):
        store.set_status(new, old.status, 9)


def test_nothing_is_written_when_nothing_changes(store: Store) -> None:
    """An equal object, though a new struct, makes no version and no event."""
    for one in (store.get(Pod, "default", "a"), store.get(Node, "", "n1"), store.get(Deployment, "default", "web")):
        again = replace(one, metadata=replace(one.metadata, labels=dict(one.metadata.labels)))
        assert store.replace(again, 0) is one
        assert store.update_status(again, 0) is one
    assert store.modify("Pod", "default", "a", lambda one: one, 0).metadata.resource_version == "1"
    assert store.resource_version == 4


def test_kinds_without_status_have_no_status_to_write() -> None:
    store = Store()
    stored = store.create(storage_class("fast").manifest().obj(), 0)
    with pytest.raises(NotFound, match=r"^the server could not find the requested resource$"):
        store.update_status(stored, 0)
    with pytest.raises(NotFound, match=r"^the server could not find the requested resource$"):
        store.set_status(stored, None, 0)
    assert store.modify(StorageClass, "", "fast", with_metadata(labels={"a": "b"}), 0).metadata.generation == 0


def test_a_pods_status_brings_labels_but_no_owners(store: Store) -> None:
    change = with_metadata(labels={"x": "y"}, owner_references=[OwnerReference(uid="u")])
    new = store.modify_status(Pod, "default", "a", change, 0)
    assert (new.metadata.labels, new.metadata.owner_references) == ({"x": "y"}, [])
    assert store.owned_by("u") == []


def test_a_deployments_status_brings_no_labels(store: Store) -> None:
    change = with_metadata(labels={"x": "y"}, annotations={"a": "b"})
    new = store.modify_status(Deployment, "default", "web", change, 0)
    assert (new.metadata.labels, new.metadata.annotations, new.metadata.generation) == ({}, {"a": "b"}, 1)


def test_a_bound_pod_cannot_be_nominated(store: Store) -> None:
    store.modify_status(Pod, "default", "a", with_status(nominated_node_name="n1"), 0)
    store.modify_status(Pod, "default", "a", with_status(nominated_node_name=""), 0)
    store.bind("default", "a", "n1", "", 0)
    with pytest.raises(Invalid) as refused:
        store.modify_status(Pod, "default", "a", with_status(nominated_node_name="n2"), 0)
    assert str(refused.value) == (
        'Pod "a" is invalid: status.nominatedNodeName: Forbidden: '
        "may not be set on pods that are already bound to a node"
    )
    bound = store.get(Pod, "default", "a")
    with pytest.raises(Invalid, match="already bound to a node"):
        store.set_status(bound, replace(bound.status, nominated_node_name="n2"), 0)


@pytest.mark.parametrize(
    ("change", "generation"),
    [
        pytest.param(with_spec(replicas=2), 2, id="spec"),
        pytest.param(with_metadata(annotations={"a": "b"}), 2, id="annotations"),
        pytest.param(with_metadata(labels={"a": "b"}), 1, id="labels"),
        pytest.param(with_spec(replicas=None), 1, id="the default again"),
    ],
)
def test_generations_of_a_deployment(store: Store, change: Callable[[Any], Any], generation: int) -> None:
    assert store.modify(Deployment, "default", "web", change, 0).metadata.generation == generation


def test_nodes_have_no_generation(store: Store) -> None:
    assert store.modify(Node, "", "n1", with_spec(unschedulable=True), 0).metadata.generation == 0


def test_priority_classes_keep_their_value() -> None:
    store = Store()
    store.create(priority_class("made", 77).manifest().obj(), 0)
    store.create(priority_class("usual", 5, default=True).manifest().obj(), 0)
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"value": 78},
            'PriorityClass.scheduling.k8s.io "made" is invalid: value: Forbidden: may not be changed in an update.',
        ),
        (
            {"preemption_policy": "Never"},
            'PriorityClass.scheduling.k8s.io "made" is invalid: preemptionPolicy: Invalid value: '
            '"Never": field is immutable',
        ),
        (
            {"global_default": True},
            'priorityclasses.scheduling.k8s.io "made" is forbidden: PriorityClass usual is already marked as default. '
            "Only one default can exist",
        ),
    ]
    for fields, message in cases:
        with pytest.raises(ApiError) as refused:
            store.modify(PriorityClass, "", "made", lambda one, fields=fields: replace(one, **fields), 0)  # type: ignore[misc]
        assert str(refused.value) == message
    store.modify(PriorityClass, "", "usual", lambda one: replace(one, global_default=False), 0)
    store.modify(PriorityClass, "", "made", lambda one: replace(one, global_default=True), 0)
    assert store.create(pod("a").manifest().obj(), 0).spec.priority == 77


def test_missing_objects() -> None:
    store = Store()
    with pytest.raises(NotFound, match=r'^pods "nope" not found$'):
        store.replace(pod("nope").obj(), 0)
    with pytest.raises(NotFound, match=r'^nodes "nope" not found$'):
        store.modify(Node, "", "nope", lambda one: one, 0)
    with pytest.raises(NotFound, match=r'^pods "nope" not found$'):
        store.update_status(pod("nope").obj(), 0)


def test_conditions_are_taken_as_given(store: Store) -> None:
    condition = Condition(
        type="PodScheduled", status="False", reason="Unschedulable", message="0/3 nodes", observed_generation=1
    )
    new = store.modify_status("Pod", "default", "a", with_status(conditions=[condition]), 0)
    assert new.status.conditions == [condition]
