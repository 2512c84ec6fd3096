"""Which happenings the plugins of a profile react to, and what one is worth to a pod they rejected.

Only the plugins that rejected a pod are asked. Each names happenings, perhaps with a hint; one that names none is taken
to be helped by nearly everything. Asking ends when the answer cannot change any more. Nothing here knows where pods are
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

from bayplan.core.framework.contract import PreEnqueuePlugin
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.requeue import (
    Action,
    Happening,
    Hint,
    Registration,
    RequeuePlugin,
    Resource,
)
from bayplan.core.queue.record import QueuedPod, Strategy, identity_of
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod

#: Helps whoever hears of it: an old pod is given another chance, a pod is moved by force.
WILDCARD = Happening(Resource.ANY, Action.ALL)

#: For each interested plugin the hints to ask; None says yes unasked.
Matched: TypeAlias = Mapping[str, tuple[Hint | None, ...]]

#: What a plugin hears of that does not say what it wants to hear of. Upstream's list leaves out volume attachments and
#: resource slices.
_NEARLY_EVERYTHING = tuple(
    Registration(Happening(resource, Action.ALL))
    for resource in (
        Resource.POD,
        Resource.NODE,
        Resource.PERSISTENT_VOLUME,
        Resource.PERSISTENT_VOLUME_CLAIM,
        Resource.CSI_NODE,
        Resource.CSI_DRIVER,
        Resource.CSI_STORAGE_CAPACITY,
        Resource.STORAGE_CLASS,
        Resource.RESOURCE_CLAIM,
        Resource.DEVICE_CLASS,
    )
)
_ANY_TAINT_CHANGE = Registration(Happening(Resource.NODE, Action.UPDATE_NODE_TAINT))


class NamedPlugin(Protocol):
    """Any plugin."""

    name: ClassVar[str]


class Reactions:
    """What the plugins of one profile react to."""

    def __init__(self, plugins: Iterable[NamedPlugin]) -> None:
        self._registrations = {plugin.name: _registrations_of(plugin) for plugin in plugins}
        self._matched: dict[Happening, Matched] = {}

    def know(self, plugin: str) -> bool:
        return plugin in self._registrations

    def to(self, happening: Happening) -> Matched:
        """The plugins that registered for it, with their hints; worked out once for each happening."""
        matched = self._matched.get(happening)
        if matched is None:
            matched = self._matched[happening] = self._match(happening)
        return matched

    def _match(self, happening: Happening) -> Matched:
        hints = {
            name: tuple(r.hint for r in registrations if r.happening.covers(happening))
            for name, registrations in self._registrations.items()
        }
        return {name: asked for name, asked in hints.items() if asked}


@dataclass(frozen=True, slots=True)
class QueueProfile:
    """The part of a profile that the queue needs: who keeps pods out, and what may help those that were refused."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    reactions: Reactions

    def __post_init__(self) -> None:
        assert all(self.reactions.know(gate.name) for gate in self.pre_enqueue), "a gate nobody could open"

    @classmethod
    def of(cls, profile: Profile, others: Iterable[NamedPlugin] = ()) -> QueueProfile:
        """`others` stand in no list of the profile but may be to blame: preemption as a gate, extenders."""
        lists: tuple[tuple[NamedPlugin, ...], ...] = (
            profile.pre_enqueue,
            profile.pre_filter,
            profile.filter,
            profile.pre_score,
            profile.score,
            profile.reserve,
            profile.permit,
            profile.pre_bind,
            tuple(others),
        )
        by_name = {plugin.name: plugin for plugins in lists for plugin in plugins}
        gates = (*profile.pre_enqueue, *(plugin for plugin in lists[-1] if isinstance(plugin, PreEnqueuePlugin)))
        return cls(gates, Reactions(by_name.values()))


def judge(
    record: QueuedPod, happening: Happening, matched: Matched, old: Object | None, new: Object | None
) -> Strategy:
    """What the happening is worth to the pod; `matched` is what its profile's plugins registered for it."""
    if not record.rejectors:
        return Strategy.AFTER_BACKOFF
    if happening == WILDCARD:
        thing = old if new is None else new
        return Strategy.SKIP if isinstance(thing, Pod) and not is_about(record, thing) else Strategy.AFTER_BACKOFF
    pending = record.pending_plugins
    # Those that may say "immediately" first: nothing can top that.
    for plugin in (*pending, *(name for name in record.rejectors if name not in pending)):
        asked = matched.get(plugin)
        if asked is not None and any(hint is None or hint(record.info, old, new) for hint in asked):
            return Strategy.IMMEDIATELY if plugin in pending else Strategy.AFTER_BACKOFF
    return Strategy.SKIP


def is_about(record: QueuedPod, thing: Object | None) -> bool:
    """Whether the object is the pod itself."""
    if not isinstance(thing, Pod):
        return False
    meta = thing.metadata
    return identity_of(record.info) == (meta.uid or f"{meta.namespace}/{meta.name}")


def _registrations_of(plugin: NamedPlugin) -> tuple[Registration, ...]:
    if not isinstance(plugin, RequeuePlugin):
        return _NEARLY_EVERYTHING
    given = plugin.registrations()
    on_nodes = Action(0)
    for registration in given:
        if registration.happening.resource is Resource.NODE:
            on_nodes |= registration.happening.action
    # A plugin that waits for new nodes may be asked too late: another filter can turn a new node away before it for a
    # taint that goes later. Upstream: scheduler.go buildQueueingHintMap.
    if on_nodes & Action.ADD and not on_nodes & Action.UPDATE_NODE_TAINT:
        return (*given, _ANY_TAINT_CHANGE)
    return given
