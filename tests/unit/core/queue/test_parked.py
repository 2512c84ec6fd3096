"""Many waiting pods: a cluster event costs what it moves, not what waits."""

from __future__ import annotations

import pytest
from tests.unit.core.queue.stage import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NEW_NODE,
    NODE_ADD,
    NODE_LABEL,
    NODE_TAINT,
    POD_DELETE,
    SECOND,
    START,
    VICTIM,
    CountingHint,
    Gate,
    Stage,
    choosy,
)

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.parked import Parked
from bayplan.core.queue.queued_pod import Group, QueuedPod
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import pod
from bayplan.testing.pods import PodBuilder

MANY = 10_000


def crowd(stage: Stage, rejector: str, count: int, shapes: int) -> None:
    for number in range(count):
        stage.parked(pod(f"{rejector}-{number}").labels(shape=str(number % shapes)), rejector)


def test_ten_thousand_parked_pods_are_not_looked_at_for_what_cannot_help_them() -> None:
    hint = CountingHint(lambda info: info.shape.labels["shape"] == "3")
    stage = Stage([choosy("Fit", (NODE_ADD, hint), (POD_DELETE, hint)), choosy("Labels", NODE_LABEL)])
    crowd(stage, "Fit", MANY, shapes=20)
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    stage.happens(ASSIGNED_POD_ADD, None, VICTIM)
    assert hint.asked == []
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert len(hint.asked) == 20, "once for each shape"
    counts = stage.queue.counts()
    assert (counts[PodState.BACKOFF], counts[PodState.UNSCHEDULABLE]) == (1, MANY - 1), "one goes ahead of its crowd"


def woken_crowd(count: int = 100) -> Stage:
    """Equal pods that wait for room, and one of them woken by a pod that left."""
    stage = Stage([choosy("Fit", POD_DELETE)])
    crowd(stage, "Fit", count, shapes=1)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.queue.counts()[PodState.UNSCHEDULABLE] == count - 1
    return stage


def test_what_refuses_a_scout_refuses_its_crowd() -> None:
    """The others stay parked, and the next cluster event sends the next scout."""
    stage = woken_crowd()
    queued = stage.queue.pop(stage.now)
    assert queued is not None
    stage.queue.return_failed(queued, ("Fit",), (), stage.now)
    stage.queue.nominate(queued, "", stage.now)
    assert stage.queue.counts()[PodState.UNSCHEDULABLE] == 100
    assert stage.queue.pop(stage.now) is None
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.queue.counts()[PodState.UNSCHEDULABLE] == 99


def test_a_scout_that_finds_a_place_sends_the_next() -> None:
    """As many are tried as find room, and one more."""
    stage = woken_crowd()
    for _ in range(100):
        queued = stage.queue.pop(stage.now)
        assert queued is not None
        stage.queue.assume(queued, "n", stage.now)
        stage.queue.done(queued)
    assert stage.queue.pop(stage.now) is None


def test_a_scout_that_may_preempt_or_is_gone_sends_the_next() -> None:
    stage = woken_crowd()
    first = stage.queue.pop(stage.now)
    assert first is not None
    stage.queue.return_failed(first, ("Fit",), (), stage.now)
    stage.queue.nominate(first, "n", stage.now)
    second = stage.queue.pop(stage.now)
    assert second is not None
    assert second.key != first.key
    stage.queue.delete(second.key, stage.now)
    stage.queue.discard(second)
    third = stage.queue.pop(stage.now)
    assert third is not None
    assert third.key not in (first.key, second.key)


def refuse(stage: Stage, queued: QueuedPod, *rejectors: str) -> None:
    """An attempt that ends in vain, with no node kept for the pod."""
    stage.fail(queued, *rejectors)
    stage.queue.nominate(queued, "", stage.now)


def tried_in_vain(stage: Stage, *rejectors: str) -> int:
    """How many pods are tried in a row if those plugins reject each of them."""
    tried = 0
    while (queued := stage.queue.pop(stage.now)) is not None:
        refuse(stage, queued, *rejectors)
        tried += 1
    return tried


def cordoned_crowd(*rejectors: str) -> Stage:
    """Equal pods that those plugins rejected, and one of them woken by a change of taints."""
    stage = Stage([choosy("Cordon", NODE_TAINT), choosy("Labels", NODE_LABEL)])
    for number in range(100):
        stage.parked(f"pod-{number}", *rejectors)
    stage.happens(NODE_TAINT, NEW_NODE, NEW_NODE)
    return stage


def test_a_scout_rejected_by_another_plugin_has_its_crowd_tried_too() -> None:
    """Otherwise what helps the scout would never reach those behind it, who wait for something else."""
    stage = cordoned_crowd("Cordon")
    assert tried_in_vain(stage, "Labels") == 100
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    for _ in range(100):
        queued = stage.pop()
        stage.queue.assume(queued, "n", stage.now)
        stage.queue.done(queued)


