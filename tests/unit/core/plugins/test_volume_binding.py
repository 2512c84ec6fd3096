"""VolumeBinding against its rules, one at a time."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import row_array
from bayplan.core.framework.contract import Ready
from bayplan.core.framework.verdict import Code, CycleError
from bayplan.core.plugins.csi_migration import MIGRATED_PLUGINS_ANNOTATION
from bayplan.core.plugins.volume_binding import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    UNBOUND_IMMEDIATE,
    VOLUME_MISSING,
    VolumeBinding,
    assumed,
)
from bayplan.core.plugins.volume_claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
)
from bayplan.model.volumes import AWSElasticBlockStoreVolumeSource
from bayplan.model.well_known import BETA_STORAGE_CLASS, ZONE
from bayplan.testing.builders import claim, csi_node, node, pod, selector, storage_class, volume

NODES = [node("a").zone("x").obj(), node("b").zone("y").obj()]
LOCAL = storage_class("late", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj()
MADE = storage_class("late", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
LATE = claim("data").storage_class("late")
POD = pod("p").claim("data").obj()


def reasons(*objects: Object, waiting: Pod = POD) -> dict[str, tuple[str, ...]]:
    """What the plugin says of nodes a (zone x) and b (zone y)."""
    found = verdicts(VolumeBinding(gates=DEFAULT_GATES), cache_of(*NODES, *objects), waiting)
    assert all(status.code is Code.UNRESOLVABLE for status in found.values() if not status.ok)
    return {name: status.reasons for name, status in found.items()}


def local(name: str, zone: str, size: str = "1Gi") -> PersistentVolume:
    return volume(name).storage_class("late").storage(size).node_affinity(f"{ZONE}={zone}").obj()


# Bound claims.


def test_bound_volume_is_reached_by_its_node_affinity() -> None:
    """A bound volume holds the pod to the nodes its affinity names."""
    found = reasons(claim("data").bound("pv").obj(), volume("pv").node_affinity(f"{ZONE}=x").obj())
    assert found == {"a": (), "b": (NODE_CONFLICT,)}


def test_bound_volume_without_affinity_is_reached_from_anywhere() -> None:
    """Most network volumes restrict nothing."""
    assert reasons(claim("data").bound("pv").obj(), volume("pv").obj()) == {"a": (), "b": ()}


def test_fields_of_the_affinity_are_not_looked_at() -> None:
    """Upstream checks labels only: a term on the name alone matches every node."""
    found = reasons(claim("data").bound("pv").obj(), volume("pv").node_affinity("metadata.name=a").obj())
    assert found == {"a": (), "b": ()}


def test_the_first_failing_claim_decides() -> None:
    """A missing volume is told only where the claims before it are fine."""
    objects: list[Object] = [
        claim("one").bound("pv").obj(),
        volume("pv").node_affinity(f"{ZONE}=x").obj(),
        claim("two").bound("z").obj(),
    ]
    first = reasons(*objects, waiting=pod("p").claim("one").claim("two").obj())
    assert first == {"a": (VOLUME_MISSING,), "b": (NODE_CONFLICT,)}
    second = reasons(*objects, waiting=pod("p").claim("two").claim("one").obj())
    assert second == {"a": (VOLUME_MISSING,), "b": (VOLUME_MISSING,)}


def test_migrated_volume_is_reached_by_its_drivers_labels() -> None:
    """Where the kubelet left a plugin's disks to CSI the affinity is read in the driver's labels."""
    disk = AWSElasticBlockStoreVolumeSource(volume_id="vol-1")
    driver_zone = "topology.ebs.csi.aws.com/zone"
    migrated = {MIGRATED_PLUGINS_ANNOTATION: "kubernetes.io/aws-ebs"}
    cache = cache_of(
        node("old").zone("x").obj(),
        node("new").label(driver_zone, "x").obj(),
        node("both").zone("x").obj(),
        csi_node("old").obj(),
        csi_node("new").annotations(migrated).obj(),
        csi_node("both").annotations(migrated).obj(),
        claim("data").bound("pv").obj(),
        volume("pv").set(aws_elastic_block_store=disk).node_affinity(f"{ZONE}=x").obj(),
    )
    found = verdicts(VolumeBinding(gates=DEFAULT_GATES), cache, POD)
    assert {name: status.ok for name, status in found.items()} == {"old": True, "new": True, "both": False}


def test_untranslatable_volume_ends_the_attempt() -> None:
    """A migrated volume with a handle that makes no sense is an error."""
    disk = AWSElasticBlockStoreVolumeSource(volume_id="aws://bad")
    annotated = csi_node("a").annotations({MIGRATED_PLUGINS_ANNOTATION: "kubernetes.io/aws-ebs"}).obj()
    bound: list[Object] = [claim("data").bound("pv").obj(), volume("pv").set(aws_elastic_block_store=disk).obj()]
    assert reasons(*bound) == {"a": (), "b": ()}
    with pytest.raises(CycleError, match="could not translate pv"):
        reasons(*bound, annotated)


def test_errors_are_about_the_nodes_asked_for() -> None:
    """A disk that cannot be translated matters only on nodes that leave it to CSI, and that others let through."""
    disk = AWSElasticBlockStoreVolumeSource(volume_id="aws://bad")
    cache = cache_of(
        node("a").obj(),
        node("b").obj(),
        csi_node("a").annotations({MIGRATED_PLUGINS_ANNOTATION: "kubernetes.io/aws-ebs"}).obj(),
        claim("data").bound("pv").obj(),
        volume("pv").set(aws_elastic_block_store=disk).obj(),
    )
    _, view, outcome = prepared(VolumeBinding(gates=DEFAULT_GATES), cache, POD)
    assert VolumeBinding(gates=DEFAULT_GATES).filter(outcome.state, view, row_array([1])).tolist() == [0]
    with pytest.raises(CycleError, match="could not translate pv"):
        VolumeBinding(gates=DEFAULT_GATES).filter(outcome.state, view, row_array([0]))


# Claims that stop the pod at once.


def lost() -> PersistentVolumeClaim:
    made = claim("data").bound("gone").obj()
    made.status.phase = "Lost"
    return made


def deleted() -> PersistentVolumeClaim:
    made = claim("data").bound("pv").obj()
    made.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    return made


def half_bound() -> PersistentVolumeClaim:
    made = LATE.obj()
    made.spec.volume_name = "pv"
    return made


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        pytest.param([], 'persistentvolumeclaim "data" not found', id="missing"),
        pytest.param([lost()], 'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"', id="lost"),
        pytest.param([deleted()], 'persistentvolumeclaim "data" is being deleted', id="deleted"),
        pytest.param([claim("data").obj()], UNBOUND_IMMEDIATE, id="no-class"),
        pytest.param([LATE.obj()], UNBOUND_IMMEDIATE, id="class-missing"),
        pytest.param([LATE.obj(), storage_class("late").obj()], UNBOUND_IMMEDIATE, id="immediate"),
        pytest.param([half_bound(), LOCAL, volume("pv").obj()], UNBOUND_IMMEDIATE, id="named-but-not-bound"),
    ],
)
def test_claims_that_stop_the_pod(objects: list[Object], reason: str) -> None:
    """A claim that cannot be waited for on a node rejects the pod everywhere."""
    assert reasons(*objects) == {"*": (reason,)}


def test_ephemeral_claims() -> None:
    """The claim of an ephemeral volume must exist and belong to the pod."""
    user = pod("p").uid("p-uid").ephemeral("tmp").obj()
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-tmp"'
    assert reasons(waiting=user) == {"*": (waiting,)}
    made = claim("p-tmp").bound("pv").obj()
    stranger = "PVC default/p-tmp was not created for pod default/p (pod is not owner)"
    assert reasons(made, waiting=user) == {"*": (stranger,)}
    made.metadata.owner_references = [OwnerReference(kind="Pod", name="p", uid="p-uid", controller=True)]
    assert reasons(made, volume("pv").obj(), waiting=user) == {"a": (), "b": ()}


def test_class_without_binding_mode_ends_the_attempt() -> None:
    """A class that does not say when to bind is an error."""
    with pytest.raises(CycleError, match='VolumeBindingMode not set for StorageClass "late"'):
        reasons(LATE.obj(), storage_class("late", mode=None).obj())


def test_no_claims_nothing_to_do() -> None:
    """Pods without claims skip the plugin."""
    assert reasons(waiting=pod("p").obj()) == {}


# Claims that wait for their first consumer: volumes that exist.


def with_claim_ref(name: str, zone: str, claimed: str, uid: str = "") -> PersistentVolume:
    made = local(name, zone)
    made.spec.claim_ref = claim_reference(claimed)
    made.spec.claim_ref.uid = uid
    return made


def claim_reference(name: str):  # type: ignore[no-untyped-def]
    return volume("x").bound_to(claim(name)).obj().spec.claim_ref


def altered(**fields: object) -> PersistentVolume:
    made = local("pv", "x")
    for name, value in fields.items():
        setattr(made.spec, name, value)
    return made


def not_available() -> PersistentVolume:
    made = local("pv", "x")
    made.status.phase = "Released"
    return made


def going() -> PersistentVolume:
    made = local("pv", "x")
    made.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    return made


@pytest.mark.parametrize(
    ("made", "reachable"),
    [
        pytest.param(local("pv", "x"), "a", id="in-zone"),
        pytest.param(local("pv", "x", "2Gi"), "a", id="larger"),
        pytest.param(local("pv", "x", "1023Mi"), "", id="too-small"),
        pytest.param(volume("pv").storage_class("other").obj(), "", id="other-class"),
        pytest.param(volume("pv").annotations({BETA_STORAGE_CLASS: "late"}).obj(), "ab", id="class-by-annotation"),
        pytest.param(altered(volume_mode="Block"), "", id="other-mode"),
        pytest.param(altered(volume_mode=None), "a", id="default-mode"),
        pytest.param(altered(access_modes=["ReadOnlyMany"]), "", id="other-access"),
        pytest.param(altered(access_modes=["ReadOnlyMany", "ReadWriteOnce"]), "a", id="more-access"),
        pytest.param(altered(volume_attributes_class_name="gold"), "", id="other-attributes"),
        pytest.param(not_available(), "", id="not-available"),
        pytest.param(going(), "", id="being-deleted"),
        pytest.param(with_claim_ref("pv", "x", "data"), "a", id="kept-for-it"),
        pytest.param(with_claim_ref("pv", "x", "data", uid="another"), "", id="kept-for-its-forerunner"),
        pytest.param(with_claim_ref("pv", "x", "else"), "", id="kept-for-another"),
    ],
)
def test_which_volumes_fit(made: PersistentVolume, reachable: str) -> None:
    """Without a provisioner the pod goes only where a fitting volume can be reached."""
    found = reasons(LATE.obj(), LOCAL, made)
    assert found == {name: () if name in reachable else (BIND_CONFLICT,) for name in "ab"}


def test_volume_selector() -> None:
    """A claim with a selector takes labeled volumes only."""
    wanted = LATE.obj()
    wanted.spec.selector = selector("tier=gold")
    labeled = volume("pv").storage_class("late").labels(tier="gold").node_affinity(f"{ZONE}=x").obj()
    assert reasons(wanted, LOCAL, labeled, local("other", "y")) == {"a": (), "b": (BIND_CONFLICT,)}


def test_invalid_volume_selector_ends_the_attempt() -> None:
    """A selector that does not parse is an error that names the claim."""
    wanted = LATE.obj()
    wanted.spec.selector = selector("tier in ()")
    wanted.spec.selector.match_expressions[0].values = []
    with pytest.raises(CycleError, match="label selector for claim: default/data"):
        reasons(wanted, LOCAL)


def test_kept_volume_is_the_only_choice() -> None:
    """Where a volume kept for the claim cannot be reached no other volume will do."""
    found = reasons(LATE.obj(), LOCAL, with_claim_ref("kept", "x", "data"), local("free", "y"))
    assert found == {"a": (), "b": (BIND_CONFLICT,)}


def test_claims_share_out_the_volumes() -> None:
    """Each claim gets a volume of its own, the smallest claim first and the smallest volume first."""
    small, large = claim("s").storage_class("late"), claim("l").storage_class("late").storage("5Gi")
    user = pod("p").claim("l").claim("s").obj()
    fits = [local("pv1", "x", "5Gi"), local("pv2", "x", "3Gi"), local("pv3", "y", "5Gi")]
    assert reasons(small.obj(), large.obj(), LOCAL, *fits, waiting=user) == {"a": (), "b": (BIND_CONFLICT,)}


def test_pod_volumes_and_what_they_change() -> None:
    """The chosen volumes are kept for their claims and the rest is made for the chosen node."""
    cache = cache_of(
        *NODES,
        MADE,
        claim("s").storage_class("late").obj(),
        claim("l").storage_class("late").storage("5Gi").obj(),
        local("pv1", "x", "2Gi"),
        local("pv2", "x", "1Gi"),
    )
    plugin = VolumeBinding(gates=DEFAULT_GATES)
    _, view, outcome = prepared(plugin, cache, pod("p").claim("l").claim("s").obj())
    assert isinstance(outcome, Ready)
    chosen = plugin.volumes_on(outcome.state, view, view.nodes.rows_by_name["a"])
    assert [(pv.metadata.name, pvc.metadata.name) for pv, pvc in chosen.static] == [("pv2", "s")]
    assert [pvc.metadata.name for pvc in chosen.provisioned] == ["l"]
    kept, told = assumed(chosen, "a")
    assert isinstance(kept, PersistentVolume)
    assert kept.spec.claim_ref == claim_reference("s")
    assert kept.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    assert told.metadata.annotations == {SELECTED_NODE: "a"}
    assert view.objects.volumes["pv2"].spec.claim_ref is None
    elsewhere = plugin.volumes_on(outcome.state, view, view.nodes.rows_by_name["b"])
    assert [pvc.metadata.name for pvc in elsewhere.provisioned] == ["s", "l"]


# Claims that wait for their first consumer: volumes to be made.


def allowing(*terms: dict[str, list[str]]) -> StorageClass:
    made = storage_class("late", mode="WaitForFirstConsumer", provisioner="disk.example.com").obj()
    made.allowed_topologies = [
        TopologySelectorTerm(
            match_label_expressions=[
                TopologySelectorLabelRequirement(key=key, values=values) for key, values in term.items()
            ]
        )
        for term in terms
    ]
    return made


@pytest.mark.parametrize(
    ("made", "allowed"),
    [
        pytest.param(MADE, "ab", id="anywhere"),
        pytest.param(LOCAL, "", id="no-provisioner"),
        pytest.param(allowing({ZONE: ["x", "z"]}), "a", id="one-zone"),
        pytest.param(allowing({ZONE: ["x"]}, {ZONE: ["y"]}), "ab", id="either-term"),
        pytest.param(allowing({ZONE: ["x"], "rack": ["1"]}), "", id="all-keys"),
        pytest.param(allowing({}), "", id="empty-term"),
        pytest.param(allowing({ZONE: []}), "", id="no-values"),
    ],
)
def test_where_volumes_can_be_made(made: StorageClass, allowed: str) -> None:
    """A volume is made where the class has a provisioner and allows the node's topology."""
    assert reasons(LATE.obj(), made) == {name: () if name in allowed else (BIND_CONFLICT,) for name in "ab"}


