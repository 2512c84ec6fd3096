"""Changes of a random world that undo or repeat one another at one and the same instant, and what may be done to a pod.

Takes the world and the time, as those of `changes`: nobody sees what was in between, or only for a moment.
"""

from __future__ import annotations

from tests.random_worlds.character import HOLD, TAINT_KEYS
from tests.random_worlds.cluster import draw_node_object
from tests.random_worlds.pods import asks_strange_resource, draw_pod, has_words_of_its_own, is_gated
from tests.random_worlds.targets import ChangingWorld, any_pod, applies_to, modify

from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    DeleteObject,
    NodesFail,
    NodesRecover,
    SetTaints,
    reference_to,
)
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import MILLISECOND
from bayplan.model.well_known import TAINT_EFFECTS


def create_pods_at_once(world: ChangingWorld, now: int) -> bool:
    """Many that are all alike, and nobody's."""
    drawn = draw_pod(world.draw, world.character, world.draw.name("swarm")).manifest().obj()
    for number in range(60):
        meta = replace(drawn.metadata, name=f"{drawn.metadata.name}-{number}")
        world.store.create(replace(drawn, metadata=meta), now)
    return True


def let_pods_pass(world: ChangingWorld, now: int) -> bool:
    """Pods that differ from all others come and soon go again: tried or not, behind a gate, on a node or on none."""
    draw = world.draw
    for _ in range(draw.number(2, 8)):
        drawn = draw_pod(draw, world.character, draw.name("passing"))
        has_words_of_its_own(draw, drawn)
        if draw.chance(0.5):
            asks_strange_resource(draw, drawn)
        if draw.chance(0.3):
            is_gated(draw, drawn)
        made = drawn.grace(0).manifest().obj()
        comes_at = now + draw.number(0, 1_000) * MILLISECOND
        stays = draw.pick("milliseconds that pods stay", 0, 1, 100, 4_000)
        world.command(Apply((made,)), comes_at)
        world.command(DeleteObject((reference_to(made),), 0), comes_at + stays * MILLISECOND)
    return True


def recreate_pod(world: ChangingWorld, now: int) -> bool:
    """Another pod of the same name, which asks for something else."""
    found = any_pod(world, lambda pod: not pod.metadata.owner_references and not pod.metadata.finalizers)
    if found is None:
        return False
    meta = found.metadata
    world.store.delete(Pod, meta.namespace, meta.name, now, grace_seconds=0)
    drawn = draw_pod(world.draw, world.character, meta.name).manifest().obj()
    drawn.metadata.namespace = meta.namespace
    world.store.create(drawn, now)
    return True


def resize_pod(world: ChangingWorld, now: int) -> bool:
    """In place: it keeps its node, which may then hold more than it has."""
    found = any_pod(world, lambda pod: bool(pod.spec.node_name) and pod.spec.resources is None)
    if found is None:
        return False
    world.overcommitted.add(found.spec.node_name)
    first, *others = found.spec.containers
    requests = {**first.resources.requests, "cpu": world.draw.any_of((*world.character.cpus, "0", "10m"))}
    changed = replace(first, resources=replace(first.resources, requests=requests))
    return modify(world, found, now, spec=replace(found.spec, containers=[changed, *others]))


def let_go(world: ChangingWorld, now: int) -> bool:
    """A pod that is kept after its end, or will be."""
    held = [pod for pod in world.store.list(Pod) if HOLD in pod.metadata.finalizers]
    if not held:
        return False
    pod = world.draw.any_of(held)
    finalizers = [each for each in pod.metadata.finalizers if each != HOLD]
    return modify(world, pod, now, metadata=replace(pod.metadata, finalizers=finalizers))


@applies_to(Node)
def replace_node(world: ChangingWorld, node: Node, now: int) -> None:
    """Another machine under the same name; pods of the old one may still be there."""
    name = node.metadata.name
    world.overcommitted.add(name)
    world.store.delete(Node, "", name, now)
    world.store.create(draw_node_object(world.draw, name), now)


@applies_to(Node)
def flicker(world: ChangingWorld, node: Node, now: int) -> None:
    world.command(NodesFail((node.metadata.name,)), now)
    world.command(NodesRecover((node.metadata.name,)), now)


@applies_to(Node)
def toggle_taint(world: ChangingWorld, node: Node, now: int) -> None:
    key, effect = world.draw.any_of(TAINT_KEYS), world.draw.any_of(TAINT_EFFECTS)
    world.command(SetTaints((node.metadata.name,), add=(Taint(key=key, value="yes", effect=effect),)), now)
    world.command(SetTaints((node.metadata.name,), remove=((key, effect),)), now)
