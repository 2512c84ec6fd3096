"""The scheduler: events in, decisions out.

`observe` takes what happened, `decide` tries one pod and says what is to be done, `wake_at` says when time alone makes
another call worth while. Only two edges run backward, both here: *assume* (a decision enters the cache before the world
has confirmed it) and *requeue* (a failed pod goes back, to be woken by what happens later).

Nothing is done here: binding, evicting and writing are actions, and their answers come back as events. What follows
from an event alone (a pod that can be bound now that its volumes are) waits in the outbox for the next `decide`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias, TypeGuard

from bayplan.core.actions import GROUP_PREFIX, Action, ClearNomination, Evict
from bayplan.core.binding import Binding
from bayplan.core.cache import Cache
from bayplan.core.columns.pods import owner_of
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Choice, Decision, Fits, NeedsPreemption, Outcome, Unschedulable
from bayplan.core.events import (
    Answer,
    BindAnswered,
    ClaimWriteFailed,
    Event,
    EvictAnswered,
    ObjectAdded,
    ObjectChanged,
    ObjectRemoved,
    VolumesAnswered,
)
from bayplan.core.evictions import Evictions
from bayplan.core.failure_handling import failed_event, return_failed, return_refused_again, return_unschedulable
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.extender import AnyExtender
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import (
    POD_APPEARED,
    POD_GONE,
    POD_PLACED,
    RESOURCES_BY_KIND,
    UNHEARD_UPSTREAM,
    ActionType,
    ClusterEvent,
    EventResource,
    Wakeups,
)
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.groups.scheduling import AttemptObserver, GroupScheduling
from bayplan.core.groups.single import decide_pod
from bayplan.core.instruments import Instruments
from bayplan.core.on_the_way import BindingUnderWay, OnTheWay
from bayplan.core.preemption.gate import PreemptionGate, hold_group_back
from bayplan.core.preemption.guard import PreemptionGuard, Preemptor
from bayplan.core.preemption.prepare import prepare
from bayplan.core.preemption.safety import UPSTREAM, PreemptionSafety
from bayplan.core.queue import PARKED_MAX_NS, SchedulingQueue
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.core.queue.hints import QueueProfile
from bayplan.core.queue.pod_heap import SortKey
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.release import Release
from bayplan.core.snapshot import View
from bayplan.core.starting_over import Past
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.resource_claims import DeviceTaintRule
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND

#: Is given the pod, the view and what was chosen, or the error of the attempt, before anything changes.
ChoiceObserver: TypeAlias = Callable[[PodInfo, View, Choice | CycleError], None]


class Scheduler:
    """One scheduler with its queue and cache."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        sort_key: SortKey,
        *,
        started_at: int,
        initial_backoff_ns: int = SECOND,
        max_backoff_ns: int = 10 * SECOND,
        parked_max_ns: int = PARKED_MAX_NS,
        wakeups: Wakeups = Wakeups.UPSTREAM,
        on_choice: ChoiceObserver | None = None,
        gates: FeatureGates,
        safety: PreemptionSafety = UPSTREAM,
        instruments: Instruments | None = None,
        on_group_attempt: AttemptObserver | None = None,
        tries_groups_in_full: bool = False,
    ) -> None:
        """`tries_groups_in_full`: attempts on groups say of every placement where each member would go."""
        self.instruments: Final = instruments or Instruments()
        self.profiles = {name: self.instruments.profile(profile) for name, profile in profiles.items()}
        self.wakeups = wakeups
        self.guard = PreemptionGuard(safety)
        self._on_choice = on_choice
        self._on_group_attempt = on_group_attempt
        self._tries_groups_in_full = tries_groups_in_full
        #: Extenders take their time.
        self._may_skip_attempts = not any(profile.extenders for profile in profiles.values())
        self._new_cache = partial(Cache, gates, safety.own_schedulers(profiles))
        self._new_queue = partial(
            SchedulingQueue,
            sort_key=sort_key,
            started_at=started_at,
            initial_backoff_ns=initial_backoff_ns,
            max_backoff_ns=max_backoff_ns,
            parked_max_ns=parked_max_ns,
            gates=gates,
        )
        self._begin()

    def _begin(self) -> None:
        """With nothing known."""
        self.cache = self._new_cache()
        self._evictions = Evictions()
        gate = PreemptionGate(self._evictions.is_preempting)
        release = self.cache.gates.release
        self.queue = self._new_queue(
            count_on_nodes=lambda group: len(self.cache.pods.scheduled_members(group)),
            hold_group_back=self._hold_group_back,
            wakes_groups_early=self.wakeups is Wakeups.COMPLETE,
            profiles={
                name: self.instruments.queue_profile(name, _queue_profile(profile, gate, self.wakeups, release))
                for name, profile in self.profiles.items()
            },
            mirror=self.cache,
        )
        self._decider = self.instruments.decider(self.profiles)
        self._binding = Binding(self.cache, self.queue, self._given_back)
        self._groups = GroupScheduling(
            self.profiles,
            self.cache,
            self.queue,
            self._binding,
            self._evictions,
            self.guard,
            leaves_out_strays=self.wakeups is Wakeups.COMPLETE,
            in_full=self._tries_groups_in_full,
            observer=self.instruments.groups(),
        )
        self._interrupted: QueuedPod | None = None  # whose attempt raised something unexpected
        self._is_untouched = False  # it did so before it changed anything

    def pods_on_the_way(self) -> list[str]:
        """Pods that have a node but are not known to be bound."""
        return self._binding.unconfirmed()

    def on_the_way(self, key: str) -> OnTheWay | None:
        """The pod that has a node but has not been seen there yet; to be read only."""
        return self._binding.find(key)

    # ------------------------------------------------------------------ events in

    def observe(self, event: Event, now: int) -> None:
        """Something happened in the world."""
        # Changes of pods are by far the most frequent. Patterns take their time, as does `isinstance` to say no.
        if type(event) is ObjectChanged:
            old, new = event.old, event.new
            if isinstance(new, Pod) and isinstance(old, Pod):
                self._pod_changed(old, new, now)
            else:
                self._changed(old, new, now)
        elif type(event) is ObjectAdded:
            if isinstance(event.new, Pod):
                self._pod_added(event.new, now)
            else:
                self._added(event.new, now)
        elif type(event) is ObjectRemoved:
            if isinstance(event.old, Pod):
                self._pod_removed(event.old, now)
            else:
                self._removed(event.old, now)
        elif type(event) is BindAnswered:
            self._binding.bind_answered(event, now)
        else:
            self._answered(event, now)
        if self._binding.timed:
            self._binding.happened(event, now)

    def _answered(self, event: Answer, now: int) -> None:
        match event:
            case EvictAnswered(_, uid, error):
                self._evict_answered(uid, error, now)
            case VolumesAnswered():
                self._binding.volumes_answered(event, now)
            case ClaimWriteFailed(pod, uid):
                self._claim_write_failed(pod, uid, now)

    def _added(self, new: Object, now: int) -> None:
        if isinstance(new, Node):
            self.cache.add_node(new)
            self.queue.move(ClusterEvent(EventResource.NODE, ActionType.ADD), None, new, now)
        else:
            self._show(new, now)
            self._object_moved(ActionType.ADD, None, new, new, now)

    def _changed(self, old: Object, new: Object, now: int) -> None:
        if isinstance(old, Node) and isinstance(new, Node):
            self.cache.add_node(new)
            for change in node_changes(old, new):
                self.queue.move(ClusterEvent(EventResource.NODE, change), old, new, now)
        else:
            self._show(new, now)
            self._object_moved(ActionType.UPDATE, old, new, new, now)

    def _removed(self, old: Object, now: int) -> None:
        if isinstance(old, Node):
            # The queue first, as upstream: hints may still see the node.
            self.queue.move(ClusterEvent(EventResource.NODE, ActionType.DELETE), old, None, now)
            self.cache.remove_node(old.metadata.name)
        else:
            self._binding.reservations.show_gone(old)
            if isinstance(old, PodGroup) and self.queue.groups is not None:
                self.queue.groups.group_gone(object_key(old))
            self._object_moved(ActionType.DELETE, old, None, old, now)

    def _show(self, obj: Object, now: int) -> None:
        """The watch shows something else than a pod or node."""
        self._binding.reservations.show(obj)
        if isinstance(obj, PodGroup) and self.queue.groups is not None:
            self.queue.groups.group_seen(obj, now)

    def _object_moved(self, action: ActionType, old: Object | None, new: Object | None, obj: Object, now: int) -> None:
        """Wake the pods that a change of something else than a pod or node may help; `obj` is what is left to see."""
        if isinstance(obj, DeviceTaintRule):
            self._taint_rule_moved(old, new, now)
        resource = RESOURCES_BY_KIND.get(type(obj).__name__)
        is_heard = resource not in UNHEARD_UPSTREAM or self.wakeups is Wakeups.COMPLETE
        if resource is EventResource.POD_GROUP:
            is_heard = self.cache.gates.generic_workload
        if resource is not None and is_heard:
            self.queue.move(ClusterEvent(resource, action), old, new, now)

    def _given_back(self, assumed: Object, as_before: Object | None, now: int) -> None:
        """Volumes or devices that were meant for a pod are free again, which no watch will say; upstream is silent."""
        if self.wakeups is Wakeups.COMPLETE:
            resource = RESOURCES_BY_KIND[type(assumed).__name__]
            action = ActionType.DELETE if as_before is None else ActionType.UPDATE
            self.queue.move(ClusterEvent(resource, action), assumed, as_before, now)

    def _taint_rule_moved(self, old: Object | None, new: Object | None, now: int) -> None:
        """To pods that wait for devices it is a change of the slices that the rule is about."""
        rules = [rule for rule in (old, new) if isinstance(rule, DeviceTaintRule)]
        if not self.cache.gates.dra_device_taint_rules or (len(rules) == 2 and rules[0].spec == rules[1].spec):
            return
        devices = self.cache.objects.devices
        for resource_slice in {s.metadata.name: s for rule in rules for s in devices.slices_under(rule)}.values():
            changed = ClusterEvent(EventResource.RESOURCE_SLICE, ActionType.UPDATE)
            self.queue.move(changed, resource_slice, resource_slice, now)

    # ------------------------------------------------------------------ pods

    def _pod_added(self, pod: Pod, now: int) -> None:
        if pod.status.phase in FINISHED_PHASES:
            return
        if self.guard.withholds:
            self.guard.appeared(pod, now)
        if pod.spec.node_name:
            self._runs(None, pod, now)
        elif self._is_ours(pod):
            self.queue.add(pod, self.cache.info(pod), now)
            if self.queue.groups is not None:
                self.queue.move(POD_APPEARED, None, pod, now)

    def _pod_changed(self, old: Pod, new: Pod, now: int) -> None:
        if old.metadata.uid != new.metadata.uid:
            self._pod_removed(old, now)
            self._pod_added(new, now)
        elif new.status.phase in FINISHED_PHASES:
            self._pod_removed(old, now)
        elif new.spec.node_name:
            self._runs(old, new, now)
        elif self._is_ours(new):
            self._pending_changed(old, new, now)

    def _runs(self, old: Pod | None, pod: Pod, now: int) -> None:
        """The pod has a node, as the API says."""
        key = object_key(pod)
        row = self.cache.row_on_a_node(key)
        if row is not None:
            self._confirm(key, row, old, pod, now)
            return
        self.guard.forget(key)
        self.queue.delete(key, now, bound_to=pod.spec.node_name)
        self.cache.add_pod(pod)
        self.queue.move(POD_PLACED, None, pod, now)

    def _confirm(self, key: str, row: int, old: Pod | None, pod: Pod, now: int) -> None:
        way = self._binding.find_same(key, pod.metadata.uid)
        self.cache.update_row(row, pod, old if way is None else way.assumed)
        if way is not None:
            self._binding.arrived(way)
        if not self.queue.anybody_listens:
            return
        if way is None and old is not None and old.spec.node_name:
            for change in pod_changes(old, pod, self.cache.gates):
                self.queue.move(ClusterEvent(EventResource.ASSIGNED_POD, change), old, pod, now)
        else:
            self.queue.move(POD_PLACED, None, pod, now)

    def _pending_changed(self, old: Pod, new: Pod, now: int) -> None:
        key = object_key(new)
        way = self._binding.find(key)
        if way is None:
            info = self.cache.info(new)
            kept = self.queue.nominations.node_of(info)
            self.queue.update(old, new, info, now)
            if self.wakeups is Wakeups.COMPLETE and kept and kept == self.queue.nominations.node_of(info):
                self._nominated_pod_changed(info, kept, old, new, now)
        elif new.metadata.deletion_timestamp and not old.metadata.deletion_timestamp:
            self._binding.give_up(way, now)
        else:
            way.queued.replace(new, self.cache.info(new))

    def _nominated_pod_changed(self, info: PodInfo, node: str, old: Pod, new: Pod, now: int) -> None:
        """Those who stand back for the pod may have less reason to. Upstream's queue tells the pod itself alone."""
        before, after = (replace(pod, status=replace(pod.status, nominated_node_name=node)) for pod in (old, new))
        for change in pod_changes(old, new, self.cache.gates):
            cluster_event = ClusterEvent(EventResource.ASSIGNED_POD, change)
            self.queue.move(cluster_event, before, after, now, priority_max=info.priority, except_key=info.key)

    def _pod_removed(self, pod: Pod, now: int) -> None:
        """The pod is gone, or over; there is nothing more to take in of one that was over already."""
        if pod.status.phase in FINISHED_PHASES:
            return
        key = object_key(pod)
        way = self._binding.find(key)
        row = self.cache.row_on_a_node(key)
        if way is not None:
            self._binding.give_up(way, now)
        elif row is not None:
            self.cache.remove_row(row)
            self.queue.move(POD_GONE, pod, None, now)
        else:
            self.guard.forget(key)
            self.queue.delete(key, now)
        if self.guard.withholds:
            self.guard.gone(pod)
        if self._evictions.is_asked(pod.metadata.uid):
            self._settle_eviction(pod.metadata.uid, now)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self.profiles

    # ------------------------------------------------------------------ decisions out

    def decide(self, now: int, clock: Callable[[], int] | None = None) -> Decision | None:
        """Try one pod. None when there is nothing to do at this time.

        Extenders take their time; `clock` says when they have answered. Without one that is `now`, too.
        """
        self.cache.objects.now = now
        binding = self._binding
        if binding.timed or binding.refused:
            binding.expire(now)
        if binding.timed and binding.has_to_ask:
            binding.ask_about_waiting(now)
        if binding.outbox:
            return Decision("", Outcome.NO_POD, actions=binding.take_actions())
        if self.guard.withholds and (released := self.guard.release(now)):
            self.queue.activate(released, now)
        if self.queue.groups is not None and (group := self.queue.pop_group(now)) is not None:
            return self._groups.decide(group, now, self._on_group_attempt)
        queued = self.queue.pop(now)
        if queued is None:
            self._decider.forget(self.cache.view().shapes)
            return None
        try:
            if queued.is_leaving:
                return self._skip(queued, now)
            gathering, view = queued.gathering, self.cache.view()
            if gathering is not None and self._still_goes(gathering.refused, queued.info, view):
                return self._refuse_again(queued, gathering.refused, view, now)
            return self._attempt(queued, view, now, clock)
        except Exception:
            self._interrupted = queued
            raise

    def _skip(self, queued: QueuedPod, now: int) -> Decision:
        note = f"skip schedule deleting pod: {queued.key}"
        self.queue.skip(queued, now)
        return Decision(queued.key, Outcome.SKIPPED, message=note, actions=(failed_event(queued, note),))

    def due_at(self, now: int) -> int | None:
        """When `decide` is next worth calling, `now` if it has something to do; None if never."""
        binding = self._binding
        if binding.outbox or (binding.timed and binding.has_to_ask):
            return now
        if not self.queue.resting:  # nothing waits, nearly always in a cluster with room
            return binding.due_at()
        return now if self.queue.has_next else self.wake_at()

    def wake_at(self) -> int | None:
        """When `decide` is worth calling though nothing happens; None if never."""
        times = (self.queue.wake_at(), self._binding.due_at(), self.guard.due_at())
        return min((time for time in times if time is not None), default=None)

    def _attempt(self, queued: QueuedPod, view: View, now: int, clock: Callable[[], int] | None) -> Decision:
        if self.guard.withholds:
            self.guard.forget(queued.key)
        info = queued.info
        profile = self.profiles[info.scheduler_name]
        kept = self.queue.nominations.node_of(info)
        if kept and kept != info.nominated_node_name:
            info = replace(info, nominated_node_name=kept)
        choice: Choice | CycleError
        try:
            if self.queue.groups is None:
                choice = self._decider.decide(info, view)
            else:
                choice = decide_pod(
                    self._decider,
                    self.cache,
                    profile,
                    info,
                    view,
                    leaves_out_strays=self.wakeups is Wakeups.COMPLETE,
                )
        except CycleError as error:
            choice = error
        except Exception:
            self._is_untouched = True
            raise
        if self._on_choice is not None:
            self._on_choice(info, view, choice)
        ended_at = now if clock is None or not profile.extenders else clock()
        decision = self._follow(choice, queued, info, view, ended_at)
        return decision if ended_at == now else replace(decision, ended_at=ended_at)

    def _still_goes(self, refused: Unschedulable | None, info: PodInfo, view: View) -> TypeGuard[Unschedulable]:
        """Those that wait together are tried in a row: what one was told goes for all until something happens."""
        if refused is None or refused.for_all_at != view.instant:
            return False
        return self._may_skip_attempts and not view.nominated and not info.nominated_node_name

    def _follow(self, choice: Choice | CycleError, queued: QueuedPod, info: PodInfo, view: View, now: int) -> Decision:
        if isinstance(choice, Fits):
            return self._binding.take(queued, self.profiles[info.scheduler_name], view.nodes.names[choice.row], now)
        if isinstance(choice, Unschedulable):
            if queued.gathering is not None and not view.nominated and not info.nominated_node_name:
                queued.gathering.refused = choice
            return self._unschedulable(queued, choice, now)
        if isinstance(choice, CycleError):
            return return_failed(self.queue, queued, Status(Code.ERROR, (choice.message,), choice.plugin), "", now)
        return self._preempt(queued, info, choice, now).after(choice.actions)

    # ------------------------------------------------------------------ nothing fits

    def _unschedulable(self, queued: QueuedPod, choice: Unschedulable, now: int) -> Decision:
        nominated = None if choice.keeps_nomination else ""
        return return_unschedulable(self.queue, queued, choice.diagnosis, nominated, now).after(choice.actions)

    def _refuse_again(self, queued: QueuedPod, refused: Unschedulable, view: View, now: int) -> Decision:
        """As an attempt would, if anybody were asked."""
        info = queued.info
        if self.guard.withholds:
            self.guard.forget(queued.key)
        if self._on_choice is not None:
            self._on_choice(info, view, refused)
        nominated = None if refused.keeps_nomination else ""
        return return_refused_again(self.queue, queued, refused.diagnosis, nominated, now)

    def _preempt(self, queued: QueuedPod, info: PodInfo, choice: NeedsPreemption, now: int) -> Decision:
        diagnosis = choice.diagnosis
        view = self.cache.view()
        victim_rows = choice.victims_on(choice.row)
        node = view.nodes.names[choice.row]
        victims = tuple(view.pods.keys[row] for row in victim_rows)
        prepared = prepare(info, view, choice.row, victim_rows)
        preemptor = Preemptor(info.key, info.uid, owner_of(queued.pod.metadata), info.priority, queued.number)
        evictions = [action for action in prepared if isinstance(action, Evict)]
        withheld = self.guard.ask(preemptor, self._binding.news_among(evictions, self._evictions), now)
        if withheld is not None:
            diagnosis = diagnosis._replace(message=f"{diagnosis.message} {withheld.message}")
            decision = return_unschedulable(self.queue, queued, diagnosis, None, now)
            return replace(decision, actions=(*decision.actions, *withheld.events))
        actions: list[Action] = []
        unbound: list[Evict] = []
        for action in prepared:
            if isinstance(action, Evict) and self._binding.is_waiting(action.pod):
                unbound.append(action)
            elif isinstance(action, ClearNomination) or self._evictions.ask(queued.key, action.uid):
                actions.append(action)
        actions = [*return_unschedulable(self.queue, queued, diagnosis, node, now).actions, *actions]
        for eviction in unbound:
            actions += self._binding.stop(eviction, now)
        return Decision(queued.key, Outcome.NOMINATED, node, diagnosis.message, victims, tuple(actions))

    # ------------------------------------------------------------------ answers

    def _evict_answered(self, uid: str, error: str, now: int) -> None:
        waited = self._settle_eviction(uid, now)
        if error:
            self.queue.activate([each for each in waited if not each.startswith(GROUP_PREFIX)], now)
            for group in waited:
                if group.startswith(GROUP_PREFIX) and self.queue.groups is not None:
                    self.queue.groups.activate(group.removeprefix(GROUP_PREFIX), now)

    def _claim_write_failed(self, pod: str, uid: str, now: int) -> None:
        """Upstream leaves the pod where it is, and nothing may happen to it for minutes."""
        queued = self.queue.find(pod)
        if queued is not None and queued.info.uid == uid:
            self.queue.retry(pod, now)

    def _settle_eviction(self, uid: str, now: int) -> list[str]:
        waited, freed = self._evictions.answer(uid)
        for preemptor in freed:
            if preemptor.startswith(GROUP_PREFIX):
                self.queue.release_group(preemptor.removeprefix(GROUP_PREFIX), now)
            else:
                self.queue.release(preemptor, now)
        return waited

    def _hold_group_back(self, group: str) -> Status:
        return hold_group_back(self._evictions.is_preempting(GROUP_PREFIX + group))

    # ------------------------------------------------------------------ after an exception that nobody expected

    @property
    def interrupted(self) -> str:
        """The pod or the group whose attempt has raised; "" if there is none."""
        if self._groups.interrupted is not None:
            return f"{GROUP_PREFIX}{self._groups.interrupted.key}"
        return "" if self._interrupted is None else self._interrupted.key

    def abandon_attempt(self, message: str, now: int) -> Decision | None:
        """What was tried goes back to the queue if its attempt raised; None if queue or cache had changed by then."""
        if self._groups.interrupted is not None:
            self._decider = self.instruments.decider(self.profiles)
            return self._groups.abandon(message, now)
        queued, is_untouched = self._interrupted, self._is_untouched
        if queued is None or not is_untouched:
            return None
        self._interrupted, self._is_untouched = None, False
        self._decider = self.instruments.decider(self.profiles)
        return return_failed(self.queue, queued, Status(Code.ERROR, (message,)), "", now)

    def start_over(self, now: int) -> Past:
        """Forget everything but what pods have been through; `restore` is to be called with all objects there are.

        The limits of preemption go on counting, and so does what the queue counts for metrics.
        """
        pods = (*self.queue.queued_pods(), *self._binding.pods())
        past = Past(pods, self.queue.nominations, self._binding.outbox, self._interrupted, now)
        before = self.queue
        self._begin()
        self.queue.take_over(before, now)
        self._binding.outbox += past.outbox
        return past

    def restore(self, obj: Object, past: Past, under_way: BindingUnderWay | None, now: int) -> None:
        """An object as it was last observed; `under_way` if it is a pod whose binding was asked for."""
        if isinstance(obj, Node):
            self.cache.add_node(obj)
        elif not isinstance(obj, Pod):
            self._show(obj, now)
        elif obj.status.phase in FINISHED_PHASES:
            return
        elif obj.spec.node_name:
            self.cache.add_pod(obj)
        elif self._is_ours(obj):
            info = self.cache.info(obj)
            queued = past.queued(obj, info, self.queue.next_number(), now)
            if under_way is None:
                self.queue.readmit(queued, past.node_kept_for(info), now)
                if self.queue.groups is not None:
                    self.queue.move(POD_APPEARED, None, obj, now)
            else:
                self._binding.resume(queued, self.profiles[info.scheduler_name], under_way)


def _queue_profile(profile: Profile, gate: PreemptionGate, wakeups: Wakeups, release: Release) -> QueueProfile:
    others = (
        gate,
        *((AnyExtender(),) if profile.extenders else ()),
        *((profile.groups.gang_gate,) if profile.groups.gang_gate is not None else ()),
    )
    return QueueProfile.of(profile, release, others, wakeups)
