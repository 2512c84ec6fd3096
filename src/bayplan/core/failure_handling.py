"""What is done about a failed attempt: the pod goes back to the queue, and an event and its condition say why.

A pod that plugins rejected waits for what may help it; one whose attempt ended in an error, with no plugin to blame, is
tried again after a backoff of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.actions import Emit, SetCondition
from bayplan.core.decision import Decision, Outcome
from bayplan.core.diagnosis import NO_NODES, Diagnosis
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.queue import SchedulingQueue
from bayplan.core.queue.queued_pod import QueuedPod

#: Reasons of the condition PodScheduled.
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
#: Longest note of an event; the rest is cut.
NOTE_BYTES_MAX = 1024


class FailureHandler:
    """Sends pods back to one queue."""

    def __init__(self, queue: SchedulingQueue) -> None:
        self._queue = queue

    def unschedulable(self, queued: QueuedPod, diagnosis: Diagnosis, nominated: str | None, now: int) -> Decision:
        """Nothing fits; `nominated` is the node kept for the pod ("": none, None: the one it has)."""
        message, rejectors = diagnosis
        if message == NO_NODES:  # to upstream an error: the pod backs off
            rejectors, nominated = (), ""
        return self._send_back(queued, UNSCHEDULABLE, message, rejectors, nominated, now)

    def failed(self, queued: QueuedPod, status: Status, node: str, now: int) -> Decision:
        """A plugin rejected the pod on its node, or the attempt ended in an error."""
        if status.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE):
            message = f"0/1 nodes are available: 1 {status.message}."
            rejectors = (status.plugin,) if status.plugin else ()
            return self._send_back(queued, UNSCHEDULABLE, message, rejectors, "", now, node)
        return self._send_back(queued, SCHEDULER_ERROR, status.message, (), "", now, node)

    def _send_back(
        self,
        queued: QueuedPod,
        reason: str,
        message: str,
        rejectors: Sequence[str],
        nominated: str | None,
        now: int,
        node: str = "",
    ) -> Decision:
        self._queue.return_failed(queued, rejectors, (), now)
        self._queue.nominate(queued, nominated, now)
        actions = (
            failed_event(queued, message),
            SetCondition(queued.key, queued.info.uid, reason, message, nominated),
        )
        outcome = Outcome.UNSCHEDULABLE if reason == UNSCHEDULABLE else Outcome.ERROR
        return Decision(queued.key, outcome, node, message, actions=actions)


def failed_event(queued: QueuedPod, message: str) -> Emit:
    return Emit(queued.key, queued.info.uid, "Warning", "FailedScheduling", "Scheduling", _cut(message))


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= NOTE_BYTES_MAX:
        return note
    return data[: NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
