"""The volume controller: which volume a claim gets, what is made for it, and what becomes of volumes later."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace
from tests.support.controller_stage import Stage

from bayplan.controllers.delays import FixedDelays
from bayplan.controllers.volumes.persistent_volume import PersistentVolumeController
from bayplan.model.meta import LabelSelector, ObjectReference
from bayplan.model.node import Node
from bayplan.model.pod import NodeSelectorRequirement
from bayplan.model.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import ClaimBuilder, VolumeBuilder, claim, csi_node, node, storage_class, volume

DELAYS = FixedDelays(provision=3 * SECOND)
ZONE = "topology.kubernetes.io/zone"


def new_stage() -> Stage:
    return Stage(PersistentVolumeController(DELAYS))


def get_claim(stage: Stage, name: str = "data") -> PersistentVolumeClaim:
    return stage.store.get(PersistentVolumeClaim, "default", name)


def get_volume(stage: Stage, name: str) -> PersistentVolume:
    return stage.store.get(PersistentVolume, "", name)


def phases(stage: Stage) -> dict[str, str]:
    return {one.metadata.name: one.status.phase for one in stage.store.list(PersistentVolume)}


def change_volume(stage: Stage, name: str, change: Callable[[PersistentVolume], PersistentVolume]) -> None:
    stage.store.modify(PersistentVolume, "", name, change, stage.now)
    stage.settle()


def reserve(stage: Stage, name: str, claim_name: str = "data") -> None:
    """As the scheduler keeps a volume for a claim."""
    meta = get_claim(stage, claim_name).metadata
    reference = ObjectReference(kind="PersistentVolumeClaim", namespace="default", name=meta.name, uid=meta.uid)

    def change(one: PersistentVolume) -> PersistentVolume:
        annotations = {**one.metadata.annotations, "pv.kubernetes.io/bound-by-controller": "yes"}
        return replace(
            one,
            metadata=replace(one.metadata, annotations=annotations),
            spec=replace(one.spec, claim_ref=reference),
        )

    change_volume(stage, name, change)


def select_node(stage: Stage, name: str) -> None:
    """As the scheduler asks for a volume for a node."""

    def change(one: PersistentVolumeClaim) -> PersistentVolumeClaim:
        annotations = {**one.metadata.annotations, "volume.kubernetes.io/selected-node": name}
        return replace(one, metadata=replace(one.metadata, annotations=annotations))

    stage.store.modify(PersistentVolumeClaim, "default", "data", change, stage.now)
    stage.settle()


def disk(name: str, size: str = "1Gi", class_name: str = "") -> VolumeBuilder:
    return volume(name).manifest().storage(size).storage_class(class_name)


def waiting_class(*zones: str) -> StorageClass:
    made = storage_class("slow", mode="WaitForFirstConsumer").manifest().obj()
    for zone in zones:
        item = TopologySelectorLabelRequirement(key=ZONE, values=[zone])
        made.allowed_topologies.append(TopologySelectorTerm(match_label_expressions=[item]))
    return made


def affinity_of(one: PersistentVolume) -> list[NodeSelectorRequirement]:
    assert one.spec.node_affinity is not None
    assert one.spec.node_affinity.required is not None
    (term,) = one.spec.node_affinity.required.node_selector_terms
    return term.match_expressions


def in_zone(zone: str) -> list[NodeSelectorRequirement]:
    return [NodeSelectorRequirement(key=ZONE, operator="In", values=[zone])]


def test_both_sides_of_a_binding_are_written() -> None:
    stage = new_stage()
    stage.create(disk("v1", "5Gi").modes("ReadWriteOnce", "ReadOnlyMany").obj())
    assert phases(stage) == {"v1": "Available"}
    stage.create(claim("data").manifest().storage_class("").storage("2Gi").obj())
    bound, kept = get_claim(stage), get_volume(stage, "v1")
    assert bound.spec.volume_name == "v1"
    assert bound.metadata.annotations == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert bound.status.phase == "Bound"
    assert bound.status.capacity == {"storage": "5Gi"}
    assert bound.status.access_modes == ["ReadWriteOnce", "ReadOnlyMany"]
    assert kept.status.phase == "Bound"
    assert kept.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    reference = kept.spec.claim_ref
    assert reference is not None
    assert (reference.namespace, reference.name, reference.uid) == ("default", "data", bound.metadata.uid)


@pytest.mark.parametrize(
    ("volumes", "wanted", "expected"),
    [
        pytest.param([disk("big", "9Gi"), disk("mid", "3Gi"), disk("tiny", "1Gi")], {}, "mid", id="smallest that fits"),
        pytest.param([disk("one", "3Gi"), disk("two", "3Gi")], {}, "one", id="of equals the first"),
        pytest.param([disk("tiny", "1Gi")], {}, "", id="too small"),
        pytest.param([disk("other", "3Gi", "fast")], {}, "", id="another class"),
        pytest.param([disk("fast", "3Gi", "fast")], {"class_name": "fast"}, "fast", id="same class"),
        pytest.param([disk("ro", "3Gi").modes("ReadOnlyMany")], {}, "", id="access mode missing"),
        pytest.param(
            [disk("rich", "2Gi").modes("ReadWriteOnce", "ReadOnlyMany"), disk("plain", "8Gi")],
            {},
            "plain",
            id="fewest access modes come before size",
        ),
        pytest.param([disk("raw", "3Gi").set(volume_mode="Block")], {}, "", id="another volume mode"),
        pytest.param([disk("gold", "3Gi").set(volume_attributes_class_name="gold")], {}, "", id="attributes class"),
        pytest.param(
            [disk("plain", "2Gi"), disk("ssd", "3Gi").labels(kind="ssd")],
            {"selector": LabelSelector(match_labels={"kind": "ssd"})},
            "ssd",
            id="selector",
        ),
        pytest.param([disk("v", "3Gi")], {"volume_name": "v"}, "v", id="asked for by name"),
        pytest.param([disk("v", "3Gi"), disk("w", "2Gi")], {"volume_name": "v"}, "v", id="by name, not the best"),
        pytest.param([disk("v", "1Gi")], {"volume_name": "v"}, "", id="by name, but too small"),
        pytest.param([disk("v", "3Gi", "fast")], {"volume_name": "v"}, "", id="by name, but another class"),
    ],
)
def test_which_volume_a_claim_gets(volumes: list[VolumeBuilder], wanted: dict[str, object], expected: str) -> None:
    stage = new_stage()
    made = claim("data").manifest().storage("2Gi").storage_class(str(wanted.get("class_name", ""))).obj()
    for field in ("selector", "volume_name"):
        if field in wanted:
            setattr(made.spec, field, wanted[field])
    stage.create(*(built.obj() for built in volumes))
    stage.create(made)
    found = get_claim(stage)
    assert found.status.phase == ("Bound" if expected else "Pending")
    if expected:
        assert found.spec.volume_name == expected
        assert get_volume(stage, expected).status.phase == "Bound"
    assert sum(phase == "Bound" for phase in phases(stage).values()) == bool(expected)


def test_a_claim_waits_until_a_volume_comes() -> None:
    stage = new_stage()
    stage.create(claim("data").manifest().storage_class("").obj(), claim("more").manifest().storage_class("").obj())
    assert get_claim(stage).status.phase == "Pending"
    stage.create(disk("v1").obj())
    assert [get_claim(stage, name).spec.volume_name for name in ("data", "more")] == ["v1", ""]
    stage.create(disk("v2").obj())
    assert get_claim(stage, "more").spec.volume_name == "v2"


def test_two_claims_never_get_the_same_volume() -> None:
    stage = new_stage()
    stage.store.create(disk("v1").obj(), stage.now)
    for name in ("a", "b", "c"):
        stage.store.create(claim(name).manifest().storage_class("").obj(), stage.now)
    stage.settle()
    assert [get_claim(stage, name).status.phase for name in ("a", "b", "c")] == ["Bound", "Pending", "Pending"]


def test_a_volume_kept_for_a_claim_is_for_nobody_else() -> None:
    stage = new_stage()
    kept = disk("kept", "9Gi").obj()
    kept.spec.claim_ref = ObjectReference(namespace="default", name="data")
    stage.create(kept, disk("free", "2Gi").obj())
    assert phases(stage) == {"kept": "Available", "free": "Available"}
    stage.create(claim("other").manifest().storage_class("").storage("3Gi").obj())
    assert get_claim(stage, "other").status.phase == "Pending"
    stage.create(claim("data").manifest().storage_class("").obj())
    assert get_claim(stage).spec.volume_name == "kept"
    assert "pv.kubernetes.io/bound-by-controller" not in get_volume(stage, "kept").metadata.annotations
    reference = get_volume(stage, "kept").spec.claim_ref
    assert reference is not None
    assert reference.uid == get_claim(stage).metadata.uid


def test_an_immediate_class_has_volumes_made() -> None:
    stage = new_stage()
    stage.create(storage_class("fast", provisioner="ebs.example.com").manifest().obj())
    stage.create(claim("data").manifest().storage_class("fast").storage("7Gi").obj())
    stage.pass_time(2.9)
    assert get_claim(stage).status.phase == "Pending"
    stage.pass_time(0.1)
    bound = get_claim(stage)
    made = get_volume(stage, f"pvc-{bound.metadata.uid}")
    assert (bound.status.phase, bound.spec.volume_name) == ("Bound", made.metadata.name)
    assert (made.status.phase, made.spec.capacity) == ("Bound", {"storage": "7Gi"})
    assert made.spec.persistent_volume_reclaim_policy == "Delete"
    assert made.spec.csi is not None
    assert made.spec.csi.driver == "ebs.example.com"
    assert made.spec.node_affinity is None


def test_volumes_that_are_made_have_storage_and_nothing_else() -> None:
    """A claim may request whatever it likes besides; no API server takes a volume with that."""
    stage = new_stage()
    stage.create(storage_class("fast", provisioner="ebs.example.com").manifest().obj())
    wanted = claim("data").manifest().storage_class("fast").storage("7Gi").obj()
    wanted.spec.resources.requests["example.com/speed"] = "5"
    stage.create(wanted)
    stage.pass_time(3)
    assert get_volume(stage, f"pvc-{get_claim(stage).metadata.uid}").spec.capacity == {"storage": "7Gi"}


@pytest.mark.parametrize(
    ("provisioner", "driver"),
    [
        ("ebs.example.com", "ebs.example.com"),
        ("Ebs.Example.com", "Ebs.Example.com"),
        ("example.com/nfs", "example-com-nfs"),
        ("example.com/a_.b", "example-com-a-b"),
        (f"{'a' * 62}.com/nfs", "a" * 62),
    ],
)
def test_volumes_of_a_provisioner_that_is_no_csi_driver_have_a_driver_all_the_same(
    provisioner: str, driver: str
) -> None:
    """The API refuses volumes whose driver's name is no subdomain."""
    stage = new_stage()
    stage.create(storage_class("fast", provisioner=provisioner).manifest().obj())
    stage.create(claim("data").manifest().storage_class("fast").storage("7Gi").obj())
    stage.pass_time(3)
    volume_name = get_claim(stage).spec.volume_name
    source = get_volume(stage, volume_name).spec.csi
    assert source is not None
    assert source.driver == driver


