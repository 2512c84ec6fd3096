"""Decisions in the log."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from bayplan.core.actions import Bind, Evict, Nominate
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.serving.decision_log import DecisionLog
from bayplan.testing.builders import node, pod, service

POD = "default/p"
UNFIT = Decision(POD, Outcome.UNSCHEDULABLE, message="0/1 nodes are available: 1 Insufficient cpu.")
NO_NODES = Decision(POD, Outcome.UNSCHEDULABLE, message="no nodes available to schedule pods")
EVICT = Evict("default/v", "u", "n1", "reason", "message", "note")
ATTEMPT = "3 Attempting to schedule pod pod=default/p"


def lines(verbosity: int, what: Callable[[DecisionLog], None]) -> list[str]:
    with capture_logs() as logs:
        what(DecisionLog(verbosity))
    shown = []
    for entry in logs:
        level = "E" if entry.pop("log_level") == "error" else entry.pop("v", 0)
        text = entry.pop("event")
        shown.append(" ".join([f"{level} {text}", *(f"{name}={value}" for name, value in entry.items())]))
    return shown


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (Decision(POD, Outcome.ASSUMED, "n1"), [ATTEMPT]),
        (UNFIT, [ATTEMPT, f"2 Unable to schedule pod; no fit; waiting pod={POD} err={UNFIT.message}"]),
        (
            NO_NODES,
            [ATTEMPT, f"2 Unable to schedule pod; no nodes are registered to the cluster; waiting pod={POD}"],
        ),
        (Decision(POD, Outcome.SKIPPED), ["3 Skip schedule deleting pod pod=default/p"]),
        (
            Decision(POD, Outcome.ERROR, message="it broke"),
            ["E Error scheduling pod; retrying err=it broke pod=default/p", ATTEMPT],
        ),
        (Decision("", Outcome.NO_POD), []),
    ],
)
def test_decisions(decision: Decision, expected: list[str]) -> None:
    assert lines(2, lambda log: log.decided(decision, 0, 0)) == expected


@pytest.mark.parametrize(
    ("action", "error", "expected"),
    [
        (Bind(POD, "u", "n1"), "", ["2 Successfully bound pod to node pod=default/p node=n1"]),
        (Bind(POD, "u", "n1"), "gone", ["E Failed to bind pod err=gone pod=default/p node=n1"]),
        (EVICT, "", ["2 Preemptor Pod preempted victim Pod victim=default/v node=n1"]),
        (EVICT, "gone", ["E Failed to preempt victim Pod err=gone victim=default/v node=n1"]),
        (Nominate(POD, "n1"), "", []),
        (Nominate(POD, "n1"), "gone", ["E Nominate failed err=gone pod=default/p"]),
    ],
)
def test_what_became_of_actions(action: Bind | Evict | Nominate, error: str, expected: list[str]) -> None:
    assert lines(2, lambda log: log.wrote(action, 0, error)) == expected


def test_changes_of_nodes_and_pods() -> None:
    waiting, running = pod("p").obj(), pod("p").node("n1").obj()

    def happen(log: DecisionLog) -> None:
        log.observed(ObjectAdded(node("n1").obj()), 0)
        log.observed(ObjectAdded(waiting), 0)
        log.observed(ObjectChanged(waiting, running), 0)
        log.observed(ObjectRemoved(running), 0)
        log.observed(ObjectAdded(service("s").obj()), 0)

    assert lines(3, happen) == [
        "3 Add event for node node=n1",
        "3 Add event for unscheduled pod pod=default/p",
        "4 Update event for scheduled pod pod=default/p",
        "3 Delete event for scheduled pod pod=default/p",
    ]


def test_at_level_0_only_errors_are_put_into_words() -> None:
    def happen(log: DecisionLog) -> None:
        log.observed(ObjectAdded(node("n1").obj()), 0)
        log.decided(UNFIT, 0, 0)
        log.wrote(Bind(POD, "u", "n1"), 0, "")
        log.wrote(Bind(POD, "u", "n1"), 0, "gone")

    assert lines(0, happen) == ["E Failed to bind pod err=gone pod=default/p node=n1"]


def test_an_attempt_on_a_group_names_the_group_and_then_those_that_did_not_fit() -> None:
    members = (Decision("default/a", Outcome.UNSCHEDULABLE, message="too big"), Decision("default/b", Outcome.ASSUMED))
    decision = Decision("", Outcome.UNSCHEDULABLE, message="minCount", group="default/g", members=members)
    assert lines(2, lambda log: log.decided(decision, 0, 0)) == [
        "3 Attempting to schedule pod group podGroup=default/g",
        "2 Unable to schedule pod; no fit; waiting pod=default/a err=too big",
    ]
