"""When a pod counts as available: once it has been ready for as long as its owner asks."""

from __future__ import annotations

from bayplan.controllers.conditions import TRUE, find_condition
from bayplan.model.pod import Pod
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import READY


def available_at(pod: Pod, min_ready_seconds: int) -> int | None:
    """The time from which the pod is available, if it stays ready; None while it is not ready."""
    condition = find_condition(pod.status.conditions, READY)
    if condition is None or condition.status != TRUE:
        return None
    if min_ready_seconds == 0 or not condition.last_transition_time:
        return 0
    return parse_time(condition.last_transition_time) + min_ready_seconds * SECOND
