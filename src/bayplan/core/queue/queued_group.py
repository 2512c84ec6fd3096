"""What the queue remembers of one pod group while members of it wait for a node.

Its members are tried together, so that it rests in a place with all of them. Plain data, as for a pod; each member
keeps what it remembers for itself. Times are integer nanoseconds of the wall clock.
"""

from __future__ import annotations

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.lifecycle import PodState
from bayplan.core.queue.queued_pod import QueuedPod, Strategy
from bayplan.model.groups import PodGroup
from bayplan.model.structs import Struct, field, replace


class QueuedGroup(Struct, eq=False):
    """One group on its way.

    Attributes:
        group: the PodGroup, as it was last seen.
        number: order of arrival; of two that the queue cannot tell apart the earlier goes first.
        timestamp: when its first member came, or when it last came back from an attempt in vain.
        members: those that wait, in the order in which they are tried.
        unschedulable_count: attempts in vain since the last that placed something.
        consecutive_errors: attempts that ended in an error, since the last that did not.
        backoff_second: whole second up to which the group backs off, once worked out.
        gating_plugin, gating_profile: the plugin that keeps a member, and so all of them, out of the queue, and the
            profile it is of.
        held_back: the wake-up that the gate swallowed.
        spared_until: when the penalty would have ended that was ended early; 0 if it has been tried since.
        flushed_at: when it was last given another chance for its age alone.
    """

    group: PodGroup
    key: str  # namespace/name
    number: int
    timestamp: int
    members: list[QueuedPod] = field(default_factory=list)
    state: PodState = PodState.NEW
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    backoff_second: int | None = None
    spared_until: int = 0
    gating_plugin: str = ""
    gating_profile: str = ""
    held_back: Strategy = Strategy.SKIP
    flushed_at: int = 0
    heap_entry: tuple[int | tuple[int, ...], int, int, QueuedGroup] | None = None  # its place in a heap
    rejectors: tuple[str, ...] = ()  # nobody is blamed: each member has its own

    @property
    def info(self) -> PodInfo:
        """What stands for it in the order of the queue: a member with the priority of the group."""
        return replace(self.members[0].info, priority=self.group.spec.priority or 0)

    @property
    def idle_since(self) -> int:
        """What its age among the gated ones counts from."""
        return self.flushed_at or self.timestamp

    def take_in(self, queued: QueuedPod) -> None:
        """One more member. Those tried more often come first, of others those that came first."""
        self.members.append(queued)
        self.members.sort(key=_turn)

    def note_attempt(self, *, has_placed: bool, has_failed: bool, now: int | None) -> None:
        """Back from an attempt that placed members, or could not, or ended in an error; `now` None: as old as it was.

        Backoff is worked out anew.
        """
        if has_placed:
            self.unschedulable_count = self.consecutive_errors = 0
        elif has_failed:
            self.consecutive_errors += 1
        else:
            self.unschedulable_count += 1
            self.consecutive_errors = 0
        if now is not None:
            self.timestamp = now
        self.backoff_second = None
        self.flushed_at = 0


def _turn(queued: QueuedPod) -> tuple[int, int, int, int]:
    return -queued.info.priority, -queued.attempts, queued.timestamp, queued.turn