def capacity(topology: str | None, *, capacity: str | None = None, largest: str | None = None) -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=ObjectMeta(name="c", namespace="default"),
        node_topology=None if topology is None else selector(topology),
        storage_class_name="late",
        capacity=capacity,
        maximum_volume_size=largest,
    )


def driver(*, tells: bool | None) -> CSIDriver:
    return CSIDriver(metadata=ObjectMeta(name="disk.example.com"), spec=CSIDriverSpec(storage_capacity=tells))


@pytest.mark.parametrize(
    ("objects", "enough"),
    [
        pytest.param([driver(tells=None)], "ab", id="driver-does-not-tell"),
        pytest.param([driver(tells=False)], "ab", id="driver-says-no"),
        pytest.param([driver(tells=True)], "", id="nothing-told"),
        pytest.param([driver(tells=True), capacity(f"{ZONE}=x", capacity="1Gi")], "a", id="just-enough"),
        pytest.param([driver(tells=True), capacity(f"{ZONE}=x", capacity="1023Mi")], "", id="too-little"),
        pytest.param([driver(tells=True), capacity("", capacity="1Gi")], "ab", id="everywhere"),
        pytest.param([driver(tells=True), capacity(None, capacity="1Gi")], "", id="nowhere"),
        pytest.param([driver(tells=True), capacity("", capacity="9Gi", largest="1Mi")], "", id="largest-counts"),
        pytest.param([driver(tells=True), capacity("")], "", id="unknown"),
        pytest.param([capacity("", capacity="1Mi")], "ab", id="no-driver-object"),
    ],
)
def test_storage_capacity(objects: list[Object], enough: str) -> None:
    """A driver that tells its capacity must have enough within the node's reach."""
    found = reasons(LATE.obj(), MADE, *objects)
    assert found == {name: () if name in enough else (NOT_ENOUGH_SPACE,) for name in "ab"}


