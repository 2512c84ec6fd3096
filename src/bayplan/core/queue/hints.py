"""Which cluster events the plugins of a profile react to, and what one is worth to a pod they rejected.

Only the plugins that rejected a pod are asked. Each names cluster events, perhaps with a hint; one that names none is
taken to be helped by nearly everything. Asking ends when the answer cannot change any more. Nothing here knows where
pods are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import PreEnqueuePlugin
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import (
    KINDS_OF_PODS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EnqueueExtensions,
    EventResource,
    Hint,
    SleepsUpstream,
    Wakeups,
)
from bayplan.core.framework.verdict import Status
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.queue.queued_pod import QueuedPod, Strategy, identity_of
from bayplan.core.release import Release
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod

#: Helps whoever hears of it: an old pod is given another chance, a pod is moved by force.
WILDCARD = ClusterEvent(EventResource.ANY, ActionType.ALL)

#: For each interested plugin the hints to ask; None says yes unasked.
Matched: TypeAlias = Mapping[str, tuple[Hint | None, ...]]

#: Given a plugin, what happened and the plugin's hint about it, the hint to ask.
AroundHint: TypeAlias = Callable[[str, ClusterEvent, Hint], Hint]

#: What a plugin hears of that does not say what it wants to hear of. Upstream's list leaves out volume attachments and
#: resource slices.
_NEARLY_EVERYTHING = tuple(
    ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL))
    for resource in (
        EventResource.POD,
        EventResource.NODE,
        EventResource.PERSISTENT_VOLUME,
        EventResource.PERSISTENT_VOLUME_CLAIM,
        EventResource.CSI_NODE,
        EventResource.CSI_DRIVER,
        EventResource.CSI_STORAGE_CAPACITY,
        EventResource.STORAGE_CLASS,
        EventResource.RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS,
        EventResource.POD_GROUP,
    )
)
#: What such a plugin hears of where no wake-up may be missed.
_EVERYTHING = tuple(
    ClusterEventWithHint(ClusterEvent(resource, ActionType.ALL))
    for resource in EventResource
    if resource is not EventResource.ANY and resource not in KINDS_OF_PODS
)
_ANY_TAINT_CHANGE = ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT))


class NamedPlugin(Protocol):
    """Any plugin."""

    name: ClassVar[str]


class Reactions:
    """What the plugins of one profile react to."""

    def __init__(
        self,
        plugins: Iterable[NamedPlugin],
        release: Release,
        wakeups: Wakeups = Wakeups.UPSTREAM,
    ) -> None:
        self._around: AroundHint = _as_it_is
        self._registrations = {plugin.name: _registrations_of(plugin, wakeups, release) for plugin in plugins}
        self._known = frozenset(self._registrations)
        self._matched: dict[ClusterEvent, Matched] = {}

    def with_hints(self, around: AroundHint) -> Reactions:
        """These reactions, with something around each hint."""
        reactions = copy(self)
        reactions._around, reactions._matched = around, {}
        return reactions

    def know(self, plugins: Iterable[str]) -> bool:
        return self._known.issuperset(plugins)

    def to(self, cluster_event: ClusterEvent) -> Matched:
        """The plugins that registered for it, with their hints; worked out once for each cluster event."""
        matched = self._matched.get(cluster_event)
        if matched is None:
            matched = self._matched[cluster_event] = self._match(cluster_event)
        return matched

    def _match(self, cluster_event: ClusterEvent) -> Matched:
        hints = {
            name: tuple(
                None if r.hint is None else self._around(name, cluster_event, r.hint)
                for r in events_to_register
                if r.cluster_event.covers(cluster_event)
            )
            for name, events_to_register in self._registrations.items()
        }
        return {name: asked for name, asked in hints.items() if asked}


@dataclass(frozen=True, slots=True)
class QueueProfile:
    """The part of a profile that the queue needs: who keeps pods out, and what may help those that were rejected."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    reactions: Reactions
    gates_gangs: bool = False  # gangs wait until enough of their pods exist

    def __post_init__(self) -> None:
        assert self.reactions.know(gate.name for gate in self.pre_enqueue), "a gate nobody could open"

    @classmethod
    def of(
        cls,
        profile: Profile,
        release: Release,
        others: Iterable[NamedPlugin] = (),
        wakeups: Wakeups = Wakeups.UPSTREAM,
    ) -> QueueProfile:
        """`others` stand in no list of the profile but may reject pods: preemption as a gate, extenders.

        Plugins that only score register for nothing: they cannot reject a pod.
        """
        lists: tuple[tuple[NamedPlugin, ...], ...] = (
            profile.pre_enqueue,
            profile.pre_filter,
            profile.filter,
            profile.reserve,
            profile.permit,
            profile.pre_bind,
            tuple(others),
        )
        by_name = {plugin.name: plugin for plugins in lists for plugin in plugins}
        gates = (*profile.pre_enqueue, *(plugin for plugin in lists[-1] if isinstance(plugin, PreEnqueuePlugin)))
        return cls(gates, Reactions(by_name.values(), release, wakeups), profile.groups.gates_gangs)

    def admit(self, pod: PodInfo, asked_first: str) -> Status:
        """Whether PreEnqueue lets the pod in; `asked_first` is the plugin that rejected it last time."""
        return run_pre_enqueue(self.pre_enqueue, pod, asked_first)


