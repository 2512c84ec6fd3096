"""Pods on the way from a decision to their node: assumed, perhaps waiting, then bound.

A pod takes its room in the cache at once and keeps it until the world confirms the binding, or until something goes
wrong and the room is given back. What follows from an answer alone waits in the outbox. Nothing is done here: binding
and writing are actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from bayplan.core.actions import Action, Bind, Emit, Evict, Nominate, ReleaseClaim, WriteVolumes
from bayplan.core.cache import Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.events import BindAnswered, PermitAnswered
from bayplan.core.framework.contract import Wait
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import POD_GONE
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.volume_claims import claim_uses, is_fully_bound
from bayplan.core.queue import SECOND_NS, QueuedPod, SchedulingQueue
from bayplan.core.refusing import Decision, Refusing
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import EXTENDED_RESOURCE_ANNOTATION, ResourceClaim
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.structs import Struct, field, replace

#: Longest wait that a plugin may ask for at Permit.
PERMIT_WAIT_MAX_NS = 15 * 60 * SECOND_NS


class OnTheWay(Struct, eq=False):
    """A pod that has a node but is not bound yet."""

    record: QueuedPod
    profile: Profile
    node: str
    reserved: list[Object] = field(default_factory=list)  # objects as they were before Reserve changed them
    volumes: tuple[Object, ...] = ()  # to be written before the pod can be bound
    claims: tuple[tuple[str, str], ...] = ()  # whose binding is waited for
    waits: dict[str, int] = field(default_factory=dict)  # plugin at Permit -> deadline
    deadline: int | None = None  # of the volumes
    uncertain: bool = False  # an answer to Bind was lost
    written: tuple[ResourceClaim, ...] = ()  # claims that say the pod uses them

    @property
    def pod(self) -> Pod:
        """As it would stand on its node."""
        pod = copy(self.record.pod)
        pod.spec = copy(pod.spec)
        pod.spec.node_name = self.node
        return pod

    @property
    def due_at(self) -> int | None:
        """When it has waited too long."""
        return min(self.waits.values()) if self.waits else self.deadline


class Binding:
    """The pods on the way of one scheduler."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, refusing: Refusing, bind_timeout_ns: int) -> None:
        self._cache = cache
        self._queue = queue
        self._refusing = refusing
        self._bind_timeout_ns = bind_timeout_ns
        self._on_the_way: dict[str, OnTheWay] = {}
        self._timed: dict[str, OnTheWay] = {}  # those of them that wait for permission or for volumes
        self._binding: dict[str, tuple[str, OnTheWay]] = {}  # uid -> node and pod, of binds that are not answered
        self.outbox: list[Action] = []  # what is to be done because of something that was observed

    def find(self, key: str) -> OnTheWay | None:
        return self._on_the_way.get(key)

    def is_waiting(self, key: str) -> bool:
        """Whether the pod waits for permission or volumes, and nothing of it has been written yet."""
        return key in self._timed

    def unconfirmed(self) -> list[str]:
        """Pods that have a node but are not known to be bound."""
        return [key for key, way in self._on_the_way.items() if way.record.state is not PodState.BOUND]

    def due_at(self) -> int | None:
        """When the first of them has waited too long."""
        if not self._timed:
            return None
        times = [way.due_at for way in self._timed.values()]
        return min((time for time in times if time is not None), default=None)

    def take(self, record: QueuedPod, profile: Profile, node: str, now: int) -> Decision:
        """Assume, reserve, ask for permission."""
        self._queue.assume(record, node, now)
        way = OnTheWay(record, profile, node)
        info = self._cache.add_pod(record.pod, node, _placed(record.info, node))
        self._on_the_way[record.key] = way
        try:
            self._reserve(way, info, now)
            refused = self._permit(way, info, now)
        except CycleError as error:
            return self._fall_back(way, Status(Code.ERROR, (error.message,), error.plugin), now)
        if refused is not None:
            return self._fall_back(way, refused, now)
        if way.due_at is not None:
            self._timed[record.key] = way
        if way.waits:
            record.enter(PodState.WAITING)
            return Decision(record.key, "waiting", node, actions=(Nominate(record.key, node),))
        return self._go_on(way, now)

    def _reserve(self, way: OnTheWay, info: PodInfo, now: int) -> None:
        objects = self._cache.objects
        view = self._cache.view()
        changed: list[Object] = []
        for plugin in way.profile.reserve:
            changed += plugin.reserve(info, view, view.nodes.rows_by_name[way.node])
        for thing in changed:
            before = objects.find(thing)
            if before is not None:
                way.reserved.append(before)
            if isinstance(thing, ResourceClaim) and not _has_devices(before):
                objects.claims_in_flight.add((thing.metadata.namespace, thing.metadata.name))
            objects.put(thing)
        way.volumes = tuple(changed)
        if changed:
            if not all(isinstance(thing, ResourceClaim) for thing in changed):
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
        record = way.record
        self._queue.done(record)
        record.enter(PodState.BINDING)
        if way.volumes:
            # What takes its time is announced: others can see where the pod will go.
            actions = (Nominate(record.key, way.node), WriteVolumes(record.key, record.info.uid, way.volumes))
            return Decision(record.key, "assumed", way.node, actions=actions)
        return self._bind(way, now)

    def _bind(self, way: OnTheWay, now: int) -> Decision:
        """Bind the pod, unless PreBind refuses in the last moment."""
        info, binder = way.record.info, way.profile.bind
        refused = self._pre_bind(way)
        if refused is not None:
            return self._fall_back(way, refused, now)
        node = binder.bind_target(info, way.node) if binder is not None else way.node
        self._binding[info.uid] = (node, way)
        return Decision(info.key, "assumed", way.node, actions=(Bind(info.key, info.uid, node),))

    def _pre_bind(self, way: OnTheWay) -> Status | None:
        """Why the pod must not be bound, None if it may."""
        if not way.profile.pre_bind:
            return None
        view = self._cache.view()
        for plugin in way.profile.pre_bind:
            try:
                answer = plugin.pre_bind(way.record.info, view, view.nodes.rows_by_name[way.node])
            except CycleError as error:
                answer = Status(Code.ERROR, (error.message,))
            if answer.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE):
                return Status(answer.code, answer.reasons, plugin.name)
            if not answer.ok:
                return Status(Code.ERROR, (f'running PreBind plugin "{plugin.name}": {answer.message}',))
        return None

    def arrived(self, way: OnTheWay) -> None:
        """The API shows the pod on its node: the scheduler is through with it."""
        del self._on_the_way[way.record.key]
        self._timed.pop(way.record.key, None)
        if way.record.state is not PodState.BOUND:
            if way.record.state is not PodState.BINDING:
                self._queue.done(way.record)
                way.record.enter(PodState.BINDING)
            way.record.enter(PodState.BOUND)

    def give_up(self, way: OnTheWay, now: int) -> None:
        """A pod that had a node is being deleted before it was bound."""
        self._forget(way)
        self._queue.discard(way.record)
        self._queue.move(POD_GONE, way.pod, None, now)

    def stop(self, eviction: Evict, now: int) -> tuple[Action, ...]:
        """Take its node from a victim that waits for permission or volumes; it is not bound, so nothing is deleted."""
        way = self._timed[eviction.pod]
        if way.waits:
            text = "waiting on permit for pod: preempted"
        else:
            text = 'running PreBind plugin "VolumeBinding": preempted by DefaultPreemption'
        note = f"{eviction.note} (in kube-scheduler memory)."
        preempted = Emit(eviction.pod, eviction.uid, "Normal", "Preempted", "Preempting", note)
        return preempted, *self._fall_back(way, Status(Code.ERROR, (text,)), now).actions

    def _fall_back(self, way: OnTheWay, status: Status, now: int) -> Decision:
        """A pod that had a node loses it again."""
        self._forget(way)
        self._queue.move(POD_GONE, way.pod, None, now, except_key=way.record.key)
        decision = self._refusing.fail(way.record, status, way.node, now)
        return decision if not way.written else replace(decision, actions=(*_releases(way), *decision.actions))

    def _forget(self, way: OnTheWay) -> None:
        """Undo assume and reserve."""
        del self._on_the_way[way.record.key]
        self._timed.pop(way.record.key, None)
        if self._cache.stands_on_a_node(way.record.key):
            self._cache.remove_pod(way.record.key)
        objects = self._cache.objects
        made = [thing for thing in way.volumes if isinstance(thing, ResourceClaim)]
        for claim in made:
            objects.claims_in_flight.discard((claim.metadata.namespace, claim.metadata.name))
        for thing in way.reserved:
            if objects.find(thing) in way.volumes:  # nobody has changed it since
                objects.put(thing)
        known = {(thing.metadata.namespace, thing.metadata.name) for thing in way.reserved}
        for claim in made:
            if (claim.metadata.namespace, claim.metadata.name) not in known and objects.find(claim) is claim:
                objects.remove(claim)  # it was to be written for this pod

    def bind_answered(self, answer: BindAnswered, now: int) -> None:
        way = self._on_the_way.get(answer.pod)
        if way is not None and way.record.info.uid != answer.uid:
            way = None
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
                self.outbox += plugin.post_bind(binding.record.info, node)
        if way is not None:
            way.record.enter(PodState.BOUND)

    def _bind_failed(self, way: OnTheWay, answer: BindAnswered, bound: tuple[str, OnTheWay] | None, now: int) -> None:
        way.uncertain |= answer.lost
        if way.uncertain and bound is not None:
            # The pod may be bound. To give its room away would overcommit the node, so it is asked for again until
            # the answer, or the watch, tells: binding to the same node twice does no harm. A later refusal proves
            # nothing about the first request. Upstream gives up the room and may find the pod there.
            self._binding[answer.uid] = bound
            self.outbox.append(Bind(answer.pod, answer.uid, bound[0]))
            return
        status = Status(Code.ERROR, (f'running Bind plugin "DefaultBinder": {answer.error}',))
        self.outbox += self._fall_back(way, status, now).actions

    def volumes_answered(self, key: str, uid: str, error: str, now: int) -> None:
        way = self._on_the_way.get(key)
        if way is None or way.record.info.uid != uid:
            return
        if error:
            status = Status(Code.ERROR, (f'running PreBind plugin "{_writer(way)}": {error}',))
            self.outbox += self._fall_back(way, status, now).actions
            return
        way.written = tuple(thing for thing in way.volumes if isinstance(thing, ResourceClaim))
        for claim in way.written:
            self._cache.objects.claims_in_flight.discard((claim.metadata.namespace, claim.metadata.name))
        way.volumes = ()
        self._bind_if_ready(way, now)

    def as_assumed(self, seen: Object) -> Object:
        """A claim with the devices that a pod on the way was given, where the watch has not shown them yet."""
        if not isinstance(seen, ResourceClaim) or seen.status.allocation is not None:
            return seen
        for way in self._on_the_way.values():
            for thing in (*way.volumes, *way.written):
                if isinstance(thing, ResourceClaim) and object_key(thing) == object_key(seen):
                    return replace(seen, status=thing.status)
        return seen

    def look_at_claims(self, thing: Object, now: int) -> None:
        if not isinstance(thing, PersistentVolumeClaim):
            return
        place = (thing.metadata.namespace, thing.metadata.name)
        for way in list(self._timed.values()):
            if place in way.claims and not way.volumes and way.record.state is PodState.BINDING:
                self._bind_if_ready(way, now)

    def _bind_if_ready(self, way: OnTheWay, now: int) -> None:
        claims = self._cache.objects.claims
        if all(place in claims and is_fully_bound(claims[place]) for place in way.claims):
            way.claims, way.deadline = (), None
            del self._timed[way.record.key]
            self.outbox += self._bind(way, now).actions

    def permit_answered(self, event: PermitAnswered, now: int) -> None:
        way = self._on_the_way.get(event.pod)
        if way is None or way.record.info.uid != event.uid or event.plugin not in way.waits:
            return
        if event.allowed:
            del way.waits[event.plugin]
            if not way.waits:
                self.outbox += self._go_on(way, now).actions
            return
        status = Status(Code.UNSCHEDULABLE, (event.reason,), event.plugin)
        self.outbox += self._fall_back(way, status, now).actions

    def expire(self, now: int) -> None:
        """Waits that have lasted too long."""
        if not self._timed:
            return
        for way in list(self._timed.values()):
            if way.waits:
                plugin, deadline = min(way.waits.items(), key=lambda wait: wait[1])
                if deadline <= now:
                    reason = f"rejected due to timeout after waiting at plugin {plugin}"
                    self.outbox += self._fall_back(way, Status(Code.UNSCHEDULABLE, (reason,), plugin), now).actions
            elif way.deadline is not None and way.deadline <= now:
                text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
                self.outbox += self._fall_back(way, Status(Code.ERROR, (text,)), now).actions


def _has_devices(claim: Object | None) -> bool:
    return isinstance(claim, ResourceClaim) and claim.status.allocation is not None


def _writer(way: OnTheWay) -> str:
    """The plugin whose objects could not be written."""
    only_devices = all(isinstance(thing, ResourceClaim) for thing in way.volumes)
    return "DynamicResources" if only_devices else "VolumeBinding"


def _releases(way: OnTheWay) -> Iterator[ReleaseClaim]:
    """What was written for the pod is taken back; the devices stay the claim's until somebody needs it elsewhere."""
    for claim in way.written:
        label = f"{claim.metadata.namespace}/{claim.metadata.name}"
        is_own = claim.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"
        yield ReleaseClaim(way.record.key, way.record.info.uid, label, is_own)


def _placed(info: PodInfo, node: str) -> PodInfo:
    placed = copy(info)
    placed.node_name = node
    return placed
