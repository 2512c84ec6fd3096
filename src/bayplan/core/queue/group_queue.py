"""Pod groups in the queue: which is tried next, what keeps one out, and what brings it back.

All members of a group that wait for a node rest in one place, together. A group that could not be placed is tried again
when its penalty is over, whatever happens meanwhile; only one that is kept out (gated) listens to cluster events, each
member as a pod would, and the best answer counts. Pods whose PodGroup is not known are incomplete, and in no order.
Members that come back while their group is tried wait for its end: then they form the group that goes on.
Upstream: backend/queue/scheduling_queue.go (v1.37), where a group is an entity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from math import sqrt
from typing import Final

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import POD_APPEARED, ClusterEvent
from bayplan.core.framework.verdict import SUCCESS, Status
from bayplan.core.lifecycle import PLACES, PodState
from bayplan.core.queue import figures as labels
from bayplan.core.queue.backoff import Backoff
from bayplan.core.queue.figures import Figures
from bayplan.core.queue.gangs import may_gang_enter
from bayplan.core.queue.hints import WILDCARD, QueueProfile, judge
from bayplan.core.queue.pod_heap import PodHeap, SortKey
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.queue.queued_pod import QueuedPod, Strategy
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object, object_key

_ACTIVE, _BACKOFF, _GATED = PodState.ACTIVE, PodState.BACKOFF, PodState.GATED
_INCOMPLETE = PodState.INCOMPLETE
#: The place of a group, as the wake-up that would bring it there.
_STRATEGIES: Final = {_ACTIVE: Strategy.IMMEDIATELY, _BACKOFF: Strategy.AFTER_BACKOFF, _GATED: Strategy.SKIP}
_POD_ADDED = POD_APPEARED.label


class GroupBackoff(Backoff[QueuedGroup]):
    """Groups, whose longest penalty grows with the root of the number of their members.

    Nobody is blamed for the failure of a group, so that it counts as failed by error and is not popped early.
    """

    def holds_off(self, queued: QueuedGroup, now: int) -> bool:
        return self._ends_at(queued) >= self._aligned(now)

    def _longest_for(self, queued: QueuedGroup) -> int:
        return int(self._max_ns * sqrt(len(queued.members)))


class GroupQueue:
    """All groups with members that wait for a node, and the one being tried."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        sort_key: SortKey,
        backoff: GroupBackoff,
        figures: Figures,
        *,
        resting: dict[str, QueuedPod],
        count_on_nodes: Callable[[str], int],
        hold_back: Callable[[str], Status],
        wakes_early: bool,
    ) -> None:
        """`resting` is the queue's own; `count_on_nodes` says how many pods of a group have a node, and `hold_back`
        whether preemption for a group is under way. `wakes_early`: what helps a group ends a penalty that has grown.
        """
        self._profiles = profiles
        self._sort_key = sort_key
        self._backoff = backoff
        self._figures = figures
        self._resting = resting
        self._count_on_nodes = count_on_nodes
        self._hold_back = hold_back
        self.wakes_early = wakes_early
        self._known: dict[str, PodGroup] = {}
        self._groups: dict[str, QueuedGroup] = {}  # that rest in a place
        self._incomplete: dict[str, dict[str, QueuedPod]] = {}  # group -> its pods by key
        self._without_node: dict[str, set[str]] = {}  # group -> its pods that have no node, being deleted or not
        self._group_of: dict[str, str] = {}  # the same the other way round
        self._active: PodHeap[tuple[int, ...], QueuedGroup] = PodHeap()
        self._gated: PodHeap[int, QueuedGroup] = PodHeap()  # by age
        self._trying: QueuedGroup | None = None
        self._returned: list[QueuedPod] = []  # members of the group being tried that did not get a node
        self._turns = count()
        self._before: dict[str, QueuedGroup] = {}  # groups of another queue that this one goes on from

    # ---------------------------------------------------------------- objects

    def group_seen(self, group: PodGroup, now: int) -> None:
        """The group is new, or has changed. Pods that waited for it come in, in their order."""
        key = object_key(group)
        self._known[key] = group
        queued_group = self._groups.get(key)
        if queued_group is not None:
            before, queued_group.group = queued_group.group, group
            if self.wakes_early and _gang_size(group) < _gang_size(before):
                self._shorten_penalty(queued_group, now)
        waiting = self._incomplete.pop(key, None)
        if waiting:
            together = QueuedGroup(group, key, 0, 0)
            for queued in waiting.values():
                together.take_in(queued)
            for queued in together.members:
                self._join(queued, now, _POD_ADDED)

    def group_gone(self, key: str) -> None:
        """Its pods wait until there is such a group again."""
        self._known.pop(key, None)
        queued_group = self._groups.pop(key, None)
        if queued_group is not None:
            self._take_out(queued_group)
            for queued in queued_group.members:
                self._wait_for_group(queued, labels.GROUP_GONE)

    # ---------------------------------------------------------------- members come, change and go

    def add(self, queued: QueuedPod, now: int) -> None:
        """A pod that has no node: a new one, or one that comes back from an attempt."""
        self._note_without_node(queued)
        self._join(queued, now, _POD_ADDED if queued.state is PodState.NEW else labels.SCHEDULE_ATTEMPT_FAILURE)

    def takes(self, info: PodInfo) -> bool:
        """Whether a pod that is in no queue comes in when it changes: not if there is no such group."""
        return not info.group or info.group in self._known

    def update(self, queued: QueuedPod, changes: Iterable[ClusterEvent], old: Object, new: Object, now: int) -> None:
        """A member has changed, and what is known of it with it."""
        queued_group = self._groups.get(queued.info.group)
        if queued_group is None:
            return
        if queued_group.state is not _GATED:
            self._take_out(queued_group)  # its place may be another one in the same order
            self._put(queued_group, now)
            return
        for cluster_event in changes:
            strategy = self._judge(queued_group, cluster_event, old, new, "")
            if strategy is not Strategy.SKIP:
                self._take_out(queued_group)
                self._requeue(queued_group, strategy, now, cluster_event.label)
                if queued_group.state is not _GATED:
                    return

    def remove(self, queued: QueuedPod, now: int) -> None:
        """A member that rests is gone. Gates are asked as if it were still there."""
        key = queued.info.group
        incomplete = self._incomplete.get(key)
        if incomplete is not None:
            del incomplete[queued.key]
            if not incomplete:
                del self._incomplete[key]
            return
        queued_group = self._groups[key]
        self._take_out(queued_group)
        queued_group.members.remove(queued)
        if queued_group.members:
            self._requeue(queued_group, _STRATEGIES[queued_group.state], now, _POD_ADDED)
        else:
            del self._groups[key]

    def forget(self, key: str) -> None:
        """The pod has a node, or is gone."""
        group = self._group_of.pop(key, "")
        if group:
            self._without_node[group].discard(key)
            if not self._without_node[group]:
                del self._without_node[group]

    # ---------------------------------------------------------------- an attempt

    def is_ahead_of(self, other: QueuedPod | None) -> bool:
        """Whether a group is tried before the first pod that has none."""
        first = self._active.first()
        if first is None or other is None:
            return first is not None
        assert first.heap_entry is not None
        assert other.heap_entry is not None
        return first.heap_entry[:2] < other.heap_entry[:2]

    def pop(self) -> QueuedGroup:
        """The group to try next. All its members are in flight until it is back."""
        queued_group = self._active.pop()
        assert queued_group is not None
        del self._groups[queued_group.key]
        for queued in queued_group.members:
            del self._resting[queued.key]
            queued.start_attempt()
        self._trying = queued_group
        return queued_group

    def return_group(self, queued_group: QueuedGroup, *, has_placed: bool, has_failed: bool, now: int) -> None:
        """The attempt is over. Members that came back form the group that goes on; after a success at once."""
        assert queued_group is self._trying
        returned, self._returned, self._trying = self._returned, [], None
        if has_placed:
            self._figures.spared_ns += max(queued_group.spared_until - now, 0)
        queued_group.spared_until = 0
        if not returned:
            return
        was_tried = {queued.key for queued in queued_group.members}
        stays_old = has_placed and any(queued.key in was_tried for queued in returned)
        queued_group.group = self._known[queued_group.key]
        queued_group.members = []
        for queued in returned:
            queued_group.take_in(queued)
        queued_group.note_attempt(has_placed=has_placed, has_failed=has_failed, now=None if stays_old else now)
        self._groups[queued_group.key] = queued_group
        strategy = Strategy.IMMEDIATELY if has_placed else Strategy.AFTER_BACKOFF
        self._requeue(queued_group, strategy, now, labels.SCHEDULE_ATTEMPT_FAILURE)

    def take_over(self, before: GroupQueue, now: int) -> None:
        """Groups that come will have been tried as often as in the other queue. An attempt that ended there failed."""
        if before._trying is not None:
            before._trying.note_attempt(has_placed=False, has_failed=True, now=now)
            before._groups[before._trying.key] = before._trying
        self._before = before._before | before._groups

    # ---------------------------------------------------------------- what brings groups back

    def move(
        self,
        cluster_event: ClusterEvent,
        old: Object | None,
        new: Object | None,
        now: int,
        *,
        priority_max: int | None,
        except_key: str,
    ) -> None:
        """Something happened: wake the gated groups it may help."""
        if self.wakes_early:
            self._end_long_penalties(cluster_event, old, new, now, except_key)
        if not len(self._gated):
            return
        for queued_group in [each for each in self._groups.values() if each.state is _GATED]:
            reactions = self._profiles[queued_group.gating_profile].reactions
            if cluster_event != WILDCARD and queued_group.gating_plugin not in reactions.to(cluster_event):
                continue
            members = queued_group.members
            if priority_max is not None and all(queued.info.priority > priority_max for queued in members):
                continue
            strategy = self._judge(queued_group, cluster_event, old, new, except_key)
            if strategy is not Strategy.SKIP:
                self._take_out(queued_group)
                self._requeue(queued_group, strategy, now, cluster_event.label)

    def _end_long_penalties(
        self, cluster_event: ClusterEvent, old: Object | None, new: Object | None, now: int, except_key: str
    ) -> None:
        """Of groups that it may help, as a plugin says that has rejected a member."""
        for queued_group in [each for each in self._groups.values() if each.state is _BACKOFF]:
            rejected = (each for each in queued_group.members if each.rejectors and each.key != except_key)
            for queued in rejected:
                matched = self._profiles[queued.info.scheduler_name].reactions.to(cluster_event)
                if judge(queued, cluster_event, matched, old, new) is not Strategy.SKIP:
                    self._shorten_penalty(queued_group, now)
                    break

    def _shorten_penalty(self, queued_group: QueuedGroup, now: int) -> None:
        """To that of a group that was tried in vain once."""
        if queued_group.state is _BACKOFF and queued_group.unschedulable_count > 1:
            self._take_out(queued_group)
            queued_group.spared_until = self._backoff.out_at(queued_group)
            queued_group.unschedulable_count, queued_group.backoff_second = 1, None
            self._requeue(queued_group, Strategy.AFTER_BACKOFF, now, labels.HELPED)

    def activate(self, key: str, now: int) -> None:
        """Try the group as soon as possible, if the gates agree."""
        queued_group = self._groups.get(key)
        if queued_group is not None and queued_group.state is not _ACTIVE:
            self._take_out(queued_group)
            self._requeue(queued_group, Strategy.IMMEDIATELY, now, labels.FORCE_ACTIVATE)

    def release(self, key: str, now: int) -> None:
        """A gate may have opened for the group: let the wake-up go on that brought it there."""
        queued_group = self._groups.get(key)
        if queued_group is not None and queued_group.held_back is not Strategy.SKIP:
            self._take_out(queued_group)
            self._requeue(queued_group, queued_group.held_back, now, labels.GATE_OPENED)

    def flush_backoff(self, now: int) -> None:
        """Groups whose penalty is over become active. Gates were asked when they came, or else are asked now."""
        for queued_group in self._backoff.pop_finished(now):
            if self._backoff.pops_early:
                self._rest(queued_group, _ACTIVE, labels.BACKOFF_COMPLETE, now)
            else:
                self._requeue(queued_group, Strategy.AFTER_BACKOFF, now, labels.BACKOFF_COMPLETE)

    def flush_gated(self, age_ns: int, now: int) -> None:
        """Groups that nothing has moved for long get another chance."""
        for queued_group in self._gated.pop_below(now - age_ns):
            queued_group.flushed_at = now
            self._requeue(queued_group, Strategy.AFTER_BACKOFF, now, labels.UNSCHEDULABLE_TIMEOUT)

    def backoff_ends_at(self) -> int | None:
        return self._backoff.wake_at()

    def longest_idle_since(self) -> int | None:
        queued_group = self._gated.first()
        return None if queued_group is None else queued_group.idle_since

    @property
    def active_count(self) -> int:
        """How many groups are active."""
        return self._active.count

    def pod_counts(self) -> Counter[PodState]:
        """Members in each place."""
        counts = Counter({_INCOMPLETE: sum(map(len, self._incomplete.values()))})
        for queued_group in self._groups.values():
            counts[queued_group.state] += len(queued_group.members)
        return counts

    def group_counts(self) -> Counter[PodState]:
        """Groups in each place, without those of which no PodGroup is known."""
        return Counter(queued_group.state for queued_group in list(self._groups.values()))

    # ---------------------------------------------------------------- inside

    def _note_without_node(self, queued: QueuedPod) -> None:
        queued.turn = next(self._turns)
        self._group_of[queued.key] = queued.info.group
        self._without_node.setdefault(queued.info.group, set()).add(queued.key)

    def _join(self, queued: QueuedPod, now: int, reason: str) -> None:
        """To its group, wherever that is."""
        key = queued.info.group
        group = self._known.get(key)
        queued_group = self._groups.get(key)
        if group is None:
            self._wait_for_group(queued, reason)
        elif queued_group is not None:
            self._take_out(queued_group)
            queued_group.take_in(queued)
            self._requeue(queued_group, _STRATEGIES[queued_group.state], now, reason)
            if self.wakes_early:
                self._shorten_penalty(queued_group, now)
        elif self._trying is not None and self._trying.key == key:
            self._returned.append(queued)
        else:
            started = QueuedGroup(group, key, queued.number, queued.timestamp, [queued])
            strategy = self._go_on(started)
            self._groups[key] = started
            self._requeue(started, strategy, now, reason)

    def _go_on(self, started: QueuedGroup) -> Strategy:
        """Where the group was in another queue before; it backs off as it would have done there."""
        before = self._before.pop(started.key, None)
        if before is None:
            return Strategy.IMMEDIATELY
        started.timestamp = before.timestamp
        started.unschedulable_count, started.consecutive_errors = before.unschedulable_count, before.consecutive_errors
        return Strategy.AFTER_BACKOFF

    def _wait_for_group(self, queued: QueuedPod, reason: str) -> None:
        self._incomplete.setdefault(queued.info.group, {})[queued.key] = queued
        self._place(queued, _INCOMPLETE, reason)

    def _requeue(self, queued_group: QueuedGroup, strategy: Strategy, now: int, reason: str) -> None:
        """To the place that the strategy, the backoff and the gates say. The group is out of the one it was in."""
        if strategy is Strategy.SKIP:
            self._rest(queued_group, _GATED, reason, now)
            return
        backs_off = strategy is Strategy.AFTER_BACKOFF and self._backoff.holds_off(queued_group, now)
        if (self._backoff.pops_early or not backs_off) and self._is_shut_out(queued_group):
            queued_group.held_back = max(queued_group.held_back, strategy)
            self._rest(queued_group, _GATED, reason, now)
            return
        queued_group.held_back = Strategy.SKIP
        self._rest(queued_group, _BACKOFF if backs_off else _ACTIVE, reason, now)

    def _is_shut_out(self, queued_group: QueuedGroup) -> bool:
        """Ask PreEnqueue about all members; one that may not enter keeps the others out."""
        key = queued_group.key
        preempts = self._hold_back(key)
        pod_count = len(self._without_node.get(key, ())) + self._count_on_nodes(key)
        gang = may_gang_enter(key.partition("/")[2], queued_group.group, pod_count)
        queued_group.gating_plugin = queued_group.gating_profile = ""
        for queued in queued_group.members:
            profile = self._profiles[queued.info.scheduler_name]
            status = _first_refusal(queued, profile, (preempts, gang) if profile.gates_gangs else (preempts,))
            if status.ok:
                if queued.gating_plugin:
                    queued.ungate()
            else:
                queued.gate(status.plugin, Strategy.SKIP)
                queued_group.gating_plugin, queued_group.gating_profile = status.plugin, queued.info.scheduler_name
        return bool(queued_group.gating_plugin)

    def _judge(
        self,
        queued_group: QueuedGroup,
        cluster_event: ClusterEvent,
        old: Object | None,
        new: Object | None,
        except_key: str,
    ) -> Strategy:
        """The best that it is worth to a member."""
        best = Strategy.SKIP
        for queued in queued_group.members:
            if queued.key != except_key:
                matched = self._profiles[queued.info.scheduler_name].reactions.to(cluster_event)
                best = max(best, judge(queued, cluster_event, matched, old, new))
                if best is Strategy.IMMEDIATELY:
                    break
        return best

    def _take_out(self, queued_group: QueuedGroup) -> None:
        if queued_group.state is _ACTIVE:
            self._active.remove(queued_group)
        elif queued_group.state is _BACKOFF:
            self._backoff.remove(queued_group)
        else:
            self._gated.remove(queued_group)

    def _rest(self, queued_group: QueuedGroup, place: PodState, reason: str, now: int) -> None:
        if queued_group.state is not place:
            self._figures.incoming_groups[labels.NAMES[place], reason] += 1
        queued_group.state = place
        for queued in queued_group.members:
            self._place(queued, place, reason)
        self._put(queued_group, now)

    def _put(self, queued_group: QueuedGroup, now: int) -> None:
        """Into the heap of its place."""
        if queued_group.state is _ACTIVE:
            self._active.push(queued_group, self._sort_key(queued_group.info, queued_group.timestamp))
            for queued in queued_group.members:
                if queued.initial_attempt_at is None:
                    queued.initial_attempt_at = now
        elif queued_group.state is _BACKOFF:
            self._backoff.push(queued_group)
        else:
            self._gated.push(queued_group, queued_group.idle_since)

    def _place(self, queued: QueuedPod, place: PodState, reason: str) -> None:
        before = queued.state
        if before is not place:
            self._figures.incoming[labels.NAMES[place], reason] += 1
            self._figures.incoming_members[labels.NAMES[place], reason] += 1
        if before not in PLACES:
            self._resting[queued.key] = queued
        queued.enter(place)


def _first_refusal(queued: QueuedPod, profile: QueueProfile, together: Iterable[Status]) -> Status:
    """What the plugin says that kept the pod out the last time, if it still does; else the first that does.

    What goes for the whole group has been asked already: `together`.
    """
    refusals = [status for status in together if not status.ok]
    for status in refusals:
        if status.plugin == queued.gating_plugin:
            return status
    own = profile.admit(queued.info, queued.gating_plugin)
    if own is not SUCCESS and not own.ok:
        return own
    return refusals[0] if refusals else SUCCESS


def _gang_size(group: PodGroup) -> int:
    """How many pods it takes; 0 for a group that is no gang."""
    gang = group.spec.scheduling_policy.gang
    return 0 if gang is None else gang.min_count