def judge(
    queued: QueuedPod, cluster_event: ClusterEvent, matched: Matched, old: Object | None, new: Object | None
) -> Strategy:
    """What the cluster event is worth to the pod; `matched` is what its profile's plugins registered for it."""
    if not queued.rejectors:
        return Strategy.AFTER_BACKOFF
    if cluster_event == WILDCARD:
        obj = old if new is None else new
        return Strategy.SKIP if isinstance(obj, Pod) and not is_about(queued, obj) else Strategy.AFTER_BACKOFF
    pending = queued.pending_plugins
    # Those that may say "immediately" first: nothing can top that.
    for plugin in (*pending, *(name for name in queued.rejectors if name not in pending)):
        asked = matched.get(plugin)
        if asked is not None and any(hint is None or hint(queued.info, old, new) for hint in asked):
            return Strategy.IMMEDIATELY if plugin in pending else Strategy.AFTER_BACKOFF
    return Strategy.SKIP


def is_about(queued: QueuedPod, obj: Object | None) -> bool:
    """Whether the object is the pod itself."""
    if not isinstance(obj, Pod):
        return False
    meta = obj.metadata
    return identity_of(queued.info) == (meta.uid or f"{meta.namespace}/{meta.name}")


def _as_it_is(plugin: str, cluster_event: ClusterEvent, hint: Hint) -> Hint:  # noqa: ARG001
    return hint


def _registrations_of(plugin: NamedPlugin, wakeups: Wakeups, release: Release) -> tuple[ClusterEventWithHint, ...]:
    if wakeups is Wakeups.UPSTREAM:
        return _registrations_upstream(plugin, release)
    if not isinstance(plugin, EnqueueExtensions):
        return _EVERYTHING
    besides = plugin.events_slept_through() if isinstance(plugin, SleepsUpstream) else ()
    return (*_registrations_upstream(plugin, release), *besides)


def _registrations_upstream(plugin: NamedPlugin, release: Release) -> tuple[ClusterEventWithHint, ...]:
    if not isinstance(plugin, EnqueueExtensions):
        return _NEARLY_EVERYTHING
    given = plugin.events_to_register()
    if not release.any_taint_change_wakes:
        return given
    on_nodes = ActionType(0)
    for registration in given:
        if registration.cluster_event.resource is EventResource.NODE:
            on_nodes |= registration.cluster_event.action
    # A plugin that waits for new nodes may be asked too late: another filter can reject a new node before it for a
    # taint that goes later. Upstream: pkg/scheduler/scheduler.go buildQueueingHintMap.
    if on_nodes & ActionType.ADD and not on_nodes & ActionType.UPDATE_NODE_TAINT:
        return (*given, _ANY_TAINT_CHANGE)
    return given
