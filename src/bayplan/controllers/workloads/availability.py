"""When a pod counts as available: once it has been ready for as long as its owner asks."""

from __future__ import annotations

from bayplan.model.conditions import ready_since
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time


def available_at(pod: Pod, min_ready_seconds: int) -> int | None:
    """The time from which the pod is available, if it stays ready; None while it is not ready."""
    since = ready_since(pod)
    if since is None:
        return None
    return parse_time(since) + min_ready_seconds * SECOND if min_ready_seconds and since else 0
