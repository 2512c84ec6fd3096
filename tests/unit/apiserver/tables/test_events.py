"""Rows of events: when they happened, how often, and about what, in the form of either group."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.events import EVENTS
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
NOW = parse_time("2026-01-01T00:01:00Z")
EARLY, LATE = "2026-01-01T00:00:10Z", "2026-01-01T00:00:40Z"
EARLY_MICRO, LATE_MICRO = "2026-01-01T00:00:10.500000Z", "2026-01-01T00:00:40.250000Z"


def cells(**fields: Any) -> list[Any]:
    return EVENTS.cells({"metadata": {"name": "e"}, **fields}, NOW)


@pytest.mark.parametrize(
    ("fields", "last", "first", "count"),
    [
        pytest.param({}, "<unknown>", "<unknown>", 1, id="no time at all"),
        pytest.param({"firstTimestamp": EARLY, "lastTimestamp": LATE, "count": 3}, "20s", "50s", 3, id="counted"),
        pytest.param({"firstTimestamp": EARLY}, "50s", "50s", 1, id="happened once"),
        pytest.param({"eventTime": EARLY_MICRO}, "49s", "49s", 1, id="only the time of the new form"),
        pytest.param(
            {"eventTime": EARLY_MICRO, "series": {"lastObservedTime": LATE_MICRO, "count": 4}},
            "19s",
            "49s",
            4,
            id="series",
        ),
        pytest.param(
            {"deprecatedFirstTimestamp": EARLY, "deprecatedLastTimestamp": LATE, "deprecatedCount": 2},
            "20s",
            "50s",
            2,
            id="form of events.k8s.io",
        ),
    ],
)
def test_times_and_counts(fields: Part, last: str, first: str, count: int) -> None:
    row = cells(**fields)
    assert (row[0], row[7], row[8]) == (last, first, count)


@pytest.mark.parametrize("field", ["involvedObject", "regarding"])
def test_the_object_is_named_by_kind_and_name(field: str) -> None:
    reference = {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"}
    assert cells(**{field: reference})[3:5] == ["pod/p", "spec.containers{c}"]
    assert cells(**{field: {"kind": "Node"}})[3] == "node"


@pytest.mark.parametrize(
    ("fields", "source"),
    [
        ({}, ""),
        ({"source": {"component": "kubelet", "host": "n1"}}, "kubelet, n1"),
        ({"source": {"component": "scheduler"}}, "scheduler"),
        ({"reportingComponent": "scheduler", "reportingInstance": "s-1"}, "scheduler, s-1"),
        ({"deprecatedSource": {"component": "old"}, "reportingController": "new"}, "old"),
        ({"reportingController": "new"}, "new"),
    ],
)
def test_the_source_is_who_reported_it(fields: Part, source: str) -> None:
    assert cells(**fields)[5] == source


@pytest.mark.parametrize("field", ["message", "note"])
def test_the_message_has_no_blanks_around_it(field: str) -> None:
    row = cells(**{field: " text\n", "type": "Normal", "reason": "Created"})
    assert (row[1], row[2], row[6], row[9]) == ("Normal", "Created", "text", "e")
