"""Rows of events, in the form of either group that serves them: `v1` and `events.k8s.io`."""

from __future__ import annotations

from bayplan.apiserver.tables.ages import since
from bayplan.apiserver.tables.columns import Cells, Column, Document, Printer, wide


def _event_cells(event: Document, now: int) -> Cells:
    regarded = event.get("involvedObject") or event.get("regarding") or {}
    series = event.get("series")
    first_time = event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    last_time = event.get("lastTimestamp") or event.get("deprecatedLastTimestamp") or first_time
    count = event.get("count") or event.get("deprecatedCount") or 1
    if series is not None:
        last_time, count = series.get("lastObservedTime"), series.get("count", 0)
    kind, name = regarded.get("kind", "").lower(), regarded.get("name")
    return [
        since(last_time, now),
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        regarded.get("fieldPath", ""),
        _source(event),
        (event.get("message") or event.get("note") or "").strip(),
        since(first_time, now),
        count,
        event["metadata"].get("name", ""),
    ]


def _source(event: Document) -> str:
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = source.get("component") or event.get("reportingComponent") or event.get("reportingController") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


EVENTS = Printer(
    (
        Column("Last Seen", "Time since it happened last."),
        Column("Type", "Whether the event is normal or a warning."),
        Column("Reason", "What happened, in one word."),
        Column("Object", "Object that the event is about."),
        wide("Subobject", "Part of the object that the event is about."),
        wide("Source", "Who reported the event."),
        Column("Message", "What happened, in words."),
        wide("First Seen", "Time since it happened first."),
        wide("Count", "How often it happened."),
        wide("Name", "Name of the event.", format="name"),
    ),
    _event_cells,
)
