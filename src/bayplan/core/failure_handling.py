"""What is done about a failed attempt: the pod goes back to the queue, and an event and its condition say why.

A pod that plugins rejected waits for what may help it; one whose attempt ended in an error, with no plugin to blame, is
tried again after a backoff of its own.
"""

from __future__ import annotations

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
CHARACTER_BYTES_MAX = 4


def return_unschedulable(
    queue: SchedulingQueue, queued: QueuedPod, diagnosis: Diagnosis, nominated: str | None, now: int
) -> Decision:
    """Nothing fits; `nominated` is the node kept for the pod ("": none, None: the one it has)."""
    message, rejectors = diagnosis
    if message == NO_NODES:  # to upstream an error: the pod backs off
        rejectors, nominated = (), ""
    queue.return_failed(queued, rejectors, (), now)
    queue.nominate(queued, nominated, now)
    return _refusal(queued, message, nominated)


def return_refused_again(
    queue: SchedulingQueue, queued: QueuedPod, diagnosis: Diagnosis, nominated: str | None, now: int
) -> Decision:
    """A pod that no node is kept for goes back, and is told what an identical pod was told before it."""
    message, rejectors = diagnosis
    queue.return_refused(queued, rejectors, now)
    return _refusal(queued, message, nominated)


def _refusal(queued: QueuedPod, message: str, nominated: str | None) -> Decision:
    """The decision that the pod was given the last time, if that said the same."""
    refusal = queued.refusal
    # All else that the pod is told is its own name and uid.
    if refusal is None or queued.nominated_in_refusal != nominated or refusal.message != message:
        refusal = queued.refusal = _decision(queued, Outcome.UNSCHEDULABLE, "", message, nominated)
        queued.nominated_in_refusal = nominated
    return refusal


def return_failed(queue: SchedulingQueue, queued: QueuedPod, status: Status, node: str, now: int) -> Decision:
    """A plugin rejected the pod on its node, or the attempt ended in an error."""
    is_rejected = status.code in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE)
    queue.return_failed(queued, (status.plugin,) if is_rejected and status.plugin else (), (), now)
    queue.nominate(queued, "", now)
    if is_rejected:
        return _decision(queued, Outcome.UNSCHEDULABLE, node, f"0/1 nodes are available: 1 {status.message}.", "")
    return _decision(queued, Outcome.ERROR, node, status.message, "")


def return_member(
    queue: SchedulingQueue,
    queued: QueuedPod,
    reason: str,
    message: str,
    rejectors: tuple[str, ...],
    nominated: str | None,
    now: int,
) -> Decision:
    """A member of a group got no node, for reasons of its own or of the group."""
    queue.return_failed(queued, rejectors, (), now)
    queue.nominate(queued, nominated, now)
    outcome = Outcome.UNSCHEDULABLE if reason == UNSCHEDULABLE else Outcome.ERROR
    return _decision(queued, outcome, "", message, nominated)


def failed_decision(queued: QueuedPod, message: str) -> Decision:
    """For a pod whose attempt ended in an error and which is back in the queue already."""
    return _decision(queued, Outcome.ERROR, "", message, None)


def _decision(queued: QueuedPod, outcome: Outcome, node: str, message: str, nominated: str | None) -> Decision:
    reason = UNSCHEDULABLE if outcome is Outcome.UNSCHEDULABLE else SCHEDULER_ERROR
    condition = SetCondition(queued.key, queued.info.uid, reason, message, nominated)
    return Decision(queued.key, outcome, node, message, actions=(failed_event(queued, message), condition))


def failed_event(queued: QueuedPod, message: str) -> Emit:
    return Emit(queued.key, queued.info.uid, "Warning", "FailedScheduling", "Scheduling", cut_note(message))


def cut_note(note: str) -> str:
    """What an event says of it."""
    if len(note) <= NOTE_BYTES_MAX // CHARACTER_BYTES_MAX:
        return note
    data = note.encode()
    if len(data) <= NOTE_BYTES_MAX:
        return note
    return data[: NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