@pytest.mark.parametrize("provisioner", ["", "kubernetes.io/no-provisioner"])
def test_a_class_without_a_provisioner_makes_nothing(provisioner: str) -> None:
    stage = new_stage()
    stage.create(storage_class("local", provisioner=provisioner).manifest().obj())
    stage.create(claim("data").manifest().storage_class("local").obj())
    stage.pass_time(1000)
    assert phases(stage) == {}


def test_a_claim_may_come_before_its_class() -> None:
    stage = new_stage()
    stage.create(claim("data").manifest().storage_class("fast").obj(), claim("any").manifest().obj())
    stage.pass_time(100)
    stage.create(storage_class("fast", default=True).manifest().obj())
    stage.pass_time(3)
    assert [get_claim(stage, name).status.phase for name in ("data", "any")] == ["Bound", "Bound"]
    assert get_claim(stage, "any").spec.storage_class_name == "fast"


def test_a_class_that_waits_leaves_free_volumes_to_the_scheduler() -> None:
    stage = new_stage()
    stage.create(waiting_class(), disk("v1", "5Gi", "slow").obj())
    stage.create(claim("data").manifest().storage_class("slow").obj())
    stage.pass_time(1000)
    assert get_claim(stage).status.phase == "Pending"
    reserve(stage, "v1")
    assert (get_claim(stage).status.phase, get_claim(stage).spec.volume_name) == ("Bound", "v1")
    assert phases(stage) == {"v1": "Bound"}


