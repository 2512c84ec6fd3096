"""Checks of events, in both of their groups, which share one store and have different names for their fields.

Upstream: pkg/apis/core/validation/events.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.internal_form import internal
from bayplan.apiserver.admitting.validation.faults import IMMUTABLE, Faults
from bayplan.model.dns_names import subdomain_faults
from bayplan.model.names import label_key_faults
from bayplan.model.well_known import DEFAULT_NAMESPACE

_LENGTH_MAX = 128
_NOTE_MAX = 1024
#: Fields that never change, and what refusals call them.
_FIXED = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
_FIXED_TYPES = {"regarding": "ObjectReference", "related": "ObjectReference"}
_MISMATCH = "does not match event.namespace"


def check_core_event(event: Document, faults: Faults) -> None:
    """Of the core group, with the old names."""
    _check_shared(event, event.get("involvedObject", {}), "reportingComponent", event.get("message", ""), faults)


def check_new_event(event: Document, faults: Faults) -> None:
    """Of events.k8s.io: the new names, and stricter."""
    _check_shared(event, event.get("regarding", {}), "reportingController", event.get("note", ""), faults)
    if not event.get("eventTime"):
        faults.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        faults.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field, shown in (
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ):
        if event.get(field):
            faults.invalid(shown, "", "needs to be unset")


def _check_shared(event: Document, subject: Document, reporter: str, note: str, faults: Faults) -> None:
    namespace, subject_namespace = event["metadata"].get("namespace", ""), subject.get("namespace", "")
    if not event.get("eventTime"):
        expected = ("", DEFAULT_NAMESPACE) if not subject_namespace else (subject_namespace,)
        if namespace not in expected:
            faults.invalid("involvedObject.namespace", subject_namespace, _MISMATCH)
    else:
        if not subject_namespace and namespace not in (DEFAULT_NAMESPACE, "kube-system"):
            faults.invalid("involvedObject.namespace", subject_namespace, _MISMATCH)
        _check_reporter(event, reporter, note, faults)
    faults.all_invalid("namespace", namespace, subdomain_faults(namespace))


def _check_reporter(event: Document, reporter: str, note: str, faults: Faults) -> None:
    name = event.get(reporter, "")
    if not name:
        faults.required(reporter)
    faults.all_invalid(reporter, name, label_key_faults(name))
    for field in ("reportingInstance", "action", "reason"):
        text = event.get(field, "")
        if not text:
            faults.required(field)
        if len(text) > _LENGTH_MAX:
            faults.invalid(field, "", f"can have at most {_LENGTH_MAX} characters")
    if len(note) > _NOTE_MAX:
        faults.invalid("message", "", f"can have at most {_NOTE_MAX} characters")


def check_new_event_update(new: Document, old: Document, faults: Faults) -> None:
    """Only how often an event was seen changes."""
    _check_shared(new, new.get("regarding", {}), "reportingController", new.get("note", ""), faults)
    for field, shown in _FIXED.items():
        value, before = new.get(field), old.get(field)
        if value != before:
            kind = _FIXED_TYPES.get(field)
            faults.invalid(shown, internal(value or {}, kind) if kind else value or "", IMMUTABLE)
