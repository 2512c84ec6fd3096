"""Actions done on a store, in the words of an API server. The answer is the event that the scheduler observes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bayplan.core.actions import (
    Action,
    Bind,
    ClearNomination,
    DeallocateClaim,
    Emit,
    Evict,
    Nominate,
    ReleaseClaim,
    SetCondition,
    SetGroupCondition,
    WriteVolumes,
)
from bayplan.core.events import BindAnswered, Event, EvictAnswered, VolumesAnswered
from bayplan.core.groups.cycle import INITIALLY_SCHEDULED
from bayplan.core.refusing import refusal
from bayplan.model.conditions import FALSE, TRUE, find_condition, with_condition, with_pod_condition
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DISRUPTION_TARGET, POD_SCHEDULED
from bayplan.store import ApiError, NotFound, Store
from bayplan.worlds import claim_writing as claims
from bayplan.worlds.bugs import WRITE, BugReporter, internal_error, not_survived


@dataclass(frozen=True, slots=True)
class EmittedEvent:
    """An event as the API would hold it."""

    at: int
    pod: str
    type: str
    reason: str
    note: str
    uid: str = ""
    action: str = ""


class Performer:
    """Does actions on a store."""

    def __init__(
        self,
        store: Store,
        on_emitted: Callable[[EmittedEvent], None] | None,
        on_bug: BugReporter = not_survived,
    ) -> None:
        self._store = store
        self._on_emitted = on_emitted
        self._on_bug = on_bug

    def perform(self, action: Action, now: int) -> Event | None:
        """Do it; the answer, for actions that have one."""
        try:
            return self._perform(action, now)
        except Exception as error:
            self._on_bug(WRITE, action.group if isinstance(action, SetGroupCondition) else action.pod, error)
            return refusal(action, internal_error(error))

    def _perform(self, action: Action, now: int) -> Event | None:
        if isinstance(action, Bind):  # by far the most frequent, and patterns take their time
            return BindAnswered(action.pod, action.uid, self._bind(action, now))
        match action:
            case SetCondition():
                self._set_condition(action, now)
            case SetGroupCondition():
                self._set_group_condition(action, now)
            case Evict(pod, uid):
                return EvictAnswered(pod, uid, self._evict(action, now))
            case WriteVolumes(pod, uid, _):
                error = self._try(lambda: self._write(action, now))
                return VolumesAnswered(pod, uid, error, claims=self._claims_of(action))
            case Nominate(pod, node):
                self._try(lambda: self._modify(pod, lambda stored: _with_nomination(stored, node), now))
            case ClearNomination(pod, _):
                self._try(lambda: self._modify(pod, lambda stored: _with_nomination(stored, ""), now))
            case DeallocateClaim(_, uid, claim):
                self._try(lambda: claims.deallocate(self._store, claim, uid, now))
            case ReleaseClaim(_, uid, claim, delete):
                self._try(lambda: claims.release(self._store, claim, uid, delete, now))
            case Emit():
                self.emit(action, now)
        return None

    def is_idle(self, action: SetCondition) -> bool:
        """Whether it would change nothing at present."""
        namespace, name = action.pod.split("/")
        stored = self._store.find(Pod, namespace, name)
        return stored is None or _says_so(stored, action)

    def refuse(self, action: Action, error: str) -> Event | None:
        """Leave it undone, and say so if somebody waits for an answer."""
        claims = self._claims_of(action) if isinstance(action, WriteVolumes) else ()
        return refusal(action, error, claims)

    def _claims_of(self, action: WriteVolumes) -> tuple[ResourceClaim, ...]:
        """The resource claims of the action that exist, as they are stored."""
        metas = (obj.metadata for obj in action.objects if isinstance(obj, ResourceClaim))
        found = (self._store.find(ResourceClaim, meta.namespace, meta.name) for meta in metas)
        return tuple(claim for claim in found if claim is not None)

    def emit(self, event: Emit, now: int) -> None:
        """Hand the event to whoever records events."""
        if self._on_emitted is None:
            return
        emitted = EmittedEvent(now, event.pod, event.type, event.reason, event.note, event.uid, event.action)
        try:
            self._on_emitted(emitted)
        except Exception as error:
            self._on_bug(WRITE, event.pod, error)

    def _try(self, write: Callable[[], object]) -> str:
        try:
            write()
        except ApiError as error:
            return str(error)
        return ""

    def _bind(self, action: Bind, now: int) -> str:
        namespace, name = action.pod.split("/")
        try:
            self._store.bind(namespace, name, action.node, action.uid, now)
        except ApiError as error:
            stored = self._store.find(Pod, namespace, name)
            if stored is not None and stored.metadata.uid == action.uid and stored.spec.node_name == action.node:
                return ""  # an earlier request whose answer was lost had done it
            return str(error)
        return ""

    def _modify(self, key: str, change: Callable[[Pod], Pod], now: int) -> None:
        namespace, name = key.split("/")
        stored = self._store.get(Pod, namespace, name)
        made = change(stored)
        if made is not stored:
            self._store.modify_status(Pod, namespace, name, lambda _: made, now)

    def _set_condition(self, action: SetCondition, now: int) -> None:
        namespace, name = action.pod.split("/")
        stored = self._store.find(Pod, namespace, name)
        if stored is None:
            return
        if not _says_so(stored, action):
            made = _with_condition(stored, action, now)
            self._try(lambda: self._store.set_status(stored, made.status, now))

    def _set_group_condition(self, action: SetGroupCondition, now: int) -> None:
        namespace, name = action.group.split("/")
        stored = self._store.find(PodGroup, namespace, name)
        if stored is None or stored.metadata.uid != action.uid:
            return
        made = with_group_condition(stored, action, format_time(now))
        self._try(lambda: self._store.modify_status(PodGroup, namespace, name, lambda _: made, now))

    def _evict(self, action: Evict, now: int) -> str:
        """Condition first, then the delete. A pod that is gone, or another by the same name, is as good as evicted."""
        namespace, name = action.pod.split("/")
        stored = self._store.find(Pod, namespace, name)
        if stored is None or stored.metadata.uid != action.uid:
            return ""
        try:
            self._modify(action.pod, lambda pod: _marked(pod, action, now), now)
            self._store.delete(Pod, namespace, name, now)
        except NotFound:
            return ""
        except ApiError as error:
            return str(error)
        self.emit(Emit(action.pod, action.uid, "Normal", "Preempted", "Preempting", action.note), now)
        return ""

    def _write(self, action: WriteVolumes, now: int) -> None:
        for obj in action.objects:
            if isinstance(obj, ResourceClaim):
                claims.write(self._store, obj, action.pod, action.uid, now)
                continue
            meta = obj.metadata
            self._store.modify(type(obj).__name__, meta.namespace, meta.name, partial(_instead, obj), now)


def with_group_condition(group: PodGroup, action: SetGroupCondition, time: str) -> PodGroup:
    """The group with what is to be written about it."""
    made = Condition(
        type=INITIALLY_SCHEDULED,
        status=action.status,
        reason=action.reason,
        message=action.message,
        observed_generation=action.observed_generation,
    )
    return replace(group, status=replace(group.status, conditions=with_condition(group.status.conditions, made, time)))


def _instead(made: Object, stored: Object) -> Object:  # noqa: ARG001
    return made


def _says_so(pod: Pod, action: SetCondition) -> bool:
    """Whether the pod's status says already what it is to say."""
    status, known = pod.status, find_condition(pod.status.conditions, POD_SCHEDULED)
    return (
        known is not None
        and known.status == FALSE
        and known.reason == action.reason
        and known.message == action.message
        and (action.nominated_node is None or action.nominated_node == status.nominated_node_name)
    )


def _with_condition(pod: Pod, action: SetCondition, now: int) -> Pod:
    changed = _conditioned(pod, POD_SCHEDULED, FALSE, action.reason, action.message, now)
    if action.nominated_node is not None:
        changed.status.nominated_node_name = action.nominated_node
    return changed


def _with_nomination(pod: Pod, node: str) -> Pod:
    if pod.status.nominated_node_name == node:
        return pod
    return replace(pod, status=replace(pod.status, nominated_node_name=node))


def _marked(pod: Pod, action: Evict, now: int) -> Pod:
    known = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    if known is not None and known.status == TRUE and known.message == action.condition_message:
        return pod
    return _conditioned(pod, DISRUPTION_TARGET, TRUE, action.condition_reason, action.condition_message, now)


def _conditioned(pod: Pod, kind: str, status: str, reason: str, message: str, now: int) -> Pod:
    generation = pod.metadata.generation
    made = Condition(type=kind, status=status, reason=reason, message=message, observed_generation=generation)
    return with_pod_condition(pod, made, format_time(now))
