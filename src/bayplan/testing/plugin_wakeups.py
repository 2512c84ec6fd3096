"""Whether a plugin that rejected a pod would have it tried again after a change.

A change is an object before and after, None where it was not there. It amounts to the cluster events that the scheduler
reports to its queue; the plugin is asked as if it alone had rejected the pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.framework.requeue import ActionType, ClusterEvent, EventResource, Wakeups
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.core.queue.hints import Reactions
from bayplan.core.release import V1_36
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim

_RESOURCES = {resource.value.rpartition("/")[2]: resource for resource in EventResource}


def is_woken(
    plugin: Any,
    pod: Pod,
    old: Object | None,
    new: Object | None,
    objects: Iterable[Object] = (),
    wakeups: Wakeups = Wakeups.UPSTREAM,
) -> bool:
    """Whether some registration covers the change and its hint, if there is one, says yes.

    `objects` is the cluster after the change; hints look up nothing in it but the pod's resource claims.
    """
    if isinstance(new, Pod) and is_same_pod(pod, new):
        pod = new  # the queue has taken over the new version before it asks
    cache = Cache(DEFAULT_GATES)
    for claim in objects:
        if isinstance(claim, ResourceClaim):
            cache.add(claim)
    info = cache.info(pod)
    reactions = Reactions((plugin,), V1_36, wakeups)
    asked = [
        hint for cluster_event in cluster_events(old, new) for hint in reactions.to(cluster_event).get(plugin.name, ())
    ]
    return any(hint is None or hint(info, old, new) for hint in asked)


def cluster_events(old: Object | None, new: Object | None) -> list[ClusterEvent]:
    """What the change amounts to; nothing when no plugin could care."""
    subject = new if new is not None else old
    assert subject is not None, "a change has an object before or after it"
    resource = _resource(subject, comes_or_goes=old is None or new is None)
    if resource is None:
        return []
    return [ClusterEvent(resource, action) for action in _actions(old, new)]


def is_same_pod(pod: Pod, other: Pod) -> bool:
    return object_key(pod) == object_key(other)


def _resource(subject: Object, *, comes_or_goes: bool) -> EventResource | None:
    if isinstance(subject, Pod):
        if subject.spec.node_name:
            return EventResource.ASSIGNED_POD
        return EventResource.UNSCHEDULED_POD if comes_or_goes else EventResource.TARGET_POD
    return _RESOURCES.get(type(subject).__name__)


def _actions(old: Object | None, new: Object | None) -> list[ActionType]:
    if old is None:
        return [ActionType.ADD]
    if new is None:
        return [ActionType.DELETE]
    if isinstance(old, Node) and isinstance(new, Node):
        return node_changes(old, new)
    if isinstance(old, Pod) and isinstance(new, Pod):
        return pod_changes(old, new, DEFAULT_GATES)
    return [ActionType.UPDATE]
