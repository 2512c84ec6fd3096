"""Groups in the queue: incomplete, gated, active and backing off, and in which order they are tried."""

from __future__ import annotations

from dataclasses import replace

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.framework.requeue import POD_APPEARED, ActionType, ClusterEvent, EventResource
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.gang_scheduling import GangScheduling
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.hints import QueueProfile, Reactions
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.release import V1_36
from bayplan.model.groups import GangPolicy, GroupSchedulingPolicy, PodGroup, PodGroupSpec
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make

START = 1_000 * SECOND


class Stage:
    """A queue that knows groups; each thing happens a nanosecond after the last."""

    def __init__(self) -> None:
        self.now = START
        self.cache = Cache(gates=DEFAULT_GATES)
        profile = QueueProfile((), Reactions([GangScheduling()], V1_36), gates_gangs=True)
        self.queue = SchedulingQueue(
            {"default-scheduler": profile},
            PrioritySort().sort_key,
            started_at=START,
            mirror=self.cache,
            gates=replace(DEFAULT_GATES, generic_workload=True),
        )
        assert self.queue.groups is not None
        self.groups = self.queue.groups

    def group(self, name: str, min_count: int, priority: int = 0) -> PodGroup:
        self.now += 1
        policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=min_count))
        group = PodGroup(
            metadata=ObjectMeta(name=name, namespace="default"),
            spec=PodGroupSpec(scheduling_policy=policy, priority=priority),
        )
        self.groups.group_seen(group, self.now)
        return group

    def add(self, name: str, group: str = "", priority: int = 0) -> Pod:
        """The pod comes, and all hear of it."""
        self.now += 1
        pod = make.pod(name).priority(priority).obj()
        if group:
            pod.spec.scheduling_group = PodSchedulingGroup(pod_group_name=group)
        self.queue.add(pod, self.cache.info(pod), self.now)
        self.queue.move(POD_APPEARED, None, pod, self.now)
        return pod

    def places(self) -> dict[str, PodState]:
        return {queued.info.name: queued.state for queued in self.queue.resting.values()}

    def pop(self) -> QueuedGroup:
        self.now += 1
        group = self.queue.pop_group(self.now)
        assert group is not None
        return group

    def fail(self, group: QueuedGroup, *, has_failed: bool = False) -> None:
        """All members come back."""
        for queued in list(group.members):
            self.queue.return_failed(queued, (), (), self.now)
        self.queue.return_group(group, has_placed=False, has_failed=has_failed, now=self.now)

    def popped(self) -> list[str]:
        """Names of groups and pods in the order in which they are tried."""
        names = []
        while True:
            group = self.queue.pop_group(self.now)
            if group is not None:
                names.append(group.group.metadata.name)
                self.queue.return_group(group, has_placed=True, has_failed=False, now=self.now)
                continue
            queued = self.queue.pop(self.now)
            if queued is None:
                return names
            names.append(queued.info.name)
            self.queue.discard(queued)


def test_pods_wait_for_their_group_then_for_enough_of_them() -> None:
    stage = Stage()
    stage.add("a", "g")
    assert stage.places() == {"a": PodState.INCOMPLETE}
    stage.group("g", 2)
    assert stage.places() == {"a": PodState.GATED}
    stage.add("b", "g")
    assert stage.places() == {"a": PodState.ACTIVE, "b": PodState.ACTIVE}
    assert stage.queue.counts() == {
        PodState.ACTIVE: 2,
        PodState.BACKOFF: 0,
        PodState.UNSCHEDULABLE: 0,
        PodState.GATED: 0,
        PodState.INCOMPLETE: 0,
    }


def test_a_group_that_is_gone_leaves_its_pods_incomplete() -> None:
    stage = Stage()
    stage.group("g", 1)
    stage.add("a", "g")
    stage.groups.group_gone("default/g")
    assert stage.places() == {"a": PodState.INCOMPLETE}
    assert stage.queue.active_count == 0
    stage.group("g", 1)
    assert stage.places() == {"a": PodState.ACTIVE}


