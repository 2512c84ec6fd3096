"""Rows of pods: ready containers, the one word for a pod's state, restarts.

The state is not stored anywhere: it follows from phase, reason, conditions and the containers' states, whichever says
most. Init containers that keep running (sidecars) count as containers once they have started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.tables.ages import age, since
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, wide
from bayplan.apiserver.tables.wording import NONE, is_true
from bayplan.model.well_known import POD_SCHEDULED, READY, SCHEDULING_GATED

_Status = Mapping[str, Any]
_COMPLETED, _TERMINATING = "Completed", "Terminating"
_TERMINAL = ("Succeeded", "Failed")

COLUMNS = (
    NAME,
    Column("Ready", "Containers that are ready, of how many."),
    Column("Status", "State of the pod in one word."),
    Column("Restarts", "How often containers were restarted, and when the last time was."),
    AGE,
    wide("IP", "Address of the pod."),
    wide("Node", "Node that the pod is bound to."),
    wide("Nominated Node", "Node that is being cleared for the pod by preemption."),
    wide("Readiness Gates", "Further conditions for the pod to be ready: those that hold, of how many."),
)


class _Summary:
    """What is gathered from the containers of one pod."""

    __slots__ = ("last_restart", "ready_count", "reason", "restarts")

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.ready_count = 0
        self.restarts = 0
        self.last_restart = ""
        """RFC 3339 in UTC and whole seconds, so later times are larger texts."""

    def count_restarts(self, container: _Status) -> None:
        self.restarts += container.get("restartCount") or 0
        terminated = (container.get("lastState") or {}).get("terminated")
        if terminated is not None:
            self.last_restart = max(self.last_restart, terminated.get("finishedAt") or "")


def pod_cells(pod: Document, now: int) -> Cells:
    """Upstream: printPod in printers/internalversion/printers.go (v1.36)."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    metadata = pod["metadata"]
    summary = _summary(spec, status)
    total = len(spec.get("containers") or ())
    if "initContainers" in spec:
        total += sum(container.get("restartPolicy") == "Always" for container in spec["initContainers"])
    return [
        metadata.get("name", ""),
        f"{summary.ready_count}/{total}",
        _state_of_deleted(status) or summary.reason if metadata.get("deletionTimestamp") else summary.reason,
        _restarts(summary, now),
        age(pod, now),
        _address(status),
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _summary(spec: _Status, status: _Status) -> _Summary:
    summary = _Summary(_first_reason(status))
    init_statuses = status.get("initContainerStatuses")
    if not init_statuses:
        _add_containers(summary, status)
        return summary
    sidecars = {item["name"] for item in spec.get("initContainers") or () if item.get("restartPolicy") == "Always"}
    of_sidecars = _Summary("")
    waiting = _add_init_containers(summary, of_sidecars, init_statuses, sidecars, len(spec.get("initContainers") or ()))
    if not waiting or is_true(status.get("conditions"), "Initialized"):
        # Restarts of init containers that are done no longer matter.
        summary.restarts, summary.last_restart = of_sidecars.restarts, of_sidecars.last_restart
        _add_containers(summary, status)
    return summary


def _first_reason(status: _Status) -> str:
    """What is shown unless a container says more."""
    for condition in status.get("conditions") or ():
        if condition.get("reason") == SCHEDULING_GATED and condition.get("type") == POD_SCHEDULED:
            return SCHEDULING_GATED
    return status.get("reason") or status.get("phase") or ""


def _add_init_containers(
    summary: _Summary, of_sidecars: _Summary, statuses: list[_Status], sidecars: set[str], total: int
) -> bool:
    """Up to the first one that the pod still waits for, and whether there is one."""
    for position, container in enumerate(statuses):
        is_sidecar = container.get("name") in sidecars
        summary.count_restarts(container)
        if is_sidecar:
            of_sidecars.count_restarts(container)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if is_sidecar and container.get("started"):
            summary.ready_count += bool(container.get("ready"))
            continue
        summary.reason = f"Init:{_init_reason(state) or f'{position}/{total}'}"
        return True
    return False


def _init_reason(state: _Status) -> str:
    terminated, waiting = state.get("terminated"), state.get("waiting")
    if terminated is not None:
        return _terminated_reason(terminated)
    reason: str = (waiting or {}).get("reason", "")
    return "" if reason == "PodInitializing" else reason


def _terminated_reason(terminated: _Status) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _add_containers(summary: _Summary, status: _Status) -> None:
    is_running, failure = False, ""
    for container in reversed(status.get("containerStatuses") or ()):
        summary.count_restarts(container)
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            summary.reason = waiting["reason"]
        elif terminated is not None:
            summary.reason = _terminated_reason(terminated)
            if terminated.get("exitCode"):
                failure = summary.reason
        elif container.get("ready") and state.get("running") is not None:
            is_running = True
            summary.ready_count += 1
    if summary.reason == _COMPLETED:
        summary.reason = _reason_of_completed(status, failure, is_running=is_running)


def _reason_of_completed(status: _Status, failure: str, *, is_running: bool) -> str:
    """One container is done: what the others do says more."""
    if is_running and is_true(status.get("conditions"), READY):
        return "Running"
    return failure or ("NotReady" if is_running else _COMPLETED)


def _state_of_deleted(status: _Status) -> str:
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in _TERMINAL else _TERMINATING


def _restarts(summary: _Summary, now: int) -> str:
    if summary.restarts and summary.last_restart:
        return f"{summary.restarts} ({since(summary.last_restart, now)} ago)"
    return str(summary.restarts)


def _address(status: _Status) -> str:
    addresses = status.get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or NONE


def _readiness_gates(spec: _Status, status: _Status) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    conditions = status.get("conditions")
    return f"{sum(is_true(conditions, gate.get('conditionType', '')) for gate in gates)}/{len(gates)}"


def _row_conditions(pod: Document) -> list[dict[str, Any]] | None:
    phase = (pod.get("status") or {}).get("phase")
    if phase not in _TERMINAL:
        return None
    message = "The pod has completed successfully." if phase == "Succeeded" else "The pod failed."
    return [{"type": _COMPLETED, "status": "True", "reason": phase, "message": message}]


PODS = Printer(COLUMNS, pod_cells, _row_conditions)
