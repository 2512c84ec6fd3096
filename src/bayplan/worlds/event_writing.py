"""Kubernetes Events as objects of the API, as kube-scheduler writes them.

Takes what the scheduler emits; creates an Event, or counts one up that was written in the last minutes, for the same
reason and about the same version of the pod. An Event that cannot be written is let go: nothing depends on it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.model.time_units import MINUTE
from bayplan.model.timestamps import format_micro_time
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME
from bayplan.store import ApiError
from bayplan.worlds.performing import EmittedEvent

#: Upstream names the host; all of a cluster is in one process here.
_INSTANCE: Final = f"{DEFAULT_SCHEDULER_NAME}-bayplan"
#: Events that are the same within this time are one, with a count.
#: Upstream: client-go/tools/events/event_broadcaster.go finishTime (v1.36).
_SERIES_NS: Final = 6 * MINUTE
REMEMBERED_MAX: Final = 4_096


class _Same(NamedTuple):
    """What two Events must have in common to be one: also the version of the pod, but not what they say of it.

    Upstream: client-go/tools/events/event_broadcaster.go getKey (v1.36).
    """

    uid: str
    version: str
    type: str
    reason: str
    action: str


class _Written(NamedTuple):
    name: str
    times: int
    last: int


class EventWriter:
    """Writes what the scheduler emits."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._events = built_in("", "events")
        self._options = WriteOptions("kube-scheduler", trusted=True)
        self._written: dict[_Same, _Written] = {}

    def write(self, event: EmittedEvent) -> None:
        """Creates the Event, or counts up the one that is there."""
        version = self._version_of(event)
        same = _Same(event.uid, version, event.type, event.reason, event.action)
        known = self._written.pop(same, None)
        with suppress(ApiError):
            if known is not None and event.at - known.last < _SERIES_NS:
                self._written[same] = self._count_up(event, known)
            else:
                self._written[same] = self._create(event, version)
        if len(self._written) > REMEMBERED_MAX:
            del self._written[next(iter(self._written))]

    def _create(self, event: EmittedEvent, version: str) -> _Written:
        namespace, name = event.pod.split("/")
        document = _document(event, namespace, name, version)
        self._registry.create(self._events, namespace, document, self._options, event.at)
        return _Written(document["metadata"]["name"], 1, event.at)

    def _count_up(self, event: EmittedEvent, known: _Written) -> _Written:
        namespace = event.pod.partition("/")[0]
        series = {"count": known.times + 1, "lastObservedTime": format_micro_time(event.at)}
        self._registry.update(
            self._events,
            namespace,
            known.name,
            lambda document: {**document, "series": series},
            self._options,
            event.at,
        )
        return _Written(known.name, known.times + 1, event.at)

    def _version_of(self, event: EmittedEvent) -> str:
        namespace, name = event.pod.split("/")
        pod = self._registry.typed.content.find("Pod", namespace, name)
        return "" if pod is None else pod.metadata.resource_version


def _document(event: EmittedEvent, namespace: str, name: str, version: str) -> Document:
    about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": event.uid, "apiVersion": "v1"}
    if version:
        about["resourceVersion"] = version
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": f"{name}.{event.at:x}", "namespace": namespace},
        "involvedObject": about,
        "reason": event.reason,
        "message": event.note,
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "type": event.type,
        "eventTime": format_micro_time(event.at),
        "action": event.action,
        "reportingComponent": DEFAULT_SCHEDULER_NAME,
        "reportingInstance": _INSTANCE,
    }
