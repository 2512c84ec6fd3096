"""What a change means to a plugin: the cluster events it amounts to, and whether the plugin wants a new attempt.

A change is an object before and after, None where it was not there. The cluster events are those that the event
handlers of kube-scheduler derive from it. No queue is needed: a plugin is asked as if it alone had rejected the pod.
"""

from __future__ import annotations

from typing import Any

from tests.support.caches import cache_of

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from bayplan.core.queue.changes import node_changes, pod_changes
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceClass, ResourceClaim, ResourceSlice
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

RESOURCES: dict[type[Object], EventResource] = {
    Node: EventResource.NODE,
    PersistentVolume: EventResource.PERSISTENT_VOLUME,
    PersistentVolumeClaim: EventResource.PERSISTENT_VOLUME_CLAIM,
    CSINode: EventResource.CSI_NODE,
    CSIDriver: EventResource.CSI_DRIVER,
    CSIStorageCapacity: EventResource.CSI_STORAGE_CAPACITY,
    StorageClass: EventResource.STORAGE_CLASS,
    VolumeAttachment: EventResource.VOLUME_ATTACHMENT,
    ResourceClaim: EventResource.RESOURCE_CLAIM,
    ResourceSlice: EventResource.RESOURCE_SLICE,
    DeviceClass: EventResource.DEVICE_CLASS,
}


def is_worth_it(plugin: Any, pod: Pod, old: Object | None, new: Object | None) -> bool:
    """Whether some registration of the plugin covers the change and has a hint that says so, or none."""
    if isinstance(new, Pod) and is_same(pod, new):
        pod = new  # the queue has taken over the new version before it asks
    info = cache_of().info(pod)
    covering = [
        it for it in plugin.events_to_register() if any(it.cluster_event.covers(h) for h in cluster_events(old, new))
    ]
    return any(it.hint is None or it.hint(info, old, new) for it in covering)


def registered(plugin: Any) -> dict[EventResource, ActionType]:
    """What a plugin registers for each resource, all its events_to_register together."""
    actions: dict[EventResource, ActionType] = {}
    events_to_register: tuple[ClusterEventWithHint, ...] = plugin.events_to_register()
    for it in events_to_register:
        actions[it.cluster_event.resource] = (
            actions.get(it.cluster_event.resource, ActionType(0)) | it.cluster_event.action
        )
    return actions


def cluster_events(old: Object | None, new: Object | None) -> list[ClusterEvent]:
    """What the change amounts to; nothing when no plugin could care."""
    subject = new if new is not None else old
    assert subject is not None
    resource = _resource(subject)
    if old is None:
        return [ClusterEvent(resource, ActionType.ADD)]
    if new is None:
        return [ClusterEvent(resource, ActionType.DELETE)]
    if isinstance(old, Node) and isinstance(new, Node):
        return [ClusterEvent(resource, action) for action in node_changes(old, new)]
    if isinstance(old, Pod) and isinstance(new, Pod):
        if new.spec.node_name and not old.spec.node_name:
            return [ClusterEvent(resource, ActionType.ADD)]
        return [ClusterEvent(resource, action) for action in pod_changes(old, new, DEFAULT_GATES)]
    return [ClusterEvent(resource, ActionType.UPDATE)]


def is_same(one: Pod, other: Pod) -> bool:
    return (one.metadata.namespace, one.metadata.name) == (other.metadata.namespace, other.metadata.name)


def _resource(subject: Object) -> EventResource:
    if isinstance(subject, Pod):
        placed = subject.spec.node_name or subject.status.nominated_node_name
        return EventResource.ASSIGNED_POD if placed else EventResource.UNSCHEDULED_POD
    return RESOURCES[type(subject)]
