"""From the name of a class to a priority."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.admission_documents import admitted, document, pod, refusal


def _class(name: str, value: int, **more: Any) -> dict[str, Any]:
    made = document("scheduling.k8s.io/v1", "PriorityClass", value=value, **more)
    return {**made, "metadata": {"name": name}}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"priorityClassName": "high"}, ("high", 10, "PreemptLowerPriority")),
        ({"priorityClassName": "polite"}, ("polite", 5, "Never")),
        ({}, ("low", 1, "PreemptLowerPriority")),
        (
            {"priorityClassName": "system-node-critical"},
            ("system-node-critical", 2_000_001_000, "PreemptLowerPriority"),
        ),
    ],
)
def test_a_pod_gets_what_its_class_says(given: dict[str, Any], expected: tuple[str, int, str]) -> None:
    classes = (_class("high", 10), _class("low", 1, globalDefault=True), _class("polite", 5, preemptionPolicy="Never"))
    spec = admitted(pod(**given), *classes)["spec"]
    assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        (
            {"priority": 3},
            "the integer value of priority (3) must not be provided in pod spec; priority admission "
            "controller computed "
            "0 from the given PriorityClass name",
        ),
    ],
)
def test_what_contradicts_the_class_is_refused(given: dict[str, Any], message: str) -> None:
    assert refusal(pod(**given)) == message


def test_there_is_one_default_class() -> None:
    message = "PriorityClass low is already marked as default. Only one default can exist"
    standing = _class("low", 1, globalDefault=True)
    assert refusal(_class("other", 2, globalDefault=True), standing) == message
    assert refusal(standing, standing) == ""