def test_claims_without_a_size_need_no_space() -> None:
    """Nothing asked, nothing checked."""
    wanted = LATE.obj()
    wanted.spec.resources.requests.clear()
    assert reasons(wanted, MADE, driver(tells=True)) == {"a": (), "b": ()}


def test_provisioning_replaces_the_matching_verdict() -> None:
    """A claim without a volume on a node passes there if one can be made."""
    assert reasons(LATE.obj(), MADE, local("pv", "x")) == {"a": (), "b": ()}


def test_selected_node() -> None:
    """A claim already being made for a node holds the pod there, and no existing volume is looked for."""
    selected = LATE.obj()
    selected.metadata.annotations[SELECTED_NODE] = "b"
    assert reasons(selected, MADE) == {"a": (BIND_CONFLICT,), "b": ()}
    assert reasons(selected, LOCAL, local("pv", "y")) == {"a": (BIND_CONFLICT,), "b": (BIND_CONFLICT,)}


def test_reasons_come_together_in_order() -> None:
    """Bound and unbound claims fail a node independently."""
    bound: list[Object] = [claim("old").bound("pv").obj(), volume("pv").node_affinity(f"{ZONE}=x").obj()]
    user = pod("p").claim("data").claim("old").obj()
    assert reasons(*bound, LATE.obj(), LOCAL, waiting=user) == {
        "a": (BIND_CONFLICT,),
        "b": (NODE_CONFLICT, BIND_CONFLICT),
    }
    assert reasons(*bound, LATE.obj(), MADE, driver(tells=True), waiting=user) == {
        "a": (NOT_ENOUGH_SPACE,),
        "b": (NODE_CONFLICT, NOT_ENOUGH_SPACE),
    }
    gone = claim("old").bound("gone").obj()
    assert reasons(gone, LATE.obj(), LOCAL, waiting=user) == dict.fromkeys("ab", (BIND_CONFLICT, VOLUME_MISSING))
