"""Which parked pods a cluster event wakes, and how urgently.

Takes the parked pods and what their profiles react to; gives the pods to be moved. Moves nothing itself.

Of a crowd, a large group of pods that nothing tells apart, only the first is woken: a scout. What rejects it rejects
them all; if it finds a place, or is rejected by another plugin than they were, the queue sends the next. Without
scouts, every pod that ends would have thousands of waiting ones tried again, each in vain. Pods that have a node kept
for them are no part of a crowd, nor are those that an extender rejected: it sees more of a pod than what makes a group.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from bayplan.core.framework.args import DEFAULT_PREEMPTION
from bayplan.core.framework.extender import EXTENDER
from bayplan.core.framework.requeue import ClusterEvent
from bayplan.core.queue.hints import WILDCARD, QueueProfile, is_about, judge
from bayplan.core.queue.parked import Parked
from bayplan.core.queue.queued_pod import Group, QueuedPod, Strategy
from bayplan.model.kinds import Object, object_key

#: Groups of more pods than this send a scout.
CROWD_MIN = 32


def woken(
    parked: Parked,
    profiles: Mapping[str, QueueProfile],
    cluster_event: ClusterEvent,
    old: Object | None,
    new: Object | None,
    nominated: Callable[[], Collection[str]],
    priority_max: int | None,
) -> list[tuple[QueuedPod, Strategy]]:
    """The pods to wake; `nominated` gives the keys of those with a node kept for them.

    Nothing above `priority_max` is woken: room that is given back is no news to those who could have taken it anyway.
    """
    if cluster_event == WILDCARD:
        judged = [(queued, judge(queued, cluster_event, {}, old, new)) for queued in parked.all()]
    else:
        judged = [
            verdict
            for name, profile in profiles.items()
            for group, members in parked.reached(name, profile.reactions.to(cluster_event))
            if priority_max is None or group.priority <= priority_max
            for verdict in _judge_group(group, members, profile, cluster_event, old, new, nominated)
        ]
    return [(queued, strategy) for queued, strategy in judged if strategy is not Strategy.SKIP]


def _judge_group(
    group: Group,
    members: Mapping[str, QueuedPod],
    profile: QueueProfile,
    cluster_event: ClusterEvent,
    old: Object | None,
    new: Object | None,
    nominated: Callable[[], Collection[str]],
) -> Iterator[tuple[QueuedPod, Strategy]]:
    """One answer for all members, but for the one whom the cluster event is about."""
    matched = profile.reactions.to(cluster_event)
    own = _subject(members, old, new)
    if own is not None:
        yield own, judge(own, cluster_event, matched, old, new)
    speaker = next((queued for queued in members.values() if queued is not own), None)
    if speaker is None:
        return
    strategy = judge(speaker, cluster_event, matched, old, new)
    if strategy is Strategy.SKIP:
        return
    going: Iterable[QueuedPod] = members.values()
    if len(members) > CROWD_MIN and not group.gating_plugin and EXTENDER not in group.rejectors:
        going = {speaker.key: speaker, **{key: members[key] for key in nominated() if key in members}}.values()
    elif group.gating_plugin == DEFAULT_PREEMPTION:
        # Who waits for evictions is let in when they are answered, by the best of the wake-ups until then.
        going = [queued for queued in members.values() if queued.held_back < strategy]
    yield from ((queued, strategy) for queued in going if queued is not own)


def _subject(members: Mapping[str, QueuedPod], old: Object | None, new: Object | None) -> QueuedPod | None:
    obj = old if new is None else new
    if obj is None:
        return None
    queued = members.get(object_key(obj))
    return queued if queued is not None and is_about(queued, obj) else None
