"""What happens in a random world to objects other than workloads, pods and nodes: they change, go, and come again.

Takes the world and the time, as the changes of `changes` do, whose table includes the one here. A test checks
that objects of every kind that the scheduler hears of come, change and go in some world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from tests.random_worlds.character import Character
from tests.random_worlds.cluster import (
    a_csi_driver,
    a_csi_node,
    a_priority_class,
    a_service,
    a_storage_capacity,
    a_storage_class,
    a_volume_attachment,
    bounded,
)
from tests.random_worlds.devices import a_device_class, a_taint_rule, draw_device_taint, draw_devices
from tests.random_worlds.draw import Draw, Table
from tests.random_worlds.targets import ChangingWorld, any_object, applies_to, modify, modify_status
from tests.support.devices import asks, claim_of, held

from bayplan.analysis.simulation.inputs.commands import LabelObjects, Restate, reference_to
from bayplan.model.cluster import Namespace, PriorityClass, Service
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import NodeSelector
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.structs import replace
from bayplan.model.well_known import HOSTNAME
from bayplan.testing import builders as make

#: Of these kinds objects are replaced by others of the same name.
MAKERS: Mapping[type[Object], Callable[[Draw, Character], Object]] = {
    Service: a_service,
    PriorityClass: a_priority_class,
    StorageClass: a_storage_class,
    CSINode: a_csi_node,
    CSIDriver: a_csi_driver,
    CSIStorageCapacity: a_storage_capacity,
    VolumeAttachment: a_volume_attachment,
    DeviceClass: a_device_class,
    DeviceTaintRule: a_taint_rule,
}
#: What may change while such an object stays; kinds that are not here can only be replaced.
CHANGED_FIELDS: Mapping[type[Object], str] = {
    Service: "spec",
    CSINode: "spec",
    CSIDriver: "spec",
    CSIStorageCapacity: "capacity",
    DeviceClass: "spec",
    DeviceTaintRule: "spec",
}
DELETED = (
    *MAKERS,
    *(Namespace, PodDisruptionBudget, PersistentVolumeClaim, PersistentVolume, ResourceClaim, ResourceSlice),
)


def _some(world: ChangingWorld, kinds: Iterable[type[Object]], share: float) -> Iterator[Object]:
    """An object of each of some kinds, drawn by kind: of some there are many objects, of others one."""
    for kind in kinds:
        found = any_object(world, world.store.list(kind)) if world.draw.chance(share) else None
        if found is not None:
            yield found


def change_objects(world: ChangingWorld, now: int) -> bool:
    for found in (changed := list(_some(world, CHANGED_FIELDS, 0.5))):
        field = CHANGED_FIELDS[type(found)]
        drawn = MAKERS[type(found)](world.draw, world.character)
        world.command(Restate(replace(found, **{field: getattr(drawn, field)})), now)
    return bool(changed)


def replace_objects(world: ChangingWorld, now: int) -> bool:
    """Others of the same names at the same instant."""
    for found in (replaced := list(_some(world, MAKERS, 0.2))):
        drawn = MAKERS[type(found)](world.draw, world.character)
        drawn.metadata.name, drawn.metadata.namespace = found.metadata.name, found.metadata.namespace
        target = reference_to(found)
        world.store.delete(target.kind, target.namespace, target.name, now)
        world.store.create(drawn, now)
    return bool(replaced)


def label_objects(world: ChangingWorld, now: int) -> bool:
    found = tuple(reference_to(each) for each in _some(world, DELETED, 0.5))
    world.command(LabelObjects(found, {"seen": world.draw.any_of(("yes", "no", None))}), now)
    return bool(found)


def delete_objects(world: ChangingWorld, now: int) -> bool:
    deleted = [found for found in _some(world, DELETED, 0.25) if found.metadata.name != "default"]
    for target in map(reference_to, deleted):
        world.store.delete(target.kind, target.namespace, target.name, now)
    return bool(deleted)


# ---------------------------------------------------------------- changes of one kind


@applies_to(PodDisruptionBudget)
def change_budget(world: ChangingWorld, changed: PodDisruptionBudget, now: int) -> None:
    wanted = bounded(world.draw, make.budget("ignored")).obj().spec
    modify(world, changed, now, spec=replace(wanted, selector=changed.spec.selector))


@applies_to(ResourceSlice)
def change_devices(world: ChangingWorld, changed: ResourceSlice, now: int) -> None:
    pool = replace(changed.spec.pool, generation=changed.spec.pool.generation + 1)
    modify(world, changed, now, spec=replace(changed.spec, pool=pool, devices=draw_devices(world.draw)))


@applies_to(ResourceSlice)
def taint_device(world: ChangingWorld, changed: ResourceSlice, now: int) -> None:
    """One device of the slice gets a taint, or loses those it has."""
    chosen = world.draw.any_of(changed.spec.devices)
    taints = [] if chosen.taints else [draw_device_taint(world.draw)]
    devices = [replace(chosen, taints=taints) if each is chosen else each for each in changed.spec.devices]
    modify(world, changed, now, spec=replace(changed.spec, devices=devices))


@applies_to(Node)
def strand_claim(world: ChangingWorld, node: Node, now: int) -> None:
    """Somebody else gives a claim devices that can be reached only from a node where its pod must not go."""
    name, where = world.draw.name("stranded"), node.metadata.name
    claim = claim_of(name, asks("any"), namespace=world.draw.any_of(world.character.namespaces))
    claim.metadata.uid = ""
    stored = world.store.create(claim, now)
    status = held(claim, "outside", name).status
    assert status.allocation is not None
    reached_from = make.node_term(f"{HOSTNAME}={where}")
    status.allocation.node_selector = NodeSelector(node_selector_terms=[reached_from])
    modify_status(world, stored, now, status)
    user = make.pod(name, claim.metadata.namespace).cpu("100m").resource_claim("devices", name)
    world.store.create(user.node_affinity(f"{HOSTNAME} notin ({where})").manifest().obj(), now)


@applies_to(Namespace)
def relabel_namespace(world: ChangingWorld, namespace: Namespace, now: int) -> None:
    labels = {"kubernetes.io/metadata.name": namespace.metadata.name} | world.draw.any_of(({}, {"team": "x"}))
    modify(world, namespace, now, metadata=replace(namespace.metadata, labels=labels))


OBJECT_CHANGES: Table[bool] = (
    (4, change_objects),
    (3, replace_objects),
    (4, label_objects),
    (6, delete_objects),
    (6, change_budget),
    (2, change_devices),
    (2, strand_claim),
    (6, taint_device),
    (2, relabel_namespace),
)
