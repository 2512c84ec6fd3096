"""How the least disruption reads beside what kube-scheduler does."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.report.answers.parts import Sentence
from bayplan.report.explain.disruption import disruption_parts


def said(least: tuple[int, int] | None, actual: tuple[int, int] | None, **fields: Any) -> list[str]:
    candidates = {"a": {"victims": ["v"] * actual[1], "numPDBViolations": actual[0]}} if actual else {}
    document = {
        "feasible": [],
        "preemption": {"selected": list(candidates), "candidates": candidates},
        "leastDisruption": {
            "atLeast": None if least is None else {"numPDBViolations": least[0], "victims": least[1]},
            "node": "b",
            "victims": ["x"],
            "fits": True,
            "complete": True,
        },
    } | fields
    return [part.text for part in disruption_parts(document) if isinstance(part, Sentence)]


@pytest.mark.parametrize(
    ("least", "actual", "says"),
    [
        ((0, 2), (0, 2), "kube-scheduler evicts 2 pods, on a. No choice of victims, on any nodes, disrupts less."),
        (
            (0, 1),
            (1, 4),
            "kube-scheduler evicts 4 pods (1 of them against a disruption budget), on a. The least that any choice "
            "could do is 1 pod: kube-scheduler compares priorities before it counts pods.",
        ),
        ((0, 1), None, "kube-scheduler evicts nothing; resources alone would take 1 pod."),
        (None, None, "No victims would make enough room: no node that it may run on has enough without them."),
    ],
)
def test_the_comparison_in_a_sentence(least: tuple[int, int] | None, actual: tuple[int, int] | None, says: str) -> None:
    assert said(least, actual)[0] == says


def test_which_victims_would_do() -> None:
    assert said((0, 1), (0, 4))[1] == "Evicting x on b lets it run (verified)."


def test_a_pod_that_fits() -> None:
    assert said((0, 0), None, feasible=["a"]) == ["The pod fits, so nothing has to be evicted."]


def test_nothing_is_said_if_nobody_asked() -> None:
    assert list(disruption_parts({"feasible": []})) == []
