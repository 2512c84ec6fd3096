"""Pods on the way from a decision to their node: assumed, perhaps waiting, then bound.

A pod takes its room in the cache at once and keeps it until the world confirms the binding, or until something goes
wrong and the room is given back. What follows from an answer alone waits in the outbox. Nothing is done here: binding
and writing are actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate, preempted
from bayplan.core.cache import Cache
from bayplan.core.columns import ABSENT
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.evictions import Evictions
from bayplan.core.failure_handling import return_failed
from bayplan.core.framework.contract import (
    AnsweringPlugin,
    AssumedPod,
    Pending,
    PermitPlugin,
    PreBindPlugin,
    UnreservePlugin,
    Wait,
    WaitingPod,
)
from bayplan.core.framework.extender import binder_for
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import POD_GONE
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.on_the_way import BindingUnderWay, OnTheWay
from bayplan.core.preemption.loop_breaker import EvictedOwner
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.reservations import Reservations
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND

#: Members of enums are slow to get at, and these are wanted for each pod.
_BINDING, _BOUND, _IS_ASSUMED = PodState.BINDING, PodState.BOUND, Outcome.ASSUMED

#: Longest wait that a plugin may ask for at Permit.
PERMIT_WAIT_MAX_NS = 15 * MINUTE
#: Until what was reserved for a pod must be written.
WRITE_TIMEOUT_NS = 10 * MINUTE
DEADLINE_EXCEEDED = "context deadline exceeded"
#: Until a binding is asked for again that was refused.
ASK_AGAIN_NS = SECOND


class Binding:
    """The pods on the way of one scheduler."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        on_given_back: Callable[[Object, Object | None, int], None],
    ) -> None:
        """`on_given_back` gets each object as it was assumed for a pod, and as it is again (None: not there)."""
        self._cache = cache
        self._queue = queue
        self._on_given_back = on_given_back
        self._on_the_way: dict[str, OnTheWay] = {}
        self.timed: dict[str, OnTheWay] = {}
        """Those of them that wait at Permit or PreBind, or for a write; to be read only."""
        self.is_news = False
        """Whether something has happened since Permit plugins were asked about the pods that wait for them."""
        self.refused: dict[str, OnTheWay] = {}
        """Those that may be bound although the last request was refused; to be read only."""
        self._binding: dict[str, tuple[str, OnTheWay]] = {}  # uid -> node and pod, of binds that are not answered
        self.outbox: list[Action] = []
        """What is to be done because of something that was observed; to be read only."""
        self.reservations = Reservations(cache.objects)

    def take_actions(self) -> tuple[Action, ...]:
        """What is to be done because of what was observed; the outbox is empty then."""
        actions, self.outbox = tuple(self.outbox), []
        return actions

    def find(self, key: str) -> OnTheWay | None:
        """The pod of that name."""
        return self._on_the_way.get(key)

    def find_same(self, key: str, uid: str) -> OnTheWay | None:
        """The pod of that name and uid."""
        way = self._on_the_way.get(key)
        return way if way is None or way.queued.info.uid == uid else None

    def is_waiting(self, key: str) -> bool:
        """Whether the pod waits at Permit or PreBind, or for a write, and nobody has been asked to bind it yet."""
        return key in self.timed

    def news_among(self, evictions: Iterable[Evict], asked: Evictions) -> list[EvictedOwner]:
        """Those that nobody has asked for yet, and that end more than a plan in memory."""
        pods = self._cache.pods
        return [
            EvictedOwner(eviction.pod.partition("/")[0], eviction.uid, pods.owner(pods.rows_by_key[eviction.pod]))
            for eviction in evictions
            if not self.is_waiting(eviction.pod) and not asked.is_asked(eviction.uid)
        ]

    def pods(self) -> list[QueuedPod]:
        """All of them."""
        return [way.queued for way in self._on_the_way.values()]

    def unconfirmed(self) -> list[str]:
        """Pods that have a node but are not known to be bound."""
        return [key for key, way in list(self._on_the_way.items()) if way.queued.state is not _BOUND]

    def due_at(self) -> int | None:
        """When the first of them has waited too long, or is to be asked for again."""
        if not (self.timed or self.refused):
            return None
        times = [way.due_at for way in self.timed.values()] + [way.ask_at for way in self.refused.values()]
        return min((time for time in times if time is not None), default=None)

    def take(self, queued: QueuedPod, profile: Profile, node: str, now: int) -> Decision:
        """Assume, reserve, ask for permission."""
        self._queue.assume(queued, node, now)
        self.is_news = True
        way = OnTheWay(queued, profile, node, queued.pod, reserved_at=now)
        info = self._cache.add_pod(queued.pod, node, replace(queued.info, node_name=node))
        self._on_the_way[queued.key] = way
        try:
            self._reserve(way, info, now)
            rejected = self._permit(way, info, now) if profile.permit else None
        except CycleError as error:
            return self._fall_back(way, Status(Code.ERROR, (error.message,), error.plugin), now)
        if rejected is not None:
            return self._fall_back(way, rejected, now)
        if way.waits or way.write_until is not None:
            self.timed[queued.key] = way
        if way.waits:
            queued.enter(PodState.WAITING)
            return Decision(queued.key, Outcome.WAITING, node, actions=self._announcement(way))
        return self._go_on(way, now)

    def resume(self, queued: QueuedPod, profile: Profile, under_way: BindingUnderWay) -> None:
        """A pod whose binding was asked for before the scheduler started over."""
        bind = under_way.bind
        way = OnTheWay(queued, profile, bind.node, queued.pod, uncertain=under_way.is_uncertain)
        self._cache.add_pod(queued.pod, bind.node, replace(queued.info, node_name=bind.node))
        self._on_the_way[queued.key] = way
        queued.enter(_BINDING)
        if bind.extender:
            way.binder = binder_for(profile.extenders, queued.info)
        if under_way.is_bound:
            queued.enter(_BOUND)
            return
        self._binding[bind.uid] = (bind.node, way)
        if not under_way.is_asked:
            self.outbox.append(bind)

    def _reserve(self, way: OnTheWay, info: PodInfo, now: int) -> None:
        view = self._cache.view()
        changed: list[Object] = []
        row = view.nodes.rows_by_name[way.node]
        for plugin in way.profile.reserve:
            reserved = plugin.reserve(info, view, row)
            if reserved and not changed:
                way.writer = plugin.name
            changed += reserved
        if changed:
            self.reservations.take(way, changed)
            way.write_until = now + WRITE_TIMEOUT_NS

    def _permit(self, way: OnTheWay, info: PodInfo, now: int) -> Status | None:
        """Why the pod may not go on, None if it may; waits are noted on the way."""
        view = self._cache.view()
        for plugin in way.profile.permit:
            answer = plugin.permit(info, view, view.nodes.rows_by_name[way.node])
            if isinstance(answer, Wait):
                way.waits[plugin.name] = now + min(answer.timeout_ns, PERMIT_WAIT_MAX_NS)
            elif not answer.ok:
                return Status(answer.code, answer.reasons, plugin.name)
        return None

    def _go_on(self, way: OnTheWay, now: int) -> Decision:
        """Nothing holds the pod back any more: write what was reserved for it, or ask the PreBind plugins."""
        queued = way.queued
        self._queue.done(queued)
        queued.enter(_BINDING)
        if way.to_write:
            actions = (*self._announcement(way), self.reservations.write(way))
            return Decision(queued.key, _IS_ASSUMED, way.node, actions=actions)
        return self._start_pre_bind(way, now)

    def _start_pre_bind(self, way: OnTheWay, now: int) -> Decision:
        """Bind the pod, unless a PreBind plugin has something to say about it."""
        way.write_until = None
        way.plugins_left = way.profile.pre_bind_for(way.queued.info)
        return self._pre_bind(way, now) if way.plugins_left else self._bind(way)

    def _pre_bind(self, way: OnTheWay, now: int) -> Decision:
        """Ask the PreBind plugins that are left, until one has to wait or rejects the pod; bind it if none does."""
        view = self._cache.view()
        actions: tuple[Action, ...] = ()
        way.pending = None
        while way.plugins_left:
            plugin = way.plugins_left[0]
            is_first = plugin.name not in way.asked
            answer = self._ask_pre_bind(way, plugin, view, now)
            if isinstance(answer, Status):
                if not answer.ok:
                    return self._fall_back(way, _pre_bind_failure(plugin, answer), now).after(actions)
                del way.plugins_left[0]
                continue
            actions += answer.actions
            if is_first and answer.look_at is not None and answer.look_at <= now:
                continue
            if answer.until <= now:
                waited = Status(Code.ERROR, (DEADLINE_EXCEEDED,))
                return self._fall_back(way, _pre_bind_failure(plugin, waited), now).after(actions)
            way.pending = answer
            self.timed[way.queued.key] = way
            return Decision(way.queued.key, _IS_ASSUMED, way.node, actions=actions)
        return self._bind(way).after(actions)

    def _ask_pre_bind(self, way: OnTheWay, plugin: PreBindPlugin, view: View, now: int) -> Status | Pending:
        placement = self._placement(way, plugin.name, now)
        way.asked[plugin.name] = (placement.asked_at, placement.times_asked + 1)
        try:
            return plugin.pre_bind(way.queued.info, view, placement)
        except CycleError as error:
            return Status(Code.ERROR, (error.message,))

    def _placement(self, way: OnTheWay, plugin: str, now: int) -> AssumedPod:
        asked_at, times_asked = way.asked.get(plugin, (now, 0))
        row = self._cache.nodes.rows_by_name.get(way.node, ABSENT)
        return AssumedPod(row, way.node, way.written, way.reserved_at, asked_at, times_asked, now)

    def _announcement(self, way: OnTheWay) -> tuple[Action, ...]:
        """What takes its time is announced: others can see where the pod will go."""
        announces = self._cache.gates.nominated_node_name_for_expectation
        return (Nominate(way.queued.key, way.node),) if announces else ()

    def _bind(self, way: OnTheWay) -> Decision:
        if self.timed:
            self.timed.pop(way.queued.key, None)
        if way.profile.extenders:
            way.binder = binder_for(way.profile.extenders, way.queued.info)
        return Decision(way.queued.key, _IS_ASSUMED, way.node, actions=(self._binding_request(way),))

    def _binding_request(self, way: OnTheWay) -> Bind:
        """To the extender that binds the pod if there is one, or else to where the Bind plugin says."""
        info, plugin, node, extender = way.queued.info, way.profile.bind, way.node, ""
        if way.binder is not None:
            extender = way.binder.name
        elif plugin is not None:
            node = plugin.bind_target(info, way.node)
        self._binding[info.uid] = (node, way)
        return Bind(info.key, info.uid, node, extender)

    def arrived(self, way: OnTheWay) -> None:
        """The API shows the pod on its node: the scheduler is through with it."""
        del self._on_the_way[way.queued.key]
        self.reservations.confirm(way)
        self.timed.pop(way.queued.key, None)
        self.refused.pop(way.queued.key, None)
        if way.queued.state is not _BOUND:
            if way.queued.state is not _BINDING:
                self._queue.done(way.queued)
                way.queued.enter(_BINDING)
            way.queued.enter(_BOUND)

    def give_up(self, way: OnTheWay, now: int) -> None:
        """A pod that had a node is being deleted before it was bound."""
        self._forget(way)
        self.outbox += self._unreserve(way, now)
        self._queue.discard(way.queued)
        self._queue.move(POD_GONE, way.pod, None, now)
        self._report_given_back(now)

    def stop(self, eviction: Evict, now: int) -> tuple[Action, ...]:
        """Take its node from a victim that waits at Permit or PreBind; it is not bound, so nothing is deleted."""
        way = self.timed[eviction.pod]
        if way.waits:
            text = "waiting on permit for pod: preempted"
        else:
            text = f'running PreBind plugin "{way.pre_bind_plugin}": preempted by DefaultPreemption'
        event = preempted(eviction, f"{eviction.note} (in kube-scheduler memory).")
        return event, *self._fall_back(way, Status(Code.ERROR, (text,)), now).actions

    def _fall_back(self, way: OnTheWay, status: Status, now: int) -> Decision:
        """A pod that had a node loses it again."""
        self._forget(way)
        self._queue.move(POD_GONE, way.pod, None, now, except_key=way.queued.key)
        self._report_given_back(now)
        decision = return_failed(self._queue, way.queued, status, way.node, now)
        return decision.after(self._unreserve(way, now))

    def _unreserve(self, way: OnTheWay, now: int) -> tuple[Action, ...]:
        """What takes back what was written for the pod."""
        plugins = [plugin for plugin in way.profile.reserve if isinstance(plugin, UnreservePlugin)]
        if not (plugins and (way.written or way.asked)):
            return ()
        info, view = way.queued.info, self._cache.view()
        return tuple(
            action
            for plugin in plugins
            for action in plugin.unreserve(info, view, self._placement(way, plugin.name, now))
        )

    def _report_given_back(self, now: int) -> None:
        """Others may take what was put back."""
        for assumed, as_before in self.reservations.take_given_back():
            self._on_given_back(assumed, as_before, now)

    def _forget(self, way: OnTheWay) -> None:
        """Undo assume and reserve."""
        self.is_news = True
        del self._on_the_way[way.queued.key]
        self.timed.pop(way.queued.key, None)
        self.refused.pop(way.queued.key, None)
        if self._cache.stands_on_a_node(way.queued.key):
            self._cache.remove_pod(way.queued.key)
        self.reservations.undo(way)

    def bind_answered(self, answer: BindAnswered, now: int) -> None:
        way = self.find_same(answer.pod, answer.uid)
        bound = self._binding.pop(answer.uid, None)
        if answer.error:
            # A pod that the watch has shown on its node is bound, whatever became of the answer.
            if way is not None:
                self._bind_failed(way, answer, bound, now)
            return
        if bound is not None:
            node, binding = bound
            note = f"Successfully assigned {answer.pod} to {node}"
            self.outbox.append(Emit(answer.pod, answer.uid, "Normal", "Scheduled", "Binding", note))
            for plugin in binding.profile.post_bind:
                self.outbox += plugin.post_bind(binding.queued.info, node)
        if way is not None:
            way.queued.enter(_BOUND)

    def _bind_failed(self, way: OnTheWay, answer: BindAnswered, bound: tuple[str, OnTheWay] | None, now: int) -> None:
        if way.binder is not None:
            self._extender_failed(way, answer, now)
            return
        way.uncertain |= answer.lost
        if way.uncertain and bound is not None:
            # The pod may be bound. To give its room away would overcommit the node, so it is asked for again until
            # the answer, or the watch, tells: binding to the same node twice does no harm. A later refusal proves
            # nothing about the first request, but may be repeated for long. Upstream gives up the room and may find
            # the pod there.
            if answer.lost:
                self._ask_again(way)
            else:
                way.ask_at = now + ASK_AGAIN_NS
                self.refused[answer.pod] = way
            return
        self._fail(way, f'running Bind plugin "DefaultBinder": {answer.error}', now)

    def _ask_again(self, way: OnTheWay) -> None:
        self._binding[way.uid] = way.node, way
        self.outbox.append(Bind(way.queued.key, way.uid, way.node))

    def _extender_failed(self, way: OnTheWay, answer: BindAnswered, now: int) -> None:
        """As upstream the pod loses its node, or its binding goes the usual way where the extender is ignorable.

        This holds for a lost answer, too: nobody knows what it means to an extender to be asked again. If the pod was
        bound after all, the watch will show it.
        """
        assert way.binder is not None
        if way.binder.ignorable:
            way.binder = None
            self.outbox.append(self._binding_request(way))
        else:
            self._fail(way, answer.error, now)

    def volumes_answered(self, answer: VolumesAnswered, now: int) -> None:
        way = self.reservations.answered(answer)
        if way is None:
            return
        if answer.lost:
            # The claims may have their devices. As for a binding it is asked for again until it is known.
            self.outbox.append(self.reservations.write(way))
        elif self._on_the_way.get(answer.pod) is not way:
            self._leave_behind(way, now)
        elif answer.error:
            self._fail(way, f'running PreBind plugin "{way.writer}": {answer.error}', now)
        else:
            self.outbox += self._start_pre_bind(way, now).actions
        self._report_given_back(now)

    def _leave_behind(self, way: OnTheWay, now: int) -> None:
        """What was written for a pod that had lost its node by then; another attempt, or somebody else, may need it."""
        if self.find_same(way.queued.key, way.uid) is None and not self._cache.stands_on_a_node(way.queued.key):
            self.outbox += self._unreserve(way, now)
        self.reservations.undo(way)

    def happened(self, event: Event, now: int) -> None:
        """Something that Permit and PreBind plugins may wait for."""
        self.is_news = True
        if not isinstance(event, ObjectAdded | ObjectChanged | ObjectRemoved):
            return
        kind = type(event.old if isinstance(event, ObjectRemoved) else event.new).__name__
        for way in list(self.timed.values()):
            if way.pending is not None and kind in way.pending.kinds:
                self.outbox += self._pre_bind(way, now).actions

    @property
    def has_to_ask(self) -> bool:
        """Whether pods wait at Permit, and something has happened since the plugins were last asked about them."""
        return self.is_news and any(way.waits for way in self.timed.values())

    def ask_about_waiting(self, now: int) -> None:
        """Ask the Permit plugins about the pods that wait for them."""
        self.is_news = False
        waiting: dict[int, tuple[PermitPlugin, list[OnTheWay]]] = {}
        for way in self.timed.values():
            for plugin in way.profile.permit:
                if plugin.name in way.waits:
                    waiting.setdefault(id(plugin), (plugin, []))[1].append(way)
        for plugin, ways in waiting.values():
            if isinstance(plugin, AnsweringPlugin):
                self._ask_about(plugin, ways, now)

    def _ask_about(self, plugin: AnsweringPlugin, ways: list[OnTheWay], now: int) -> None:
        view = self._cache.view()
        rows = view.nodes.rows_by_name
        answers = plugin.answer_waiting([WaitingPod(way.queued.info, rows[way.node]) for way in ways], view)
        for way in ways:
            status = answers.get(way.queued.key)
            if status is None or self.timed.get(way.queued.key) is not way or plugin.name not in way.waits:
                continue
            if not status.ok:
                rejected = Status(status.code, status.reasons, plugin.name)
                self.outbox += self._fall_back(way, rejected, now).actions
                continue
            del way.waits[plugin.name]
            if not way.waits:
                self.outbox += self._go_on(way, now).actions

    def expire(self, now: int) -> None:
        """Waits that have lasted too long, and those that are looked at from time to time."""
        for way in [way for way in self.refused.values() if way.ask_at <= now]:
            del self.refused[way.queued.key]
            self._ask_again(way)
        for way in list(self.timed.values()):
            if way.pending is not None:
                due = way.due_at
                if due is not None and due <= now:
                    self.outbox += self._pre_bind(way, now).actions
            elif way.waits:
                plugin, deadline = min(way.waits.items(), key=lambda wait: wait[1])
                if deadline <= now:
                    self._reject(way, plugin, f"rejected due to timeout after waiting at plugin {plugin}", now)
            elif way.write_until is not None and way.write_until <= now:
                self._fail(way, f'running PreBind plugin "{way.writer}": {DEADLINE_EXCEEDED}', now)

    def _fail(self, way: OnTheWay, error: str, now: int) -> None:
        self.outbox += self._fall_back(way, Status(Code.ERROR, (error,)), now).actions

    def _reject(self, way: OnTheWay, plugin: str, reason: str, now: int) -> None:
        self.outbox += self._fall_back(way, Status(Code.UNSCHEDULABLE, (reason,), plugin), now).actions


def _pre_bind_failure(plugin: PreBindPlugin, answer: Status) -> Status:
    if answer.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE):
        return Status(answer.code, answer.reasons, plugin.name)
    return Status(Code.ERROR, (f'running PreBind plugin "{plugin.name}": {answer.message}',))
