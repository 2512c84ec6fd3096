"""What happens in a random world while time passes: a table of changes, each of which draws whom it befalls.

A change takes the world and the time, and says whether there was anybody for it to befall. Requests go to the store as
a user's would, or through the commands of a simulation; what the store refuses raises `ApiError`.
"""

from __future__ import annotations

from collections.abc import Mapping

from bayplan.analysis.simulation.inputs.commands import (
    Apply,
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
from bayplan.model.conditions import FALSE, TRUE, is_ready, with_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.node import ContainerImage, Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import DeviceTaintRule, ResourceClaim, ResourceSlice
from bayplan.model.storage import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.structs import replace
from bayplan.model.time_units import MILLISECOND
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import READY, TAINT_EFFECTS, ZONE
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from bayplan.testing import builders as make
from bayplan.testing.clusters import DRIVER
from bayplan.testing.random_befalling import (
    Change,
    ChangingWorld,
    any_pod,
    befalls,
    is_pending,
    modify,
    modify_status,
)
from bayplan.testing.random_character import (
    DISKS,
    IMAGE_SIZES,
    IMAGES,
    RACK,
    RACKS,
    TAINT_KEYS,
    TIERS,
    ZONES,
)
from bayplan.testing.random_cluster import bounded, draw_csi_node, draw_extra, draw_node
from bayplan.testing.random_devices import draw_device_taint, draw_devices
from bayplan.testing.random_draw import Draw, Table
from bayplan.testing.random_moments import (
    create_pods_at_once,
    flicker,
    let_go,
    recreate_pod,
    replace_node,
    resize_pod,
    toggle_taint,
)
from bayplan.testing.random_workloads import draw_workload

# ---------------------------------------------------------------- workloads and pods


def create_workload(world: ChangingWorld, now: int) -> bool:
    made = draw_workload(world.draw, world.character)
    if isinstance(made, Pod) and made.spec.node_name:
        world.overcommitted.add(made.spec.node_name)
    world.store.create(made, now)
    return True


def fill_and_preempt(world: ChangingWorld, now: int) -> bool:
    """Pods that fill the nodes, and soon after equal ones that want their places, one after another.

    What the first search finds of possible victims is used again in the next. Meanwhile the victims start and change
    what their budget allows, and what is known must be put right.
    """
    draw, name = world.draw, world.draw.name("filler")
    namespace, many = draw.any_of(world.character.namespaces), 2 * min(world.character.nodes, 8)
    for kind in (f"{name}-guarded", name):
        template = make.pod(kind, namespace).cpu("1").priority(None, class_name="low").labels(workload=kind)
        filling = make.replica_set(kind, namespace).replicas(many).selects(workload=kind).template(template)
        world.store.create(filling.manifest().obj(), now)
    if draw.pick("fillers have a budget", True, False):
        guard = make.budget(name, namespace).selects(workload=f"{name}-guarded").min_available(draw.number(1, many))
        world.store.create(guard.manifest().obj(), now)
    start, gap = draw.number(100, 2_000), draw.pick("milliseconds between equal preemptors", 20, 300, 1_500)
    for place in range(draw.number(2, 5)):
        preemptor = make.pod(f"{name}-preemptor-{place}", namespace).cpu("2").priority(None, class_name="high")
        world.command(Apply((preemptor.manifest().obj(),)), now + (start + place * gap) * MILLISECOND)
    return True


def create_extra(world: ChangingWorld, now: int) -> bool:
    world.store.create(draw_extra(world.draw, world.character), now)
    return True


@befalls(ReplicaSet, ReplicationController, Deployment, StatefulSet, Job)
def scale(world: ChangingWorld, workload: Object, now: int) -> None:
    world.command(Scale((reference_to(workload),), world.draw.number(0, 6)), now)


@befalls(Deployment, StatefulSet, DaemonSet)
def roll_out(world: ChangingWorld, workload: Deployment, now: int) -> None:
    template = workload.spec.template
    first, *others = template.spec.containers
    requests = {**first.resources.requests, "cpu": world.draw.any_of(world.character.cpus)}
    resources = replace(first.resources, requests=requests)
    changed = replace(first, image=world.draw.any_of(IMAGES), resources=resources)
    spec = replace(template.spec, containers=[changed, *others])
    modify(world, workload, now, spec=replace(workload.spec, template=replace(template, spec=spec)))


@befalls(ReplicaSet, ReplicationController, Deployment, StatefulSet, DaemonSet, Job, CronJob)
def delete_workload(world: ChangingWorld, workload: Object, now: int) -> None:
    target, propagation = reference_to(workload), world.draw.pick("propagation", "Background", "Foreground", "Orphan")
    world.store.delete(target.kind, target.namespace, target.name, now, propagation=propagation)


@befalls(Job, CronJob)
def suspend(world: ChangingWorld, workload: Job, now: int) -> None:
    modify(world, workload, now, spec=replace(workload.spec, suspend=not workload.spec.suspend))


@befalls(Pod)
def delete_pod(world: ChangingWorld, pod: Pod, now: int) -> None:
    world.command(Delete((reference_to(pod),), world.draw.pick("deletion grace", None, 0, 2)), now)


def remove_gate(world: ChangingWorld, now: int) -> bool:
    pod = any_pod(world, lambda pod: bool(pod.spec.scheduling_gates))
    return pod is not None and modify(
        world, pod, now, spec=replace(pod.spec, scheduling_gates=pod.spec.scheduling_gates[1:])
    )


@befalls(Pod)
def label_pod(world: ChangingWorld, pod: Pod, now: int) -> None:
    label(world, pod, now)


def label(world: ChangingWorld, pod: Pod, now: int) -> bool:
    labels = {**pod.metadata.labels, "tier": world.draw.any_of(TIERS)}
    return modify(world, pod, now, metadata=replace(pod.metadata, labels=labels))


def add_toleration(world: ChangingWorld, now: int) -> bool:
    pod = any_pod(world, is_pending)
    if pod is None:
        return False
    added = Toleration(key=world.draw.any_of(TAINT_KEYS), operator="Exists")
    return modify(world, pod, now, spec=replace(pod.spec, tolerations=[*pod.spec.tolerations, added]))


@befalls(Node)
def change_readiness(world: ChangingWorld, node: Node, now: int) -> bool:
    """Of all pods on a node: whom to evict first may change with it, and what budgets allow, but not how full it is."""
    pods = [pod for pod in world.store.list(Pod) if pod.spec.node_name == node.metadata.name and is_active(pod)]
    running = [pod for pod in pods if pod.status.phase == "Running"]
    for pod in world.draw.random.sample(running, len(running)):
        wanted = Condition(type=READY, status=FALSE if is_ready(pod) else TRUE)
        conditions = with_condition(pod.status.conditions, wanted, format_time(now))
        modify_status(world, pod, now, replace(pod.status, conditions=conditions))
    return bool(running)


@befalls(Node)
def nominate_from_outside(world: ChangingWorld, node: Node, now: int) -> bool:
    pod = any_pod(world, is_pending)
    if pod is None:
        return False
    return modify_status(world, pod, now, replace(pod.status, nominated_node_name=node.metadata.name))


@befalls(Node)
def bind_by_hand(world: ChangingWorld, node: Node, now: int) -> bool:
    pod = any_pod(world, lambda pod: is_pending(pod) and not host_ports(pod.spec))
    if pod is None:
        return False
    world.overcommitted.add(node.metadata.name)
    world.store.bind(pod.metadata.namespace, pod.metadata.name, node.metadata.name, "", now)
    return True


# ---------------------------------------------------------------- nodes


def add_node(world: ChangingWorld, now: int) -> bool:
    for obj in draw_node(world.draw):
        world.store.create(obj, now)
    return True


@befalls(Node)
def remove_node(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(Delete((reference_to(node),)), now)


@befalls(Node)
def cordon(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(Cordon((node.metadata.name,), unschedulable=world.draw.pick("cordon", True, True, False)), now)


@befalls(Node)
def drain(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(Drain((node.metadata.name,)), now)


@befalls(Node)
def fail_node(world: ChangingWorld, node: Node, now: int) -> None:
    world.failed.append(node.metadata.name)
    world.command(NodesFail((node.metadata.name,)), now)


def recover_node(world: ChangingWorld, now: int) -> bool:
    if not world.failed:
        return False
    world.command(NodesRecover((world.failed.pop(),)), now)
    return True


@befalls(Node)
def taint(world: ChangingWorld, node: Node, now: int) -> None:
    draw = world.draw
    key, value = draw.any_of(TAINT_KEYS), draw.any_of(("yes", "no"))
    added = Taint(key=key, value=value, effect=draw.pick("taint effect", *TAINT_EFFECTS))
    world.command(SetTaints((node.metadata.name,), add=(added,)), now)


@befalls(Node)
def remove_taint(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(SetTaints((node.metadata.name,), remove=((world.draw.any_of(TAINT_KEYS), ""),)), now)


@befalls(Node)
def relabel(world: ChangingWorld, node: Node, now: int) -> None:
    labels: Mapping[str, tuple[str | None, ...]] = {ZONE: (*ZONES, None), RACK: (*RACKS, None), "disk": DISKS}
    key = world.draw.pick("relabelled", *labels)
    world.command(SetLabels((node.metadata.name,), {key: world.draw.any_of(labels[key])}), now)


@befalls(Node)
def resize_node(world: ChangingWorld, node: Node, now: int) -> None:
    name, draw = node.metadata.name, world.draw
    world.overcommitted.add(name)
    status = replace(node.status, allocatable={**node.status.allocatable, "cpu": draw.any_of(("1", "4", "16"))})
    if draw.chance(0.3):
        image = draw.any_of(IMAGES)
        status = replace(status, images=[ContainerImage(names=[image], size_bytes=IMAGE_SIZES[image])])
    modify_status(world, node, now, status)


# ---------------------------------------------------------------- the rest


@befalls(PodDisruptionBudget)
def change_budget(world: ChangingWorld, changed: PodDisruptionBudget, now: int) -> None:
    wanted = bounded(world.draw, make.budget("ignored")).obj().spec
    modify(world, changed, now, spec=replace(wanted, selector=changed.spec.selector))


@befalls(PodDisruptionBudget, Service, PersistentVolumeClaim, PersistentVolume, CSIStorageCapacity, VolumeAttachment)
def delete_extra(world: ChangingWorld, extra: Object, now: int) -> None:
    target = reference_to(extra)
    world.store.delete(target.kind, target.namespace, target.name, now)


@befalls(CSINode)
def change_volume_limit(world: ChangingWorld, csi_node: CSINode, now: int) -> None:
    modify(world, csi_node, now, spec=draw_csi_node(world.draw, csi_node.metadata.name).obj().spec)


@befalls(ResourceSlice)
def change_devices(world: ChangingWorld, changed: ResourceSlice, now: int) -> None:
    pool = replace(changed.spec.pool, generation=changed.spec.pool.generation + 1)
    modify(world, changed, now, spec=replace(changed.spec, pool=pool, devices=draw_devices(world.draw)))


@befalls(ResourceSlice)
def taint_device(world: ChangingWorld, changed: ResourceSlice, now: int) -> None:
    """One device of the slice gets a taint, or loses those it has."""
    chosen = world.draw.any_of(changed.spec.devices)
    taints = [] if chosen.taints else [draw_device_taint(world.draw)]
    devices = [replace(chosen, taints=taints) if each is chosen else each for each in changed.spec.devices]
    modify(world, changed, now, spec=replace(changed.spec, devices=devices))


@befalls(ResourceClaim, ResourceSlice, DeviceTaintRule)
def delete_devices(world: ChangingWorld, gone: ResourceClaim | ResourceSlice | DeviceTaintRule, now: int) -> None:
    world.store.delete(type(gone), gone.metadata.namespace, gone.metadata.name, now)


def create_absent_class(world: ChangingWorld, now: int) -> bool:
    """The class that claims have named in vain until now."""
    if world.store.find(StorageClass, "", "absent") is not None:
        return False
    mode = world.draw.pick("binding mode", "Immediate", "WaitForFirstConsumer")
    world.store.create(make.storage_class("absent", mode=mode, provisioner=DRIVER).manifest().obj(), now)
    return True


@befalls(Namespace)
def relabel_namespace(world: ChangingWorld, namespace: Namespace, now: int) -> None:
    labels = {"kubernetes.io/metadata.name": namespace.metadata.name} | world.draw.any_of(({}, {"team": "x"}))
    modify(world, namespace, now, metadata=replace(namespace.metadata, labels=labels))


@befalls(Namespace)
def delete_namespace(world: ChangingWorld, namespace: Namespace, now: int) -> bool:
    if namespace.metadata.name == "default":
        return False
    world.store.delete(Namespace, "", namespace.metadata.name, now)
    return True


def draw_change(draw: Draw) -> Change:
    return draw.function("change", CHANGES)


CHANGES: Table[bool] = (
    (30, create_workload),
    (4, fill_and_preempt),
    (6, create_extra),
    (6, scale),
    (4, roll_out),
    (3, delete_workload),
    (1, suspend),
    (6, delete_pod),
    (4, remove_gate),
    (2, label_pod),
    (1, add_toleration),
    (10, change_readiness),
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
    (6, change_budget),
    (2, delete_extra),
    (1, change_volume_limit),
    (2, change_devices),
    (8, taint_device),
    (2, delete_devices),
    (1, create_absent_class),
    (1, relabel_namespace),
    (1, delete_namespace),
    (1, create_pods_at_once),
    (2, recreate_pod),
    (3, resize_pod),
    (4, let_go),
    (2, replace_node),
    (1, flicker),
    (1, toggle_taint),
)
