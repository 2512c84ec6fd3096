"""Patches of a pod's status to the letter, as they were recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.virtual_time import BEGIN

from bayplan.client.patches import status_patch
from bayplan.core.actions import Action, Evict, Nominate, SetCondition, SetGroupCondition
from bayplan.model.groups import PodGroup
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.performing.actions import Effects, steps_of
from bayplan.performing.requests import PatchStatus
from bayplan.testing.builders import pod, pod_group

NOW = "2026-11-15T20:38:06Z"
UID = pod("p").obj().metadata.uid
SINCE = "2026-11-15T20:00:00Z"
REASON, MESSAGE = "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"


def patch(known: Pod, action: Action) -> bytes | None:
    """Of the first request, if there is one and it is a patch."""
    request = next(steps_of(action, lambda *_: known, BEGIN, Effects()), None)
    return status_patch(request.before, request.after) if isinstance(request, PatchStatus) else None


def failing(message: str = "no room", nominated: str | None = None, reason: str = "Unschedulable") -> SetCondition:
    return SetCondition("default/p", UID, reason, message, nominated)


def failed_pod(message: str = "no room", generation: int = 1, observed: int | None = 1, nominated: str = "") -> Pod:
    standing = Condition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message=message,
        last_transition_time=SINCE,
        observed_generation=observed,
    )
    made = pod("p").nominated(nominated).obj()
    made.metadata.generation = generation
    made.status.conditions = [standing]
    return made


def fresh(generation: int = 1) -> Pod:
    made = pod("p").obj()
    made.metadata.generation = generation
    return made


ORDER = {"$setElementOrder/conditions": [{"type": "PodScheduled"}]}
WHOLE = {
    "lastProbeTime": None,
    "lastTransitionTime": NOW,
    "message": "no room",
    "observedGeneration": 1,
    "reason": "Unschedulable",
    "status": "False",
    "type": "PodScheduled",
}


def only(**changed: Any) -> list[dict[str, Any]]:
    return [{**changed, "type": "PodScheduled"}]


CASES: dict[str, tuple[Pod, SetCondition, dict[str, Any] | None]] = {
    "first failure": (fresh(), failing(), {"conditions": [WHOLE]}),
    "first failure, nominated": (fresh(), failing(nominated="n2"), {"conditions": [WHOLE], "nominatedNodeName": "n2"}),
    "another text": (failed_pod("other"), failing(), {**ORDER, "conditions": only(message="no room")}),
    "another reason": (
        failed_pod(),
        failing(reason="SchedulerError"),
        {**ORDER, "conditions": only(reason="SchedulerError")},
    ),
    "nothing new": (failed_pod(), failing(), None),
    "nothing new but the generation": (failed_pod(generation=2), failing(), None),
    "another text and generation": (
        failed_pod("other", generation=2),
        failing(),
        {**ORDER, "conditions": only(message="no room", observedGeneration=2)},
    ),
    "nomination kept": (failed_pod(nominated="n1"), failing(nominated=None), None),
    "nomination the same": (failed_pod(nominated="n1"), failing(nominated="n1"), None),
    "nomination moved": (failed_pod(nominated="n1"), failing(nominated="n2"), {"nominatedNodeName": "n2"}),
    "nomination withdrawn": (
        failed_pod("other", nominated="n1"),
        failing(nominated=""),
        {**ORDER, "conditions": only(message="no room"), "nominatedNodeName": None},
    ),
    "no generation known": (
        fresh(generation=0),
        failing(),
        {"conditions": [{field: value for field, value in WHOLE.items() if field != "observedGeneration"}]},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_failure_is_written_as_the_difference_to_what_is_there(case: str) -> None:
    known, action, status = CASES[case]
    body = patch(known, action)
    assert (json.loads(body) if body is not None else None) == ({"status": status} if status is not None else None)


def test_a_condition_that_turns_false_gets_a_new_time() -> None:
    bound = pod("p").condition("PodScheduled", "True").obj()
    bound.metadata.generation = 1
    body = patch(bound, failing())
    assert body is not None
    changed = {field: value for field, value in WHOLE.items() if field != "lastProbeTime"}
    assert json.loads(body) == {"status": {**ORDER, "conditions": [changed]}}


def test_fields_are_written_in_the_order_of_their_names() -> None:
    body = patch(fresh(), failing(nominated="n2"))
    assert body is not None
    assert list(json.loads(body)["status"]["conditions"][0]) == sorted(WHOLE)


@pytest.mark.parametrize(
    ("standing", "node", "status"),
    [
        ("", "n2", {"nominatedNodeName": "n2"}),
        ("n1", "", {"nominatedNodeName": None}),
        ("n1", "n1", None),
        ("", "", None),
    ],
)
def test_a_nomination_alone(standing: str, node: str, status: dict[str, Any] | None) -> None:
    body = patch(pod("p").nominated(standing).obj(), Nominate("default/p", node))
    assert (json.loads(body) if body is not None else None) == ({"status": status} if status is not None else None)


def victim(*types: str) -> Pod:
    made = pod("v").obj()
    made.metadata.generation = 1
    made.status.conditions = [Condition(type=kind, status="True") for kind in types]
    return made


EVICTION = Evict("default/v", pod("v").obj().metadata.uid, "n1", REASON, MESSAGE, "")


def test_a_victims_condition_goes_behind_those_it_has() -> None:
    body = patch(victim("Initialized", "Ready", "PodScheduled"), EVICTION)
    assert body is not None
    types = ["Initialized", "Ready", "PodScheduled", "DisruptionTarget"]
    condition = {
        **WHOLE,
        "message": MESSAGE,
        "reason": REASON,
        "status": "True",
        "type": "DisruptionTarget",
    }
    order = [{"type": kind} for kind in types]
    assert json.loads(body) == {"status": {"$setElementOrder/conditions": order, "conditions": [condition]}}


def test_a_victim_that_is_marked_is_not_marked_again() -> None:
    marked = victim("Ready")
    marked.status.conditions.append(Condition(type="DisruptionTarget", status="True", reason=REASON, message=MESSAGE))
    assert patch(marked, EVICTION) is None


GROUP_CONDITION = {
    "lastTransitionTime": NOW,
    "message": "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining",
    "observedGeneration": 1,
    "reason": "Unschedulable",
    "status": "False",
    "type": "PodGroupInitiallyScheduled",
}


def told(group: PodGroup, status: str = "False", reason: str = "Unschedulable") -> SetGroupCondition:
    message = str(GROUP_CONDITION["message"]) if status == "False" else ""
    return SetGroupCondition("default/g", group.metadata.uid, status, reason, message, 1)


@pytest.mark.parametrize(
    ("group", "status", "expected"),
    [
        (pod_group("g").obj(), "False", {"conditions": [GROUP_CONDITION]}),
        (
            pod_group("g").condition("False", "Unschedulable", "other").obj(),
            "True",
            {
                "$setElementOrder/conditions": [{"type": "PodGroupInitiallyScheduled"}],
                "conditions": [
                    {
                        "lastTransitionTime": NOW,
                        "message": "",
                        "reason": "Scheduled",
                        "status": "True",
                        "type": "PodGroupInitiallyScheduled",
                    }
                ],
            },
        ),
        (pod_group("g").condition("True", "Scheduled").obj(), "False", None),
        (pod_group("g").uid("another").obj(), "False", None),
    ],
    ids=["first failure", "scheduled", "stays scheduled", "another group"],
)
def test_the_condition_of_a_group_is_written_as_the_difference(
    group: PodGroup, status: str, expected: dict[str, Any] | None
) -> None:
    asked = told(pod_group("g").obj(), status, "Scheduled" if status == "True" else "Unschedulable")
    request = next(steps_of(asked, lambda *_: group, BEGIN, Effects()), None)
    body = status_patch(request.before, request.after) if isinstance(request, PatchStatus) else None
    assert (json.loads(body) if body is not None else None) == ({"status": expected} if expected else None)