def test_a_crowd_that_is_refused_in_a_row_follows_its_scout_too() -> None:
    """The short way back, of pods that are told what the one before them was told."""
    stage = cordoned_crowd("Cordon")
    refuse(stage, stage.pop(), "Labels")
    for _ in range(99):
        stage.queue.return_refused(stage.pop(), ("Labels",), stage.now)
    assert stage.queue.pop(stage.now) is None


def test_a_crowd_stays_if_it_listens_to_all_that_its_scout_waits_for() -> None:
    stage = cordoned_crowd("Cordon", "Labels")
    assert tried_in_vain(stage, "Labels") == 1
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert tried_in_vain(stage, "Labels") == 2, "the scout from before, and the next one"


def test_a_scout_that_has_changed_does_not_answer_for_its_crowd() -> None:
    stage = cordoned_crowd("Cordon")
    scout = next(queued for queued in stage.queue.queued_pods() if queued.state is PodState.BACKOFF)
    stage.update(scout.pod, pod(scout.info.name).labels(changed="yes"))
    refuse(stage, stage.pop(), "Cordon")
    assert tried_in_vain(stage, "Cordon") == 1


def test_a_scout_that_is_being_deleted_sends_the_next() -> None:
    stage = cordoned_crowd("Cordon")
    scout = stage.pop()
    stage.queue.skip(scout, stage.now)
    assert tried_in_vain(stage, "Cordon") == 1
    stage.queue.delete(scout.key, stage.now)
    assert tried_in_vain(stage, "Cordon") == 0


@pytest.mark.parametrize("pops_from_backoff", [True, False])
def test_scouts_that_a_gate_shuts_out_send_the_next(pops_from_backoff: bool) -> None:
    gate = Gate()
    stage = Stage([choosy("Cordon", NODE_TAINT)], (gate,), pops_from_backoff=pops_from_backoff)
    for number in range(2_000):
        stage.parked(f"pod-{number}", "Cordon")
    gate.shut = {f"default/pod-{number}" for number in range(1_999)}
    stage.happens(NODE_TAINT, NEW_NODE, NEW_NODE)
    stage.wait(2)
    assert stage.pop().info.name == "pod-1999"


def test_a_nominated_pod_is_woken_beside_the_scout() -> None:
    """It alone may take the place that is kept for it, so nobody can go ahead for it."""
    stage = woken_crowd()
    scout = stage.queue.pop(stage.now)
    assert scout is not None
    stage.queue.return_failed(scout, ("Fit",), (), stage.now)
    stage.queue.nominate(scout, "n", stage.now)
    follower = stage.queue.pop(stage.now)
    assert follower is not None
    stage.queue.return_failed(follower, ("Fit",), (), stage.now)
    stage.queue.nominate(follower, "", stage.now)
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    tried = [queued.key for queued in iter(lambda: stage.queue.pop(stage.now), None)]
    assert scout.key in tried
    assert len(tried) == 2


def test_pods_are_asked_for_apart_when_something_tells_them_apart() -> None:
    """Priority, rejectors and names of generated claims each make a group of their own."""
    hint = CountingHint()
    stage = Stage([choosy("Fit", (NODE_ADD, hint)), choosy("Labels", NODE_LABEL)])
    stage.parked("same-1", "Fit")
    stage.parked("same-2", "Fit")
    stage.parked(pod("important").priority(5), "Fit")
    stage.parked("doubly", "Fit", "Labels")
    stage.parked(pod("claims-1").ephemeral("scratch"), "Fit")
    stage.parked(pod("claims-2").ephemeral("scratch"), "Fit")
    stage.happens(NODE_ADD, None, NEW_NODE)
    asked = [key.removeprefix("default/") for key in hint.asked]
    assert asked == ["same-1", "important", "doubly", "claims-1", "claims-2"]


def test_the_pod_a_happening_is_about_answers_for_itself() -> None:
    """Its group is not woken by what concerns only that pod, and does not keep it asleep either."""

    def own(info: PodInfo, old: Object | None, new: Object | None) -> bool:
        assert isinstance(old, Pod)
        return info.uid == old.metadata.uid

    stage = Stage([choosy("Own", (POD_DELETE, own))])
    for name in ("first", "middle", "last"):
        stage.parked(name, "Own")
    for name, woken in (("middle", ["middle"]), ("first", ["first", "middle"])):
        stage.happens(ASSIGNED_POD_DELETE, pod(name).nominated("n1").obj())
        awake = [n for n in ("first", "middle", "last") if stage.place(n) is PodState.BACKOFF]
        assert awake == woken


