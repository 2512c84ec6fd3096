"""What the queue remembers of one pod between its first sight and its binding.

Plain data, plus the one way to change the state. Times are integer nanoseconds of the wall clock. Plugin names are kept
as sorted tuples, as they are compared and iterated but never changed in place.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.lifecycle import PodState, assert_move
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct


class Strategy(IntEnum):
    """What a cluster event is worth to a pod; the larger wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class QueuedPod(Struct, eq=False):
    """One pod on its way.

    Attributes:
        number: order of arrival; of two pods that the queue cannot tell apart the earlier goes first.
        timestamp: when the queued was made or the pod last came back from a failed attempt. Moves leave it alone.
        initial_attempt_at: first entry into the active place.
        unschedulable_count: returns with a plugin to blame.
        consecutive_errors: returns without one since the last with one.
        backoff_second: whole second up to which the pod backs off, once worked out.
        rejectors: plugins that rejected it in its last attempt, or keep it out of the queue.
        pending_plugins: those of the rejectors that wait for something and, when it comes, want no backoff.
        gating_plugin: the plugin that keeps it out of the queue.
        held_back: the wake-up that the gate swallowed. A pod becomes gated only on its way into the queue.
        was_flushed, flushed_at: it was given another chance for its age alone.
    """

    pod: Pod
    info: PodInfo
    number: int
    timestamp: int
    state: PodState = PodState.NEW
    attempts: int = 0
    initial_attempt_at: int | None = None
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    backoff_second: int | None = None
    rejectors: tuple[str, ...] = ()
    pending_plugins: tuple[str, ...] = ()
    gating_plugin: str = ""
    held_back: Strategy = Strategy.SKIP
    was_flushed: bool = False
    flushed_at: int = 0
    key: str = ""  # namespace/name

    def __post_init__(self) -> None:
        self.key = self.info.key

    @property
    def idle_since(self) -> int:
        """What its age among the parked pods counts from."""
        return max(self.timestamp, self.flushed_at)

    def enter(self, state: PodState) -> None:
        assert_move(self.state, state)
        self.state = state

    def replace(self, pod: Pod, info: PodInfo) -> None:
        """The pod as it is now."""
        assert info.key == self.info.key
        self.pod, self.info = pod, info

    def note_failure(self, rejectors: tuple[str, ...], pending: tuple[str, ...], now: int) -> None:
        """Back from a failed attempt. Without a rejector it was an error, which has a backoff of its own."""
        self.rejectors = _in_order(rejectors + pending)
        self.pending_plugins = _in_order(pending)
        if self.rejectors:
            self.unschedulable_count += 1
            self.consecutive_errors = 0
        else:
            self.consecutive_errors += 1
        self.timestamp = now
        self.backoff_second = None
        self.was_flushed, self.flushed_at = False, 0

    def gate(self, plugin: str, strategy: Strategy) -> None:
        """Rejected by PreEnqueue, with the wake-up that brought it there."""
        self.gating_plugin = plugin
        self.held_back = max(self.held_back, strategy)
        if plugin not in self.rejectors:
            self.rejectors = tuple(sorted((*self.rejectors, plugin)))

    def ungate(self) -> None:
        if self.gating_plugin:
            self.gating_plugin, self.held_back = "", Strategy.SKIP

    def start_attempt(self) -> None:
        self.attempts += 1
        self.rejectors = self.pending_plugins = ()
        self.ungate()


@lru_cache(maxsize=1024)
def _in_order(plugins: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, sorted. There are few combinations, and they come again and again."""
    return tuple(sorted(set(plugins)))


def identity_of(info: PodInfo) -> str:
    """What tells a pod from a later one of the same name; objects from a file may have no uid."""
    return info.uid or info.key
