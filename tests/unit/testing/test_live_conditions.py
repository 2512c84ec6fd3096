"""States of objects as a test names them, and what a timeout says about them."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.testing.live_conditions import condition_of, states_of, summary
from bayplan.testing.live_objects import Refusal

NOT_FOUND = {"code": 404, "reason": "NotFound", "message": 'pods "a" not found'}


def conditions(**types: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": name, "status": status} for name, status in types.items()]}}


@pytest.mark.parametrize(
    ("document", "states"),
    [
        pytest.param({}, {"exists", ""}, id="nothing known"),
        pytest.param({"status": {"phase": "Running"}}, {"exists", "running"}, id="a phase"),
        pytest.param(
            conditions(Ready="True", Other="False", Third="Unknown"), {"exists", "", "ready"}, id="conditions"
        ),
        pytest.param({"spec": {"replicas": 2}}, {"exists", ""}, id="a new workload"),
        pytest.param({"spec": {"replicas": 0}}, {"exists", "", "ready"}, id="a workload without pods"),
        pytest.param(
            {"spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": 1}}, {"exists", ""}, id="one is ready"
        ),
        pytest.param(
            {"spec": {"replicas": 2}, "status": {"readyReplicas": 2}}, {"exists", "", "ready"}, id="all are ready"
        ),
        pytest.param(
            {"status": {"numberReady": 3, "desiredNumberScheduled": 3}}, {"exists", "", "ready"}, id="a DaemonSet"
        ),
    ],
)
def test_states(document: dict[str, Any], states: set[str]) -> None:
    assert states_of(document) == states


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({}, "an object without a status"),
        ({"status": {"phase": "Pending"}}, "phase Pending"),
        (conditions(Ready="False"), "Ready=False"),
        ({"spec": {"replicas": 3}, "status": {"readyReplicas": 1}}, "1 of 3 ready"),
        (
            {"status": {"conditions": [{"type": "A", "status": "False", "reason": "Why", "message": "so"}]}},
            "A=False (Why: so)",
        ),
    ],
)
def test_summary(document: dict[str, Any], line: str) -> None:
    assert summary(document) == line


class Holding:
    """A cluster with one pod, or none."""

    def __init__(self, document: dict[str, Any] | None) -> None:
        self._document = document

    def get(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        if self._document is None:
            raise Refusal(NOT_FOUND)
        return self._document


@pytest.mark.parametrize(
    ("text", "document", "holds"),
    [
        ("pod/a running", {"status": {"phase": "Running"}}, True),
        ("pod/a Running", {"status": {"phase": "Running"}}, True),
        ("pod/a running", {"status": {"phase": "Pending"}}, False),
        ("pod/a exists", {}, True),
        ("pod/a exists", None, False),
        ("pod/a gone", {}, False),
        ("pod/a gone", None, True),
        ("pod/a running", None, False),
    ],
)
def test_what_holds(text: str, document: dict[str, Any] | None, holds: bool) -> None:
    assert condition_of(text, "default").look(Holding(document))[0] is holds


def test_what_is_missing_is_said() -> None:
    condition = condition_of("pod/a running", "default")
    _, seen = condition.look(Holding(None))
    assert condition.described(seen) == 'NotFound: pods "a" not found'


@pytest.mark.parametrize("text", ["pod/a", "pod a running", "/a running", "pod/ running", "", "pod/a "])
def test_text_that_names_no_condition(text: str) -> None:
    with pytest.raises(ValueError, match="expected KIND/NAME STATE"):
        condition_of(text, "default")