@pytest.mark.parametrize(
    ("zones", "drivers", "expected"),
    [
        pytest.param((), None, in_zone("z1"), id="the node's zone"),
        pytest.param(("z0", "z1"), None, in_zone("z1"), id="as the class allows"),
        pytest.param(
            (),
            "kubernetes.io/hostname",
            [NodeSelectorRequirement(key="kubernetes.io/hostname", operator="In", values=["n1"])],
            id="as the driver says on the node",
        ),
    ],
)
def test_a_class_that_waits_has_volumes_made_for_the_selected_node(
    zones: tuple[str, ...], drivers: str | None, expected: list[NodeSelectorRequirement]
) -> None:
    stage = new_stage()
    stage.create(waiting_class(*zones), node("n1").manifest().zone("z1").obj())
    if drivers is not None:
        stage.create(csi_node("n1").manifest().driver("example.com/disk", topology_keys=[drivers]).obj())
    stage.create(claim("data").manifest().storage_class("slow").obj())
    stage.pass_time(100)
    assert phases(stage) == {}
    select_node(stage, "n1")
    stage.pass_time(3)
    bound = get_claim(stage)
    assert bound.status.phase == "Bound"
    assert affinity_of(get_volume(stage, bound.spec.volume_name)) == expected


def test_an_immediate_volume_is_made_where_the_class_allows() -> None:
    stage = new_stage()
    made = replace(waiting_class("z7", "z8"), volume_binding_mode="Immediate")
    stage.create(made, claim("data").manifest().storage_class("slow").obj())
    stage.pass_time(3)
    assert affinity_of(get_volume(stage, get_claim(stage).spec.volume_name)) == in_zone("z7")


