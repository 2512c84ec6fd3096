"""What a change means to a plugin: the happenings it amounts to, and whether the plugin wants a new attempt.

A change is an object before and after, None where it was not there. The happenings are those that the event handlers
of kube-scheduler derive from it. No queue is needed: a plugin is asked as if it alone had rejected the pod.
"""

from __future__ import annotations

from typing import Any

from tests.support import cache_of

from bayplan.core.framework.requeue import Action, Happening, Registration, Resource
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

RESOURCES: dict[type[Object], Resource] = {
    Node: Resource.NODE,
    PersistentVolume: Resource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: Resource.PERSISTENT_VOLUME_CLAIM,
    CSINode: Resource.CSI_NODE,
    CSIDriver: Resource.CSI_DRIVER,
    CSIStorageCapacity: Resource.CSI_STORAGE_CAPACITY,
    StorageClass: Resource.STORAGE_CLASS,
    VolumeAttachment: Resource.VOLUME_ATTACHMENT,
}


def is_worth_it(plugin: Any, pod: Pod, old: Object | None, new: Object | None) -> bool:
    """Whether some registration of the plugin covers the change and has a hint that says so, or none."""
    if isinstance(new, Pod) and is_same(pod, new):
        pod = new  # the queue has taken over the new version before it asks
    info = cache_of().info(pod)
    covering = [it for it in plugin.registrations() if any(it.happening.covers(h) for h in happenings(old, new))]
    return any(it.hint is None or it.hint(info, old, new) for it in covering)


def registered(plugin: Any) -> dict[Resource, Action]:
    """What a plugin registers for each resource, all its registrations together."""
    actions: dict[Resource, Action] = {}
    registrations: tuple[Registration, ...] = plugin.registrations()
    for it in registrations:
        actions[it.happening.resource] = actions.get(it.happening.resource, Action(0)) | it.happening.action
    return actions


def happenings(old: Object | None, new: Object | None) -> list[Happening]:
    """What the change amounts to; nothing when no plugin could care."""
    subject = new if new is not None else old
    assert subject is not None
    resource = _resource(subject)
    if old is None:
        return [Happening(resource, Action.ADD)]
    if new is None:
        return [Happening(resource, Action.DELETE)]
    if isinstance(old, Node) and isinstance(new, Node):
        return [Happening(resource, action) for action in node_changes(old, new)]
    if isinstance(old, Pod) and isinstance(new, Pod):
        if new.spec.node_name and not old.spec.node_name:
            return [Happening(resource, Action.ADD)]
        return [Happening(resource, action) for action in pod_changes(old, new)]
    return [Happening(resource, Action.UPDATE)]


def is_same(one: Pod, other: Pod) -> bool:
    return (one.metadata.namespace, one.metadata.name) == (other.metadata.namespace, other.metadata.name)


def _resource(subject: Object) -> Resource:
    if isinstance(subject, Pod):
        placed = subject.spec.node_name or subject.status.nominated_node_name
        return Resource.ASSIGNED_POD if placed else Resource.UNSCHEDULABLE_POD
    return RESOURCES[type(subject)]
