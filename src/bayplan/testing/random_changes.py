"""What happens in a random world while time passes: a table of changes, each of which draws whom it befalls.

A change takes the world and the time, and says whether there was anybody to befall. Requests go to the store as a
user's would, or through the commands of a simulation; what the store refuses raises `ApiError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias, TypeVar

from msgspec.structs import replace

from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.commands import (
    Command,
    Cordon,
    Delete,
    Drain,
    NodesFail,
    NodesRecover,
    Scale,
    SetLabels,
    SetTaints,
    reference_to,
)
from bayplan.controllers.ownership import is_active
from bayplan.core.columns.shapes import host_ports
from bayplan.model.cluster import Namespace, Service
from bayplan.model.kinds import Object
from bayplan.model.node import ContainerImage, Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.well_known import TAINT_EFFECTS, ZONE
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from bayplan.store import Store
from bayplan.testing.builders import budget, storage_class
from bayplan.testing.random_character import (
    DISKS,
    IMAGE_SIZES,
    IMAGES,
    NAMESPACES,
    RACK,
    RACKS,
    TAINT_KEYS,
    TIERS,
    ZONES,
    Character,
)
from bayplan.testing.random_cluster import DRIVER, bounded, draw_csi_node, draw_extra, draw_node
from bayplan.testing.random_draw import Draw, Table
from bayplan.testing.random_workloads import draw_workload

WORKLOAD_KINDS = (ReplicaSet, ReplicationController, Deployment, StatefulSet, DaemonSet, Job, CronJob)
SCALED_KINDS = (ReplicaSet, ReplicationController, Deployment, StatefulSet, Job)
ROLLED_OUT_KINDS = (Deployment, StatefulSet, DaemonSet)

ObjectT = TypeVar("ObjectT", bound=Object)


class ChangingWorld(Protocol):
    """What changes need of a world."""

    draw: Draw
    character: Character
    store: Store
    failed: list[str]  # nodes that are down
    overcommitted: set[str]  # nodes that may hold more than they have, through no fault of the scheduler

    def command(self, command: Command, now: int) -> None: ...


Change: TypeAlias = Callable[[ChangingWorld, int], bool]


def draw_change(draw: Draw) -> Change:
    return draw.function("change", CHANGES)


def _any(world: ChangingWorld, *kinds: type[ObjectT]) -> ObjectT | None:
    """Any object of these kinds that is not on its way out."""
    found = [obj for kind in kinds for obj in world.store.list(kind) if obj.metadata.deletion_timestamp is None]
    return world.draw.any_of(found) if found else None


def _any_pod(world: ChangingWorld, wanted: Callable[[Pod], bool]) -> Pod | None:
    found = [pod for pod in world.store.list(Pod) if is_active(pod) and wanted(pod)]
    return world.draw.any_of(found) if found else None


def _is_pending(pod: Pod) -> bool:
    return not pod.spec.node_name


def _modify(world: ChangingWorld, obj: ObjectT, now: int, **fields: Any) -> bool:
    """With other fields than it has now; False where there is no object."""
    target = reference_to(obj)
    world.store.modify(target.kind, target.namespace, target.name, lambda stored: replace(stored, **fields), now)
    return True


# ---------------------------------------------------------------- workloads and pods


def create_workload(world: ChangingWorld, now: int) -> bool:
    made = draw_workload(world.draw, world.character)
    if isinstance(made, Pod) and made.spec.node_name:
        world.overcommitted.add(made.spec.node_name)
    world.store.create(made, now)
    return True


def create_extra(world: ChangingWorld, now: int) -> bool:
    world.store.create(draw_extra(world.draw, world.character), now)
    return True


def scale(world: ChangingWorld, now: int) -> bool:
    found = _any(world, *SCALED_KINDS)
    if found is None:
        return False
    world.command(Scale((reference_to(found),), world.draw.number(0, 6)), now)
    return True


def roll_out(world: ChangingWorld, now: int) -> bool:
    found: Any = _any(world, *ROLLED_OUT_KINDS)
    if found is None:
        return False
    template = found.spec.template
    first, *others = template.spec.containers
    image, cpu = world.draw.any_of(IMAGES), world.draw.any_of(world.character.cpus)
    requests = {**first.resources.requests, "cpu": cpu}
    changed = replace(first, image=image, resources=replace(first.resources, requests=requests))
    spec = replace(template.spec, containers=[changed, *others])
    return _modify(world, found, now, spec=replace(found.spec, template=replace(template, spec=spec)))


def delete_workload(world: ChangingWorld, now: int) -> bool:
    found = _any(world, *WORKLOAD_KINDS)
    if found is None:
        return False
    target, propagation = reference_to(found), world.draw.pick("propagation", "Background", "Foreground", "Orphan")
    world.store.delete(target.kind, target.namespace, target.name, now, propagation=propagation)
    return True


def suspend(world: ChangingWorld, now: int) -> bool:
    found: Any = _any(world, Job, CronJob)
    return found is not None and _modify(world, found, now, spec=replace(found.spec, suspend=not found.spec.suspend))


def delete_pod(world: ChangingWorld, now: int) -> bool:
    found = _any(world, Pod)
    if found is None:
        return False
    world.command(Delete((reference_to(found),), world.draw.pick("deletion grace", None, 0, 2)), now)
    return True


def remove_gate(world: ChangingWorld, now: int) -> bool:
    found = _any_pod(world, lambda pod: bool(pod.spec.scheduling_gates))
    if found is None:
        return False
    return _modify(world, found, now, spec=replace(found.spec, scheduling_gates=found.spec.scheduling_gates[1:]))


def label_pod(world: ChangingWorld, now: int) -> bool:
    found = _any_pod(world, lambda _: True)
    if found is None:
        return False
    labels = {**found.metadata.labels, "tier": world.draw.any_of(TIERS)}
    return _modify(world, found, now, metadata=replace(found.metadata, labels=labels))


def add_toleration(world: ChangingWorld, now: int) -> bool:
    found = _any_pod(world, _is_pending)
    if found is None:
        return False
    added = Toleration(key=world.draw.any_of(TAINT_KEYS), operator="Exists")
    return _modify(world, found, now, spec=replace(found.spec, tolerations=[*found.spec.tolerations, added]))


def nominate_from_outside(world: ChangingWorld, now: int) -> bool:
    found, node = _any_pod(world, _is_pending), _any(world, Node)
    if found is None or node is None:
        return False
    status = replace(found.status, nominated_node_name=node.metadata.name)
    meta = found.metadata
    world.store.modify_status(Pod, meta.namespace, meta.name, lambda pod: replace(pod, status=status), now)
    return True


def bind_by_hand(world: ChangingWorld, now: int) -> bool:
    found = _any_pod(world, lambda pod: _is_pending(pod) and not host_ports(pod.spec))
    node = _any(world, Node)
    if found is None or node is None:
        return False
    world.overcommitted.add(node.metadata.name)
    world.store.bind(found.metadata.namespace, found.metadata.name, node.metadata.name, "", now)
    return True


# ---------------------------------------------------------------- nodes


def add_node(world: ChangingWorld, now: int) -> bool:
    for obj in draw_node(world.draw):
        world.store.create(obj, now)
    return True


def _on_node(command: Callable[[ChangingWorld, str], Command]) -> Change:
    """A change that is a command about any node."""

    def change(world: ChangingWorld, now: int) -> bool:
        node = _any(world, Node)
        if node is not None:
            world.command(command(world, node.metadata.name), now)
        return node is not None

    change.__name__ = command.__name__
    return change


@_on_node
def remove_node(world: ChangingWorld, name: str) -> Command:  # noqa: ARG001
    return Delete((Reference("Node", "", name),))


@_on_node
def cordon(world: ChangingWorld, name: str) -> Command:
    return Cordon((name,), unschedulable=world.draw.pick("cordon", True, True, False))


@_on_node
def drain(world: ChangingWorld, name: str) -> Command:  # noqa: ARG001
    return Drain((name,))


@_on_node
def fail_node(world: ChangingWorld, name: str) -> Command:
    world.failed.append(name)
    return NodesFail((name,))


@_on_node
def taint(world: ChangingWorld, name: str) -> Command:
    draw = world.draw
    key, value = draw.any_of(TAINT_KEYS), draw.any_of(("yes", "no"))
    return SetTaints((name,), add=(Taint(key=key, value=value, effect=draw.pick("taint effect", *TAINT_EFFECTS)),))


@_on_node
def remove_taint(world: ChangingWorld, name: str) -> Command:
    return SetTaints((name,), remove=((world.draw.any_of(TAINT_KEYS), ""),))


@_on_node
def relabel(world: ChangingWorld, name: str) -> Command:
    labels: Mapping[str, tuple[str | None, ...]] = {ZONE: (*ZONES, None), RACK: (*RACKS, None), "disk": DISKS}
    key = world.draw.pick("relabelled", *labels)
    return SetLabels((name,), {key: world.draw.any_of(labels[key])})


def recover_node(world: ChangingWorld, now: int) -> bool:
    if not world.failed:
        return False
    world.command(NodesRecover((world.failed.pop(),)), now)
    return True


def resize_node(world: ChangingWorld, now: int) -> bool:
    node = _any(world, Node)
    if node is None:
        return False
    name, draw = node.metadata.name, world.draw
    world.overcommitted.add(name)
    status = replace(node.status, allocatable={**node.status.allocatable, "cpu": draw.any_of(("1", "4", "16"))})
    if draw.chance(0.3):
        image = draw.any_of(IMAGES)
        status = replace(status, images=[ContainerImage(names=[image], size_bytes=IMAGE_SIZES[image])])
    world.store.modify_status(Node, "", name, lambda stored: replace(stored, status=status), now)
    return True


# ---------------------------------------------------------------- the rest


def change_budget(world: ChangingWorld, now: int) -> bool:
    found = _any(world, PodDisruptionBudget)
    if found is None:
        return False
    wanted = bounded(world.draw, budget("ignored")).obj().spec
    return _modify(world, found, now, spec=replace(wanted, selector=found.spec.selector))


def delete_extra(world: ChangingWorld, now: int) -> bool:
    kinds = (PodDisruptionBudget, Service, PersistentVolumeClaim, PersistentVolume, CSIStorageCapacity)
    found = _any(world, *kinds, VolumeAttachment)
    if found is None:
        return False
    target = reference_to(found)
    world.store.delete(target.kind, target.namespace, target.name, now)
    return True


def change_volume_limit(world: ChangingWorld, now: int) -> bool:
    found = _any(world, CSINode)
    if found is None:
        return False
    return _modify(world, found, now, spec=draw_csi_node(world.draw, found.metadata.name).obj().spec)


def create_absent_class(world: ChangingWorld, now: int) -> bool:
    """The class that claims have named in vain until now."""
    if world.store.find(StorageClass, "", "absent") is not None:
        return False
    mode = world.draw.pick("binding mode", "Immediate", "WaitForFirstConsumer")
    world.store.create(storage_class("absent", mode=mode, provisioner=DRIVER).manifest().obj(), now)
    return True


def relabel_namespace(world: ChangingWorld, now: int) -> bool:
    found = _any(world, Namespace)
    if found is None:
        return False
    labels = {"kubernetes.io/metadata.name": found.metadata.name} | world.draw.any_of(({}, {"team": "x"}))
    return _modify(world, found, now, metadata=replace(found.metadata, labels=labels))


def delete_namespace(world: ChangingWorld, now: int) -> bool:
    found = world.store.find(Namespace, "", world.draw.any_of([*NAMESPACES][1:]))
    if found is None or found.metadata.deletion_timestamp is not None:
        return False
    world.store.delete(Namespace, "", found.metadata.name, now)
    return True


CHANGES: Table[bool] = (
    (30, create_workload),
    (6, create_extra),
    (6, scale),
    (4, roll_out),
    (3, delete_workload),
    (1, suspend),
    (6, delete_pod),
    (4, remove_gate),
    (2, label_pod),
    (1, add_toleration),
    (1, nominate_from_outside),
    (1, bind_by_hand),
    (3, add_node),
    (1, remove_node),
    (3, cordon),
    (1, drain),
    (2, fail_node),
    (2, recover_node),
    (3, taint),
    (2, remove_taint),
    (2, relabel),
    (2, resize_node),
    (2, change_budget),
    (2, delete_extra),
    (1, change_volume_limit),
    (1, create_absent_class),
    (1, relabel_namespace),
    (1, delete_namespace),
)