def test_a_recreated_pod_of_the_same_name_is_another_pod() -> None:
    stage = Stage([choosy("Own", (POD_DELETE, lambda info, old, new: info.uid == "old-uid"))])
    stage.parked("p", "Own")
    stage.happens(ASSIGNED_POD_DELETE, pod("p").uid("old-uid").obj())
    assert stage.place("p") is PodState.UNSCHEDULABLE


def test_bounds_keep_out_higher_priorities_and_the_excepted_pod() -> None:
    stage = Stage()
    for name, priority in (("low", 1), ("equal", 5), ("self", 5), ("high", 6)):
        stage.parked(pod(name).priority(priority))
    stage.queue.move(ASSIGNED_POD_DELETE, VICTIM, None, stage.now, priority_max=5, except_key="default/self")
    awake = [n for n in ("low", "equal", "self", "high") if stage.place(n) is PodState.BACKOFF]
    assert awake == ["low", "equal"]


def test_gated_pods_listen_through_their_gate_alone() -> None:
    """A cluster event another rejector would wake it for is ignored, as upstream's scheduler was seen to do."""
    gate = Gate()
    stage = Stage(gates=(gate,))
    stage.parked("p", "Room", "Labels")
    gate.shut.add("default/p")
    stage.happens(NODE_ADD, None, NEW_NODE)
    assert stage.place("p") is PodState.GATED
    gate.shut.clear()
    stage.happens(NODE_LABEL, NEW_NODE, NEW_NODE)
    assert stage.place("p") is PodState.GATED
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.place("p") is PodState.BACKOFF


def test_gate_registrations_alone_do_not_wake() -> None:
    """The gate hears of the deletion, but no rejector is helped by it."""
    gate = Gate("default/p")
    stage = Stage(gates=(gate,))
    stage.add("p")
    gate.shut.clear()
    stage.happens(ASSIGNED_POD_DELETE, VICTIM)
    assert stage.place("p") is PodState.GATED


def test_the_longest_idle_are_taken_first() -> None:
    stage, parked = Stage(), Parked()
    records = [stage.parked(name) for name in ("a", "b", "c")]
    for queued in records:
        stage.queue.delete(queued.key, stage.now)
    for age, queued in zip((5, 9, 1), records, strict=True):
        queued.timestamp = START - age * SECOND
        parked.add(queued)
    assert parked.longest_idle_since() == START - 9 * SECOND
    assert parked.take_idle(9 * SECOND, now=START) == []
    assert [r.info.name for r in parked.take_idle(4 * SECOND, now=START)] == ["b", "a"]
    assert parked.longest_idle_since() == START - 1 * SECOND
    assert [r.info.name for r in parked.all()] == ["c"]


def test_a_group_that_has_dissolved_is_formed_anew_once() -> None:
    """By whoever comes first: one who was in it before, or another."""
    stage, parked = Stage(), Parked()
    before, other, newcomer = (stage.parked(name) for name in ("a", "b", "c"))
    for queued in (before, other, newcomer):
        stage.queue.delete(queued.key, stage.now)
    newcomer.gathering = None
    for arriving in ((before, other, newcomer), (newcomer, other, before)):
        for queued in arriving:
            parked.add(queued)
        (group,) = parked._by_group
        assert list(parked._by_group[group].members.values()) == list(arriving)
        assert {queued.gathering for queued in arriving} == {parked._by_group[group]}
        for queued in arriving:
            parked.remove(queued)
        assert not parked._by_group
        newcomer.gathering = None


def test_nothing_is_left_behind_when_pods_leave() -> None:
    stage = Stage(gates=(Gate("default/gated"),))
    stage.parked("p", "Room", "Labels")
    stage.add("gated")
    for name in ("p", "gated"):
        stage.queue.delete(f"default/{name}", stage.now)
    parked = stage.queue._parked
    assert (len(parked), parked.gated_count, parked._by_group, parked._listening) == (
        0,
        0,
        {},
        {"default-scheduler": {}},
    )


@pytest.mark.parametrize(
    "changed",
    [
        pod("a").condition("PodScheduled", "False", "Unschedulable", "in other words"),
        pod("a").labels(shape="other"),
        pod("a").priority(7),
        pod("a").priority(0, policy="Never"),
    ],
    ids=["status", "labels", "priority", "policy"],
)
def test_a_pod_that_has_changed_is_the_last_of_those_it_is_like_now(changed: PodBuilder) -> None:
    stage = Stage()
    queued = stage.parked("a")
    stage.wait(1)
    stage.parked("b")
    stage.update(queued.pod, changed)
    assert queued.gathering is not None
    assert queued.gathering.group == Group.of(queued)
    assert [*queued.gathering.members][-1] == queued.key


def test_the_age_of_a_pod_that_has_changed_is_what_it_was() -> None:
    stage = Stage()
    queued = stage.parked("a")
    due = stage.queue.wake_at()
    stage.wait(100)
    stage.update(queued.pod, pod("a").priority(7))
    assert stage.queue.wake_at() == due
