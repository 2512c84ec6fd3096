"""The scheduler: events in, decisions out.

`observe` takes what happened, `decide` tries one pod and says what is to be done, `wake_at` tells when time alone makes
another call worth while. Only two edges run backward, both here: *assume* (a decision enters the cache before the world
has confirmed it) and *requeue* (a failed pod goes back, to be woken by what happens later).

Nothing is done here: binding, evicting and writing are actions, and their answers come back as events. What follows
from an event alone (a pod that can be bound now that its volumes are) waits in the outbox for the next `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field

from bayplan.core.actions import Action, Bind, ClearNomination, Emit, Evict, Nominate, SetCondition, WriteVolumes
from bayplan.core.cache import FINISHED_PHASES, Cache
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Choice, Decider
from bayplan.core.diagnosis import NO_NODES
from bayplan.core.events import (
    BindAnswered,
    Event,
    EvictAnswered,
    ObjectAdded,
    ObjectChanged,
    ObjectRemoved,
    PermitAnswered,
    VolumesAnswered,
)
from bayplan.core.evictions import Evictions
from bayplan.core.framework.contract import Wait
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import Action as Change
from bayplan.core.framework.requeue import Happening, Resource
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.lifecycle import PodState
from bayplan.core.plugins.default_preemption import PreemptionGate
from bayplan.core.plugins.volume_claims import is_fully_bound
from bayplan.core.preemption.prepare import prepare
from bayplan.core.queue import (
    PARKED_MAX_NS,
    SECOND_NS,
    QueuedPod,
    QueueProfile,
    SchedulingQueue,
    node_changes,
    pod_changes,
)
from bayplan.core.queue.active import SortKey
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
#: Longest note of an event; the rest is cut.
NOTE_BYTES_MAX = 1024
#: Longest wait that a plugin may ask for at Permit.
PERMIT_WAIT_MAX_NS = 15 * 60 * SECOND_NS

_RESOURCES = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What one call of `decide` came to."""

    pod: str  # namespace/name, "" when only the outbox was emptied
    outcome: str  # assumed, waiting, nominated, unschedulable, error, skipped, or "" with no pod
    node: str = ""
    message: str = ""
    victims: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()


@dataclass(slots=True)
class OnTheWay:
    """A pod that has a node but is not bound yet."""

    record: QueuedPod
    profile: Profile
    pod: Pod  # with the node set
    node: str
    reserved: list[Object] = field(default_factory=list)  # objects as they were before Reserve changed them
    volumes: tuple[Object, ...] = ()  # to be written before the pod can be bound
    claims: tuple[tuple[str, str], ...] = ()  # whose binding is waited for
    waits: dict[str, int] = field(default_factory=dict)  # plugin at Permit -> deadline
    deadline: int | None = None  # of the volumes
    uncertain: bool = False  # an answer to Bind was lost

    @property
    def due_at(self) -> int | None:
        """When it has waited too long."""
        return min(self.waits.values()) if self.waits else self.deadline


