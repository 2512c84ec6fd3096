"""What is refused about events."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.admitting.validation.events import check_core_event, check_new_event, check_new_event_update
from bayplan.apiserver.admitting.validation.faults import Faults

TIME = "2026-01-01T00:00:00.000000Z"
GOOD: dict[str, Any] = {
    "metadata": {"namespace": "a"},
    "regarding": {"namespace": "a"},
    "eventTime": TIME,
    "reportingController": "c.io/x",
    "reportingInstance": "i",
    "action": "a",
    "reason": "r",
    "type": "Normal",
}


def said(**changes: Any) -> list[str]:
    faults = Faults()
    check_new_event({**GOOD, **changes}, faults)
    return [f"{cause.field}: {cause.message}" for cause in faults]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"type": "Warning"},
        dict.fromkeys(("reportingInstance", "action", "reason"), "x" * 128),
        {"note": "x" * 1024},
        {"metadata": {"namespace": "default"}, "regarding": {}},
        {"metadata": {"namespace": "kube-system"}, "regarding": {}},
    ],
)
def test_good_events(changes: dict[str, Any]) -> None:
    assert said(**changes) == []


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        *(
            ({field: "x" * 129}, [f'{field}: Invalid value: "": can have at most 128 characters'])
            for field in ("reportingInstance", "action", "reason")
        ),
        *(({field: ""}, [f"{field}: Required value"]) for field in ("reportingInstance", "action", "reason")),
        ({"note": "x" * 1025}, ['message: Invalid value: "": can have at most 1024 characters']),
        ({"reportingController": "a b"}, ['reportingController: Invalid value: "a b": name part must consist of']),
        ({"type": "Other"}, ['type: Invalid value: "": has invalid value: Other']),
        ({"deprecatedCount": 1}, ['count: Invalid value: "": needs to be unset']),
        ({"deprecatedSource": {"host": "h"}}, ['source: Invalid value: "": needs to be unset']),
        ({"deprecatedFirstTimestamp": TIME}, ['firstTimestamp: Invalid value: "": needs to be unset']),
        ({"deprecatedLastTimestamp": TIME}, ['lastTimestamp: Invalid value: "": needs to be unset']),
        (
            {"regarding": {}},
            ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
        ),
        (
            {"eventTime": None, "regarding": {"namespace": "b"}},
            ['involvedObject.namespace: Invalid value: "b": does not match', "eventTime: Required value"],
        ),
    ],
)
def test_bad_events(changes: dict[str, Any], faults: list[str]) -> None:
    found = said(**changes)
    assert len(found) == len(faults)
    assert all(one.startswith(fault) for one, fault in zip(found, faults, strict=True))


@pytest.mark.parametrize(
    ("namespace", "subject", "fits"), [("", "", True), ("default", "", True), ("a", "", False), ("a", "a", True)]
)
def test_core_events_are_where_their_subject_is(namespace: str, subject: str, fits: bool) -> None:
    faults = Faults()
    check_core_event({"metadata": {"namespace": namespace}, "involvedObject": {"namespace": subject}}, faults)
    assert (not [cause for cause in faults if cause.field == "involvedObject.namespace"]) == fits


@pytest.mark.parametrize(
    ("field", "shown", "value"),
    [
        ("regarding", "involvedObject", {"namespace": "a", "name": "n"}),
        ("reason", "reason", "x"),
        ("note", "message", "x"),
        ("deprecatedSource", "source", {"host": "h"}),
        ("deprecatedFirstTimestamp", "firstTimestamp", TIME),
        ("deprecatedLastTimestamp", "lastTimestamp", TIME),
        ("deprecatedCount", "count", 1),
        ("type", "type", "Warning"),
        ("eventTime", "eventTime", "2026-01-02T00:00:00.000000Z"),
        ("action", "action", "x"),
        ("related", "related", {"name": "n"}),
        ("reportingController", "reportingController", "d.io/x"),
        ("reportingInstance", "reportingInstance", "x"),
    ],
)
def test_what_happened_does_not_change(field: str, shown: str, value: Any) -> None:
    faults = Faults()
    check_new_event_update({**GOOD, field: value}, GOOD, faults)
    [cause] = faults
    assert (cause.field, cause.message.endswith("field is immutable")) == (shown, True)
