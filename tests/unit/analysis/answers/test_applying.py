"""What applying an object leaves of the one that was there."""

from __future__ import annotations

import pytest

from bayplan.analysis.answers.applying import applied
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.workloads import Deployment
from bayplan.testing import builders as make


def apply(old: Object, new: Object) -> Object:
    objects, replaced = applied([old], [new])
    (only,) = objects
    assert replaced[0].new is only
    return only


def test_new_objects_come_behind_the_old_ones_and_what_is_replaced_keeps_its_place() -> None:
    old = [make.node(name).obj() for name in "ab"]
    objects, replaced = applied(old, [make.node("c").obj(), make.node("a").manifest().label("new").obj()])
    assert [obj.metadata.name for obj in objects] == ["a", "b", "c"]
    assert [pair.old for pair in replaced] == [old[0]]


def test_a_node_keeps_its_room_its_taints_and_labels_of_others() -> None:
    old = make.node("a").capacity(cpu="7").label("theirs", "1").taint("gpu").obj()
    new = Node(metadata=make.node("a").manifest().obj().metadata)
    new.metadata.labels = {"mine": "1"}
    merged = apply(old, new)
    assert isinstance(merged, Node)
    assert (merged.status, merged.spec) == (old.status, old.spec)
    assert merged.metadata.labels == {**old.metadata.labels, "mine": "1"}


def test_a_nodes_new_taints_take_the_place_of_the_old_ones() -> None:
    new = make.node("a").manifest().taint("new").obj()
    merged = apply(make.node("a").taint("old").obj(), new)
    assert isinstance(merged, Node)
    assert [taint.key for taint in merged.spec.taints] == ["new"]


def test_replicas_stay_if_the_manifest_names_none() -> None:
    new = make.deployment("d").manifest().template(make.pod("p").labels(app="x").cpu("1")).obj()
    new.spec.replicas = None
    merged = apply(make.deployment("d").replicas(5).template(make.pod("p").labels(app="x")).obj(), new)
    assert isinstance(merged, Deployment)
    assert merged.spec.replicas == 5
    assert merged.spec.template.spec.containers[0].resources.requests == {"cpu": "1"}


def test_an_annotation_of_a_restart_stays_in_the_template() -> None:
    old = make.deployment("d").template(make.pod("p").annotations({"restartedAt": "now"})).obj()
    merged = apply(old, make.deployment("d").manifest().template(make.pod("p")).obj())
    assert isinstance(merged, Deployment)
    assert merged.spec.template.metadata.annotations == {"restartedAt": "now"}


def test_a_pod_stays_what_it_is_but_for_labels_and_tolerations() -> None:
    old = make.pod("p").cpu("1").tolerates("old").running("a").obj()
    merged = apply(old, make.pod("p").cpu("1000m").tolerates("new").labels(app="x").manifest().obj())
    assert isinstance(merged, Pod)
    assert [toleration.key for toleration in merged.spec.tolerations] == ["old", "new"]
    assert (merged.spec.node_name, merged.status, merged.metadata.labels) == ("a", old.status, {"app": "x"})


def test_gates_are_opened_and_a_gated_pod_may_ask_for_certain_nodes() -> None:
    old = make.pod("p").gate("x", "y").obj()
    merged = apply(old, make.pod("p").gate("y").node_selector({"disk": "ssd"}).manifest().obj())
    assert isinstance(merged, Pod)
    assert [gate.name for gate in merged.spec.scheduling_gates] == ["y"]
    assert merged.spec.node_selector == {"disk": "ssd"}


def test_a_pod_that_was_never_created_is_what_the_new_manifest_says() -> None:
    new = make.pod("p").cpu("2").manifest().obj()
    assert apply(make.pod("p").cpu("1").manifest().obj(), new) is new


def test_a_claim_keeps_its_volume() -> None:
    merged = apply(make.claim("c").bound("v").obj(), make.claim("c").manifest().obj())
    assert isinstance(merged, PersistentVolumeClaim)
    assert (merged.spec.volume_name, merged.status.phase) == ("v", "Bound")


def test_a_budgets_status_is_worked_out_anew() -> None:
    merged = apply(make.budget("b").allows(3).obj(), make.budget("b").manifest().min_available(1).obj())
    assert isinstance(merged, PodDisruptionBudget)
    assert merged.status is None


def test_an_edited_dump_takes_the_place_of_the_old_object() -> None:
    new = make.node("a").capacity(cpu="1").obj()
    assert apply(make.node("a").label("gone").obj(), new) is new


def test_an_object_without_a_namespace_is_in_the_default_one() -> None:
    new = make.budget("b").manifest().obj()
    new.metadata.namespace = ""
    objects, _ = applied([make.budget("b").obj()], [new])
    assert len(objects) == 1


def test_a_priority_class_cannot_be_worth_more_than_before() -> None:
    with pytest.raises(InvalidObject, match=r"PriorityClass gold: value: may not be changed in an update\."):
        applied([make.priority_class("gold", 1).obj()], [make.priority_class("gold", 2).manifest().obj()])
