"""Events, which both groups serve."""

from __future__ import annotations

import pytest
from tests.support.api_server import Api

EVENTS = "namespaces/default/events/e"
TIME = "2026-01-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    ("path", "api_version", "event"),
    [
        (f"/api/v1/{EVENTS}", "v1", {"involvedObject": {"namespace": "default"}}),
        (
            f"/apis/events.k8s.io/v1/{EVENTS}",
            "events.k8s.io/v1",
            {
                "regarding": {"namespace": "default"},
                "eventTime": TIME,
                "reportingController": "c",
                "reportingInstance": "i",
                "action": "a",
                "reason": "r",
                "type": "Normal",
            },
        ),
    ],
)
def test_an_event_that_is_not_there_is_created_by_a_put(path: str, api_version: str, event: dict[str, object]) -> None:
    api = Api()
    body = {"apiVersion": api_version, "kind": "Event", "metadata": {"name": "e", "namespace": "default"}, **event}
    assert api.call("PUT", path, body)[0] == 201
    assert api.call("PUT", path, body)[0] == 200
