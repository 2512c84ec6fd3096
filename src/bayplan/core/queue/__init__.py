"""The scheduling queue: which pod is tried next, and what brings a rejected one back.

Takes pods and cluster events with their times; gives one pod at a time. A pod rests in one of four places
(`lifecycle`): the heap of `active` ones, the two of `backoff`, and among the `parked` ones, rejected or gated.
Where groups are known, their pods are the affair of `group_queue`, and groups and pods are popped in one order.
`in_flight` records what happens while pods are tried, `hints` says what that is worth to whom, `waking` finds whom it
wakes, `nominations` knows who has a node kept for it. The caller updates its cache first and the queue after it.

No wake-up is lost. These are the gaps in which one could be, and what closes them:

- Something happens while the pod is tried: recorded from pop to return, and judged when its rejectors are known.
- The pod itself changes meanwhile: the return takes the newest copy, so that later hints see the pod as it is.
- It returns when nothing was recorded for it any more (binding failed): it backs off, and is never parked.
- It is activated while in flight: recorded as a cluster event that helps this pod alone.
- It is woken while a gate is shut. Upstream parks it until the next cluster event the gating plugin registered for; a
  preemptor whose last victim was already gone when its preemption ended waits five minutes for the flush. Here the gate
  remembers the wake-up: whoever opens a gate calls `release`, and the pod goes on its way.
- It waits in a crowd, and the one pod of it that is tried comes back rejected by plugins that had not rejected the
  crowd, or does not come back: the next one is tried, until all wait for what may help them now.
- A nomination ends and no object says so: its pod took another node, or was deleted before the API had heard of the
  nomination, or is nominated elsewhere. Whoever was rejected because of the kept place is woken here, where the
  nomination ends. Upstream waits for a change of the pod's status, which may never be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.requeue import POD_APPEARED, POD_GONE, ActionType, ClusterEvent, EventResource
from bayplan.core.framework.verdict import SUCCESS, Status
from bayplan.core.lifecycle import PLACES, PodState
from bayplan.core.queue import figures as labels
from bayplan.core.queue.backoff import Backoff
from bayplan.core.queue.changes import pod_changes
from bayplan.core.queue.figures import Figures
from bayplan.core.queue.group_queue import GroupBackoff, GroupQueue
from bayplan.core.queue.hints import WILDCARD, QueueProfile, judge
from bayplan.core.queue.in_flight import InFlight, InFlightEvent
from bayplan.core.queue.nominations import Mirror, Nominations
from bayplan.core.queue.parked import Parked
from bayplan.core.queue.pod_heap import PodHeap, SortKey
from bayplan.core.queue.queued_group import QueuedGroup
from bayplan.core.queue.queued_pod import Group, QueuedPod, Strategy, identity_of
from bayplan.core.queue.waking import CROWD_MIN, woken
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.time_units import MICROSECOND, MINUTE, SECOND

PARKED_MAX_NS = 5 * MINUTE
#: Upstream's timer starts anew when the last flush is over, and so comes late by a little more each time: by 0.6 ms in
#: a recording. It matters: a pod that fails right after one flush is over five minutes old ten flushes later.
FLUSH_PERIOD_NS = 30 * SECOND + 600 * MICROSECOND

_POD_ADDED = POD_APPEARED.label
#: Later than any time there is.
_NEVER = 2**63
#: Members of enums are slow to get at, and these are wanted for each pod.
_ACTIVE, _BACKOFF, _UNSCHEDULABLE, _GATED = PodState.ACTIVE, PodState.BACKOFF, PodState.UNSCHEDULABLE, PodState.GATED
_ASSUMED, _GONE = PodState.ASSUMED, PodState.GONE
_SKIP, _AFTER_BACKOFF, _IMMEDIATELY = Strategy.SKIP, Strategy.AFTER_BACKOFF, Strategy.IMMEDIATELY
_PARKED = (_UNSCHEDULABLE, _GATED)
#: Of one that has its node; nothing else of it has changed.
_STATUS_OF_A_POD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)


def _holds_nobody_back(_: str) -> Status:
    return SUCCESS


class SchedulingQueue:
    """All pods that wait for a node, and those being tried."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        sort_key: SortKey,
        *,
        started_at: int,
        initial_backoff_ns: int = SECOND,
        max_backoff_ns: int = 10 * SECOND,
        parked_max_ns: int = PARKED_MAX_NS,
        mirror: Mirror | None = None,
        gates: FeatureGates,
        count_on_nodes: Callable[[str], int] = lambda _: 0,
        hold_group_back: Callable[[str], Status] = _holds_nobody_back,
        wakes_groups_early: bool = False,
    ) -> None:
        """The last three are for groups: how many pods of one have a node, whether it waits for evictions, and whether
        what helps one ends a penalty that has grown.
        """
        self.nominations = Nominations(mirror)
        self._gates = gates
        self._profiles = profiles
        self._started_at = started_at
        self._parked_max_ns = parked_max_ns
        self.resting: dict[str, QueuedPod] = {}
        """All that rest in a place; to be read only."""
        self.figures = Figures(self.resting)
        self._sort_key = sort_key
        self._active: PodHeap[tuple[int, ...], QueuedPod] = PodHeap()
        pops_early = gates.scheduler_pop_from_backoff_q
        self._backoff: Backoff[QueuedPod] = Backoff(
            sort_key, initial_backoff_ns, max_backoff_ns, started_at=started_at, pops_early=pops_early
        )
        self.groups: GroupQueue | None = None
        """The groups, where they are known."""
        if gates.generic_workload:
            self.groups = GroupQueue(
                profiles,
                sort_key,
                GroupBackoff(
                    sort_key, initial_backoff_ns, max_backoff_ns, started_at=started_at, pops_early=pops_early
                ),
                self.figures,
                resting=self.resting,
                count_on_nodes=count_on_nodes,
                hold_back=hold_group_back,
                wakes_early=wakes_groups_early,
            )
        self._parked = Parked()
        self._in_flight = InFlight()
        self._skipped: dict[str, QueuedPod] = {}  # pods that are being deleted, with a node kept for them
        self._arrivals = count()
        self._scouts: dict[str, Group] = {}  # pods that were woken for a crowd that waits behind them
        self._quiet_until = _NEVER  # time alone brings nobody back before that

    # ---------------------------------------------------------------- pods come, change and go

    def add(self, pod: Pod, info: PodInfo, now: int) -> None:
        """A pod that has no node yet. One that is known already is taken as changed."""
        known = self.find(info.key)
        if known is not None:
            self.update(known.pod, pod, info, now)
            return
        queued = QueuedPod(pod, info, self.next_number(), timestamp=now)
        if info.group and self.groups is not None:
            self.nominations.adopt(pod, info)
            self.groups.add(queued, now)
            self._look_at_clock()
            return
        self._requeue(queued, _IMMEDIATELY, now, _POD_ADDED)
        if queued.state is _ACTIVE or self._gates.release.gated_pods_keep_nodes:
            self.nominations.adopt(pod, info)

    def next_number(self) -> int:
        """The place of another pod in the order of arrival."""
        return next(self._arrivals)

    def take_over(self, before: SchedulingQueue, now: int) -> None:
        """Go on counting where another queue has ended: for metrics, and the attempts on groups."""
        self.figures.go_on(before.figures)
        if self.groups is not None and before.groups is not None:
            self.groups.take_over(before.groups, now)

    def readmit(self, queued: QueuedPod, node_kept: str, now: int) -> None:
        """A pod that waited in another queue before: it is tried again once its backoff is over."""
        self._note_rejectors(queued)
        if queued.info.group and self.groups is not None:
            self.groups.add(queued, now)
            self._look_at_clock()
        else:
            self._requeue(queued, _AFTER_BACKOFF if queued.attempts else _IMMEDIATELY, now, _POD_ADDED)
        self.nominations.set(queued.pod, queued.info, node_kept)

    def update(self, old: Pod, new: Pod, info: PodInfo, now: int) -> None:
        """A pending pod changed, its status included."""
        known = self.find(info.key)
        if known is None and self.groups is not None and not self.groups.takes(info):
            return
        if known is None or identity_of(known.info) != identity_of(info):
            self.delete(info.key, now)
            self.add(new, info, now)
            return
        kept = self.nominations.node_of(info)
        if known.key not in self.resting:
            self._in_flight.update(new, info)
            for action in pod_changes(old, new, self._gates):
                self._note(ClusterEvent(EventResource.TARGET_POD, action), old, new)
        elif info.group and self.groups is not None:
            self._update_member(self.groups, known, old, new, info, now)
        else:
            self._update_queued(known, old, new, info, now)
        nominated_before = old.status.nominated_node_name
        if nominated_before and nominated_before != info.nominated_node_name:
            # To the pod itself it is no news that would be worth remembering behind a gate.
            is_shut_out = not self._profile(known).admit(info, known.gating_plugin).ok
            except_key = known.key if is_shut_out else ""
            self.move(POD_GONE, old, None, now, priority_max=info.priority, except_key=except_key)
        elif kept != self.nominations.node_of(info):
            self._give_back(known, kept, now)

    def delete(self, key: str, now: int, *, bound_to: str = "") -> None:
        """The pod is gone, or somebody bound it to a node. Unknown ones are ignored."""
        queued = self.find(key) or self._skipped.pop(key, None)
        if queued is None:
            if self.groups is not None:
                self.groups.forget(key)
            return
        self._in_flight.mark_gone(key)
        if self.resting.pop(key, None) is not None:
            if queued.info.group and self.groups is not None:
                self.groups.remove(queued, now)
            else:
                self._take_out(queued)
            self._end(queued)
        if self.groups is not None:
            self.groups.forget(key)
        self._send_next_scout(key, now)
        kept = self.nominations.remove(queued.info) or queued.info.nominated_node_name
        if kept != bound_to:
            self._give_back(queued, kept, now)

    def find(self, key: str) -> QueuedPod | None:
        """The pod of that name, in a place or in flight."""
        return self.resting.get(key) or self._in_flight.find(key)

    # ---------------------------------------------------------------- an attempt

    def pop_group(self, now: int) -> QueuedGroup | None:
        """The group to try next, if it comes before all pods; it is being tried until `return_group`."""
        if self.groups is None:
            return None
        if self._quiet_until <= now:
            self.tick(now)
        return self.groups.pop() if self.groups.is_ahead_of(self._active.first()) else None

    def pop(self, now: int) -> QueuedPod | None:
        """The pod to try next; it is in flight until `return_failed`, `done` or `discard`."""
        if self._quiet_until <= now:
            self.tick(now)
        queued = self._active.pop()
        if queued is None:
            queued = self._backoff.pop_early()
            if queued is None:
                return None
            self.figures.incoming[labels.NAMES[_ACTIVE], labels.POP_FROM_BACKOFF] += 1
        del self.resting[queued.key]
        queued.start_attempt()
        self._in_flight.start(queued)
        return queued

    def assume(self, queued: QueuedPod, node_name: str, now: int) -> None:
        """The pod takes a node. Call it before the cache takes the pod: a nomination counts there too."""
        queued.enter(_ASSUMED)
        if self.groups is not None:
            self.groups.forget(queued.key)
        kept = self.nominations.remove(queued.info)
        # Nobody hears of it when a member of a group takes another node than the one that was kept, as upstream.
        if kept and kept != node_name and (self.groups is None or not queued.info.group):
            self._give_back(queued, kept, now)
        if self._scouts:
            self._send_next_scout(queued.key, now)

    def done(self, queued: QueuedPod) -> None:
        """Nothing more is recorded for the pod: it goes on to be bound."""
        self._in_flight.finish(queued)

    def discard(self, queued: QueuedPod) -> None:
        """The attempt is over and the pod does not come back: skipped, deleted or bound."""
        self._in_flight.finish(queued)
        self._end(queued)

    def skip(self, queued: QueuedPod, now: int) -> None:
        """The pod is being deleted and not tried again. The node kept for it stays so until it is gone."""
        self.discard(queued)
        self._send_next_scout(queued.key, now)
        if self.nominations.node_of(queued.info):
            self._skipped[queued.key] = queued
            self.nominations.keep_by_name(queued.pod, queued.info)

    def return_failed(
        self, queued: QueuedPod, rejectors: tuple[str, ...], pending: tuple[str, ...], now: int
    ) -> PodState:
        """The attempt failed: those plugins rejected the pod, or (none) it met an error. Gives where the pod is now."""
        if queued.info.group and self.groups is not None:
            queued.note_failure(rejectors, pending, now)
            self._note_rejectors(queued)
            self.groups.add(queued, now)
            self._look_at_clock()
            return queued.state
        since: Sequence[InFlightEvent] | None = ()
        if not self._in_flight.finish_undisturbed(queued):
            is_gone = self._in_flight.is_gone(queued)
            since = self._in_flight.finish(queued)
            if is_gone or queued.key in self.resting:
                self._end(queued)
                return queued.state
        queued.note_failure(rejectors, pending, now)
        self._note_rejectors(queued)
        if queued.rejectors and since is not None and not since:  # nothing has happened, as mostly
            self._park(queued, _UNSCHEDULABLE, labels.SCHEDULE_ATTEMPT_FAILURE)
        else:
            self._requeue(queued, self._strategy_since(queued, since), now, labels.SCHEDULE_ATTEMPT_FAILURE)
        return queued.state

    def return_refused(self, queued: QueuedPod, rejectors: tuple[str, ...], now: int) -> None:
        """What `return_failed` and `nominate` come to for most pods that are tried again and again.

        Nothing has happened since the pod was popped, no node is kept for it, and those plugins have rejected another
        pod of its profile before. There is at least one.
        """
        undisturbed = self._in_flight.finish_undisturbed(queued)
        assert undisturbed
        queued.note_failure(rejectors, (), now)
        self._park(queued, _UNSCHEDULABLE, labels.SCHEDULE_ATTEMPT_FAILURE)
        if self._scouts:
            self._end_scouting(queued, now)

    def return_group(self, queued_group: QueuedGroup, *, has_placed: bool, has_failed: bool, now: int) -> None:
        """The attempt on a group is over, and those of its members that got no node are back."""
        assert self.groups is not None
        self.groups.return_group(queued_group, has_placed=has_placed, has_failed=has_failed, now=now)
        self._look_at_clock()

    def nominate(self, queued: QueuedPod, node_name: str | None, now: int) -> None:
        """After a failed attempt: keep that node ("": none) for the pod, or (None) the one that is kept already."""
        if queued.state is _GONE:
            return
        info = queued.info
        kept_before = self.nominations.node_of(info)
        if node_name or kept_before or info.nominated_node_name:  # else there is nothing to keep or to end
            if node_name is None:
                self.nominations.confirm(queued.pod, info)
            else:
                self.nominations.set(queued.pod, info, node_name)
            if kept_before and kept_before != self.nominations.node_of(info):
                self._give_back(queued, kept_before, now)
        if node_name:
            self._send_next_scout(queued.key, now)
        elif self._scouts and queued.state in _PARKED:
            self._end_scouting(queued, now)

    # ---------------------------------------------------------------- what brings pods back

    def move(
        self,
        cluster_event: ClusterEvent,
        old: Object | None,
        new: Object | None,
        now: int,
        *,
        priority_max: int | None = None,
        except_key: str = "",
    ) -> None:
        """Something happened: wake the parked pods it may help, and remember it for those in flight."""
        if not self.anybody_listens:
            return
        if cluster_event != WILDCARD and not self._interests_anybody(cluster_event):
            return
        if len(self._parked):
            nominated = self.nominations.keys
            helped = woken(self._parked, self._profiles, cluster_event, old, new, nominated, priority_max)
            helped = [entry for entry in helped if entry[0].key != except_key]
            if cluster_event == _STATUS_OF_A_POD:
                self._wake_in_passing(helped, now, cluster_event.label)
            else:
                self._wake(helped, now, cluster_event.label)
        if self.groups is not None:
            self.groups.move(cluster_event, old, new, now, priority_max=priority_max, except_key=except_key)
            self._look_at_clock()
        self._in_flight.note(cluster_event, old, new)

    def activate(self, keys: Iterable[str], now: int) -> None:
        """Try these pods as soon as possible, whatever they wait for, if the gates agree. Unknown ones are ignored."""
        for key in keys:
            queued = self.resting.get(key)
            if queued is not None and queued.info.group and self.groups is not None:
                self.groups.activate(queued.info.group, now)
            elif queued is not None and queued.state is not _ACTIVE:
                self._wake([(queued, _IMMEDIATELY)], now, labels.FORCE_ACTIVATE)
            flying = self._in_flight.find(key)
            if flying is not None:
                self._in_flight.note(WILDCARD, None, flying.pod)

    def retry(self, key: str, now: int) -> None:
        """What was done for this pod came to nothing: try it again once its backoff is over."""
        queued = self.resting.get(key)
        if queued is not None and queued.state is _UNSCHEDULABLE:
            self._wake([(queued, _AFTER_BACKOFF)], now, labels.SCHEDULE_ATTEMPT_FAILURE)
        flying = self._in_flight.find(key)
        if flying is not None:
            self._in_flight.note(WILDCARD, None, flying.pod)

    def release(self, key: str, now: int) -> None:
        """A gate may have opened for this pod: ask again and, if so, let the wake-up go on that brought it there."""
        queued = self.resting.get(key)
        if queued is not None and queued.state is _GATED and queued.held_back is not _SKIP:
            self._wake([(queued, queued.held_back)], now, labels.GATE_OPENED)

    def release_group(self, key: str, now: int) -> None:
        """The evictions that a group waited for are over."""
        assert self.groups is not None
        self.groups.release(key, now)
        self._look_at_clock()

    def tick(self, now: int) -> None:
        """Whatever time alone brings back. Late or not, the result is that of flushes at their own times."""
        idle_since = self._parked.longest_idle_since()
        if idle_since is not None and idle_since < now - self._parked_max_ns:
            self.flush_parked(self._flush_after(now) - FLUSH_PERIOD_NS)
        if len(self._backoff):
            self.flush_backoff(now)
        if self.groups is not None:
            self._tick_groups(self.groups, now)
        due_at = self.wake_at()
        self._quiet_until = _NEVER if due_at is None else due_at

    def _tick_groups(self, groups: GroupQueue, now: int) -> None:
        idle_since = groups.longest_idle_since()
        if idle_since is not None and idle_since < now - self._parked_max_ns:
            groups.flush_gated(self._parked_max_ns, self._flush_after(now) - FLUSH_PERIOD_NS)
        groups.flush_backoff(now)

    def flush_backoff(self, now: int) -> None:
        """Pods whose backoff is over become active. Gates were asked when they came, or else are asked now."""
        for queued in self._backoff.pop_finished(now):
            if self._backoff.pops_early:
                self._activate(queued, now, labels.BACKOFF_COMPLETE)
            else:
                self._requeue(queued, _AFTER_BACKOFF, now, labels.BACKOFF_COMPLETE)
                if queued.state is _GATED:
                    self._send_next_scout(queued.key, now)

    def flush_parked(self, now: int) -> None:
        """Pods that nothing has moved for long get another chance."""
        old = self._parked.take_idle(self._parked_max_ns, now)
        if not old:
            return
        for queued in old:
            queued.was_flushed, queued.flushed_at = True, now
            self._requeue(queued, _AFTER_BACKOFF, now, labels.UNSCHEDULABLE_TIMEOUT)
        self._in_flight.note(WILDCARD, None, None)

    def wake_at(self) -> int | None:
        """When time alone will next bring a pod back, if nothing happens; None: never."""
        if not self.resting:
            return None
        backoff_at = self._backoff.wake_at()
        idle_since = self._parked.longest_idle_since()
        if self.groups is not None:
            backoff_at = _earlier(backoff_at, self.groups.backoff_ends_at())
            idle_since = _earlier(idle_since, self.groups.longest_idle_since())
        if idle_since is None:
            return backoff_at
        flush_at = self._flush_after(idle_since + self._parked_max_ns)
        return flush_at if backoff_at is None else min(backoff_at, flush_at)

    # ---------------------------------------------------------------- looking in

    @property
    def anybody_listens(self) -> bool:
        """Whether there is a pod that something which happens now may help."""
        flying = self._in_flight
        return bool(self.resting or flying.popped is not None or flying.flights)

    @property
    def has_next(self) -> bool:
        """Whether `pop` would give a pod or a group right now, whatever the time."""
        return self.active_count > 0 or self._backoff.can_pop_early

    @property
    def active_count(self) -> int:
        """Pods without a group, and groups, that are active."""
        return self._active.count if self.groups is None else self._active.count + self.groups.active_count

    def counts(self) -> dict[PodState, int]:
        """Pods in each place, as `scheduler_pending_pods` has them."""
        counts = self.counts_outside_groups()
        if self.groups is not None:
            for place, number in self.groups.pod_counts().items():
                counts[place] = counts.get(place, 0) + number
        return counts

    def counts_outside_groups(self) -> dict[PodState, int]:
        """Pods in each place that belong to no group."""
        return {
            _ACTIVE: len(self._active),
            _BACKOFF: len(self._backoff),
            _UNSCHEDULABLE: len(self._parked) - self._parked.gated_count,
            _GATED: self._parked.gated_count,
        }

    def in_flight_counts(self) -> tuple[int, int]:
        """Pods in flight, and cluster events recorded for them."""
        return len(self._in_flight), self._in_flight.event_count

    def in_flight_events(self) -> Counter[str]:
        """Cluster events recorded for pods in flight, as `scheduler_inflight_events` has them."""
        return self._in_flight.event_labels()

    def queued_pods(self) -> Iterator[QueuedPod]:
        """All pods, those in flight last."""
        yield from self.resting.values()
        yield from self._in_flight.queued_pods()

    # ---------------------------------------------------------------- inside

    def _look_at_clock(self) -> None:
        """Some group may be due earlier than anybody before."""
        self._quiet_until = 0

    def _update_member(
        self, groups: GroupQueue, queued: QueuedPod, old: Pod, new: Pod, info: PodInfo, now: int
    ) -> None:
        self.nominations.update(queued.info, new, info)
        queued.replace(new, info)
        actions = pod_changes(old, new, self._gates)
        changes = [ClusterEvent(EventResource.TARGET_POD, action) for action in actions]
        groups.update(queued, changes, old, new, now)
        self._look_at_clock()

    def _update_queued(self, queued: QueuedPod, old: Pod, new: Pod, info: PodInfo, now: int) -> None:
        self.nominations.update(queued.info, new, info)
        if queued.state not in _PARKED:
            queued.replace(new, info)
            if queued.state is _ACTIVE:
                self._active.remove(queued)
                self._push_active(queued)
            else:
                self._backoff.refresh(queued)
            return
        self._parked.replace(queued, new, info)
        for action in pod_changes(old, new, self._gates):
            cluster_event = ClusterEvent(EventResource.TARGET_POD, action)
            strategy = judge(queued, cluster_event, self._profile(queued).reactions.to(cluster_event), old, new)
            if strategy is not _SKIP:
                if action is ActionType.UPDATE and old.metadata.annotations == new.metadata.annotations:
                    self._wake_in_passing([(queued, strategy)], now, cluster_event.label)
                else:
                    self._wake([(queued, strategy)], now, cluster_event.label)
                if queued.state not in _PARKED:
                    return

    def _wake_in_passing(self, pods: list[tuple[QueuedPod, Strategy]], now: int, reason: str) -> None:
        """For the status of a pod, which only those hear of who hear of everything, such as extenders.

        A gate that shuts such a pod out does not remember it: that is not worth an attempt when the gate opens. As
        upstream the pod stays gated then, until the end of a pod wakes it.
        """
        remembered = [queued.held_back for queued, _ in pods]
        self._wake(pods, now, reason)
        for (queued, _), before in zip(pods, remembered, strict=True):
            if queued.state is _GATED:
                queued.held_back = before

    def _wake(self, pods: Iterable[tuple[QueuedPod, Strategy]], now: int, reason: str) -> None:
        for queued, strategy in pods:
            if queued.state is _UNSCHEDULABLE:
                gathering = queued.gathering
                assert gathering is not None
                if len(gathering.members) > CROWD_MIN:
                    self._scouts[queued.key] = gathering.group
            self._take_out(queued)
            self._requeue(queued, strategy, now, reason)
            if queued.state is _GATED:
                self._send_next_scout(queued.key, now)

    def _end_scouting(self, queued: QueuedPod, now: int) -> None:
        """The pod is parked again. If it went ahead of a crowd, what rejected it rejects the others too.

        They may stay if they hear of everything that may help it. Otherwise the next one is tried, so that they come to
        wait for the right things, one by one.
        """
        group = self._scouts.get(queued.key)
        if group is None:
            return
        assert queued.gathering is not None
        if group.hears_all_of(queued.gathering.group):
            del self._scouts[queued.key]
        else:
            self._send_next_scout(queued.key, now)

    def _send_next_scout(self, key: str, now: int) -> None:
        """If that pod went ahead of a crowd, the next one goes that no gate shuts out."""
        group = self._scouts.pop(key, None)
        while group is not None and (queued := self._parked.first_of(group)) is not None:
            self._take_out(queued)
            self._requeue(queued, _AFTER_BACKOFF, now, labels.AFTER_SCOUT)
            if queued.state is not _GATED:
                self._scouts[queued.key] = group
                return

    def _take_out(self, queued: QueuedPod) -> None:
        """Out of its place, on the way to another."""
        if queued.state is _ACTIVE:
            self._active.remove(queued)
        elif queued.state is _BACKOFF:
            self._backoff.remove(queued)
        else:
            self._parked.remove(queued)

    def _requeue(self, queued: QueuedPod, strategy: Strategy, now: int, reason: str) -> None:
        """To the place that the strategy, the backoff and the gates say. The pod is out of the one it was in."""
        if strategy is _SKIP:
            self._park(queued, _UNSCHEDULABLE, reason)
            return
        backs_off = strategy is _AFTER_BACKOFF and self._backoff.holds_off(queued, now)
        if backs_off and not self._backoff.pops_early:
            self._back_off(queued, reason)
            return
        info = queued.info
        status = self._profiles[info.scheduler_name].admit(info, queued.gating_plugin)
        if status is not SUCCESS and not status.ok:
            queued.gate(status.plugin, strategy)
            self._note_rejectors(queued)
            self._park(queued, _GATED, reason)
            return
        if queued.gating_plugin:
            queued.ungate()
        if backs_off:
            self._back_off(queued, reason)
        else:
            self._activate(queued, now, reason)

    def _back_off(self, queued: QueuedPod, reason: str) -> None:
        self._place(queued, _BACKOFF, reason)
        self._backoff.push(queued)
        self._quiet_until = 0  # until the next look

    def _activate(self, queued: QueuedPod, now: int, reason: str) -> None:
        self._place(queued, _ACTIVE, reason)
        if queued.initial_attempt_at is None:
            queued.initial_attempt_at = now
        self._push_active(queued)

    def _push_active(self, queued: QueuedPod) -> None:
        self._active.push(queued, self._sort_key(queued.info, queued.timestamp))

    def _park(self, queued: QueuedPod, place: PodState, reason: str) -> None:
        self._place(queued, place, reason)
        self._parked.add(queued)
        flushed_after = queued.timestamp + self._parked_max_ns
        self._quiet_until = flushed_after if flushed_after < self._quiet_until else self._quiet_until

    def _place(self, queued: QueuedPod, place: PodState, reason: str) -> None:
        before = queued.state
        if before is not place:
            self.figures.incoming[labels.NAMES[place], reason] += 1
        if before not in PLACES:  # else it rests already, and moves from one place to another
            self.resting[queued.key] = queued
        queued.enter(place)

    def _note_rejectors(self, queued: QueuedPod) -> None:
        """Nearly always the same as those of other pods before."""
        together = (queued.rejectors, queued.info.scheduler_name)
        if together not in self.figures.rejecting:
            assert self._profile(queued).reactions.know(queued.rejectors)
            self.figures.rejecting[together] = None

    def _end(self, queued: QueuedPod) -> None:
        queued.enter(_GONE)

    def _strategy_since(self, queued: QueuedPod, since: Sequence[InFlightEvent] | None) -> Strategy:
        if not queued.rejectors or since is None:
            return _AFTER_BACKOFF
        reactions = self._profile(queued).reactions
        best = _SKIP
        most = _IMMEDIATELY if queued.pending_plugins else _AFTER_BACKOFF
        for cluster_event, old, new in since:
            best = max(best, judge(queued, cluster_event, reactions.to(cluster_event), old, new))
            if best is most:
                break
        return best

    def _give_back(self, queued: QueuedPod, node_name: str, now: int) -> None:
        """The place kept for the pod is free again: news for those that had to stand back."""
        if node_name:
            pod = replace(queued.pod, status=replace(queued.pod.status, nominated_node_name=node_name))
            self.move(POD_GONE, pod, None, now, priority_max=queued.info.priority, except_key=queued.key)

    def _note(self, cluster_event: ClusterEvent, old: Object | None, new: Object | None) -> None:
        if self._interests_anybody(cluster_event):
            self._in_flight.note(cluster_event, old, new)

    def _interests_anybody(self, cluster_event: ClusterEvent) -> bool:
        return any(profile.reactions.to(cluster_event) for profile in self._profiles.values())

    def _profile(self, queued: QueuedPod) -> QueueProfile:
        return self._profiles[queued.info.scheduler_name]

    def _flush_after(self, at: int) -> int:
        """The first flush strictly after that time."""
        return self._started_at + ((at - self._started_at) // FLUSH_PERIOD_NS + 1) * FLUSH_PERIOD_NS


def _earlier(one: int | None, other: int | None) -> int | None:
    return min((time for time in (one, other) if time is not None), default=None)
