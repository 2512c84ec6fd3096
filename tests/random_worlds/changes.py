"""What happens in a random world while time passes: a table of changes, each of which draws its target.

A change takes the world and the time, and says whether there was anybody for it to apply. Requests go to the store as
a user's would, or through the commands of a simulation; what the store refuses raises `ApiError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from tests.random_worlds.character import (
    DISKS,
    FEATURES,
    IMAGE_SIZES,
    IMAGES,
    RACK,
    RACKS,
    STRANGE_RESOURCES,
    TAINT_KEYS,
    TIERS,
    ZONES,
)
from tests.random_worlds.cluster import draw_extra, draw_node
from tests.random_worlds.draw import Draw, Table
from tests.random_worlds.moments import (
    create_pods_at_once,
    flicker,
    let_go,
    let_pods_pass,
    recreate_pod,
    replace_node,
    resize_pod,
    toggle_taint,
)
from tests.random_worlds.objects import OBJECT_CHANGES
from tests.random_worlds.targets import (
    Change,
    ChangingWorld,
    any_pod,
    applies_to,
    is_pending,
    modify,
    modify_status,
)
from tests.random_worlds.workloads import REMAKERS, draw_workload

from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Cordon,
    DeleteObject,
    Drain,
    NodesFail,
    NodesRecover,
    ScaleWorkload,
    SetLabels,
    SetTaints,
    reference_to,
)
from bayplan.controllers.ownership import is_active
from bayplan.core.columns.shapes import host_ports
from bayplan.model.conditions import FALSE, TRUE, is_ready, with_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.node import ContainerImage, Node, Taint
from bayplan.model.pod import Pod, Toleration
from bayplan.model.structs import replace
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import READY, TAINT_EFFECTS, TO_BE_DELETED, ZONE
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from bayplan.store import ApiError
from bayplan.testing import builders as make

#: Taints of the cluster autoscaler; their values are times.
CANDIDATE = "DeletionCandidateOfClusterAutoscaler"

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


def create_extras(world: ChangingWorld, now: int) -> bool:
    """By the world's own store: one that serves fewer kinds refuses the others."""
    for _ in range(world.draw.number(1, 5)):
        with suppress(ApiError):  # it may be there already
            world.store.create(draw_extra(world.draw, world.character), now)
    return True


@applies_to(ReplicaSet, ReplicationController, Deployment, StatefulSet, Job)
def scale(world: ChangingWorld, workload: Object, now: int) -> None:
    world.command(ScaleWorkload((reference_to(workload),), world.draw.number(0, 6)), now)


@applies_to(Deployment, StatefulSet, DaemonSet)
def roll_out(world: ChangingWorld, workload: Deployment, now: int) -> None:
    template = workload.spec.template
    first, *others = template.spec.containers
    requests = {**first.resources.requests, "cpu": world.draw.any_of(world.character.cpus)}
    resources = replace(first.resources, requests=requests)
    changed = replace(first, image=world.draw.any_of(IMAGES), resources=resources)
    spec = replace(template.spec, containers=[changed, *others])
    modify(world, workload, now, spec=replace(workload.spec, template=replace(template, spec=spec)))


@applies_to(ReplicaSet, ReplicationController, Deployment, StatefulSet, DaemonSet, Job, CronJob)
def delete_workload(world: ChangingWorld, workload: Object, now: int) -> None:
    target, propagation = reference_to(workload), world.draw.pick("propagation", "Background", "Foreground", "Orphan")
    world.store.delete(target.kind, target.namespace, target.name, now, propagation=propagation)


@applies_to(ReplicaSet, ReplicationController, StatefulSet)
def replace_workload(world: ChangingWorld, workload: Object, now: int) -> None:
    """Another of the same name, which may select otherwise; the pods of the old one stay."""
    target = reference_to(workload)
    drawn = REMAKERS[target.kind](world.draw, world.character, target.name, target.namespace)
    world.store.delete(target.kind, target.namespace, target.name, now, propagation="Orphan")
    world.command(Apply((drawn,)), now + 50 * MILLISECOND)  # when the garbage collector has seen to the old one's pods


