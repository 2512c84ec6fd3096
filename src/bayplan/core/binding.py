"""Pods on the way from a decision to their node: assumed, perhaps waiting, then bound.

A pod takes its room in the cache at once and keeps it until the world confirms the binding, or until something goes
wrong and the room is given back. What follows from an answer alone waits in the outbox. Nothing is done here: binding
and writing are actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate, ReleaseClaim, WriteVolumes
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import BindAnswered, PermitAnswered
from bayplan.core.failure_handling import return_failed
from bayplan.core.framework.contract import Wait
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import POD_GONE
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.dynamic_resources import DYNAMIC_RESOURCES
from bayplan.core.plugins.volume_binding_wait import why_in_vain
from bayplan.core.plugins.volume_claims import claim_uses, is_fully_bound
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import EXTENDED_RESOURCE_ANNOTATION, ResourceClaim
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.structs import Struct, field, replace
from bayplan.model.time_units import MINUTE

#: Longest wait that a plugin may ask for at Permit.
PERMIT_WAIT_MAX_NS = 15 * MINUTE


class OnTheWay(Struct, eq=False):
    """A pod that has a node but is not bound yet."""

    queued: QueuedPod
    profile: Profile
    node: str
    reserved: list[Object] = field(default_factory=list)  # objects as they were before Reserve changed them
    volumes: tuple[Object, ...] = ()  # to be written before the pod can be bound
    written: tuple[Object, ...] = ()  # the same, once that is done
    claims: tuple[tuple[str, str], ...] = ()  # whose binding is waited for
    waits: dict[str, int] = field(default_factory=dict)  # plugin at Permit -> deadline
    deadline: int | None = None  # of the volumes
    uncertain: bool = False  # an answer to Bind was lost

    @property
    def pod(self) -> Pod:
        """As it would stand on its node."""
        pod = self.queued.pod
        return replace(pod, spec=replace(pod.spec, node_name=self.node))

    @property
    def due_at(self) -> int | None:
        """When it has waited too long."""
        return min(self.waits.values()) if self.waits else self.deadline


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
        self._timed: dict[str, OnTheWay] = {}  # those of them that wait for permission or for volumes
        self._binding: dict[str, tuple[str, OnTheWay]] = {}  # uid -> node and pod, of binds that are not answered
        self._outbox: list[Action] = []  # what is to be done because of something that was observed

    @property
    def has_actions(self) -> bool:
        """Whether there is something to be done because of what was observed."""
        return bool(self._outbox)

    def take_actions(self) -> tuple[Action, ...]:
        """What is to be done because of what was observed; the outbox is empty then."""
        actions, self._outbox = tuple(self._outbox), []
        return actions

    def find(self, key: str, uid: str | None = None) -> OnTheWay | None:
        """The pod of that name and, if one is given, of that uid."""
        way = self._on_the_way.get(key)
        return way if way is None or uid is None or way.queued.info.uid == uid else None

    def is_waiting(self, key: str) -> bool:
        """Whether the pod waits for permission or volumes, and nothing of it has been written yet."""
        return key in self._timed

    def unconfirmed(self) -> list[str]:
        """Pods that have a node but are not known to be bound."""
        return [key for key, way in self._on_the_way.items() if way.queued.state is not PodState.BOUND]

    def due_at(self) -> int | None:
        """When the first of them has waited too long."""
        if not self._timed:
            return None
        times = [way.due_at for way in self._timed.values()]
        return min((time for time in times if time is not None), default=None)

    def take(self, queued: QueuedPod, profile: Profile, node: str, now: int) -> Decision:
        """Assume, reserve, ask for permission."""
        self._queue.assume(queued, node, now)
        way = OnTheWay(queued, profile, node)
        info = self._cache.add_pod(queued.pod, node, replace(queued.info, node_name=node))
        self._on_the_way[queued.key] = way
        try:
            self._reserve(way, info, now)
            rejected = self._permit(way, info, now)
        except CycleError as error:
            return self._fall_back(way, Status(Code.ERROR, (error.message,), error.plugin), now)
        if rejected is not None:
            return self._fall_back(way, rejected, now)
        if way.due_at is not None:
            self._timed[queued.key] = way
        if way.waits:
            queued.enter(PodState.WAITING)
            return Decision(queued.key, Outcome.WAITING, node, actions=self._announcement(way))
        return self._go_on(way, now)

    def _reserve(self, way: OnTheWay, info: PodInfo, now: int) -> None:
        objects = self._cache.objects
        view = self._cache.view()
        changed: list[Object] = []
        for plugin in way.profile.reserve:
            changed += plugin.reserve(info, view, view.nodes.rows_by_name[way.node])
        for obj in changed:
            before = objects.find(obj)
            if before is not None:
                way.reserved.append(before)
            if isinstance(obj, ResourceClaim) and not _has_devices(before):
                objects.claims_in_flight.add((obj.metadata.namespace, obj.metadata.name))
            objects.put(obj)
        way.volumes = tuple(changed)
        if changed:
            if not all(isinstance(obj, ResourceClaim) for obj in changed):
                way.claims = tuple((info.namespace, use.claim_name) for use in claim_uses(info))
            way.deadline = now + self._bind_timeout_ns

    def _permit(self, way: OnTheWay, info: PodInfo, now: int) -> Status | None:
        """Why the pod may not go on, None if it may; waits are noted on the way."""
        if not way.profile.permit:
            return None
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
        queued.enter(PodState.BINDING)
        if way.volumes:
            actions = (*self._announcement(way), WriteVolumes(queued.key, queued.info.uid, way.volumes))
            return Decision(queued.key, Outcome.ASSUMED, way.node, actions=actions)
        return self._bind(way, now)

    def _announcement(self, way: OnTheWay) -> tuple[Action, ...]:
        """What takes its time is announced: others can see where the pod will go."""
        announces = self._cache.gates.nominated_node_name_for_expectation
        return (Nominate(way.queued.key, way.node),) if announces else ()

    def _bind(self, way: OnTheWay, now: int) -> Decision:
        """Bind the pod, unless PreBind rejects it at the last moment."""
        info, binder = way.queued.info, way.profile.bind
        rejected = self._pre_bind(way)
        if rejected is not None:
            return self._fall_back(way, rejected, now)
        node = binder.bind_target(info, way.node) if binder is not None else way.node
        self._binding[info.uid] = (node, way)
        return Decision(info.key, Outcome.ASSUMED, way.node, actions=(Bind(info.key, info.uid, node),))

    def _pre_bind(self, way: OnTheWay) -> Status | None:
        """Why the pod must not be bound, None if it may."""
        if not way.profile.pre_bind:
            return None
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
        self._timed.pop(way.queued.key, None)
        if way.queued.state is not PodState.BOUND:
            if way.queued.state is not PodState.BINDING:
                self._queue.done(way.queued)
                way.queued.enter(PodState.BINDING)
            way.queued.enter(PodState.BOUND)

    def give_up(self, way: OnTheWay, now: int) -> None:
        """A pod that had a node is being deleted before it was bound."""
        given_back = self._forget(way)
        self._queue.discard(way.queued)
        self._queue.move(POD_GONE, way.pod, None, now)
        for assumed, as_before in given_back:
            self._on_given_back(assumed, as_before, now)

    def stop(self, eviction: Evict, now: int) -> tuple[Action, ...]:
        """Take its node from a victim that waits for permission or volumes; it is not bound, so nothing is deleted."""
        way = self._timed[eviction.pod]
        if way.waits:
            text = "waiting on permit for pod: preempted"
        else:
            text = f'running PreBind plugin "{_writer(way)}": preempted by DefaultPreemption'
        note = f"{eviction.note} (in kube-scheduler memory)."
        preempted = Emit(eviction.pod, eviction.uid, "Normal", "Preempted", "Preempting", note)
        return preempted, *self._fall_back(way, Status(Code.ERROR, (text,)), now).actions

    def _fall_back(self, way: OnTheWay, status: Status, now: int) -> Decision:
        """A pod that had a node loses it again."""
        given_back = self._forget(way)
        self._queue.move(POD_GONE, way.pod, None, now, except_key=way.queued.key)
        for assumed, as_before in given_back:
            self._on_given_back(assumed, as_before, now)
        decision = return_failed(self._queue, way.queued, status, way.node, now)
        return replace(decision, actions=(*_releases(way), *decision.actions))

    def _forget(self, way: OnTheWay) -> list[tuple[Object, Object | None]]:
        """Undo assume and reserve; the objects that are no longer as they were assumed, and as they are again."""
        given_back: list[tuple[Object, Object | None]] = []
        del self._on_the_way[way.queued.key]
        self._timed.pop(way.queued.key, None)
        if self._cache.stands_on_a_node(way.queued.key):
            self._cache.remove_pod(way.queued.key)
        objects = self._cache.objects
        for obj in way.reserved:
            assumed = objects.find(obj)
            if assumed is not None and assumed in way.volumes:  # nobody has changed it since
                objects.put(obj)
                given_back.append((assumed, obj))
        known = {(obj.metadata.namespace, obj.metadata.name) for obj in way.reserved}
        for claim in _resource_claims(way.volumes):
            name = (claim.metadata.namespace, claim.metadata.name)
            objects.claims_in_flight.discard(name)
            if name not in known and objects.find(claim) is claim:
                objects.remove(claim)  # it was to be written for this pod
                given_back.append((claim, None))
        return given_back

    def bind_answered(self, answer: BindAnswered, now: int) -> None:
        way = self.find(answer.pod, answer.uid)
        bound = self._binding.pop(answer.uid, None)
        if answer.error:
            # A pod that the watch has shown on its node is bound, whatever became of the answer.
            if way is not None:
                self._bind_failed(way, answer, bound, now)
            return
        if bound is not None:
            node, binding = bound
            note = f"Successfully assigned {answer.pod} to {node}"
            self._outbox.append(Emit(answer.pod, answer.uid, "Normal", "Scheduled", "Binding", note))
            for plugin in binding.profile.post_bind:
                self._outbox += plugin.post_bind(binding.queued.info, node)
        if way is not None:
            way.queued.enter(PodState.BOUND)

    def _bind_failed(self, way: OnTheWay, answer: BindAnswered, bound: tuple[str, OnTheWay] | None, now: int) -> None:
        way.uncertain |= answer.lost
        if way.uncertain and bound is not None:
            # The pod may be bound. To give its room away would overcommit the node, so it is asked for again until
            # the answer, or the watch, tells: binding to the same node twice does no harm. A later refusal proves
            # nothing about the first request. Upstream gives up the room and may find the pod there.
            self._binding[answer.uid] = bound
            self._outbox.append(Bind(answer.pod, answer.uid, bound[0]))
            return
        self._fail(way, f'running Bind plugin "DefaultBinder": {answer.error}', now)

    def volumes_answered(self, key: str, uid: str, error: str, now: int) -> None:
        way = self.find(key, uid)
        if way is None:
            return
        if error:
            self._fail(way, f'running PreBind plugin "{_writer(way)}": {error}', now)
        else:
            way.volumes, way.written = (), way.volumes
            for claim in _resource_claims(way.written):
                self._cache.objects.claims_in_flight.discard((claim.metadata.namespace, claim.metadata.name))
            self._bind_if_ready(way, now)

    def as_assumed(self, seen: Object) -> Object:
        """A claim with the devices that a pod on the way was given, where the watch has not shown them yet."""
        if not isinstance(seen, ResourceClaim) or seen.status.allocation is not None:
            return seen
        for way in self._on_the_way.values():
            for claim in _resource_claims((*way.volumes, *way.written)):
                if object_key(claim) == object_key(seen):
                    return replace(seen, status=claim.status)
        return seen

    def look_at_volumes(self, changed: Object, now: int) -> None:
        """Something that pods may wait for, or on, has come, changed or gone."""
        if isinstance(changed, PersistentVolumeClaim | PersistentVolume | Node):
            for way in list(self._timed.values()):
                if way.written:
                    self._bind_if_ready(way, now)

    def _bind_if_ready(self, way: OnTheWay, now: int) -> None:
        reason = self._why_in_vain(way) if way.claims else ""
        if reason:
            self._fail(way, f'running PreBind plugin "VolumeBinding": binding volumes: {reason}', now)
            return
        claims = self._cache.objects.claims
        if way.deadline is not None and all(place in claims and is_fully_bound(claims[place]) for place in way.claims):
            way.claims, way.deadline = (), None
            del self._timed[way.queued.key]
            self._outbox += self._bind(way, now).actions

    def _why_in_vain(self, way: OnTheWay) -> str:
        nodes = self._cache.nodes
        if not nodes.alive[nodes.rows_by_name[way.node]]:
            return f'failed to get node "{way.node}": node "{way.node}" not found'
        return why_in_vain(self._cache.objects, way.written, way.node)

    def permit_answered(self, event: PermitAnswered, now: int) -> None:
        way = self.find(event.pod, event.uid)
        if way is None or event.plugin not in way.waits:
            return
        if not event.allowed:
            self._reject(way, event.plugin, event.reason, now)
            return
        del way.waits[event.plugin]
        if not way.waits:
            self._outbox += self._go_on(way, now).actions

    def expire(self, now: int) -> None:
        """Waits that have lasted too long."""
        if not self._timed:
            return
        for way in list(self._timed.values()):
            if way.waits:
                plugin, deadline = min(way.waits.items(), key=lambda wait: wait[1])
                if deadline <= now:
                    self._reject(way, plugin, f"rejected due to timeout after waiting at plugin {plugin}", now)
            elif way.deadline is not None and way.deadline <= now:
                text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
                self._fail(way, text, now)

    def _fail(self, way: OnTheWay, error: str, now: int) -> None:
        self._outbox += self._fall_back(way, Status(Code.ERROR, (error,)), now).actions

    def _reject(self, way: OnTheWay, plugin: str, reason: str, now: int) -> None:
        self._outbox += self._fall_back(way, Status(Code.UNSCHEDULABLE, (reason,), plugin), now).actions


def _resource_claims(objects: Iterable[Object]) -> Iterator[ResourceClaim]:
    return (obj for obj in objects if isinstance(obj, ResourceClaim))


def _has_devices(claim: Object | None) -> bool:
    return isinstance(claim, ResourceClaim) and claim.status.allocation is not None


def _writer(way: OnTheWay) -> str:
    """The plugin for which objects are written before the pod is bound."""
    only_devices = all(isinstance(obj, ResourceClaim) for obj in (*way.volumes, *way.written))
    return DYNAMIC_RESOURCES if only_devices else "VolumeBinding"


def _releases(way: OnTheWay) -> Iterator[ReleaseClaim]:
    """What was written for the pod is taken back; the devices stay the claim's until somebody needs it elsewhere."""
    for claim in _resource_claims(way.written):
        is_own = claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
        yield ReleaseClaim(way.queued.key, way.queued.info.uid, object_key(claim), is_own)
