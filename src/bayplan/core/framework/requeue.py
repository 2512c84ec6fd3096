"""Which cluster events may help a pod that a plugin has rejected.

A plugin names the cluster events it cares for, each with an optional hint: a look at the pod and at the object before
and after, which says whether a new attempt is worth it. No hint means always. The queue asks only the plugins that
rejected the pod. Bits and matching rules are upstream's, because their odd consequences are part of the behavior.

Upstream's plugins sleep through some changes that would help. What they leave out is named separately, and heard of
only if the scheduler is told to miss nothing (`Wakeups.COMPLETE`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, IntFlag
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from bayplan.core.columns.shapes import PodInfo
from bayplan.model.structs import Struct


class Wakeups(Enum):
    """Which changes bring a rejected pod back."""

    UPSTREAM = "upstream"  # those that kube-scheduler reacts to
    COMPLETE = "complete"  # each after which the pod may fit


class ActionType(IntFlag):
    """What happened to an object."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    ALL = 8191


class EventResource(Enum):
    """What it happened to. Pods come in four kinds, of which the latter three are the queue's own."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"  # the very pod that a plugin rejected
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    NAMESPACE = "Namespace"
    SERVICE = "Service"
    REPLICATION_CONTROLLER = "ReplicationController"
    REPLICA_SET = "apps/ReplicaSet"
    STATEFUL_SET = "apps/StatefulSet"
    ANY = "*"


class ClusterEvent(Struct, frozen=True):
    """Something that happened to a kind of object."""

    resource: EventResource
    action: ActionType

    def covers(self, other: ClusterEvent) -> bool:
        """Whether one who registered for this wants to hear of the other."""
        if self.resource is EventResource.ANY and self.action == ActionType.ALL:
            return True
        return (
            _same_resource(self.resource, other.resource)
            and bool(self.action & other.action)
            and other.action <= self.action
        )

    @property
    def label(self) -> str:
        """As metrics of v1.37 name it: NodeAdd, TargetPodUpdatePodToleration."""
        return self.resource.value + (self.action.name or "").title().replace("_", "")


#: What decisions depend on though upstream's queue never hears of it.
UNHEARD_UPSTREAM = frozenset(
    {
        EventResource.NAMESPACE,
        EventResource.SERVICE,
        EventResource.REPLICATION_CONTROLLER,
        EventResource.REPLICA_SET,
        EventResource.STATEFUL_SET,
    }
)

#: By kind; kinds that no plugin hears of are not among them.
RESOURCES_BY_KIND = {resource.value.rpartition("/")[2]: resource for resource in EventResource}

#: Whoever registers for pods hears of all of them.
KINDS_OF_PODS = frozenset({EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD})

POD_PLACED = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
POD_APPEARED = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
POD_GONE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)


def _same_resource(registered: EventResource, incoming: EventResource) -> bool:
    if registered in (incoming, EventResource.ANY):
        return True
    return registered is EventResource.POD and incoming in KINDS_OF_PODS


#: Whether a new attempt is worth it, from the rejected pod and the object before (None: new) and after (None: gone).
#: One answer serves all pods of a shape: a hint looks at a pod's name and uid only to see whether the object is the pod
#: itself or a claim generated for it. The objects are of the kind that the hint is registered for.
Hint: TypeAlias = Callable[[PodInfo, Any, Any], bool]


@dataclass(frozen=True, slots=True)
class ClusterEventWithHint:
    """A cluster event a plugin cares for; without a hint it is always worth a new attempt."""

    cluster_event: ClusterEvent
    hint: Hint | None = None


@runtime_checkable
class EnqueueExtensions(Protocol):
    """A plugin that says what may help a pod it rejected. One that does not is taken to be helped by anything."""

    name: ClassVar[str]

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]: ...


@runtime_checkable
class SleepsUpstream(Protocol):
    """A plugin that registers for less than what helps, as upstream's does, and knows what it leaves out."""

    name: ClassVar[str]

    def events_slept_through(self) -> tuple[ClusterEventWithHint, ...]:
        """What it registers for besides where no wake-up may be missed."""
        ...
