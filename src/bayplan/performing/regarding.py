"""What a Kubernetes Event of the scheduler is about: a pod at a version, and under whose name it is reported.

Takes actions before they are performed. An Event about a binding is about the pod as it was when that was decided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bayplan.core.actions import Bind, Emit, Evict
from bayplan.model.pod import Pod
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME
from bayplan.performing.recent import NewestEntries


class EventSubject(NamedTuple):
    """What an Event is about."""

    version: str  # of the pod, "" if it is not known
    controller: str


UNKNOWN = EventSubject("", DEFAULT_SCHEDULER_NAME)


class Regarding:
    """Remembers the versions of pods that are being bound."""

    def __init__(self, seen: Callable[[str], Pod | None]) -> None:
        """`seen` gives a pod as the scheduler knows it."""
        self._seen = seen
        self._bound_at: NewestEntries[str, str] = NewestEntries()  # uid -> version

    def binds(self, action: Bind) -> None:
        """The pod is about to be bound."""
        self._bound_at.remember(action.uid, _version(self._seen(action.pod)))

    def about(self, action: Emit | Evict) -> EventSubject:
        """Of an Event, or of the one that is to be reported once the eviction is performed."""
        seen = self._seen(action.pod)
        if isinstance(action, Evict):
            return EventSubject(_version(seen), action.scheduler_name)
        version = self._bound_at.pop(action.uid, None) or _version(seen)
        return EventSubject(version, (seen.spec.scheduler_name if seen is not None else "") or DEFAULT_SCHEDULER_NAME)


def _version(pod: Pod | None) -> str:
    return "" if pod is None else pod.metadata.resource_version
