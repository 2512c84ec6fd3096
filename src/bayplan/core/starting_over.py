"""What is kept of the past when a scheduler has to start over because its memory can no longer be trusted.

Takes the pods that waited or were on their way; gives each of them back with its attempts and its backoff, so that
a pod that fails again and again is not tried all the time. Where pods are parked, which answers are remembered and what
is reserved in memory is left behind, as it would be in a new process: everything pending is tried again.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.actions import Action, Bind, WriteVolumes
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.decision import Decision
from bayplan.core.failure_handling import failed_decision
from bayplan.core.queue.nominations import Nominations
from bayplan.core.queue.queued_pod import QueuedPod, identity_of
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod


class Past:
    """What pods have been through."""

    def __init__(
        self,
        pods: Iterable[QueuedPod],
        nominations: Nominations,
        outbox: Iterable[Action],
        interrupted: QueuedPod | None,
        now: int,
    ) -> None:
        """`interrupted` is the pod whose attempt could not be finished, which counts as an error of that attempt."""
        self._interrupted = interrupted
        if interrupted is not None:
            interrupted.note_failure((), (), now)
            pods = (*pods, interrupted)
        self._pods = {identity_of(queued.info): queued for queued in pods}
        self._next_number = 1 + max((queued.number for queued in self._pods.values()), default=0)
        self._nodes_kept = {identity: nominations.node_of(queued.info) for identity, queued in self._pods.items()}
        self.outbox = [action for action in outbox if not isinstance(action, Bind | WriteVolumes)]
        """What was to be done because of something observed. Pods that were about to be bound are tried again."""

    def decision(self, message: str) -> Decision | None:
        """What the attempt that could not be finished comes to; None if there was none."""
        return None if self._interrupted is None else failed_decision(self._interrupted, message)

    def number(self, obj: Object) -> int:
        """By this, pods are restored in the order in which they arrived."""
        queued = self._pods.get(obj.metadata.uid or f"{obj.metadata.namespace}/{obj.metadata.name}")
        return self._next_number if queued is None else queued.number

    def queued(self, pod: Pod, info: PodInfo, number: int, now: int) -> QueuedPod:
        """The pod, with what it has been through."""
        before = self._pods.get(identity_of(info))
        if before is None:
            return QueuedPod(pod, info, number, timestamp=now)
        return QueuedPod(
            pod,
            info,
            number,
            timestamp=before.timestamp,
            attempts=before.attempts,
            initial_attempt_at=before.initial_attempt_at,
            unschedulable_count=before.unschedulable_count,
            consecutive_errors=before.consecutive_errors,
            rejectors=before.rejectors,
        )

    def node_kept_for(self, info: PodInfo) -> str:
        """The node that was kept for the pod, or that its status names."""
        return self._nodes_kept.get(identity_of(info)) or info.nominated_node_name
