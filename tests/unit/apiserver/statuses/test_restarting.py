"""Containers that end while their pod goes on: when, and what is reported of them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from bayplan.apiserver.statuses.restarting import advanced, next_change_at
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time

THEN = "2026-01-01T00:00:00Z"
START = parse_time(THEN)
FAIL, RUN = ["false"], ["serve"]


def running(*commands: list[str], policy: str = "Always", **meta: Any) -> dict[str, Any]:
    """A pod whose containers run these commands since START."""
    containers = [{"name": f"c{number}", "command": command} for number, command in enumerate(commands)]
    state = {"state": {"running": {"startedAt": THEN}}, "lastState": {}, "ready": True, "restartCount": 0}
    return {
        "metadata": {"name": "p", "namespace": "ns", "uid": "u", "creationTimestamp": THEN, **meta},
        "spec": {"nodeName": "n", "restartPolicy": policy, "containers": containers},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": THEN}],
            "containerStatuses": [{"name": one["name"], **state} for one in containers],
        },
    }


def starting(*commands: list[str], policy: str = "Always") -> dict[str, Any]:
    """A pod that waits for init containers with these commands."""
    pod = running(RUN, policy=policy)
    inits = [{"name": f"i{number}", "command": command} for number, command in enumerate(commands)]
    pod["spec"]["initContainers"] = inits
    del pod["status"]["containerStatuses"]
    pod["status"]["phase"] = "Pending"
    return pod


def seconds(at: int | None) -> float | None:
    return None if at is None else (at - START) / SECOND


def states(pod: dict[str, Any]) -> list[tuple[str, int, bool]]:
    """State or waiting reason, restarts and readiness of each container."""
    made = []
    for field in ("initContainerStatuses", "containerStatuses"):
        for known in pod["status"].get(field) or ():
            (kind, said), *_ = known["state"].items()
            made.append((said.get("reason", kind), known["restartCount"], known["ready"]))
    return made


def condition(pod: dict[str, Any], kind: str) -> tuple[str, str]:
    (found,) = [one for one in pod["status"]["conditions"] if one["type"] == kind]
    return found["status"], found.get("message", "")


def changes(pod: dict[str, Any], number: int) -> list[float | None]:
    """When the next changes of the pod come, in seconds since START."""
    times = []
    for _ in range(number):
        at = next_change_at(pod)
        times.append(seconds(at))
        if at is None:
            break
        pod = advanced(pod, at)
    return times


def test_a_container_that_fails_at_once_is_started_ever_later() -> None:
    """At once, after 10 s, 20 s, and so on, five minutes at most."""
    times = [0 if at is None else at for at in changes(running(FAIL), 9)]
    assert [after - before for before, after in pairwise(times)] == [1, 10, 20, 40, 80, 160, 300, 300]


def test_what_is_reported_of_a_container_that_keeps_failing() -> None:
    pod = advanced(running(FAIL, RUN), START)
    assert states(pod) == [("Error", 0, False), ("running", 0, True)]
    assert condition(pod, "Ready") == ("False", "containers with unready status: [c0]")
    pod = advanced(pod, START + SECOND)
    assert states(pod)[0] == ("CrashLoopBackOff", 1, False)
    known = pod["status"]["containerStatuses"][0]
    assert known["state"]["waiting"]["message"] == "back-off 10s restarting failed container=c0 pod=p_ns(u)"
    assert known["lastState"]["terminated"]["exitCode"] == 1
    assert condition(pod, "PodScheduled")[0] == "True"


def test_a_container_that_ends_after_a_while_is_ready_in_between() -> None:
    pod = running(["sleep", "30"])
    assert seconds(next_change_at(pod)) == 30
    pod = advanced(pod, START + 30 * SECOND)
    assert states(pod) == [("Completed", 0, False)]
    pod = advanced(pod, START + 31 * SECOND)
    assert states(pod) == [("running", 1, True)]
    assert condition(pod, "Ready") == ("True", "")
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "Completed"
    assert seconds(next_change_at(pod)) == 61


def test_backoff_of_minutes_is_written_as_such() -> None:
    pod = running(FAIL)
    pod["status"]["containerStatuses"][0]["restartCount"] = 4
    pod = advanced(pod, START)
    assert "back-off 1m20s restarting" in pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"]


def test_a_container_that_is_not_started_again_stays_as_it_ended() -> None:
    pod = advanced(running(["true"], RUN, policy="OnFailure"), START)
    assert states(pod) == [("Completed", 0, False), ("running", 0, True)]
    assert next_change_at(pod) is None


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(running(RUN), id="a command nobody knows"),
        pytest.param(running(FAIL, policy="Never"), id="the pod ends as a whole"),
        pytest.param(running(FAIL, deletionTimestamp=THEN), id="being deleted"),
        pytest.param(running(FAIL, annotations={"bayplan/run-seconds": "5"}), id="annotated"),
        pytest.param(starting(["true"]), id="init containers that succeed"),
        pytest.param(starting(FAIL, policy="Never"), id="init containers that fail for good"),
    ],
)
def test_nothing_happens_of_itself(pod: dict[str, Any]) -> None:
    assert next_change_at(pod) is None


def test_a_pod_waits_while_an_init_container_keeps_failing() -> None:
    pod = starting(["true"], FAIL, ["true"])
    assert seconds(next_change_at(pod)) == 1
    pod = advanced(pod, START + SECOND)
    waiting = ("PodInitializing", 0, False)
    assert states(pod) == [("Completed", 0, True), ("Error", 0, False), waiting, waiting]
    assert pod["status"]["phase"] == "Pending"
    assert condition(pod, "Initialized") == ("False", "containers with incomplete status: [i1 i2]")
    assert condition(pod, "Ready") == ("False", "containers with unready status: [c0]")
    for _ in range(3):
        at = next_change_at(pod)
        assert at is not None
        pod = advanced(pod, at)
    assert states(pod) == [("Completed", 0, True), ("CrashLoopBackOff", 3, False), waiting, waiting]
    assert format_time(next_change_at(pod) or 0) == "2026-01-01T00:01:12Z"
