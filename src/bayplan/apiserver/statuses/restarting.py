"""Containers that end and are started again while their pod goes on, and init containers that keep failing.

Takes pods as documents whose containers' commands say how they end; gives when a container ends or starts next, and the
pod after that, as a kubelet reports it: CrashLoopBackOff after a container has ended twice, from 10 s, twice as long
each time, up to 5 minutes. Pods that end by themselves are not looked at here: the kubelet ends them as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from bayplan.apiserver.statuses.commands import ProcessEnd, initialization_of, is_restarted, outcome_of, pod_outcome
from bayplan.apiserver.statuses.pods import (
    container_id_of,
    dated,
    initialized,
    terminated,
    waiting_status,
)
from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.nodes.kubelet import RUN_SECONDS
from bayplan.model.conditions import FALSE, TRUE
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.well_known import READY

# Upstream: pkg/kubelet/kubelet.go MaxContainerBackOff and backOffPeriod, kuberuntime_manager.go doBackOff (v1.36).
_BACKOFF_MIN_NS: Final = 10 * SECOND
_BACKOFF_MAX_NS: Final = 5 * MINUTE
#: How long a kubelet takes to see that a container has ended, and to start it for the first time.
_NOTICED_NS: Final = SECOND
#: Such an annotation says how long the pod runs as a whole.
_RUN_SECONDS: Final = RUN_SECONDS[RUN_SECONDS.index("/") :]


class _Course(NamedTuple):
    """A container that ends, and where its status is."""

    field: str
    container: Document
    outcome: ProcessEnd
    is_restarted: bool


def next_change_at(pod: Document) -> int | None:
    """When a container of the pod ends or starts again; None if none does."""
    status = pod.get("status") or {}
    meta = pod["metadata"]
    is_annotated = any(key.endswith(_RUN_SECONDS) for key in meta.get("annotations") or ())
    if is_annotated or "deletionTimestamp" in meta or not pod["spec"].get("nodeName"):
        return None
    times = (_changes_at(pod, course, _status_of(status, course)) for course in _courses(pod))
    return min((at for at in times if at is not None), default=None)


def advanced(pod: Document, now: int) -> Document:
    """The pod after what is due by now."""
    status = pod.get("status") or {}
    is_starting = status.get("phase") == "Pending"
    for course in _courses(pod):
        known = _status_of(status, course)
        at = _changes_at(pod, course, known)
        if at is not None and at <= now:
            status = _with_status(pod, status, course, _next_status(pod, course, known, now))
    conditions = _conditions(pod, status, format_time(now), is_starting=is_starting)
    return {**pod, "status": {**status, "conditions": conditions}}


def _courses(pod: Document) -> Iterator[_Course]:
    spec, phase = pod["spec"], (pod.get("status") or {}).get("phase")
    if phase == "Pending":
        initialization = initialization_of(pod)
        failing = initialization.exit_codes if initialization is not None and initialization.is_repeated else {}
        for container in spec.get("initContainers") or ():
            outcome = outcome_of(container)
            if container["name"] in failing and outcome is not None:
                yield _Course("initContainerStatuses", container, outcome, is_restarted=True)
    elif phase == "Running" and pod_outcome(pod) is None:
        for container in spec.get("containers") or ():
            outcome = outcome_of(container)
            if outcome is not None:
                again = is_restarted(container, outcome.exit_code, spec.get("restartPolicy", "Always"))
                yield _Course("containerStatuses", container, outcome, again)


def _status_of(status: Document, course: _Course) -> Document:
    named = (known for known in status.get(course.field) or () if known["name"] == course.container["name"])
    return next(named, {})


def _changes_at(pod: Document, course: _Course, known: Document) -> int | None:
    state, last = known.get("state") or {}, known.get("lastState") or {}
    if "running" in state:
        return parse_time(state["running"]["startedAt"]) + round(course.outcome.seconds * SECOND)
    if not known:
        return _scheduled_at(pod) + _NOTICED_NS
    if not course.is_restarted:
        return None
    if "terminated" in state:
        return parse_time(state["terminated"]["finishedAt"]) + _NOTICED_NS
    if "terminated" in last:
        return parse_time(last["terminated"]["finishedAt"]) + _backoff_ns(known)
    return None


def _scheduled_at(pod: Document) -> int:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    times = (known.get("lastTransitionTime") for known in conditions if known["type"] == "PodScheduled")
    return parse_time(next(times, None) or pod["metadata"]["creationTimestamp"])


def _backoff_ns(known: Document) -> int:
    restarts: int = known.get("restartCount", 0)
    return min(_BACKOFF_MIN_NS << min(restarts - 1, 16), _BACKOFF_MAX_NS)


def _next_status(pod: Document, course: _Course, known: Document, now: int) -> Document:
    """Of the container, which ends, or starts, or both if it does not run for any time."""
    time = format_time(now)
    state = known.get("state") or {}
    if "running" in state:
        return _ended(pod, course, known, state["running"]["startedAt"], time)
    started = {
        **waiting_status(course.container),
        **known,
        "state": {"running": {"startedAt": time}},
        "lastState": {"terminated": state["terminated"]} if "terminated" in state else known.get("lastState") or {},
        "ready": course.field == "containerStatuses",
        "started": True,
        "restartCount": known["restartCount"] + 1 if known else 0,
        "containerID": container_id_of(pod, course.container),
    }
    return started if course.outcome.seconds else _ended(pod, course, started, time, time)


def _ended(pod: Document, course: _Course, known: Document, started: str, time: str) -> Document:
    over = {"terminated": terminated(course.outcome.exit_code, started, time, container_id_of(pod, course.container))}
    made = {**known, "state": over, "ready": False, "started": False}
    if not course.is_restarted or not known.get("restartCount"):
        return made
    meta, name = pod["metadata"], course.container["name"]
    seconds = _backoff_ns(known) // SECOND
    wait = f"{seconds // 60}m{seconds % 60}s" if seconds >= 60 else f"{seconds}s"
    where = f"{meta['name']}_{meta.get('namespace', '')}({meta['uid']})"
    message = f"back-off {wait} restarting failed container={name} pod={where}"
    return {**made, "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}}, "lastState": over}


def _with_status(pod: Document, status: Document, course: _Course, made: Document) -> Document:
    """The pod's status with that of the container; those that nothing was said of yet wait, or are done."""
    result = dict(status)
    fields = {"initContainers": "initContainerStatuses", "containers": "containerStatuses"}
    for of_spec, field in fields.items():
        containers = pod["spec"].get(of_spec) or ()
        if not containers:
            continue
        known = {one["name"]: one for one in status.get(field) or ()}
        if field == course.field:
            known[made["name"]] = made
        names = [container["name"] for container in containers]
        before = names[: names.index(made["name"])] if field == course.field == "initContainerStatuses" else ()
        result[field] = [
            known.get(container["name"]) or _first_status(pod, container, made, is_done=container["name"] in before)
            for container in containers
        ]
    return result


