"""Kubernetes Events of the scheduler as objects of an API server in this process.

Takes what the scheduler emits; writes what `EventSeries` says is to be written. An Event that cannot be written is let
go: nothing depends on it.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.core.actions import Emit
from bayplan.performing.event_series import FINISH_NS, REFRESH_NS, EventSeries, Said
from bayplan.store import ApiError
from bayplan.worlds.performing import EmittedEvent


class EventWriter:
    """Writes what the scheduler emits."""

    def __init__(self, registry: Registry, started_at: int) -> None:
        self._registry = registry
        self._events = built_in("events.k8s.io", "events")
        self._options = WriteOptions("kube-scheduler", trusted=True)
        self._series = EventSeries("bayplan")  # upstream names the host; all of a cluster is in one process here
        self._finish_at = started_at + FINISH_NS
        self._refresh_at = started_at + REFRESH_NS

    def write(self, event: EmittedEvent) -> None:
        """Creates the Event, or counts it."""
        emit = Emit(event.pod, event.uid, event.type, event.reason, event.action, event.note)
        self._write_all(self._series.say(emit, event.about, event.at), event.at)

    def write_due(self, now: int) -> None:
        """What is to be written of series that have ended, or that go on."""
        if now >= self._finish_at:
            self._finish_at = now + FINISH_NS
            self._write_all(self._series.finish(now), now)
        if now >= self._refresh_at:
            self._refresh_at = now + REFRESH_NS
            self._write_all(self._series.series(), now)

    def _write_all(self, events: list[Said], now: int) -> None:
        for said in events:
            with suppress(ApiError):
                self._write(said, now)

    def _write(self, said: Said, now: int) -> None:
        if said.count == 1 or self._registry.find(self._events, said.namespace, said.name) is None:
            document = msgspec.json.decode(said.creation)
            self._registry.create(self._events, said.namespace, document, self._options, now)
            return
        counting = msgspec.json.decode(said.counting)
        self._registry.update(
            self._events, said.namespace, said.name, lambda event: {**event, **counting}, self._options, now
        )