@pytest.mark.parametrize("missing", [True, False], ids=["node gone", "zone not allowed"])
def test_a_node_that_will_not_do_is_given_back_to_the_scheduler(missing: bool) -> None:
    stage = new_stage()
    stage.create(waiting_class("z1"), node("n1").manifest().zone("z2").obj())
    stage.create(claim("data").manifest().storage_class("slow").obj())
    select_node(stage, "n1")
    if missing:
        stage.delete(Node, "", "n1")
    stage.pass_time(3)
    assert "volume.kubernetes.io/selected-node" not in get_claim(stage).metadata.annotations
    assert phases(stage) == {}


def test_another_node_means_another_volume() -> None:
    stage = new_stage()
    stage.create(waiting_class(), node("n1").manifest().zone("z1").obj(), node("n2").manifest().zone("z2").obj())
    stage.create(claim("data").manifest().storage_class("slow").obj())
    select_node(stage, "n1")
    stage.pass_time(2)
    select_node(stage, "n2")
    stage.pass_time(2.9)
    assert phases(stage) == {}
    stage.pass_time(0.1)
    assert affinity_of(get_volume(stage, get_claim(stage).spec.volume_name)) == in_zone("z2")


def test_a_claim_that_goes_while_its_volume_is_made_gets_none() -> None:
    controller = PersistentVolumeController(DELAYS)
    stage = Stage(controller)
    stage.create(storage_class("fast").manifest().obj(), claim("data").manifest().storage_class("fast").obj())
    stage.pass_time(1)
    stage.delete(PersistentVolumeClaim, "default", "data")
    assert controller.wake_at() is None
    stage.pass_time(100)
    assert phases(stage) == {}