@applies_to(Job, CronJob)
def suspend(world: ChangingWorld, workload: Job, now: int) -> None:
    modify(world, workload, now, spec=replace(workload.spec, suspend=not workload.spec.suspend))


@applies_to(Pod)
def delete_pod(world: ChangingWorld, pod: Pod, now: int) -> None:
    world.command(DeleteObject((reference_to(pod),), world.draw.pick("deletion grace", None, 0, 2)), now)


def remove_gate(world: ChangingWorld, now: int) -> bool:
    pod = any_pod(world, lambda pod: bool(pod.spec.scheduling_gates))
    return pod is not None and modify(
        world, pod, now, spec=replace(pod.spec, scheduling_gates=pod.spec.scheduling_gates[1:])
    )


@applies_to(Pod)
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


@applies_to(Node)
def change_readiness(world: ChangingWorld, node: Node, now: int) -> bool:
    """Of all pods on a node: whom to evict first may change with it, and what budgets allow, but not how full it is."""
    pods = [pod for pod in world.store.list(Pod) if pod.spec.node_name == node.metadata.name and is_active(pod)]
    running = [pod for pod in pods if pod.status.phase == "Running"]
    for pod in world.draw.random.sample(running, len(running)):
        wanted = Condition(type=READY, status=FALSE if is_ready(pod) else TRUE)
        conditions = with_condition(pod.status.conditions, wanted, format_time(now))
        modify_status(world, pod, now, replace(pod.status, conditions=conditions))
    return bool(running)


@applies_to(Node)
def nominate_from_outside(world: ChangingWorld, node: Node, now: int) -> bool:
    pod = any_pod(world, is_pending)
    if pod is None:
        return False
    return modify_status(world, pod, now, replace(pod.status, nominated_node_name=node.metadata.name))


@applies_to(Node)
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


