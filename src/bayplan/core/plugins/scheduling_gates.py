"""SchedulingGates: a pod waits outside the queue until its last gate is taken away.

Looks at the pod alone. Nobody here removes gates; whoever set them does, and that is all that helps.
Upstream: plugins/schedulinggates/scheduling_gates.go (v1.36).
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.verdict import SUCCESS, Status, unresolvable
from bayplan.core.plugins.requeue_rules import after_own_update, on


class SchedulingGates:
    """PreEnqueue: the pod has no gates."""

    name: ClassVar[str] = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = pod.shape.spec.scheduling_gates
        if not gates:
            return SUCCESS
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (on(EventResource.POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, after_own_update),)
