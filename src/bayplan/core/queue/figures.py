"""What the queue counts for metrics: how many pods came to which place and why, and whom plugins keep from running.

Counts only; names and labels are those of `scheduler_queue_incoming_pods_total` and `scheduler_unschedulable_pods`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from bayplan.core.lifecycle import PLACES, PodState
from bayplan.core.queue.queued_pod import QueuedPod

FORCE_ACTIVATE = "ForceActivate"
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF = "PopFromBackoffQ"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"
# Upstream does not have these.
GATE_OPENED = "GateOpened"
AFTER_SCOUT = "AfterScout"
GROUP_GONE = "PodGroupDelete"
HELPED = "GroupHelped"


#: Gated pods are kept among the unschedulable ones, and upstream counts them there.
NAMES = {place: (PodState.UNSCHEDULABLE if place is PodState.GATED else place).value for place in PLACES}


@dataclass(slots=True)
class Figures:
    """incoming: (place, reason) -> entries so far, of pods; of those that belong to a group; of groups.

    spared_ns: how much longer groups would have waited, had no penalty been ended early.
    """

    resting: Mapping[str, QueuedPod]  # all that wait, as the queue keeps them
    incoming: Counter[tuple[str, ...]] = field(default_factory=Counter)
    incoming_members: Counter[tuple[str, ...]] = field(default_factory=Counter)
    incoming_groups: Counter[tuple[str, ...]] = field(default_factory=Counter)
    spared_ns: int = 0
    #: Plugins that have rejected a pod together, and its profile.
    rejecting: dict[tuple[tuple[str, ...], str], None] = field(default_factory=dict)

    def go_on(self, past: Figures) -> None:
        """Count on from there."""
        self.incoming, self.incoming_members = past.incoming, past.incoming_members
        self.incoming_groups, self.spared_ns = past.incoming_groups, past.spared_ns

    @property
    def rejected(self) -> Counter[tuple[str, ...]]:
        """(plugin, profile) -> pods that wait because of it; 0 where there were some before."""
        by_plugin: Counter[tuple[str, ...]] = Counter()
        for plugins, profile in list(self.rejecting):  # others may be at work meanwhile
            for plugin in plugins:
                by_plugin[plugin, profile] = 0
        for queued in list(self.resting.values()):
            for plugin in queued.rejectors:
                by_plugin[plugin, queued.info.scheduler_name] += 1
        return by_plugin
