"""Actions done on a store, in the words of an API server. The answer is what the scheduler is told."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
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
    WriteVolumes,
)
from bayplan.core.events import BindAnswered, Event, EvictAnswered, VolumesAnswered
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.timestamps import format_time
from bayplan.store import ApiError, NotFound, Store
from bayplan.worlds import claim_writing as claims

POD_SCHEDULED = "PodScheduled"
DISRUPTION_TARGET = "DisruptionTarget"


@dataclass(frozen=True, slots=True)
class EmittedEvent:
    """An event as the API would hold it."""

    at: int
    pod: str
    type: str
    reason: str
    note: str


class Performer:
    """Does actions on a store."""

    def __init__(self, store: Store, tell: Callable[[EmittedEvent], None] | None) -> None:
        self._store = store
        self._tell = tell

    def perform(self, action: Action, now: int) -> Event | None:
        """Do it; the answer, for actions that have one."""
        match action:
            case Bind(pod, uid, node):
                return BindAnswered(pod, uid, self._try(lambda: self._bind(pod, uid, node, now)))
            case Evict(pod, uid):
                return EvictAnswered(pod, uid, self._evict(action, now))
            case WriteVolumes(pod, uid, _):
                return VolumesAnswered(pod, uid, self._try(lambda: self._write(action, now)))
            case SetCondition(pod, _, _, _, _):
                self._try(lambda: self._modify(pod, lambda one: _with_condition(one, action, now), now))
            case Nominate(pod, node):
                self._try(lambda: self._modify(pod, lambda one: _with_nomination(one, node), now))
            case ClearNomination(pod, _):
                self._try(lambda: self._modify(pod, lambda one: _with_nomination(one, ""), now))
            case DeallocateClaim(_, uid, claim):
                self._try(lambda: claims.deallocate(self._store, claim, uid, now))
            case ReleaseClaim(_, uid, claim, delete):
                self._try(lambda: claims.release(self._store, claim, uid, delete, now))
            case Emit():
                self.emit(action, now)
        return None

    def emit(self, event: Emit, now: int) -> None:
        """Tell whoever listens."""
        if self._tell is not None:
            self._tell(EmittedEvent(now, event.pod, event.type, event.reason, event.note))

    def _try(self, write: Callable[[], object]) -> str:
        try:
            write()
        except ApiError as error:
            return str(error)
        return ""

    def _bind(self, key: str, uid: str, node: str, now: int) -> None:
        namespace, name = key.split("/")
        stored = self._store.find(Pod, namespace, name)
        if stored is not None and stored.metadata.uid == uid and stored.spec.node_name == node:
            return  # an earlier request whose answer was lost had done it
        self._store.bind(namespace, name, node, uid, now)

    def _modify(self, key: str, change: Callable[[Pod], Pod], now: int) -> None:
        namespace, name = key.split("/")
        stored = self._store.get(Pod, namespace, name)
        made = change(stored)
        if made is not stored:
            self._store.modify_status(Pod, namespace, name, lambda _: made, now)

    def _evict(self, action: Evict, now: int) -> str:
        """Condition first, then the delete. A pod that is gone, or another by the same name, is as good as evicted."""
        namespace, name = action.pod.split("/")
        stored = self._store.find(Pod, namespace, name)
        if stored is None or stored.metadata.uid != action.uid:
            return ""
        try:
            self._modify(action.pod, lambda one: _marked(one, action, now), now)
            self._store.delete(Pod, namespace, name, now)
        except NotFound:
            return ""
        except ApiError as error:
            return str(error)
        if self._tell is not None:
            self._tell(EmittedEvent(now, action.pod, "Normal", "Preempted", action.note))
        return ""

    def _write(self, action: WriteVolumes, now: int) -> None:
        for thing in action.objects:
            if isinstance(thing, ResourceClaim):
                claims.write(self._store, thing, action.pod, action.uid, now)
                continue
            meta = thing.metadata
            self._store.modify(type(thing).__name__, meta.namespace, meta.name, partial(_instead, thing), now)


def _instead(made: Object, stored: Object) -> Object:  # noqa: ARG001
    return made


def _with_condition(pod: Pod, action: SetCondition, now: int) -> Pod:
    known = next((one for one in pod.status.conditions if one.type == POD_SCHEDULED), None)
    nominated = pod.status.nominated_node_name if action.nominated_node is None else action.nominated_node
    if (
        known is not None
        and (known.status, known.reason, known.message) == ("False", action.reason, action.message)
        and nominated == pod.status.nominated_node_name
    ):
        return pod
    since = known.last_transition_time if known is not None and known.status == "False" else format_time(now)
    made = Condition(
        type=POD_SCHEDULED,
        status="False",
        reason=action.reason,
        message=action.message,
        last_transition_time=since,
        observed_generation=pod.metadata.generation,
    )
    changed = _with_status(pod, made)
    changed.status.nominated_node_name = nominated
    return changed


def _with_nomination(pod: Pod, node: str) -> Pod:
    if pod.status.nominated_node_name == node:
        return pod
    changed = copy(pod)
    changed.status = copy(pod.status)
    changed.status.nominated_node_name = node
    return changed


def _marked(pod: Pod, action: Evict, now: int) -> Pod:
    known = next((one for one in pod.status.conditions if one.type == DISRUPTION_TARGET), None)
    if known is not None and known.status == "True" and known.message == action.condition_message:
        return pod
    made = Condition(
        type=DISRUPTION_TARGET,
        status="True",
        reason=action.condition_reason,
        message=action.condition_message,
        last_transition_time=format_time(now),
        observed_generation=pod.metadata.generation,
    )
    return _with_status(pod, made)


def _with_status(pod: Pod, condition: Condition) -> Pod:
    changed = copy(pod)
    changed.status = copy(pod.status)
    changed.status.conditions = [*(one for one in pod.status.conditions if one.type != condition.type), condition]
    return changed
