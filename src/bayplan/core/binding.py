"""Pods on the way from a decision to their node: assumed, perhaps waiting, then bound.

A pod takes its room in the cache at once and keeps it until the world confirms the binding, or until something goes
wrong and the room is given back. What follows from an answer alone waits in the outbox. Nothing is done here: binding
and writing are actions.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, PermitAnswered, VolumesAnswered
from bayplan.core.failure_handling import return_failed
from bayplan.core.framework.contract import Wait
from bayplan.core.framework.extender import binder_for
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import POD_GONE
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.on_the_way import BindingUnderWay, DeviceWait, OnTheWay, resource_claims
from bayplan.core.plugins.dynamic_resources import DYNAMIC_RESOURCES, DynamicResources
from bayplan.core.plugins.dynamic_resources.binding_conditions import (
    BINDING_TIMEOUT,
    LOOK_EVERY_NS,
    DeviceBindingError,
    are_ready,
    claims_used_by,
    has_conditions,
)
from bayplan.core.plugins.dynamic_resources.claims import ClaimError
from bayplan.core.plugins.volume_binding_wait import why_in_vain
from bayplan.core.plugins.volume_claims import claim_uses, is_fully_bound
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.core.reservations import Reservations
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.structs import replace
from bayplan.model.time_units import MINUTE, SECOND

#: Members of enums are slow to get at, and these are wanted for each pod.
_BINDING, _BOUND, _IS_ASSUMED = PodState.BINDING, PodState.BOUND, Outcome.ASSUMED

#: Longest wait that a plugin may ask for at Permit.
PERMIT_WAIT_MAX_NS = 15 * MINUTE
#: Until a binding is asked for again that was refused.
ASK_AGAIN_NS = SECOND


class Binding:
    """The pods on the way of one scheduler."""

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        bind_timeout_ns: int,
        on_given_back: Callable[[Object, Object | None, int], None],
    ) -> None:
        """`on_given_back` gets each object as it was assumed for a pod, and as it is again (None: not there)."""
        self._cache = cache
        self._queue = queue
        self._on_given_back = on_given_back
        self._bind_timeout_ns = bind_timeout_ns
        self._on_the_way: dict[str, OnTheWay] = {}
        self.find = self._on_the_way.get
        """The pod of that name, or None."""
        self.timed: dict[str, OnTheWay] = {}
        """Those of them that wait for permission, volumes or devices; to be read only."""
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

    def find_same(self, key: str, uid: str) -> OnTheWay | None:
        """The pod of that name and uid."""
        way = self._on_the_way.get(key)
        return way if way is None or way.queued.info.uid == uid else None

    def is_waiting(self, key: str) -> bool:
        """Whether the pod waits for permission, volumes or devices, and nobody has been asked to bind it yet."""
        return key in self.timed

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
        way = OnTheWay(queued, profile, node, queued.pod)
        info = self._cache.add_pod(queued.pod, node, replace(queued.info, node_name=node))
        self._on_the_way[queued.key] = way
        try:
            self._reserve(way, info, now)
            rejected = self._permit(way, info, now) if profile.permit else None
        except CycleError as error:
            return self._fall_back(way, Status(Code.ERROR, (error.message,), error.plugin), now)
        if rejected is not None:
            return self._fall_back(way, rejected, now)
        if way.waits or way.deadline is not None:
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
            changed += plugin.reserve(info, view, row)
        if changed:
            self.reservations.take(way, changed)
            if not all(isinstance(obj, ResourceClaim) for obj in changed):
                way.claims = tuple((info.namespace, use.claim_name) for use in claim_uses(info))
            way.deadline = now + self._bind_timeout_ns

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
        """Nothing holds the pod back any more: write its volumes, or bind it."""
        queued = way.queued
        self._queue.done(queued)
        queued.enter(_BINDING)
        if way.volumes:
            actions = (*self._announcement(way), self.reservations.write(way))
            return Decision(queued.key, _IS_ASSUMED, way.node, actions=actions)
        return self._bind(way, now) if queued.info.claims is None else self._bind_with_devices(way, now)

    def _bind_with_devices(self, way: OnTheWay, now: int) -> Decision:
        """Bind the pod once its devices are ready; most are at once."""
        try:
            way.devices = self._wait_for_devices(way, now)
        except ClaimError as problem:
            return self._fall_back(way, _failed_devices(problem), now)
        if way.devices is None:
            return self._bind(way, now)
        self.timed[way.queued.key] = way
        note = f"waiting for binding conditions for device on node {way.node}"
        pending = Emit(way.queued.key, way.uid, "Normal", "BindingConditionsPending", "Scheduling", note)
        decision = self._look_at_devices(way, now) or Decision(way.queued.key, _IS_ASSUMED, way.node)
        return replace(decision, actions=(pending, *decision.actions))

    def _wait_for_devices(self, way: OnTheWay, now: int) -> DeviceWait | None:
        """What is to be waited for; None if nothing is. Raises ClaimError."""
        info = way.queued.info
        if info.claims is None:
            return None
        plugin = next((plugin for plugin in way.profile.reserve if isinstance(plugin, DynamicResources)), None)
        if plugin is None or not plugin.waits_for_devices:
            return None
        claims = claims_used_by(info, self._cache.objects, resource_claims(way.written))
        if not any(map(has_conditions, claims)):
            return None
        way.written = (*(obj for obj in way.written if not isinstance(obj, ResourceClaim)), *claims)
        places = tuple((claim.metadata.namespace, claim.metadata.name) for claim in claims)
        return DeviceWait(places, plugin.binding_timeout_ns, now + plugin.binding_timeout_ns, now)

    def _look_at_devices(self, way: OnTheWay, now: int) -> Decision | None:
        """Bind the pod or give it up; None while it has to wait."""
        wait = way.devices
        assert wait is not None
        try:
            ready = are_ready(self._cache.objects, wait.places, now, wait.timeout_ns)
            if not ready and now >= wait.until:
                raise DeviceBindingError(f"{BINDING_TIMEOUT}: context deadline exceeded")
        except DeviceBindingError as problem:
            return self._fall_back(way, _failed_devices(problem), now)
        if not ready:
            wait.look_at = min(now + LOOK_EVERY_NS, wait.until)
            return None
        way.devices = None
        del self.timed[way.queued.key]
        return self._bind(way, now)

    def _announcement(self, way: OnTheWay) -> tuple[Action, ...]:
        """What takes its time is announced: others can see where the pod will go."""
        announces = self._cache.gates.nominated_node_name_for_expectation
        return (Nominate(way.queued.key, way.node),) if announces else ()

    def _bind(self, way: OnTheWay, now: int) -> Decision:
        """Bind the pod, unless PreBind rejects it at the last moment."""
        if way.profile.pre_bind:
            rejected = self._pre_bind(way)
            if rejected is not None:
                return self._fall_back(way, rejected, now)
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

    def _pre_bind(self, way: OnTheWay) -> Status | None:
        """Why the pod must not be bound, None if it may."""
        view = self._cache.view()
        for plugin in way.profile.pre_bind:
            try:
                answer = plugin.pre_bind(way.queued.info, view, view.nodes.rows_by_name[way.node])
            except CycleError as error:
                answer = Status(Code.ERROR, (error.message,))
            if answer.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE):
                return Status(answer.code, answer.reasons, plugin.name)
            if not answer.ok:
                return Status(Code.ERROR, (f'running PreBind plugin "{plugin.name}": {answer.message}',))
        return None

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
        self.outbox += way.releases()
        self._queue.discard(way.queued)
        self._queue.move(POD_GONE, way.pod, None, now)
        self._report_given_back(now)

    def stop(self, eviction: Evict, now: int) -> tuple[Action, ...]:
        """Take its node from a victim that waits for permission or volumes; it is not bound, so nothing is deleted."""
        way = self.timed[eviction.pod]
        if way.waits:
            text = "waiting on permit for pod: preempted"
        else:
            text = f'running PreBind plugin "{way.writer}": preempted by DefaultPreemption'
        note = f"{eviction.note} (in kube-scheduler memory)."
        preempted = Emit(eviction.pod, eviction.uid, "Normal", "Preempted", "Preempting", note)
        return preempted, *self._fall_back(way, Status(Code.ERROR, (text,)), now).actions

    def _fall_back(self, way: OnTheWay, status: Status, now: int) -> Decision:
        """A pod that had a node loses it again."""
        self._forget(way)
        self._queue.move(POD_GONE, way.pod, None, now, except_key=way.queued.key)
        self._report_given_back(now)
        decision = return_failed(self._queue, way.queued, status, way.node, now)
        return replace(decision, actions=(*way.releases(), *decision.actions))

    def _report_given_back(self, now: int) -> None:
        """Others may take what was put back."""
        for assumed, as_before in self.reservations.take_given_back():
            self._on_given_back(assumed, as_before, now)

    def _forget(self, way: OnTheWay) -> None:
        """Undo assume and reserve."""
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
            self._leave_behind(way)
        elif answer.error:
            self._fail(way, f'running PreBind plugin "{way.writer}": {answer.error}', now)
        else:
            self._bind_if_ready(way, now)
        self._report_given_back(now)

    def _leave_behind(self, way: OnTheWay) -> None:
        """What was written for a pod that had lost its node by then; another attempt, or somebody else, may need it."""
        if self.find_same(way.queued.key, way.uid) is None and not self._cache.stands_on_a_node(way.queued.key):
            self.outbox += way.releases()
        self.reservations.undo(way)

    def look_at_volumes(self, changed: Object, now: int) -> None:
        """Something that pods may wait for, or on, has come, changed or gone."""
        if isinstance(changed, PersistentVolumeClaim | PersistentVolume | Node):
            for way in list(self.timed.values()):
                if way.written and way.claims:
                    self._bind_if_ready(way, now)

    def _bind_if_ready(self, way: OnTheWay, now: int) -> None:
        reason = self._why_in_vain(way) if way.claims else ""
        if reason:
            self._fail(way, f'running PreBind plugin "VolumeBinding": binding volumes: {reason}', now)
            return
        claims = self._cache.objects.claims
        if way.deadline is not None and all(place in claims and is_fully_bound(claims[place]) for place in way.claims):
            way.claims, way.deadline = (), None
            del self.timed[way.queued.key]
            self.outbox += self._bind_with_devices(way, now).actions

    def _why_in_vain(self, way: OnTheWay) -> str:
        nodes = self._cache.nodes
        if not nodes.alive[nodes.rows_by_name[way.node]]:
            return f'failed to get node "{way.node}": node "{way.node}" not found'
        return why_in_vain(self._cache.objects, way.written, way.node)

    def permit_answered(self, event: PermitAnswered, now: int) -> None:
        way = self.find_same(event.pod, event.uid)
        if way is None or event.plugin not in way.waits:
            return
        if not event.allowed:
            self._reject(way, event.plugin, event.reason, now)
            return
        del way.waits[event.plugin]
        if not way.waits:
            self.outbox += self._go_on(way, now).actions

    def expire(self, now: int) -> None:
        """Waits that have lasted too long, and those that are looked at from time to time."""
        for way in [way for way in self.refused.values() if way.ask_at <= now]:
            del self.refused[way.queued.key]
            self._ask_again(way)
        for way in list(self.timed.values()):
            if way.devices is not None:
                if way.devices.look_at <= now:
                    looked = self._look_at_devices(way, now)
                    self.outbox += looked.actions if looked is not None else ()
            elif way.waits:
                plugin, deadline = min(way.waits.items(), key=lambda wait: wait[1])
                if deadline <= now:
                    self._reject(way, plugin, f"rejected due to timeout after waiting at plugin {plugin}", now)
            elif way.deadline is not None and way.deadline <= now:
                what = "binding volumes: " if way.writer != DYNAMIC_RESOURCES else ""
                self._fail(way, f'running PreBind plugin "{way.writer}": {what}context deadline exceeded', now)

    def _fail(self, way: OnTheWay, error: str, now: int) -> None:
        self.outbox += self._fall_back(way, Status(Code.ERROR, (error,)), now).actions

    def _reject(self, way: OnTheWay, plugin: str, reason: str, now: int) -> None:
        self.outbox += self._fall_back(way, Status(Code.UNSCHEDULABLE, (reason,), plugin), now).actions


def _failed_devices(problem: Exception) -> Status:
    return Status(Code.ERROR, (f'running PreBind plugin "{DYNAMIC_RESOURCES}": {problem}',))
