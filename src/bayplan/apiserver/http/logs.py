"""`kubectl logs`: what happened to a container, in place of what it would have written.

No container runs, so there is no output; the text says so, and when the container started, ended and was restarted, as
its pod's status has it. Which container is meant, and what is refused, is as in the real server. A client that follows
gets what there is, and the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.http.accepting import Form
from bayplan.apiserver.http.requests import Answer, Request
from bayplan.apiserver.http.routing import Target
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.entries import Document
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.store.errors import BadRequest, InternalError

_TEXT: Final = "text/plain"
_FIELDS: Final = {
    "initContainers": "initContainerStatuses",
    "containers": "containerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}


def read_log(registry: Registry, request: Request, target: Target, form: Form, now: int) -> Answer:  # noqa: ARG001
    """GET of a pod's log."""
    pod = registry.entry(target.resource, target.namespace, target.name).document
    name, field = _container(pod, request.query.get("container", ""))
    node_name = pod["spec"].get("nodeName")
    if not node_name:
        return Answer(200, b"", _TEXT)
    node = registry.storage.find("nodes", "", node_name)
    if node is not None and not node.document.get("status", {}).get("addresses"):
        # The words of a real server that does not know how to reach the kubelet.
        raise InternalError("no preferred addresses found; known addresses: []")
    statuses = pod.get("status", {}).get(_FIELDS[field]) or ()
    known: Document = next((status for status in statuses if status["name"] == name), {})
    lines = [*_lines(pod, name, known, is_previous=request.flag("previous"))]
    return Answer(200, _selected(lines, request, now).encode(), _TEXT)


def _container(pod: Document, asked: str) -> tuple[str, str]:
    """The name of the container that is meant, and the field that it is in."""
    # Upstream: pkg/registry/core/pod/strategy.go validateContainer (v1.36).
    spec, pod_name = pod["spec"], pod["metadata"]["name"]
    names = {field: [one["name"] for one in spec.get(field) or ()] for field in _FIELDS}
    if not asked:
        if len(names["containers"]) == 1:
            return names["containers"][0], "containers"
        choices = " ".join(name for known in names.values() for name in known)
        raise BadRequest(f"a container name must be specified for pod {pod_name}, choose one of: [{choices}]")
    for field, known in names.items():
        if asked in known:
            return asked, field
    raise BadRequest(f"container {asked} is not valid for pod {pod_name}")


def _lines(pod: Document, name: str, known: Document, *, is_previous: bool) -> Iterator[tuple[str, str]]:
    """Times, and what happened then."""
    state, last = known.get("state") or {}, known.get("lastState") or {}
    pod_name, spec = pod["metadata"]["name"], pod["spec"]
    if is_previous:
        if "terminated" not in last:
            raise BadRequest(f'previous terminated container "{name}" in pod "{pod_name}" not found')
        state, last = last, {}
    elif "waiting" in state and "terminated" in last:
        state, last = last, {}  # as a kubelet does: what the container wrote before it had to wait
    if "running" not in state and "terminated" not in state:
        reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
        raise BadRequest(f'container "{name}" in pod "{pod_name}" is waiting to start: {reason}')
    ended, running = state.get("terminated") or {}, state.get("running") or {}
    started = ended.get("startedAt") or running.get("startedAt", "")
    image = f"image {known['image']} was" if known.get("image") else "nothing was"
    yield started, f"container {name} started on {spec['nodeName']} (simulated: {image} not run)"
    if known.get("restartCount") and not is_previous:
        yield started, f"container {name} was restarted {known['restartCount']} times"
    if ended:
        text = f"container {name} ended: {ended.get('reason', '')}, exit code {ended.get('exitCode', 0)}"
        yield ended.get("finishedAt", started), text
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
            yield condition.get("lastTransitionTime", started), f"pod {pod_name}: {condition.get('message', '')}"
    if "deletionTimestamp" in pod["metadata"]:
        yield pod["metadata"]["deletionTimestamp"], f"pod {pod_name} is being deleted"


def _selected(lines: list[tuple[str, str]], request: Request, now: int) -> str:
    """As much as was asked for."""
    seconds, tail, size = (request.number(name) for name in ("sinceSeconds", "tailLines", "limitBytes"))
    earliest = _since(request) if seconds is None else now - seconds * SECOND
    if earliest is not None:
        lines = [(time, text) for time, text in lines if time and parse_time(time) >= earliest]
    if tail is not None:
        lines = lines[max(0, len(lines) - tail) :]
    shown = request.flag("timestamps")
    written = "".join(f"{time} {text}\n" if shown else f"{text}\n" for time, text in lines)
    return written if size is None else written[:size]


def _since(request: Request) -> int | None:
    text = request.query.get("sinceTime", "")
    try:
        return parse_time(text) if text else None
    except ValueError as error:
        raise BadRequest(str(error)) from None
