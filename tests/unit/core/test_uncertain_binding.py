"""Answers to Bind that are late, lost or refused: a pod's room is given away only when it is sure not to be there."""

from __future__ import annotations

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.core.actions import Bind, Emit, SetCondition
from bayplan.core.decision import Decision
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.scheduler import Scheduler
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.testing.builders import node, pod

SECOND = 10**9
UID = "pod-default-p"


def bound_pod() -> tuple[Scheduler, Pod]:
    """A scheduler that has asked for its only pod to be bound to its only node, which has room for one."""
    profiles = build_profiles(load_configuration(None, release=DEFAULT_RELEASE))
    scheduler = Scheduler(profiles, queue_order(profiles), started_at=0, gates=DEFAULT_GATES)
    waiting = pod("p").cpu("3").obj()
    waiting.metadata.generation = 1  # as every pod has that an API server stores
    scheduler.observe(ObjectAdded(node("n").capacity(cpu="4", memory="8Gi", pods=10).obj()), 0)
    scheduler.observe(ObjectAdded(waiting), 0)
    decision = scheduler.decide(0)
    assert decision is not None
    assert decision.actions == (Bind("default/p", UID, "n"),)
    return scheduler, waiting


def decided(scheduler: Scheduler, now: int) -> Decision:
    decision = scheduler.decide(now)
    assert decision is not None
    return decision


def is_room_kept(scheduler: Scheduler) -> bool:
    """Whether another pod of the same size finds no place."""
    scheduler.observe(ObjectAdded(pod("other").cpu("3").obj()), SECOND)
    decisions = iter(lambda: scheduler.decide(SECOND), None)
    return not any(
        isinstance(action, Bind) and action.pod == "default/other" for d in decisions for action in d.actions
    )


def test_a_refused_binding_gives_the_room_back() -> None:
    """The pod is told so and waits for its backoff; the room is free at once."""
    scheduler, _ = bound_pod()
    scheduler.observe(BindAnswered("default/p", UID, "conflict"), SECOND)
    told = scheduler.decide(SECOND)
    assert told is not None
    assert [type(action) for action in told.actions] == [Emit, SetCondition]
    assert not is_room_kept(scheduler)


def test_a_lost_answer_keeps_the_room_and_asks_again() -> None:
    """Nobody knows whether the pod is there, so nobody else gets its place, even if the next request is refused.

    What is refused is asked for again after a second: the reason for it may last.
    """
    scheduler, _ = bound_pod()
    asked = (Bind("default/p", UID, "n"),)
    scheduler.observe(BindAnswered("default/p", UID, "timed out", lost=True), SECOND)
    assert decided(scheduler, SECOND).actions == asked
    for second in (1, 2, 3):
        scheduler.observe(BindAnswered("default/p", UID, "conflict"), second * SECOND)
        assert scheduler.decide(second * SECOND) is None
        assert scheduler.due_at(second * SECOND) == (second + 1) * SECOND
        assert decided(scheduler, (second + 1) * SECOND).actions == asked
    assert is_room_kept(scheduler)


def test_a_pod_that_is_deleted_is_not_asked_for_again() -> None:
    scheduler, waiting = bound_pod()
    scheduler.observe(BindAnswered("default/p", UID, "timed out", lost=True), SECOND)
    scheduler.decide(SECOND)
    scheduler.observe(BindAnswered("default/p", UID, "no"), SECOND)
    scheduler.observe(ObjectRemoved(waiting), SECOND)
    assert scheduler.decide(3 * SECOND) is None
    assert scheduler.due_at(3 * SECOND) is None
    assert not is_room_kept(scheduler)


def test_a_pod_that_changed_on_its_way_counts_as_it_is_once_it_is_seen_on_its_node() -> None:
    """Labels may change between the decision and the binding; whoever counts pods by them goes by the new ones."""
    scheduler, waiting = bound_pod()
    meta = waiting.metadata
    relabeled = replace(waiting, metadata=replace(meta, labels={"tier": "web"}))
    scheduler.observe(ObjectChanged(waiting, relabeled), SECOND)
    on_its_node = replace(relabeled, spec=replace(relabeled.spec, node_name="n"))
    scheduler.observe(ObjectChanged(relabeled, on_its_node), SECOND)
    pods = scheduler.cache.pods
    assert pods.shape(pods.rows_by_key["default/p"]).labels == {"tier": "web"}


def test_the_watch_settles_what_an_answer_left_open() -> None:
    """Once the pod is seen on its node, what else is heard of the request does not matter."""
    scheduler, waiting = bound_pod()
    scheduler.observe(BindAnswered("default/p", UID, "timed out", lost=True), SECOND)
    scheduler.decide(SECOND)
    scheduler.observe(ObjectChanged(waiting, pod("p").cpu("3").node("n").obj()), SECOND)
    scheduler.observe(BindAnswered("default/p", UID, "conflict"), SECOND)
    assert scheduler.decide(SECOND) is None
    assert scheduler.pods_on_the_way() == []
    assert is_room_kept(scheduler)