@applies_to(Node)
def remove_node(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(DeleteObject((reference_to(node),)), now)


@applies_to(Node)
def cordon(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(Cordon((node.metadata.name,), unschedulable=world.draw.pick("cordon", True, True, False)), now)


@applies_to(Node)
def drain(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(Drain((node.metadata.name,)), now)


@applies_to(Node)
def fail_node(world: ChangingWorld, node: Node, now: int) -> None:
    world.failed.append(node.metadata.name)
    world.command(NodesFail((node.metadata.name,)), now)


def recover_node(world: ChangingWorld, now: int) -> bool:
    if not world.failed:
        return False
    world.command(NodesRecover((world.failed.pop(),)), now)
    return True


@applies_to(Node)
def taint(world: ChangingWorld, node: Node, now: int) -> None:
    draw = world.draw
    key, value = draw.any_of(TAINT_KEYS), draw.any_of(("yes", "no"))
    added = Taint(key=key, value=value, effect=draw.pick("taint effect", *TAINT_EFFECTS))
    world.command(SetTaints((node.metadata.name,), add=(added,)), now)


@applies_to(Node)
def remove_taint(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(SetTaints((node.metadata.name,), remove=((world.draw.any_of(TAINT_KEYS), ""),)), now)


@applies_to(Node)
def relabel(world: ChangingWorld, node: Node, now: int) -> None:
    labels: Mapping[str, tuple[str | None, ...]] = {ZONE: (*ZONES, None), RACK: (*RACKS, None), "disk": DISKS}
    key = world.draw.pick("relabeled", *labels)
    world.command(SetLabels((node.metadata.name,), {key: world.draw.any_of(labels[key])}), now)


@applies_to(Node)
def resize_node(world: ChangingWorld, node: Node, now: int) -> None:
    name, draw = node.metadata.name, world.draw
    world.overcommitted.add(name)
    status = replace(node.status, allocatable={**node.status.allocatable, "cpu": draw.any_of(("1", "4", "16"))})
    if draw.chance(0.3):
        image = draw.any_of(IMAGES)
        status = replace(status, images=[ContainerImage(names=[image], size_bytes=IMAGE_SIZES[image])])
    modify_status(world, node, now, status)


@applies_to(Node)
def change_condition(world: ChangingWorld, node: Node, now: int) -> None:
    """What a kubelet reports besides whether it is ready."""
    kind, status = world.draw.any_of(("MemoryPressure", "DiskPressure")), world.draw.any_of((TRUE, FALSE))
    conditions = with_condition(node.status.conditions, Condition(type=kind, status=status), format_time(now))
    modify_status(world, node, now, replace(node.status, conditions=conditions))


@applies_to(Node)
def annotate_node(world: ChangingWorld, node: Node, now: int) -> None:
    annotations = {**node.metadata.annotations, "example.com/seen": str(now)}
    modify(world, node, now, metadata=replace(node.metadata, annotations=annotations))


@applies_to(Node)
def declare_features(world: ChangingWorld, node: Node, now: int) -> None:
    declared = world.draw.any_of(([], list(FEATURES[:1]), list(FEATURES)))
    modify_status(world, node, now, replace(node.status, declared_features=declared))


@applies_to(Node)
def change_resource(world: ChangingWorld, node: Node, now: int) -> None:
    """A device plugin registers a resource, takes it back, or its devices fail."""
    world.overcommitted.add(node.metadata.name)
    allocatable = {**node.status.allocatable, world.draw.any_of(STRANGE_RESOURCES): world.draw.number(0, 2)}
    modify_status(world, node, now, replace(node.status, allocatable=allocatable))


@applies_to(Node)
def retire_node(world: ChangingWorld, node: Node, now: int) -> None:
    """As an autoscaler does: considered, marked with the time, and then gone or spared."""
    name, draw = node.metadata.name, world.draw
    candidate = Taint(key=CANDIDATE, value=str(now // SECOND), effect="PreferNoSchedule")
    world.command(SetTaints((name,), add=(candidate,)), now)
    marked_at = now + draw.number(0, 3_000) * MILLISECOND
    doomed = Taint(key=TO_BE_DELETED, value=str(marked_at // SECOND), effect="NoSchedule")
    world.command(SetTaints((name,), add=(doomed,)), marked_at)
    ends_at = marked_at + draw.number(0, 5_000) * MILLISECOND
    if draw.pick("retired nodes", "go", "go", "are spared") == "go":
        world.command(DeleteObject((reference_to(node),)), ends_at)
    else:
        world.command(SetTaints((name,), remove=((TO_BE_DELETED, ""), (CANDIDATE, ""))), ends_at)


def grow_and_shrink(world: ChangingWorld, now: int) -> bool:
    """Nodes come for a while, each with what only it has."""
    for _ in range(world.draw.number(1, 3)):
        made = list(draw_node(world.draw))
        goes_at = now + world.draw.number(500, 10_000) * MILLISECOND
        world.command(Apply(tuple(made)), now)
        world.command(DeleteObject(tuple(map(reference_to, made))), goes_at)
    return True


WORKLOAD_CHANGES: Table[bool] = (
    (30, create_workload),
    (4, fill_and_preempt),
    (6, scale),
    (4, roll_out),
    (3, delete_workload),
    (3, replace_workload),
    (1, suspend),
)
POD_CHANGES: Table[bool] = (
    (6, delete_pod),
    (4, remove_gate),
    (2, label_pod),
    (1, add_toleration),
    (10, change_readiness),
    (1, nominate_from_outside),
    (1, bind_by_hand),
    (3, let_pods_pass),
    (1, create_pods_at_once),
    (2, recreate_pod),
    (3, resize_pod),
    (4, let_go),
)
NODE_CHANGES: Table[bool] = (
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
    (1, change_condition),
    (1, annotate_node),
    (2, declare_features),
    (2, change_resource),
    (2, retire_node),
    (2, grow_and_shrink),
    (2, replace_node),
    (1, flicker),
    (1, toggle_taint),
)
CHANGES: Mapping[str, Table[bool]] = {
    "workloads": WORKLOAD_CHANGES,
    "pods": POD_CHANGES,
    "nodes": NODE_CHANGES,
    "objects": ((12, create_extras), *OBJECT_CHANGES),
}
#: How much more often changes happen that a world has its emphasis on.
EMPHASIS = 6


def draw_change(draw: Draw, emphasis: str) -> Change:
    """From all tables, most often from the one that the world has its emphasis on, if it has one."""
    weighted = [
        (weight * EMPHASIS if subject == emphasis else weight, change)
        for subject, table in CHANGES.items()
        for weight, change in table
    ]
    return draw.function("change", weighted)
