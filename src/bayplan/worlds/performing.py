"""Actions done on a store. The answer is the event that the scheduler observes.

Takes actions; hands the requests that `bayplan.performing` makes of them to a store, all of an action at one instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bayplan.core.actions import Action, Bind, Emit, Evict, SetCondition, subject_of
from bayplan.core.events import Answer
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.performing.actions import Effects, answer_to, steps_of
from bayplan.performing.pods import is_idle
from bayplan.performing.regarding import UNKNOWN, EventSubject, Regarding
from bayplan.performing.requests import (
    Delete,
    Get,
    PatchStatus,
    Pause,
    Post,
    PostBinding,
    Put,
    RefusedError,
    RemoveUser,
    Request,
    Steps,
)
from bayplan.store import ApiError, Store
from bayplan.worlds.bugs import WRITE, BugReporter, internal_error, not_survived


@dataclass(frozen=True, slots=True)
class EmittedEvent:
    """A Kubernetes Event of the scheduler, with what it is about."""

    at: int
    pod: str
    type: str
    reason: str
    note: str
    uid: str = ""
    action: str = ""
    about: EventSubject = UNKNOWN


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
        self._regarding = Regarding(self._find_pod)

    def perform(self, action: Action, now: int) -> Answer | None:
        """Do it; the answer, for actions that have one."""
        try:
            return self._perform(action, now)
        except Exception as error:
            self._on_bug(WRITE, subject_of(action), error)
            return answer_to(action, internal_error(error))

    def _perform(self, action: Action, now: int) -> Answer | None:
        if isinstance(action, Bind) and self._on_emitted is not None:
            self._regarding.binds(action)
        about = self._regarding.about(action) if isinstance(action, Evict) else None
        effects, error = Effects(), ""
        try:
            self._go(steps_of(action, self._find, now, effects), now)
        except RefusedError as refusal:
            error = str(refusal)
        if effects.event is not None:
            self.emit(effects.event, now, about)
        return answer_to(action, error, effects=effects)

    def is_idle(self, action: SetCondition) -> bool:
        """Whether it would change nothing at present."""
        return is_idle(action, self._find_pod(action.pod))

    def emit(self, event: Emit, now: int, about: EventSubject | None = None) -> None:
        """Hand the event to whoever records events."""
        if self._on_emitted is None:
            return
        about = about or self._regarding.about(event)
        emitted = EmittedEvent(now, event.pod, event.type, event.reason, event.note, event.uid, event.action, about)
        try:
            self._on_emitted(emitted)
        except Exception as error:
            self._on_bug(WRITE, event.pod, error)

    # ---------------------------------------------------------------- requests

    def _find(self, kind: str, key: str) -> Object | None:
        """The scheduler's requests are made of what is stored: whatever comes between is a matter of the watch."""
        namespace, _, name = key.partition("/")
        return self._store.find(kind, namespace, name)

    def _find_pod(self, key: str) -> Pod | None:
        namespace, _, name = key.partition("/")
        return self._store.find(Pod, namespace, name)

    def _go(self, steps: Steps[None], now: int) -> None:
        try:
            request = next(steps)
            while True:
                try:
                    answer = self._answer(request, now)
                except ApiError as error:
                    request = steps.throw(RefusedError(str(error), error.code))
                else:
                    request = steps.send(answer)
        except StopIteration:
            return

    def _answer(self, request: Request, now: int) -> Any:
        store = self._store
        match request:
            case PostBinding(key, uid, node):
                namespace, name = key.split("/")
                store.bind(namespace, name, node, uid, now)
            case PatchStatus(before, after):
                store.set_status(before, after.status, now)
            case Get(kind, key):
                namespace, name = key.split("/")
                return store.get(kind, namespace, name)
            case Post(obj):
                return store.create(obj, now)
            case Put(before, after, subresource):
                kind, meta = type(before).__name__, before.metadata
                write = store.modify_status if subresource else store.modify
                return write(kind, meta.namespace, meta.name, lambda _: after, now)
            case RemoveUser():
                self._remove_user(request, now)
            case Delete(kind, key, uid):
                namespace, name = key.split("/")
                store.delete(kind, namespace, name, now, uid=uid or None)
            case Pause():
                pass
        return None

    def _remove_user(self, request: RemoveUser, now: int) -> None:
        namespace, name = request.key.split("/")

        def without(claim: ResourceClaim) -> ResourceClaim:
            users = [user for user in claim.status.reserved_for if user.uid != request.user_uid]
            return replace(claim, status=replace(claim.status, reserved_for=users))

        self._store.modify_status(ResourceClaim, namespace, name, without, now)