def _first_status(pod: Document, container: Document, other: Document, *, is_done: bool) -> Document:
    """Of a container that comes after the other one, or before it and is done, or goes on beside what follows."""
    if not is_done:
        return waiting_status(container)
    state = other["state"].get("terminated") or other["state"].get("running") or {}
    time = state["startedAt"]
    container_id = container_id_of(pod, container)
    is_sidecar = container.get("restartPolicy") == "Always"
    made = {"running": {"startedAt": time}} if is_sidecar else {"terminated": terminated(0, time, time, container_id)}
    said = {"state": made, "ready": True, "started": is_sidecar, "containerID": container_id}
    return {**waiting_status(container), **said}


def _conditions(pod: Document, status: Document, time: str, *, is_starting: bool) -> list[Document]:
    """A kubelet's conditions, given what containers do."""
    inits = [container["name"] for container in pod["spec"].get("initContainers") or ()] if is_starting else []
    ready_inits = {one["name"] for one in status.get("initContainerStatuses") or () if one["ready"]}
    unready = [one["name"] for one in status.get("containerStatuses") or () if not one["ready"]]
    said: Document = {"status": TRUE}
    if unready:
        message = f"containers with unready status: [{' '.join(unready)}]"
        said = {"status": FALSE, "reason": "ContainersNotReady", "message": message}
    wanted = [
        {"type": "PodReadyToStartContainers", "status": TRUE},
        initialized([name for name in inits if name not in ready_inits]),
        {"type": READY, **said},
        {"type": "ContainersReady", **said},
    ]
    standing = {known["type"]: known for known in status.get("conditions") or ()}
    made = [dated(condition, standing.pop(condition["type"], None), time) for condition in wanted]
    return [*made, *standing.values()]
