"""What the queue remembers of one pod between its first sight and its binding.

Plain data, plus the one way to change the state. Times are integer nanoseconds of the wall clock. Plugin names are kept
as sorted tuples, as they are compared and iterated but never changed in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from bayplan.core.columns.shapes import PodInfo, PodShape
from bayplan.core.decision import Decision, Unschedulable
from bayplan.core.lifecycle import LEGAL_MOVES, PodState, assert_move
from bayplan.model.pod import Pod
from bayplan.model.structs import Struct

#: Members of enums are slow to get at.
_IN_FLIGHT = PodState.IN_FLIGHT


class Strategy(IntEnum):
    """What a cluster event is worth to a pod; the larger wins."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Group(NamedTuple):
    """What pods have in common that no hint can tell apart while they are parked."""

    profile: str
    shape: PodShape
    own_name: str  # "" where the name makes no difference
    priority: int
    preemption_policy: str
    rejectors: tuple[str, ...]
    pending_plugins: tuple[str, ...]
    gating_plugin: str

    @classmethod
    def of(cls, queued: QueuedPod) -> Group:
        """The one that the pod belongs to while it is parked."""
        info = queued.info
        return cls(
            info.scheduler_name,
            info.shape,
            info.name if _has_generated_claims(info) else "",
            info.priority,
            info.preemption_policy,
            queued.rejectors,
            queued.pending_plugins,
            queued.gating_plugin,
        )

    @property
    def listeners(self) -> tuple[str, ...]:
        """Plugins whose events_to_register decide whether a cluster event reaches the group at all."""
        return (self.gating_plugin,) if self.gating_plugin else self.rejectors

    def hears_all_of(self, other: Group) -> bool:
        """Whether equal pods are in both, and whatever wakes those of the other wakes these."""
        return self._replace(rejectors=other.rejectors) == other and set(other.rejectors) <= set(self.rejectors)


@dataclass(slots=True, eq=False)
class Gathering:
    """A group with those who belong to it and are parked, by key in order of arrival; and what one was told last."""

    group: Group
    members: dict[str, QueuedPod] = field(default_factory=dict)
    refused: Unschedulable | None = None

    def takes(self, queued: QueuedPod) -> bool:
        """Whether one that belonged to it, and has not changed since, still does."""
        group = self.group
        return (
            group.rejectors == queued.rejectors
            and group.pending_plugins == queued.pending_plugins
            and group.gating_plugin == queued.gating_plugin
        )


class QueuedPod(Struct, eq=False):
    """One pod on its way.

    Attributes:
        number: order of arrival; of two pods that the queue cannot tell apart the earlier goes first.
        timestamp: when the entry was made or the pod last came back from a failed attempt. Moves leave it alone.
        initial_attempt_at: first entry into the active place.
        unschedulable_count: returns with a plugin to blame.
        consecutive_errors: returns without one since the last with one.
        backoff_second: whole second up to which the pod backs off, once worked out.
        rejectors: plugins that rejected it in its last attempt, or keep it out of the queue.
        pending_plugins: those of the rejectors that wait for something and, when it comes, want no backoff.
        gating_plugin: the plugin that keeps it out of the queue.
        held_back: the wake-up that the gate swallowed. A pod becomes gated only on its way into the queue.
        was_flushed, flushed_at: it was given another chance for its age alone.
        refusal: what its last attempt in vain came to. Most pods are refused in the same words again and again.
        nominated_in_refusal: the node that it named ("": none, None: whichever the pod has).
        turn: of members of a group that came, or came back, at the same time the smaller is tried first.
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
    is_leaving: bool = False  # the pod is being deleted
    refusal: Decision | None = None
    nominated_in_refusal: str | None = None
    turn: int = 0
    heap_entry: tuple[int | tuple[int, ...], int, int, QueuedPod] | None = None  # its place in a heap, if it is in one
    gathering: Gathering | None = None  # those it is parked with, or was, until the pod changes

    def __post_init__(self) -> None:
        self.key = self.info.key
        self.is_leaving = bool(self.pod.metadata.deletion_timestamp)

    @property
    def idle_since(self) -> int:
        """What its age among the parked pods counts from."""
        return self.flushed_at or self.timestamp  # a flush comes after the attempt

    def enter(self, state: PodState) -> None:
        if state not in LEGAL_MOVES[self.state]:
            assert_move(self.state, state)  # it may stay
        self.state = state

    def replace(self, pod: Pod, info: PodInfo) -> None:
        """The pod as it is now."""
        assert info.key == self.info.key
        self.pod, self.info, self.gathering = pod, info, None
        self.is_leaving = bool(pod.metadata.deletion_timestamp)

    def note_failure(self, rejectors: tuple[str, ...], pending: tuple[str, ...], now: int) -> None:
        """Back from a failed attempt. Without a rejector it was an error, which has a backoff of its own."""
        if pending:
            self.rejectors, self.pending_plugins = _in_order(rejectors + pending), _in_order(pending)
        else:
            self.rejectors = _in_order(rejectors)
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
        self.gating_plugin, self.held_back = "", Strategy.SKIP

    def start_attempt(self) -> None:
        self.enter(_IN_FLIGHT)
        self.attempts += 1
        self.rejectors = self.pending_plugins = ()
        if self.gating_plugin:
            self.ungate()


@lru_cache(maxsize=1024)
def _in_order(plugins: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, sorted. There are few combinations, and they come again and again."""
    return tuple(sorted(set(plugins)))


def _has_generated_claims(info: PodInfo) -> bool:
    spec = info.spec
    if spec.volumes and any(volume.ephemeral is not None for volume in spec.volumes):
        return True
    return bool(spec.resource_claims)


def is_alike(one: PodInfo, other: PodInfo) -> bool:
    """Whether two states of one pod make no difference to the group it belongs to."""
    return (
        one.shape is other.shape
        and one.priority == other.priority
        and one.preemption_policy == other.preemption_policy
        and one.scheduler_name == other.scheduler_name
    )


def identity_of(info: PodInfo) -> str:
    """What tells a pod from a later one of the same name; objects from a file may have no uid."""
    return info.uid or info.key
