"""What `fix` says, checked by doing it: the commands are carried out on the objects, and the pod is placed again.

Patches are applied as an API server applies them. Then `place` must put the pod onto the node that was named, and evict
whom was named. A request that is one unit larger, or a skew that is one smaller, must not do. Random clusters have all
kinds of constraints, cordons, taints, gates and PriorityClasses.
"""

from __future__ import annotations

import json
import shlex
from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.oracle.preemption_clusters import HOST, World, key_of, often, worlds
from tests.support.examples import examples

from bayplan.analysis.answers.fixing.answer import Fix, Remedy, RemedyKind
from bayplan.analysis.cluster import Cluster
from bayplan.apiserver.patching.json_patch import apply_json_patch
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    Pod,
    PodSchedulingGate,
)
from bayplan.testing.builders import node_term, priority_class

WANTING = "default/wanting"
CLASSES = (priority_class("urgent", 60).obj(), priority_class("most-urgent", 1000).obj())


@st.composite
def troubled_worlds(draw: st.DrawFn) -> World:
    """Pods that do not run for more reasons than room."""
    world = draw(worlds(always=draw(st.sampled_from([(), ("cpu",), ("spread",), ("anti-affinity",)]))))
    spec = world.wanting.spec
    spec.priority = draw(st.sampled_from([-20, 0, 55, 100]))
    if often(draw, 4):
        spec.preemption_policy = "Never"
    for node in world.nodes:
        node.spec.unschedulable = often(draw, 4)
        if draw(st.booleans()):
            node.metadata.labels["disk"] = "ssd"
    if often(draw, 3):
        spec.node_selector = {"disk": draw(st.sampled_from(["ssd", "tape"]))}
    if often(draw, 4):
        terms = draw(st.sampled_from([["disk=ssd,rack=r1"], ["rack=r1"], ["rack=r1", "disk=tape"]]))
        spec.affinity = spec.affinity or Affinity()
        selector = NodeSelector(node_selector_terms=[node_term(term) for term in terms])
        spec.affinity.node_affinity = NodeAffinity(required=selector)
    if often(draw, 6):
        spec.scheduling_gates = [PodSchedulingGate(name="later")]
    return world


def objects_of(world: World) -> list[Object]:
    things = (*world.nodes, *world.others, *world.budgets, *world.running(), *world.nominated, *CLASSES, world.wanting)
    return deepcopy(list(things))


def foreign_victims(world: World) -> str | None:
    return None if world.own_schedulers is None else "never"


def placed(objects: list[Object], world: World) -> tuple[str | None, tuple[str, ...]]:
    (decision,) = Cluster(deepcopy(objects)).place([WANTING], foreign_victims=foreign_victims(world)).decisions
    return decision.node, decision.victims


def done(objects: list[Object], fix: Fix) -> list[Object]:
    """The cluster after the fix."""
    for patch in fix.patches:
        words = shlex.split(patch.command)
        if "--patch" in words:
            operations = json.loads(words[words.index("--patch") + 1])
            objects = [_patched(obj, operations) if key_is(obj, WANTING) else obj for obj in objects]
        elif words[:2] == ["kubectl", "uncordon"]:
            node_of(objects, words[2]).spec.unschedulable = False
        else:
            assert words[:3] == ["kubectl", "taint", "nodes"], patch.command
            node = node_of(objects, words[3])
            node.spec.taints = [taint for taint in node.spec.taints if f"{taint.key}:{taint.effect}-" != words[4]]
    for change in fix.changes:
        if change.kind is RemedyKind.FREE:
            objects = [obj for obj in objects if not any(key_is(obj, victim) for victim in fix.victims)]
        elif change.kind is RemedyKind.ADD_NODE:
            added = deepcopy(node_of(objects, change.what))
            added.metadata.name = added.metadata.labels[HOST] = fix.nodes[0]
            objects.append(added)
    return objects


def key_is(obj: Object, key: str) -> bool:
    return isinstance(obj, Pod) and key_of(obj) == key


def node_of(objects: list[Object], name: str) -> Node:
    return next(obj for obj in objects if isinstance(obj, Node) and obj.metadata.name == name)


def _patched(pod: Object, operations: list[dict[str, Any]]) -> Object:
    return msgspec.convert(apply_json_patch(msgspec.to_builtins(pod), operations), Pod)


def milder(objects: list[Object], change: Remedy) -> list[Object] | None:
    """The cluster after a change that is one unit smaller; None for a change that has no measure."""
    pod = next(obj for obj in objects if key_is(obj, WANTING))
    assert isinstance(pod, Pod)
    if change.kind is RemedyKind.REQUEST:
        assert isinstance(change.after, int)
        more = change.after + 1
        pod.spec.containers[0].resources.requests[change.what] = f"{more}m" if change.what == "cpu" else more
        return objects
    if change.kind is RemedyKind.SKEW:
        constraint = next(each for each in pod.spec.topology_spread_constraints if each.topology_key == change.what)
        constraint.max_skew -= 1
        return objects
    return None


@examples(60)
@given(troubled_worlds())
def test_a_fix_lets_the_pod_run_and_a_smaller_one_does_not(world: World) -> None:
    assume(not world.nominated)  # which are placed first
    objects = objects_of(world)
    answer = Cluster(deepcopy(objects)).fix(WANTING, foreign_victims=foreign_victims(world))
    gated = bool(world.wanting.spec.scheduling_gates)
    if not gated:
        assert (answer.fits_on or None, answer.victims) == placed(objects, world)
    for fix in answer.fixes:
        event(" and ".join(change.kind.value for change in fix.changes))
        after = done(deepcopy(objects), fix)
        is_freed = any(change.kind is RemedyKind.FREE for change in fix.changes)
        assert (fix.fixed, fix.nodes) == (1, (placed(after, world)[0],))
        assert placed(after, world)[1] == (() if is_freed else fix.victims)
        smaller = milder(deepcopy(after), fix.changes[0]) if len(fix.changes) == 1 else None
        if smaller is not None:
            assert placed(smaller, world) != placed(after, world)


@examples(40)
@given(troubled_worlds())
def test_no_pod_has_to_go_in_vain(world: World) -> None:
    """Were one of the pods that leave a freed node to stay, the pod would not fit there."""
    assume(not world.nominated)  # which may evict pods as well
    objects = objects_of(world)
    answer = Cluster(deepcopy(objects)).fix(WANTING, foreign_victims=foreign_victims(world))
    for fix in answer.fixes:
        if [change.kind for change in fix.changes] == [RemedyKind.FREE]:
            for spared in fix.victims:
                others = [victim for victim in fix.victims if victim != spared]
                left = [obj for obj in objects if not any(key_is(obj, victim) for victim in others)]
                node, victims = placed(left, world)
                assert node not in fix.nodes or victims