def test_a_skipped_member_that_changes_comes_in_again_if_there_is_its_group() -> None:
    """As upstream, which looks for a group first, and finds only those that wait for one."""
    stage = Stage()
    stage.group("g", 1)
    pod = stage.add("a", "g")
    group = stage.pop()
    stage.queue.skip(group.members[0], stage.now)
    stage.queue.return_group(group, has_placed=True, has_failed=False, now=stage.now)
    stage.groups.group_gone("default/g")
    stage.queue.update(pod, pod, stage.cache.info(pod), stage.now)
    assert stage.places() == {}
    stage.group("g", 1)
    stage.queue.update(pod, pod, stage.cache.info(pod), stage.now)
    assert stage.places() == {"a": PodState.ACTIVE}


def test_groups_and_pods_are_tried_in_one_order() -> None:
    stage = Stage()
    stage.group("late", 1)
    stage.group("important", 1, priority=5)
    stage.add("pod")
    stage.add("a", "late", priority=9)  # the priority of the group counts
    stage.add("b", "important")
    stage.add("first", priority=5)
    assert stage.popped() == ["important", "first", "pod", "late"]


def test_members_keep_their_order_when_they_come_back() -> None:
    stage = Stage()
    stage.group("g", 1)
    for name in ("c", "a", "b"):
        stage.add(name, "g")
    group = stage.pop()
    assert [queued.info.name for queued in group.members] == ["c", "a", "b"]
    stage.fail(group)
    assert [queued.info.name for queued in group.members] == ["c", "a", "b"]


def test_a_group_is_tried_again_by_its_backoff_alone() -> None:
    """Nothing else brings it back, not even an idle scheduler; it doubles up to 10 s times the root of 4 members."""
    stage = Stage()
    stage.group("g", 1)
    for name in "abcd":
        stage.add(name, "g")
    for seconds in (1, 2, 4, 8, 16, 20, 20):
        stage.fail(stage.pop())
        assert set(stage.places().values()) == {PodState.BACKOFF}
        assert not stage.queue.has_next
        stage.now += (seconds - 1) * SECOND
        assert stage.queue.pop_group(stage.now) is None
        stage.now += 2 * SECOND


def test_what_is_left_after_a_success_goes_on_at_once_and_is_as_old_as_it_was() -> None:
    stage = Stage()
    stage.group("g", 1)
    stage.add("a", "g")
    stage.add("b", "g")
    stage.add("younger")
    group = stage.pop()
    stage.queue.assume(group.members[0], "node", stage.now)
    stage.queue.return_failed(group.members[1], (), (), stage.now)
    stage.queue.return_group(group, has_placed=True, has_failed=False, now=stage.now)
    assert stage.places() == {"b": PodState.ACTIVE, "younger": PodState.ACTIVE}
    assert stage.popped() == ["g", "younger"]


def test_the_last_member_takes_its_group_along() -> None:
    stage = Stage()
    stage.group("g", 1)
    stage.add("a", "g")
    stage.add("b", "g")
    stage.queue.delete("default/a", stage.now)
    assert stage.places() == {"b": PodState.ACTIVE}
    stage.queue.delete("default/b", stage.now)
    assert stage.queue.active_count == 0
    assert not stage.queue.resting


def test_a_smaller_quorum_lets_a_gang_in() -> None:
    stage = Stage()
    before = stage.group("g", 2)
    stage.add("a", "g")
    after = stage.group("g", 1)
    assert stage.places() == {"a": PodState.GATED}
    stage.queue.move(ClusterEvent(EventResource.POD_GROUP, ActionType.UPDATE), before, after, stage.now)
    assert stage.places() == {"a": PodState.ACTIVE}


def test_gated_groups_get_another_chance_after_five_minutes() -> None:
    stage = Stage()
    stage.group("g", 2)
    stage.add("a", "g")
    due = stage.queue.wake_at()
    assert due is not None
    assert 300 * SECOND < due - START < 340 * SECOND
    stage.queue.tick(due)
    assert stage.places() == {"a": PodState.GATED}
    assert stage.queue.wake_at() != due
