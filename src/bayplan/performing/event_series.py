"""Kubernetes Events of the scheduler as bodies for `events.k8s.io`, with repetitions counted instead of written.

Takes what is said about a pod; gives what is to be sent, if anything: the first time a POST, the second a PATCH with a
count of 2, then nothing until the series has ended. Sends nothing itself. Two Events are the same if they agree in all
but their note and time, so the version of the pod that they are about counts.
Upstream: client-go/tools/events/event_broadcaster.go (v1.36).
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from bayplan.core.actions import Emit
from bayplan.model.structs import Struct, replace
from bayplan.model.time_units import MINUTE
from bayplan.model.timestamps import format_micro_time
from bayplan.performing.recent import NewestEntries
from bayplan.performing.regarding import EventSubject

#: A series has ended when it was not repeated for so long; how often that is looked at.
FINISH_NS: Final = 6 * MINUTE
#: Events written over and over are touched so often, or the server would forget them.
REFRESH_NS: Final = 30 * MINUTE
#: Longest name of an object.
NAME_MAX: Final = 253


class _Same(NamedTuple):
    """What two Events must have in common to be one."""

    pod: str
    uid: str
    version: str
    type: str
    reason: str
    action: str
    controller: str


class Said(Struct):
    """An Event that was written, or is about to be."""

    namespace: str
    name: str
    body: bytes
    last: int  # when it was said last
    count: int = 1

    @property
    def path(self) -> str:
        return f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"

    @property
    def creation(self) -> bytes:
        """The body of a POST."""
        return self.body if self.count == 1 else self.body[:-1] + b"," + self.counting[1:]

    @property
    def counting(self) -> bytes:
        """The body of a PATCH."""
        series = {"count": self.count, "lastObservedTime": format_micro_time(self.last)}
        return msgspec.json.encode({"series": series})


class EventSeries:
    """Remembers what was said lately."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._said: NewestEntries[_Same, Said] = NewestEntries()
        self._stamp = 0

    def say(self, event: Emit, about: EventSubject, now: int) -> list[Said]:
        """What is to be written."""
        same = _Same(event.pod, event.uid, about.version, event.type, event.reason, event.action, about.controller)
        known = self._said.get(same)
        if known is not None:
            known.count += 1
            known.last = now
            return [replace(known)] if known.count == 2 else []
        known = self._new(event, about, now)
        # Upstream remembers all of the last minutes; with a thousand pods bound a second that is half a million.
        forgotten = self._said.remember(same, known)
        ended = [forgotten] if forgotten is not None and forgotten.count > 2 else []
        return [replace(known), *ended]

    def finish(self, now: int) -> list[Said]:
        """Forgets what was not repeated for long; of those, the series, whose real counts are to be written."""
        over = {same: said for same, said in self._said.items() if said.last < now - FINISH_NS}
        for same in over:
            del self._said[same]
        return [said for said in over.values() if said.count > 1]

    def series(self) -> list[Said]:
        """All series that go on, which are to be written again so that the server keeps them."""
        return [replace(said) for said in self._said.values() if said.count > 1]

    def _new(self, event: Emit, about: EventSubject, now: int) -> Said:
        # Two Events about one pod at one instant need names of their own.
        self._stamp = max(now, self._stamp + 1)
        namespace, name = event.pod.split("/")
        regarding = {"kind": "Pod", "namespace": namespace, "name": name, "uid": event.uid, "apiVersion": "v1"}
        if about.version:
            regarding["resourceVersion"] = about.version
        event_name = f"{name}.{self._stamp:x}"
        if len(event_name) > NAME_MAX:
            event_name = f"{event.uid}.{self._stamp:x}"
        body = {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {"name": event_name, "namespace": namespace},
            "eventTime": format_micro_time(now),
            "reportingController": about.controller,
            "reportingInstance": f"{about.controller}-{self._host}",
            "action": event.action,
            "reason": event.reason,
            "regarding": regarding,
            "note": event.note,
            "type": event.type,
            "deprecatedSource": {},
            "deprecatedFirstTimestamp": None,
            "deprecatedLastTimestamp": None,
        }
        return Said(namespace, event_name, msgspec.json.encode(body), now)
