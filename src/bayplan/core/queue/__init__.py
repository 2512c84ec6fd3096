"""The scheduling queue: which pod is tried next, and what brings a refused one back.

Takes pods and cluster events with their times; gives one pod at a time. A pod rests in one of four places
(`lifecycle`): the heap of `active` ones, the two of `backoff`, and among the `parked` ones, refused or gated.
`in_flight` records what happens while pods are tried, `hints` says what that is worth to whom, `waking` finds whom it
wakes, `nominations` knows who has a node kept for it. The caller updates its cache first and tells the queue then.

No wake-up is lost. These are the gaps in which one could be, and what closes them:

- Something happens while the pod is tried: recorded from pop to return, and judged when its rejectors are known.
- The pod itself changes meanwhile: the return takes the newest copy, so that later hints see the pod as it is.
- It returns when nothing was recorded for it any more (binding failed): it backs off, and is never parked.
- It is activated while in flight: recorded as a cluster event that helps this pod alone.
- It is woken while a gate is shut. Upstream parks it until the next cluster event the gating plugin registered for; a
  preemptor whose last victim was already gone when its preemption ended waits five minutes for the flush. Here the gate
  remembers the wake-up: whoever opens a gate calls `release`, and the pod goes on its way.
- A nomination ends and no object says so: its pod took another node, or was deleted before the API had heard of the
  nomination, or is nominated elsewhere. Whoever was refused because of the kept place is woken here, where the
  nomination ends. Upstream waits for a change of the pod's status, which may never be seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from itertools import count

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import POD_GONE, ActionType, ClusterEvent, EventResource
from bayplan.core.lifecycle import PodState
from bayplan.core.queue import figures as labels
from bayplan.core.queue.active import SortKey, active_heap
from bayplan.core.queue.backoff import Backoff
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.core.queue.entrance import may_enter
from bayplan.core.queue.figures import Figures
from bayplan.core.queue.hints import WILDCARD, NamedPlugin, QueueProfile, Reactions, judge
from bayplan.core.queue.in_flight import InFlight, Recorded
from bayplan.core.queue.nominations import Mirror, Nominations
from bayplan.core.queue.parked import Group, Parked
from bayplan.core.queue.queued_pod import QueuedPod, Strategy, identity_of
from bayplan.core.queue.waking import CROWD_MIN, EVERYBODY, Bounds, woken
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.time_units import MICROSECOND, MINUTE, SECOND

__all__ = [
    "FLUSH_PERIOD_NS",
    "PARKED_MAX_NS",
    "WILDCARD",
    "Mirror",
    "NamedPlugin",
    "Nominations",
    "QueueProfile",
    "QueuedPod",
    "Reactions",
    "SchedulingQueue",
    "Strategy",
    "node_changes",
    "pod_changes",
]

PARKED_MAX_NS = 5 * MINUTE
#: Upstream's timer starts anew when the last flush is over, and so comes late by a little more each time: by 0.6 ms in
#: a recording. It matters: a pod that fails right after one flush is over five minutes old ten flushes later.
FLUSH_PERIOD_NS = 30 * SECOND + 600 * MICROSECOND

_POD_ADDED = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.ADD).label
_PARKED = (PodState.UNSCHEDULABLE, PodState.GATED)


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
    ) -> None:
        self.nominations = Nominations(mirror)
        self.figures = Figures()
        self._profiles = profiles
        self._started_at = started_at
        self._parked_max_ns = parked_max_ns
        self.queued: dict[str, QueuedPod] = {}
        """All that rest in a place; to be read only."""
        self._active = active_heap(sort_key)
        self._backoff = Backoff(sort_key, initial_backoff_ns, max_backoff_ns)
        self._parked = Parked()
        self._in_flight = InFlight()
        self._arrivals = count()
        self._scouts: dict[str, Group] = {}  # pods that were woken for a crowd that waits behind them

    # ---------------------------------------------------------------- pods come, change and go

    def add(self, pod: Pod, info: PodInfo, now: int) -> None:
        """A pod that has no node yet. One that is known already is taken as changed."""
        known = self.find(info.key)
        if known is not None:
            self.update(known.pod, pod, info, now)
            return
        record = QueuedPod(pod, info, next(self._arrivals), timestamp=now)
        self._requeue(record, Strategy.IMMEDIATELY, now, _POD_ADDED)
        if record.state is PodState.ACTIVE:
            self.nominations.adopt(pod, info)

    def update(self, old: Pod, new: Pod, info: PodInfo, now: int) -> None:
        """A pending pod changed, its status included."""
        known = self.find(info.key)
        if known is None or identity_of(known.info) != identity_of(info):
            self.delete(info.key, now)
            self.add(new, info, now)
            return
        kept = self.nominations.node_of(info)
        if known.key not in self.queued:
            self._in_flight.update(new, info)
            for action in pod_changes(old, new):
                self._note(ClusterEvent(EventResource.UNSCHEDULABLE_POD, action), old, new)
        else:
            self._update_queued(known, old, new, info, now)
        told = old.status.nominated_node_name
        if told and told != info.nominated_node_name:
            # To the pod itself it is no news that would be worth remembering behind a gate.
            is_shut_out = not may_enter(self._profile(known).pre_enqueue, info, known.gating_plugin).ok
            except_key = known.key if is_shut_out else ""
            self.move(POD_GONE, old, None, now, priority_max=info.priority, except_key=except_key)
        elif kept != self.nominations.node_of(info):
            self._give_back(known, kept, now)

    def delete(self, key: str, now: int, *, bound_to: str = "") -> None:
        """The pod is gone, or somebody bound it to a node. Unknown ones are ignored."""
        record = self.find(key)
        if record is None:
            return
        self._in_flight.mark_gone(key)
        if key in self.queued:
            self._take_out(record)
            self._end(record)
        self._send_next_scout(key, now)
        kept = self.nominations.remove(record.info) or record.info.nominated_node_name
        if kept != bound_to:
            self._give_back(record, kept, now)

    def find(self, key: str) -> QueuedPod | None:
        """The pod of that name, in a place or in flight."""
        return self.queued.get(key) or self._in_flight.find(key)

    # ---------------------------------------------------------------- an attempt

    def pop(self, now: int) -> QueuedPod | None:
        """The pod to try next; it is in flight until `return_failed`, `done` or `discard`."""
        self.tick(now)
        record = self._active.pop()
        if record is None:
            record = self._backoff.pop_early()
            if record is None:
                return None
            self.figures.came(PodState.ACTIVE, labels.POP_FROM_BACKOFF)
        del self.queued[record.key]
        self.figures.cleared(record)
        record.enter(PodState.IN_FLIGHT)
        record.start_attempt()
        self._in_flight.start(record)
        return record

    def assume(self, record: QueuedPod, node_name: str, now: int) -> None:
        """The pod takes a node. Call it before the cache takes the pod: a nomination counts there too."""
        record.enter(PodState.ASSUMED)
        kept = self.nominations.remove(record.info)
        if kept != node_name:
            self._give_back(record, kept, now)
        self._send_next_scout(record.key, now)

    def done(self, record: QueuedPod) -> None:
        """Nothing more is recorded for the pod: it goes on to be bound."""
        self._in_flight.finish(record)

    def discard(self, record: QueuedPod) -> None:
        """The attempt is over and the pod does not come back: skipped, deleted or bound."""
        self._in_flight.finish(record)
        self._end(record)

    def return_failed(self, record: QueuedPod, rejectors: Iterable[str], pending: Iterable[str], now: int) -> PodState:
        """The attempt failed, by those plugins or (none) by an error. Gives where the pod is now."""
        is_gone = self._in_flight.is_gone(record)
        since = self._in_flight.finish(record)
        if is_gone or record.key in self.queued:
            self._end(record)
            return record.state
        record.blame(tuple(rejectors), tuple(pending), now)
        assert all(self._profile(record).reactions.know(plugin) for plugin in record.rejectors)
        self.figures.blamed(record, record.rejectors)
        self._requeue(record, self._strategy_since(record, since), now, labels.SCHEDULE_ATTEMPT_FAILURE)
        return record.state

    def nominate(self, record: QueuedPod, node_name: str | None, now: int) -> None:
        """After a failed attempt: keep that node ("": none) for the pod, or (None) what its status says."""
        if record.state is PodState.GONE:
            return
        kept_before = self.nominations.node_of(record.info)
        if node_name is None:
            self.nominations.adopt(record.pod, record.info)
        else:
            self.nominations.set(record.pod, record.info, node_name)
        if kept_before != self.nominations.node_of(record.info):
            self._give_back(record, kept_before, now)
        if node_name:
            self._send_next_scout(record.key, now)
        elif record.state in _PARKED:
            self._scouts.pop(record.key, None)  # what refused it refuses those behind it

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
        bounds = Bounds(priority_max, except_key) if priority_max is not None or except_key else EVERYBODY
        if len(self._parked):
            nominated = self.nominations.keys() if len(self._parked) > CROWD_MIN else ()
            helped = woken(self._parked, self._profiles, cluster_event, old, new, bounds, nominated)
            self._wake(helped, now, cluster_event.label)
        self._in_flight.note(cluster_event, old, new)

    def activate(self, keys: Iterable[str], now: int) -> None:
        """Try these pods as soon as possible, whatever they wait for, if the gates agree. Unknown ones are ignored."""
        for key in keys:
            record = self.queued.get(key)
            if record is not None and record.state is not PodState.ACTIVE:
                self._wake([(record, Strategy.IMMEDIATELY)], now, labels.FORCE_ACTIVATE)
            flying = self._in_flight.find(key)
            if flying is not None:
                self._in_flight.note(WILDCARD, None, flying.pod)

    def release(self, key: str, now: int) -> None:
        """A gate may have opened for this pod: ask again and, if so, let the wake-up go on that brought it there."""
        record = self.queued.get(key)
        if record is not None and record.state is PodState.GATED:
            self._wake([(record, record.held_back)], now, labels.GATE_OPENED)

    def tick(self, now: int) -> None:
        """Whatever time alone brings back. Late or not, the result is that of flushes at their own times."""
        if len(self._parked):
            self.flush_parked(self._flush_after(now) - FLUSH_PERIOD_NS)
        if len(self._backoff):
            self.flush_backoff(now)

    def flush_backoff(self, now: int) -> None:
        """Pods whose backoff is over become active. Gates were asked when they came."""
        for record in self._backoff.pop_finished(now):
            self._activate(record, now, labels.BACKOFF_COMPLETE)

    def flush_parked(self, now: int) -> None:
        """Pods that nothing has moved for long get another chance."""
        old = self._parked.idle_longer_than(self._parked_max_ns, now)
        if not old:
            return
        for record in old:
            self._parked.remove(record.key)
            record.was_flushed, record.flushed_at = True, now
            self._requeue(record, Strategy.AFTER_BACKOFF, now, labels.UNSCHEDULABLE_TIMEOUT)
        self._in_flight.note(WILDCARD, None, None)

    def wake_at(self) -> int | None:
        """When time alone will next bring a pod back, if nothing happens; None: never."""
        if not self.queued:
            return None
        backoff_at = self._backoff.wake_at()
        idle_since = self._parked.longest_idle_since()
        if idle_since is None:
            return backoff_at
        flush_at = self._flush_after(idle_since + self._parked_max_ns)
        return flush_at if backoff_at is None else min(backoff_at, flush_at)

    # ---------------------------------------------------------------- looking in

    @property
    def anybody_listens(self) -> bool:
        """Whether there is a pod that something which happens now may help."""
        return bool(self.queued) or bool(len(self._in_flight))

    @property
    def has_next(self) -> bool:
        """Whether `pop` would give a pod right now, whatever the time."""
        if not self.queued:
            return False
        return bool(self._active.live) or self._backoff.can_pop_early

    def place_of(self, key: str) -> PodState | None:
        record = self.find(key)
        return None if record is None else record.state

    def counts(self) -> dict[PodState, int]:
        """Pods in each place, as `scheduler_pending_pods` has them."""
        return {
            PodState.ACTIVE: len(self._active),
            PodState.BACKOFF: len(self._backoff),
            PodState.UNSCHEDULABLE: len(self._parked) - self._parked.gated_count,
            PodState.GATED: self._parked.gated_count,
        }

    def in_flight_counts(self) -> tuple[int, int]:
        """Pods in flight, and cluster events recorded for them."""
        return len(self._in_flight), self._in_flight.happening_count

    def records(self) -> Iterator[QueuedPod]:
        """All pods, those in flight last."""
        yield from self.queued.values()
        yield from self._in_flight.records()

    # ---------------------------------------------------------------- inside

    def _update_queued(self, record: QueuedPod, old: Pod, new: Pod, info: PodInfo, now: int) -> None:
        self.nominations.update(record.info, new, info)
        if record.state not in _PARKED:
            record.replace(new, info)
            (self._active if record.state is PodState.ACTIVE else self._backoff).refresh(record)
            return
        self._parked.remove(record.key)
        record.replace(new, info)
        self._parked.add(record)
        for action in pod_changes(old, new):
            cluster_event = ClusterEvent(EventResource.UNSCHEDULABLE_POD, action)
            strategy = judge(record, cluster_event, self._profile(record).reactions.to(cluster_event), old, new)
            if strategy is not Strategy.SKIP:
                self._wake([(record, strategy)], now, cluster_event.label)
                if record.state not in _PARKED:
                    return

    def _wake(self, records: Iterable[tuple[QueuedPod, Strategy]], now: int, reason: str) -> None:
        for record, strategy in records:
            if record.state is PodState.UNSCHEDULABLE:
                group = self._parked.group_of(record.key)
                if self._parked.size(group) > CROWD_MIN:
                    self._scouts[record.key] = group
            self._take_out(record)
            self._requeue(record, strategy, now, reason)

    def _send_next_scout(self, key: str, now: int) -> None:
        """If that pod went ahead of a crowd and there may be room for more, the next one goes."""
        group = self._scouts.pop(key, None)
        record = self._parked.first_of(group) if group is not None else None
        if group is None or record is None:
            return
        self._scouts[record.key] = group
        self._take_out(record)
        self._requeue(record, Strategy.AFTER_BACKOFF, now, labels.SCOUT_SUCCEEDED)

    def _take_out(self, record: QueuedPod) -> None:
        """Out of its place, on the way to another."""
        del self.queued[record.key]
        if record.state is PodState.ACTIVE:
            self._active.remove(record.key)
        elif record.state is PodState.BACKOFF:
            self._backoff.remove(record.key)
        else:
            self._parked.remove(record.key)

    def _requeue(self, record: QueuedPod, strategy: Strategy, now: int, reason: str) -> None:
        """To the place that the strategy, the backoff and the gates say. The record rests nowhere yet."""
        if strategy is Strategy.SKIP:
            self._park(record, PodState.UNSCHEDULABLE, reason)
            return
        refusal = may_enter(self._profile(record).pre_enqueue, record.info, record.gating_plugin)
        if not refusal.ok:
            if refusal.plugin not in record.rejectors:
                self.figures.blamed(record, (refusal.plugin,))
            record.gate(refusal.plugin, strategy)
            self._park(record, PodState.GATED, reason)
            return
        record.ungate()
        if strategy is Strategy.AFTER_BACKOFF and self._backoff.holds_off(record, now):
            self._place(record, PodState.BACKOFF, reason)
            self._backoff.push(record)
        else:
            self._activate(record, now, reason)

    def _activate(self, record: QueuedPod, now: int, reason: str) -> None:
        self._place(record, PodState.ACTIVE, reason)
        if record.initial_attempt_at is None:
            record.initial_attempt_at = now
        self._active.push(record)

    def _park(self, record: QueuedPod, place: PodState, reason: str) -> None:
        self._place(record, place, reason)
        self._parked.add(record)

    def _place(self, record: QueuedPod, place: PodState, reason: str) -> None:
        if record.state is not place:
            self.figures.came(place, reason)
        record.enter(place)
        self.queued[record.key] = record

    def _end(self, record: QueuedPod) -> None:
        self.figures.cleared(record)
        record.enter(PodState.GONE)

    def _strategy_since(self, record: QueuedPod, since: list[Recorded] | None) -> Strategy:
        if not record.rejectors or since is None:
            return Strategy.AFTER_BACKOFF
        reactions = self._profile(record).reactions
        best = Strategy.SKIP
        most = Strategy.IMMEDIATELY if record.pending_plugins else Strategy.AFTER_BACKOFF
        for cluster_event, old, new in since:
            best = max(best, judge(record, cluster_event, reactions.to(cluster_event), old, new))
            if best is most:
                break
        return best

    def _give_back(self, record: QueuedPod, node_name: str, now: int) -> None:
        """The place kept for the pod is free again: news for those that had to stand back."""
        if node_name:
            pod = copy(record.pod)
            pod.status = copy(pod.status)
            pod.status.nominated_node_name = node_name
            self.move(POD_GONE, pod, None, now, priority_max=record.info.priority, except_key=record.key)

    def _note(self, cluster_event: ClusterEvent, old: Object | None, new: Object | None) -> None:
        if self._interests_anybody(cluster_event):
            self._in_flight.note(cluster_event, old, new)

    def _interests_anybody(self, cluster_event: ClusterEvent) -> bool:
        return any(profile.reactions.to(cluster_event) for profile in self._profiles.values())

    def _profile(self, record: QueuedPod) -> QueueProfile:
        return self._profiles[record.info.scheduler_name]

    def _flush_after(self, at: int) -> int:
        """The first flush strictly after that time."""
        return self._started_at + ((at - self._started_at) // FLUSH_PERIOD_NS + 1) * FLUSH_PERIOD_NS
