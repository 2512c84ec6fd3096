"""Kubernetes Events as the controllers write them: in the old form, which counts repetitions.

Takes what a component says about an object; creates an Event, or counts up the one that says the same about the same
object. Who says very much about one object is not heard for a while. An Event that cannot be written is let go: nothing
depends on it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.contract import Controller
from bayplan.model.kinds import Object
from bayplan.model.time_units import MINUTE
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.store import ApiError
from bayplan.worlds.controller_events import EventText, events_of, refusal_of

#: Of so many different Events of one kind about one object, within this time after the last, the rest become one.
_SIMILAR_MAX: Final = 10
_SIMILAR_NS: Final = 10 * MINUTE
REMEMBERED_MAX: Final = 4_096
#: So much a component may say about one object at once, and so often once more.
SAID_MAX: Final = 25
SAID_AGAIN_NS: Final = 5 * MINUTE
#: Under which name controllers report, where it is not their own.
_COMPONENTS: Final = {"disruption-controller": "controllermanager"}


class _Similar(NamedTuple):
    """What Events must have in common to be combined when there are many."""

    component: str
    uid: str
    field_path: str
    type: str
    reason: str


class _Crowd:
    """Different messages of similar Events, and when there was the last."""

    __slots__ = ("last", "messages")

    def __init__(self) -> None:
        self.messages: dict[str, None] = {}
        self.last = 0


class _Allowance:
    """How much a component may still say about an object."""

    __slots__ = ("_at", "_left_ns")

    def __init__(self, now: int) -> None:
        self._left_ns = SAID_MAX * SAID_AGAIN_NS
        self._at = now

    def takes(self, now: int) -> bool:
        """Whether it may say one thing more."""
        self._left_ns = min(SAID_MAX * SAID_AGAIN_NS, self._left_ns + max(0, now - self._at))
        self._at = max(self._at, now)
        if self._left_ns < SAID_AGAIN_NS:
            return False
        self._left_ns -= SAID_AGAIN_NS
        return True


class EventRecorder:
    """Writes what controllers say, or kubelets, under the name of their program."""

    def __init__(self, registry: Registry, manager: str = "kube-controller-manager") -> None:
        self._registry = registry
        self._events = built_in("", "events")
        self._options = WriteOptions(manager, trusted=True)
        self._written: dict[tuple[_Similar, str], tuple[str, str]] = {}
        """Namespace and name of the Event, by what is said."""
        self._crowds: dict[_Similar, _Crowd] = {}
        self._allowances: dict[tuple[str, str, str, str], _Allowance] = {}
        """By component, host, the object's uid and the type of the Event."""
        self._stamp = 0

    def hear(self, controller: Controller, before: Object | None, after: Object | None, now: int) -> None:
        """Says what the controller's write stands for."""
        for said in events_of(controller.name, before, after):
            self.write(_COMPONENTS.get(controller.name, controller.name), said, now)

    def hear_refusal(self, controller: Controller, obj: Object, error: str, now: int) -> None:
        """Says that the controller could not create the object."""
        for said in refusal_of(controller.name, obj, error):
            self.write(controller.name, said, now)

    def write(self, component: str, said: EventText, now: int) -> None:
        """Creates the Event, or counts up the one that is there."""
        similar = _Similar(component, said.about.uid, said.field_path, said.type, said.reason)
        is_combined = self._is_one_of_many(similar, said.message, now)
        if is_combined:
            said = said._replace(message=f"(combined from similar events): {said.message}")
        if not self._may_say(component, said, now):
            return
        same = (similar, "" if is_combined else said.message)
        known = self._written.pop(same, None)
        with suppress(ApiError):
            if known is None or not self._count_up(*known, said.message, now):
                known = self._create(component, said, now)
            self._written[same] = known
        if len(self._written) > REMEMBERED_MAX:
            del self._written[next(iter(self._written))]
        if len(self._crowds) > REMEMBERED_MAX:
            del self._crowds[next(iter(self._crowds))]

    def _may_say(self, component: str, said: EventText, now: int) -> bool:
        # Upstream: client-go/tools/record/events_cache.go EventSourceObjectSpamFilter (v1.36).
        key = (component, said.host, said.about.uid, said.type)
        allowance = self._allowances.pop(key, None) or _Allowance(now)
        self._allowances[key] = allowance
        if len(self._allowances) > REMEMBERED_MAX:
            del self._allowances[next(iter(self._allowances))]
        return allowance.takes(now)

    def _is_one_of_many(self, similar: _Similar, message: str, now: int) -> bool:
        """Whether so many similar Events came lately that this one is not told apart from others."""
        # Upstream: client-go/tools/record/events_cache.go EventAggregate (v1.36).
        crowd = self._crowds.pop(similar, None)
        if crowd is None or now - crowd.last > _SIMILAR_NS:
            crowd = _Crowd()
        self._crowds[similar] = crowd
        crowd.messages[message] = None
        crowd.last = now
        if len(crowd.messages) < _SIMILAR_MAX:
            return False
        del crowd.messages[next(iter(crowd.messages))]
        return True

    def _create(self, component: str, said: EventText, now: int) -> tuple[str, str]:
        # Two Events about one object at one instant need names of their own.
        self._stamp = max(now, self._stamp + 1)
        name = f"{said.about.name}.{self._stamp:x}"
        namespace = said.about.namespace or DEFAULT_NAMESPACE
        document = self._document(component, said, namespace, name, format_time(now))
        self._registry.create(self._events, namespace, document, self._options, now)
        return namespace, name

    def _count_up(self, namespace: str, name: str, message: str, now: int) -> bool:
        if self._registry.find(self._events, namespace, name) is None:
            return False
        self._registry.update(
            self._events,
            namespace,
            name,
            lambda event: {
                **event,
                "message": message,
                "count": event.get("count", 1) + 1,
                "lastTimestamp": format_time(now),
            },
            self._options,
            now,
        )
        return True

    def _document(self, component: str, said: EventText, namespace: str, name: str, time: str) -> Document:
        about = said.about
        regarding = {
            "kind": about.kind,
            "namespace": about.namespace,
            "name": about.name,
            "uid": about.uid,
            "apiVersion": about.api_version,
            "resourceVersion": self._version_of(said),
            "fieldPath": said.field_path,
        }
        source = {"component": component, "host": said.host}
        return {
            "kind": "Event",
            "apiVersion": "v1",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {field: value for field, value in regarding.items() if value},
            "reason": said.reason,
            "message": said.message,
            "source": {field: value for field, value in source.items() if value},
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
            "type": said.type,
            "eventTime": None,
            "reportingComponent": component,
            "reportingInstance": said.host,
        }

    def _version_of(self, said: EventText) -> str:
        found = self._registry.typed.content.find(said.about.kind, said.about.namespace, said.about.name)
        return "" if found is None else found.metadata.resource_version
