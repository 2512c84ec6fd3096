"""Event, which is the same kind in the core group and in events.k8s.io, stored in the form of the former."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.events import check_core_event, check_new_event, check_new_event_update
from bayplan.apiserver.admitting.validation.names import path_segment_faults
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind, StorageForm
from bayplan.apiserver.selecting.selectable_fields import METADATA, Getter, SelectableFields, at, fields
from bayplan.apiserver.tables.events import EVENTS

#: Fields of events.k8s.io/v1 whose names differ from the core group's.
_CORE_NAMES: Final = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_NEW_NAMES: Final = {old: new for new, old in _CORE_NAMES.items()}
_SHOWN_EMPTY_BY_CORE: Final = frozenset({"reportingComponent", "reportingInstance"})
_REFERENCE_PARTS: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _event_fields(reference: str, controller: str) -> dict[str, Getter]:
    """Events have other names for the same fields in the two groups."""
    return {
        **METADATA,
        **fields("reason", "type"),
        **{
            f"{reference}.{part}": _of_event(at("involvedObject", part), at("regarding", part))
            for part in _REFERENCE_PARTS
        },
        controller: _of_event(at("reportingComponent"), at("reportingController")),
    }


def _of_event(in_core: Getter, in_events: Getter) -> Getter:
    return lambda event: in_core(event) or in_events(event)


_EVENT_SOURCE = _of_event(
    _of_event(at("source", "component"), at("deprecatedSource", "component")),
    _of_event(at("reportingComponent"), at("reportingController")),
)


def _stored(event: Document) -> Document:
    return {**_renamed(event, _CORE_NAMES), "apiVersion": "v1"}


def _served(event: Document) -> Document:
    shown = {field: value for field, value in event.items() if value or field not in _SHOWN_EMPTY_BY_CORE}
    return {**_renamed(shown, _NEW_NAMES), "apiVersion": "events.k8s.io/v1"}


def _renamed(document: Document, names: Mapping[str, str]) -> Document:
    return {names.get(field, field): value for field, value in document.items()}


CORE_EVENT = Kind(
    "v1",
    "Event",
    check=check_core_event,
    name_rule=path_segment_faults,
    created_by_update=True,
    printer=EVENTS,
    selectable=SelectableFields({**_event_fields("involvedObject", "reportingComponent"), "source": _EVENT_SOURCE}),
)
EVENT = Kind(
    "events.k8s.io/v1",
    "Event",
    check=check_new_event,
    check_update=check_new_event_update,
    steps=(ChangeCheck.UPDATE, ChangeCheck.METADATA),
    name_rule=path_segment_faults,
    created_by_update=True,
    printer=EVENTS,
    selectable=SelectableFields(_event_fields("regarding", "reportingController")),
    storage=StorageForm("events", _stored, _served),
)