class Scheduler:
    """One scheduler with its queue and cache."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        sort_key: SortKey,
        *,
        started_at: int,
        initial_backoff_ns: int = SECOND_NS,
        max_backoff_ns: int = 10 * SECOND_NS,
        parked_max_ns: int = PARKED_MAX_NS,
        bind_timeout_ns: int = 600 * SECOND_NS,
    ) -> None:
        self.profiles = profiles
        self.cache = Cache()
        self._evictions = Evictions()
        gate = PreemptionGate(self._evictions.is_preempting)
        self.queue = SchedulingQueue(
            {name: QueueProfile.of(profile, (gate,)) for name, profile in profiles.items()},
            sort_key,
            started_at=started_at,
            initial_backoff_ns=initial_backoff_ns,
            max_backoff_ns=max_backoff_ns,
            parked_max_ns=parked_max_ns,
            mirror=self.cache,
        )
        self._bind_timeout_ns = bind_timeout_ns
        self._decider = Decider(profiles)
        self._on_the_way: dict[str, OnTheWay] = {}
        self._timed: dict[str, OnTheWay] = {}  # those of them that wait for permission or for volumes
        self._binding: dict[str, tuple[str, OnTheWay]] = {}  # uid -> node and pod, of binds that are not answered
        self._outbox: list[Action] = []

    def pods_on_the_way(self) -> list[str]:
        """Pods that have a node but are not known to be bound."""
        return [key for key, way in self._on_the_way.items() if way.record.state is not PodState.BOUND]

    # ------------------------------------------------------------------ events in

    def observe(self, event: Event, now: int) -> None:
        """Something happened in the world."""
        match event:
            case ObjectAdded(new):
                self._added(new, now)
            case ObjectChanged(old, new):
                self._changed(old, new, now)
            case ObjectRemoved(old):
                self._removed(old, now)
            case BindAnswered():
                self._bind_answered(event, now)
            case EvictAnswered(_, uid, error):
                self._evict_answered(uid, error, now)
            case VolumesAnswered(pod, uid, error):
                self._volumes_answered(pod, uid, error, now)
            case PermitAnswered():
                self._permit_answered(event, now)

    def _added(self, new: Object, now: int) -> None:
        if isinstance(new, Pod):
            self._pod_added(new, now)
        elif isinstance(new, Node):
            self.cache.add_node(new)
            self.queue.move(Happening(Resource.NODE, Change.ADD), None, new, now)
        else:
            self.cache.objects.put(new)
            self._moved_by(new, Change.ADD, None, new, now)
            self._look_at_claims(new, now)

    def _changed(self, old: Object, new: Object, now: int) -> None:
        if isinstance(old, Pod) and isinstance(new, Pod):
            self._pod_changed(old, new, now)
        elif isinstance(old, Node) and isinstance(new, Node):
            self.cache.add_node(new)
            for change in node_changes(old, new):
                self.queue.move(Happening(Resource.NODE, change), old, new, now)
        else:
            self.cache.objects.put(new)
            self._moved_by(new, Change.UPDATE, old, new, now)
            self._look_at_claims(new, now)

    def _removed(self, old: Object, now: int) -> None:
        if isinstance(old, Pod):
            self._pod_removed(old, now)
        elif isinstance(old, Node):
            # Upstream tells the queue first: hints may still see the node.
            self.queue.move(Happening(Resource.NODE, Change.DELETE), old, None, now)
            self.cache.remove_node(old.metadata.name)
        else:
            self.cache.objects.remove(old)
            self._moved_by(old, Change.DELETE, old, None, now)

    def _moved_by(self, thing: Object, change: Change, old: Object | None, new: Object | None, now: int) -> None:
        resource = _RESOURCES.get(type(thing).__name__)
        if resource is not None:
            self.queue.move(Happening(resource, change), old, new, now)

    # ------------------------------------------------------------------ pods

    def _pod_added(self, pod: Pod, now: int) -> None:
        if pod.status.phase in FINISHED_PHASES:
            return
        if pod.spec.node_name:
            self._runs(None, pod, now)
        elif self._is_ours(pod):
            self.queue.add(pod, self.cache.info(pod), now)

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
        key = _key(pod)
        if self._is_cached(key):
            self._confirm(old, pod, now)
            return
        self.queue.delete(key, now, bound_to=pod.spec.node_name)
        self.cache.add_pod(pod)
        self.queue.move(Happening(Resource.ASSIGNED_POD, Change.ADD), None, pod, now)

    def _is_cached(self, key: str) -> bool:
        """Whether the pod stands on a node in the cache; a nominated pod is known there, but stands nowhere."""
        row = self.cache.pods.rows_by_key.get(key)
        return row is not None and self.cache.pods.node_rows[row] >= 0

    def _confirm(self, old: Pod | None, pod: Pod, now: int) -> None:
        key = _key(pod)
        way = self._on_the_way.get(key)
        self.cache.update_pod(pod, old)
        if way is not None and way.record.info.uid == pod.metadata.uid:
            self._arrived(way)
            self.queue.move(Happening(Resource.ASSIGNED_POD, Change.ADD), None, pod, now)
        elif old is not None and old.spec.node_name:
            for change in pod_changes(old, pod):
                self.queue.move(Happening(Resource.ASSIGNED_POD, change), old, pod, now)
        else:
            self.queue.move(Happening(Resource.ASSIGNED_POD, Change.ADD), None, pod, now)

    def _arrived(self, way: OnTheWay) -> None:
        """The API shows the pod on its node: the scheduler is through with it."""
        del self._on_the_way[way.record.key]
        self._timed.pop(way.record.key, None)
        if way.record.state is not PodState.BOUND:
            if way.record.state is not PodState.BINDING:
                self.queue.done(way.record)
                way.record.enter(PodState.BINDING)
            way.record.enter(PodState.BOUND)

    def _pending_changed(self, old: Pod, new: Pod, now: int) -> None:
        key = _key(new)
        way = self._on_the_way.get(key)
        if way is None:
            self.queue.update(old, new, self.cache.info(new), now)
        elif new.metadata.deletion_timestamp and not old.metadata.deletion_timestamp:
            self._give_up(way, now)
        else:
            way.record.replace(new, self.cache.info(new))

    def _pod_removed(self, pod: Pod, now: int) -> None:
        key = _key(pod)
        way = self._on_the_way.get(key)
        if way is not None:
            self._give_up(way, now)
        elif self._is_cached(key):
            self.cache.remove_pod(key)
            self.queue.move(Happening(Resource.ASSIGNED_POD, Change.DELETE), pod, None, now)
        else:
            self.queue.delete(key, now)
        self._settle_eviction(pod.metadata.uid, now)

    def _give_up(self, way: OnTheWay, now: int) -> None:
        """A pod that had a node is being deleted before it was bound."""
        self._forget(way)
        self.queue.discard(way.record)
        self.queue.move(Happening(Resource.ASSIGNED_POD, Change.DELETE), way.pod, None, now)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self.profiles

    # ------------------------------------------------------------------ decisions out

    def decide(self, now: int) -> Decision | None:
        """Try one pod. None when there is nothing to do at this time."""
        self._expire(now)
        if self._outbox:
            actions, self._outbox = tuple(self._outbox), []
            return Decision("", "", actions=actions)
        record = self.queue.pop(now)
        if record is None:
            return None
        if record.pod.metadata.deletion_timestamp:
            note = f"skip schedule deleting pod: {record.key}"
            self.queue.discard(record)
            return Decision(record.key, "skipped", message=note, actions=(_failed_event(record, note),))
        return self._attempt(record, now)

    def wake_at(self) -> int | None:
        """When `decide` is worth calling though nothing happens; None if never."""
        times = [self.queue.wake_at()]
        times += [way.due_at for way in self._timed.values()]
        return min((time for time in times if time is not None), default=None)

    def _attempt(self, record: QueuedPod, now: int) -> Decision:
        profile = self.profiles[record.info.scheduler_name]
        view = self.cache.view()
        info = self.cache.info(record.pod)
        info.nominated_node_name = self.queue.nominations.node_of(record.info) or info.nominated_node_name
        try:
            choice = self._decider.decide(info, view)
        except CycleError as error:
            return self._fail(record, Status(Code.ERROR, (error.message,), error.plugin), "", now)
        if choice.row >= 0:
            return self._take(record, profile, view.nodes.names[choice.row], now)
        if choice.found is not None:
            return self._preempt(record, info, choice, now)
        refusal = choice.refusal
        nominated = None if choice.keeps_nomination else ""
        return self._refuse(record, refusal.message, refusal.rejectors, nominated, now)

    def _take(self, record: QueuedPod, profile: Profile, node: str, now: int) -> Decision:
        """Assume, reserve, ask for permission."""
        self.queue.assume(record, node, now)
        pod = _on_node(record.pod, node)
        way = OnTheWay(record, profile, pod, node)
        info = self.cache.add_pod(pod, node)
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
        objects = self.cache.objects
        view = self.cache.view()
        changed: list[Object] = []
        for plugin in way.profile.reserve:
            changed += plugin.reserve(info, view, view.nodes.rows_by_name[way.node])
        for thing in changed:
            before = objects.find(thing)
            if before is not None:
                way.reserved.append(before)
            objects.put(thing)
        way.volumes = tuple(changed)
        if changed:
            way.claims = tuple((info.namespace, name) for name in info.shape.claim_names)
            way.deadline = now + self._bind_timeout_ns

    def _permit(self, way: OnTheWay, info: PodInfo, now: int) -> Status | None:
        """Why the pod may not go on, None if it may; waits are noted on the way."""
        view = self.cache.view()
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
        self.queue.done(record)
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
        view = self.cache.view()
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

    # ------------------------------------------------------------------ nothing fits

    def _preempt(self, record: QueuedPod, info: PodInfo, choice: Choice, now: int) -> Decision:
        refusal = choice.refusal
        view = self.cache.view()
        victim_rows = choice.victims_on(choice.victims_row)
        node = view.nodes.names[choice.victims_row]
        victims = tuple(view.pods.keys[row] for row in victim_rows)
        actions: list[Action] = []
        unbound: list[Evict] = []
        for action in prepare(info, view, choice.victims_row, victim_rows):
            if isinstance(action, Evict) and action.pod in self._timed:
                unbound.append(action)
            elif isinstance(action, ClearNomination) or (
                isinstance(action, Evict) and self._evictions.ask(record.key, action.uid)
            ):
                actions.append(action)
        refused = self._refuse(record, refusal.message, refusal.rejectors, node, now)
        for eviction in unbound:
            actions += self._stop(eviction, now)
        return Decision(record.key, "nominated", node, refusal.message, victims, (*refused.actions, *actions))

    def _stop(self, eviction: Evict, now: int) -> tuple[Action, ...]:
        """Take its node from a victim that waits for permission or volumes; it is not bound, so nothing is deleted."""
        way = self._timed[eviction.pod]
        if way.waits:
            text = "waiting on permit for pod: preempted"
        else:
            text = 'running PreBind plugin "VolumeBinding": preempted by DefaultPreemption'
        note = f"{eviction.note} (in kube-scheduler memory)."
        preempted = Emit(eviction.pod, eviction.uid, "Normal", "Preempted", "Preempting", note)
        return preempted, *self._fall_back(way, Status(Code.ERROR, (text,)), now).actions

    def _refuse(
        self, record: QueuedPod, message: str, rejectors: Sequence[str], nominated: str | None, now: int
    ) -> Decision:
        """Send the pod back, and tell the world."""
        error = message == NO_NODES
        self.queue.return_failed(record, () if error else rejectors, (), now)
        self.queue.nominate(record, "" if error else nominated, now)
        actions = (
            _failed_event(record, message),
            SetCondition(record.key, record.info.uid, UNSCHEDULABLE, message, "" if error else nominated),
        )
        return Decision(record.key, "unschedulable", message=message, actions=actions)

    def _fail(self, record: QueuedPod, status: Status, node: str, now: int) -> Decision:
        """Send the pod back: rejected by a plugin, or by an error that nobody can be blamed for."""
        rejected = status.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)
        message = f"0/1 nodes are available: 1 {status.message}." if rejected else status.message
        self.queue.return_failed(record, (status.plugin,) if rejected and status.plugin else (), (), now)
        self.queue.nominate(record, "", now)
        reason = UNSCHEDULABLE if rejected else SCHEDULER_ERROR
        actions = (
            _failed_event(record, message),
            SetCondition(record.key, record.info.uid, reason, message, ""),
        )
        return Decision(record.key, "unschedulable" if rejected else "error", node, message, actions=actions)

    def _fall_back(self, way: OnTheWay, status: Status, now: int) -> Decision:
        """A pod that had a node loses it again."""
        self._forget(way)
        self.queue.move(Happening(Resource.ASSIGNED_POD, Change.DELETE), way.pod, None, now, except_key=way.record.key)
        return self._fail(way.record, status, way.node, now)

    def _forget(self, way: OnTheWay) -> None:
        """Undo assume and reserve."""
        del self._on_the_way[way.record.key]
        self._timed.pop(way.record.key, None)
        if self._is_cached(way.record.key):
            self.cache.remove_pod(way.record.key)
        for thing in way.reserved:
            if self.cache.objects.find(thing) in way.volumes:  # nobody has changed it since
                self.cache.objects.put(thing)

    # ------------------------------------------------------------------ answers

    def _bind_answered(self, answer: BindAnswered, now: int) -> None:
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
            self._outbox.append(Emit(answer.pod, answer.uid, "Normal", "Scheduled", "Binding", note))
            for plugin in binding.profile.post_bind:
                self._outbox += plugin.post_bind(binding.record.info, node)
        if way is not None:
            way.record.enter(PodState.BOUND)

    def _bind_failed(self, way: OnTheWay, answer: BindAnswered, bound: tuple[str, OnTheWay] | None, now: int) -> None:
        way.uncertain |= answer.lost
        if way.uncertain and bound is not None:
            # The pod may be bound. To give its room away would overcommit the node, so it is asked for again until
            # the answer, or the watch, tells: binding to the same node twice does no harm. A later refusal proves
            # nothing about the first request. Upstream gives up the room and may find the pod there.
            self._binding[answer.uid] = bound
            self._outbox.append(Bind(answer.pod, answer.uid, bound[0]))
            return
        status = Status(Code.ERROR, (f'running Bind plugin "DefaultBinder": {answer.error}',))
        self._outbox += self._fall_back(way, status, now).actions

    def _evict_answered(self, uid: str, error: str, now: int) -> None:
        waited = self._settle_eviction(uid, now)
        if error:
            self.queue.activate(waited, now)

    def _settle_eviction(self, uid: str, now: int) -> list[str]:
        waited, freed = self._evictions.answer(uid)
        for preemptor in freed:
            self.queue.release(preemptor, now)
        return waited

    def _volumes_answered(self, key: str, uid: str, error: str, now: int) -> None:
        way = self._on_the_way.get(key)
        if way is None or way.record.info.uid != uid:
            return
        if error:
            status = Status(Code.ERROR, (f'running PreBind plugin "VolumeBinding": {error}',))
            self._outbox += self._fall_back(way, status, now).actions
            return
        way.volumes = ()
        self._bind_if_ready(way, now)

    def _look_at_claims(self, thing: Object, now: int) -> None:
        if not isinstance(thing, PersistentVolumeClaim):
            return
        place = (thing.metadata.namespace, thing.metadata.name)
        for way in list(self._timed.values()):
            if place in way.claims and not way.volumes and way.record.state is PodState.BINDING:
                self._bind_if_ready(way, now)

    def _bind_if_ready(self, way: OnTheWay, now: int) -> None:
        claims = self.cache.objects.claims
        if way.claims and all(place in claims and is_fully_bound(claims[place]) for place in way.claims):
            way.claims, way.deadline = (), None
            del self._timed[way.record.key]
            self._outbox += self._bind(way, now).actions

    def _permit_answered(self, event: PermitAnswered, now: int) -> None:
        way = self._on_the_way.get(event.pod)
        if way is None or way.record.info.uid != event.uid or event.plugin not in way.waits:
            return
        if event.allowed:
            del way.waits[event.plugin]
            if not way.waits:
                self._outbox += self._go_on(way, now).actions
            return
        status = Status(Code.UNSCHEDULABLE, (event.reason,), event.plugin)
        self._outbox += self._fall_back(way, status, now).actions

    def _expire(self, now: int) -> None:
        """Waits that have lasted too long."""
        for way in list(self._timed.values()):
            if way.waits:
                plugin, deadline = min(way.waits.items(), key=lambda wait: wait[1])
                if deadline <= now:
                    reason = f"rejected due to timeout after waiting at plugin {plugin}"
                    self._outbox += self._fall_back(way, Status(Code.UNSCHEDULABLE, (reason,), plugin), now).actions
            elif way.deadline is not None and way.deadline <= now:
                text = 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
                self._outbox += self._fall_back(way, Status(Code.ERROR, (text,)), now).actions


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _on_node(pod: Pod, node: str) -> Pod:
    placed = copy(pod)
    placed.spec = copy(pod.spec)
    placed.spec.node_name = node
    return placed


def _failed_event(record: QueuedPod, message: str) -> Emit:
    return Emit(record.key, record.info.uid, "Warning", "FailedScheduling", "Scheduling", _cut(message))


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= NOTE_BYTES_MAX:
        return note
    return data[: NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
