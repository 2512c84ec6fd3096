"""Moves that `defrag` prints, carried out on plain objects: evicted, recreated and placed, everything from scratch."""

from __future__ import annotations

from itertools import combinations

from hypothesis import event, given
from hypothesis import strategies as st
from tests.oracle.fragmented_clusters import fragmented
from tests.oracle.preemption_clusters import World, key_of
from tests.oracle.settling_clusters import SlowCourse, again, cordoned
from tests.oracle.test_drain_answers import drain, may_be_evicted
from tests.support.examples import examples

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.playing import PlayedMove
from bayplan.model.pod import Pod

SECONDS = 5.0
WANTED = "default/wanting"


def carry_out(slow: SlowCourse, steps: tuple[PlayedMove, ...], target: str) -> None:
    """Each step as a script would take it; it must be allowed, and lead where it says."""
    before = dict(slow.nodes)
    for step in steps:
        pod = next(one for one in slow.on[step.source] if key_of(one) == step.pod)
        assert pod.metadata.owner_references, "a pod without a controller would be lost"
        assert may_be_evicted(slow, pod), f"{step.pod} is protected"
        held = {target, *step.cordoned} - {""}
        slow.nodes = {name: cordoned(node) if name in held else node for name, node in before.items()}
        slow.take(step.pod)
        slow.waiting.append(again(pod))
        slow.settle()
        assert slow.where().get(step.pod) == step.node
    slow.nodes = before
    slow.settle()


def answer_for(world: World) -> tuple[SlowCourse, Defrag]:
    slow = SlowCourse(world, [world.wanting])
    return slow, slow.cluster().defrag("wanting", seconds=SECONDS)


@examples(40)
@given(fragmented())
def test_moves_hold_when_they_are_carried_out(world: World) -> None:
    slow, found = answer_for(world)
    event(f"moves: {len(found.steps or ())}, works: {found.works}, proven: {found.is_proven}")
    if found.steps is None:
        slow.settle()
        assert slow.where().get(WANTED, "") == found.runs_on
        return
    running = set(slow.where())
    moved = {step.pod for step in found.steps}
    owners = {owner_of(one) for one in world.pods if key_of(one) in moved}
    assert owner_of(world.wanting) not in owners, "a sibling moves in vain"
    carry_out(slow, found.steps, found.target)
    assert slow.where()[WANTED] == found.node
    assert set(slow.where()) == running | {WANTED}
    assert slow.evicted == []
    assert found.bound is not None
    assert found.bound <= len(found.steps)


@examples(40)
@given(fragmented(), st.data())
def test_no_move_is_in_vain(world: World, data: st.DataObject) -> None:
    """Without one of the moves the others are not possible or preempt somebody, or the pod has no room."""
    slow, found = answer_for(world)
    if not found.steps or not found.is_proven:
        return
    left_out = data.draw(st.sampled_from(found.steps))
    try:
        carry_out(slow, tuple(step for step in found.steps if step is not left_out), found.target)
    except AssertionError:
        return
    assert WANTED not in slow.where() or slow.evicted


@examples(40)
@given(fragmented())
def test_where_one_move_is_too_few_no_single_move_makes_room(world: World) -> None:
    """Each pod that may move is put on each node that takes it."""
    slow, found = answer_for(world)
    if found.runs_on or found.bound == 1:
        return
    owner = owner_of(world.wanting)
    for pod in slow.pods():
        if not owner_of(pod) or owner_of(pod) == owner or not may_be_evicted(slow, pod):
            continue
        for name in slow.nodes.keys() - {pod.spec.node_name}:
            after = SlowCourse(world, [world.wanting])
            moved = again(after.take(key_of(pod)))
            after.waiting = [moved]
            after.nodes = {each: node if each == name else cordoned(node) for each, node in slow.nodes.items()}
            after.settle()
            after.nodes = dict(slow.nodes)
            after.waiting.append(world.wanting)
            if after.where().get(key_of(pod)) == name and not after.evicted:
                after.settle()
                assert WANTED not in after.where(), f"{key_of(pod)} to {name} is enough"


def owner_of(pod: Pod) -> str:
    return "".join(each.name for each in pod.metadata.owner_references)


@examples(40)
@given(fragmented())
def test_nodes_that_can_be_given_back_can_be_drained(world: World) -> None:
    slow = SlowCourse(world)
    found = slow.cluster().consolidate(seconds=SECONDS)
    event(f"nodes: {len(found.nodes)}, proven: {found.is_proven}")
    running = set(slow.where())
    slow.nodes |= {name: cordoned(slow.nodes[name]) for name in found.nodes}
    for name in found.nodes:
        assert all(one.metadata.owner_references for one in slow.on[name]), "a pod without a controller would be lost"
        drain(slow, name)
        assert not slow.on[name]
    assert (set(slow.where()), slow.evicted) == (running, [])
    assert len(found.nodes) <= found.bound


@examples(40)
@given(fragmented())
def test_no_more_nodes_than_the_bound_can_be_drained(world: World) -> None:
    """Each set of one node more, in the order of their names."""
    found = SlowCourse(world).cluster().consolidate(seconds=SECONDS)
    for names in combinations(sorted(one.metadata.name for one in world.nodes), found.bound + 1):
        slow = SlowCourse(world)
        running = set(slow.where())
        slow.nodes |= {name: cordoned(slow.nodes[name]) for name in names}
        for name in names:
            drain(slow, name)
        empty = not any(slow.on[name] for name in names)
        assert not (empty and set(slow.where()) == running and not slow.evicted), f"{names} can be given back"