@pytest.mark.parametrize(
    ("policy", "after"),
    [
        ("Retain", {"v1": "Released"}),
        ("", {"v1": "Released"}),
        ("Delete", {}),
        ("Recycle", {"v1": "Available"}),
    ],
)
def test_what_becomes_of_the_volume_of_a_deleted_claim(policy: str, after: dict[str, str]) -> None:
    stage = new_stage()
    stage.create(disk("v1").set(persistent_volume_reclaim_policy=policy).obj())
    stage.create(claim("data").manifest().storage_class("").obj())
    stage.delete(PersistentVolumeClaim, "default", "data")
    assert phases(stage) == after
    stage.create(claim("data").manifest().storage_class("").obj())
    assert get_claim(stage).status.phase == ("Bound" if policy == "Recycle" else "Pending")


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    stage = new_stage()
    stage.create(disk("v1").obj(), claim("data").manifest().storage_class("").obj())
    stage.delete(PersistentVolume, "", "v1")
    assert get_claim(stage).status.phase == "Lost"
    assert get_claim(stage).status.capacity == {}


def test_a_claim_bound_to_the_volume_of_another_is_lost() -> None:
    stage = new_stage()
    built = claim("data").bound("v1")
    stage.load(volume("v1").bound_to(claim("data").uid("another")).obj(), built.obj())
    assert get_claim(stage).status.phase == "Lost"


def test_a_loaded_cluster_stays_as_it_is() -> None:
    stage = new_stage()
    built: ClaimBuilder = claim("data").storage_class("").bound("v1")
    stage.load(volume("v1").bound_to(built).obj(), built.obj(), volume("v2").obj())
    version = stage.store.resource_version
    stage.pass_time(1000)
    assert phases(stage) == {"v1": "Bound", "v2": "Available"}
    assert get_claim(stage).status.phase == "Bound"
    assert version == 3


def test_a_volume_whose_claim_got_another_is_free_again() -> None:
    stage = new_stage()
    stage.create(disk("v1").obj(), claim("data").manifest().storage_class("").obj(), disk("v2").obj())
    reserve(stage, "v2")
    assert get_claim(stage).spec.volume_name == "v1"
    assert phases(stage) == {"v1": "Bound", "v2": "Available"}
    assert get_volume(stage, "v2").spec.claim_ref is None


@pytest.mark.parametrize(
    ("annotations", "policy", "after"),
    [
        pytest.param({"pv.kubernetes.io/provisioned-by": "example.com/disk"}, "Delete", {}, id="made for it"),
        pytest.param({"pv.kubernetes.io/provisioned-by": "example.com/disk"}, "Retain", {"v2": "Available"}, id="kept"),
        pytest.param({}, "Delete", {"v2": "Available"}, id="kept for it by hand"),
    ],
)
def test_what_becomes_of_a_volume_that_its_claim_turned_down(
    annotations: dict[str, str], policy: str, after: dict[str, str]
) -> None:
    stage = new_stage()
    stage.create(disk("v1").obj(), claim("data").manifest().storage_class("").obj())
    meta = get_claim(stage).metadata
    late = disk("v2").annotations(annotations).set(persistent_volume_reclaim_policy=policy).obj()
    late.spec.claim_ref = ObjectReference(namespace="default", name="data", uid=meta.uid)
    stage.create(late)
    assert phases(stage) == {"v1": "Bound", **after}
    if after:
        reference = get_volume(stage, "v2").spec.claim_ref
        assert reference is not None
        assert (reference.name, reference.uid) == ("data", "")


def test_making_a_volume_does_not_begin_anew_with_every_change() -> None:
    stage = new_stage()
    stage.create(storage_class("fast").manifest().obj(), claim("data").manifest().storage_class("fast").obj())
    stage.pass_time(2)
    stage.store.modify(
        PersistentVolumeClaim,
        "default",
        "data",
        lambda one: replace(one, metadata=replace(one.metadata, labels={"touched": "yes"})),
        stage.now,
    )
    stage.pass_time(1)
    assert get_claim(stage).status.phase == "Bound"


def test_many_claims_and_volumes_find_each_other() -> None:
    stage = new_stage()
    for number in range(300):
        stage.store.create(disk(f"v{number:03}", f"{number + 1}Gi").obj(), stage.now)
    stage.settle()
    for number in reversed(range(300)):
        stage.store.create(
            claim(f"c{number:03}").manifest().storage_class("").storage(f"{number + 1}Gi").obj(), stage.now
        )
    stage.settle()
    bound = {one.metadata.name[1:]: one.spec.volume_name[1:] for one in stage.store.list(PersistentVolumeClaim)}
    assert all(name == got for name, got in bound.items())
