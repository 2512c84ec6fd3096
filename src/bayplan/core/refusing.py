"""Sending a pod back: to the queue, and to the world with the reason why.

A pod that was refused by plugins waits for what may help it; one that met an error, for which nobody can be blamed,
is tried again after a backoff of its own. Either way an event and the pod's condition say what happened.
"""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.core.actions import Action, Emit, SetCondition
from bayplan.core.diagnosis import NO_NODES
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.queue import QueuedPod, SchedulingQueue
from bayplan.model.structs import Struct

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
#: Longest note of an event; the rest is cut.
NOTE_BYTES_MAX = 1024


class Decision(Struct, frozen=True):
    """What one call of `decide` came to."""

    pod: str  # namespace/name, "" when only the outbox was emptied
    outcome: str  # assumed, waiting, nominated, unschedulable, error, skipped, or "" with no pod
    node: str = ""
    message: str = ""
    victims: tuple[str, ...] = ()
    actions: tuple[Action, ...] = ()


class Refusing:
    """Sends pods back to one queue."""

    def __init__(self, queue: SchedulingQueue) -> None:
        self._queue = queue

    def refuse(
        self, record: QueuedPod, message: str, rejectors: Sequence[str], nominated: str | None, now: int
    ) -> Decision:
        """Send the pod back, and tell the world."""
        error = message == NO_NODES
        self._queue.return_failed(record, () if error else rejectors, (), now)
        self._queue.nominate(record, "" if error else nominated, now)
        actions = (
            failed_event(record, message),
            SetCondition(record.key, record.info.uid, UNSCHEDULABLE, message, "" if error else nominated),
        )
        return Decision(record.key, "unschedulable", message=message, actions=actions)

    def fail(self, record: QueuedPod, status: Status, node: str, now: int) -> Decision:
        """Send the pod back: rejected by a plugin, or by an error that nobody can be blamed for."""
        rejected = status.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)
        message = f"0/1 nodes are available: 1 {status.message}." if rejected else status.message
        self._queue.return_failed(record, (status.plugin,) if rejected and status.plugin else (), (), now)
        self._queue.nominate(record, "", now)
        reason = UNSCHEDULABLE if rejected else SCHEDULER_ERROR
        actions = (
            failed_event(record, message),
            SetCondition(record.key, record.info.uid, reason, message, ""),
        )
        return Decision(record.key, "unschedulable" if rejected else "error", node, message, actions=actions)


def failed_event(record: QueuedPod, message: str) -> Emit:
    return Emit(record.key, record.info.uid, "Warning", "FailedScheduling", "Scheduling", _cut(message))


def _cut(note: str) -> str:
    data = note.encode()
    if len(data) <= NOTE_BYTES_MAX:
        return note
    return data[: NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
