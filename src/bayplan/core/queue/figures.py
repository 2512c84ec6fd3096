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
    """incoming: (place, reason) -> entries so far."""

    incoming: Counter[tuple[str, ...]] = field(default_factory=Counter)
    #: (plugins, profile) -> how often they have come to reject a pod together, less how often they have ceased to. Two
    #: that came one after the other may cease together, so that only sums over all entries with a plugin say something.
    _rejected: dict[tuple[tuple[str, ...], str], int] = field(default_factory=dict)

    @property
    def rejected(self) -> Counter[tuple[str, ...]]:
        """(plugin, profile) -> pods that wait because of it."""
        by_plugin: Counter[tuple[str, ...]] = Counter()
        for (plugins, profile), count in self._rejected.items():
            for plugin in plugins:
                by_plugin[plugin, profile] += count
        return by_plugin

    def came(self, place: PodState, reason: str) -> None:
        self.incoming[_NAMES[place], reason] += 1

    def rejected_by(self, queued: QueuedPod, plugins: tuple[str, ...]) -> None:
        key = (plugins, queued.info.scheduler_name)
        self._rejected[key] = self._rejected.get(key, 0) + 1

    def cleared(self, queued: QueuedPod) -> None:
        """No plugin rejects it any more: the pod is tried again, or gone."""
        if queued.rejectors:
            key = (queued.rejectors, queued.info.scheduler_name)
            self._rejected[key] = self._rejected.get(key, 0) - 1
