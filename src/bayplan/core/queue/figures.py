"""What the queue counts for metrics: how many pods came to which place and why, and whom plugins keep from running.

Counts only; names and labels are those of `scheduler_queue_incoming_pods_total` and `scheduler_unschedulable_pods`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from bayplan.core.lifecycle import PLACES, PodState
from bayplan.core.queue.queued_pod import QueuedPod

FORCE_ACTIVATE = "ForceActivate"
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
# Upstream does not have these two.
GATE_OPENED = "GateOpened"
SCOUT_SUCCEEDED = "ScoutSucceeded"


#: Gated pods are kept among the unschedulable ones, and upstream counts them there.
_NAMES = {place: (PodState.UNSCHEDULABLE if place is PodState.GATED else place).value for place in PLACES}


@dataclass(slots=True)
class Figures:
    """incoming: (place, reason) -> entries so far. rejected: (plugin, profile) -> pods that wait because of it."""

    incoming: Counter[tuple[str, ...]] = field(default_factory=Counter)
    rejected: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def came(self, place: PodState, reason: str) -> None:
        self.incoming[_NAMES[place], reason] += 1

    def rejected_by(self, queued: QueuedPod, plugins: tuple[str, ...]) -> None:
        for plugin in plugins:
            self.rejected[plugin, queued.info.scheduler_name] += 1

    def cleared(self, queued: QueuedPod) -> None:
        """No plugin rejects it any more: the pod is tried again, or gone."""
        for plugin in queued.rejectors:
            self.rejected[plugin, queued.info.scheduler_name] -= 1
