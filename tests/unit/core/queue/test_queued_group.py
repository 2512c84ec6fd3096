"""What is remembered of a group: the order of its members, and how its attempts went."""

from __future__ import annotations

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.groups import PodGroup, PodGroupSpec
from bayplan.testing import builders as make

CACHE = Cache(gates=DEFAULT_GATES)


def member(name: str, *, priority: int = 0, attempts: int = 0, timestamp: int = 0, turn: int = 0) -> QueuedPod:
    pod = make.pod(name).priority(priority).obj()
    return QueuedPod(pod, CACHE.info(pod), 0, timestamp, attempts=attempts, turn=turn)


def test_members_stand_by_priority_then_attempts_then_age_then_turn() -> None:
    group = QueuedGroup(PodGroup(), "default/g", 0, 0)
    for queued in (
        member("young", timestamp=9),
        member("second", timestamp=5, turn=2),
        member("first", timestamp=5, turn=1),
        member("tried", attempts=1, timestamp=10),
        member("important", priority=1, timestamp=20),
    ):
        group.take_in(queued)
    assert [queued.info.name for queued in group.members] == ["important", "tried", "first", "second", "young"]


def test_the_group_competes_with_its_own_priority() -> None:
    group = QueuedGroup(PodGroup(spec=PodGroupSpec(priority=7)), "default/g", 0, 0, [member("a", priority=3)])
    assert group.info.priority == 7
    assert QueuedGroup(PodGroup(), "default/g", 0, 0, [member("a", priority=3)]).info.priority == 0


def test_attempts_count_until_one_places_something() -> None:
    group = QueuedGroup(PodGroup(), "default/g", 0, timestamp=1)
    group.note_attempt(has_placed=False, has_failed=False, now=2)
    group.note_attempt(has_placed=False, has_failed=True, now=3)
    assert (group.unschedulable_count, group.consecutive_errors, group.timestamp) == (1, 1, 3)
    group.note_attempt(has_placed=False, has_failed=False, now=4)
    assert (group.unschedulable_count, group.consecutive_errors) == (2, 0)
    group.note_attempt(has_placed=True, has_failed=False, now=None)
    assert (group.unschedulable_count, group.consecutive_errors, group.timestamp) == (0, 0, 4)
