"""The kinds this package knows, in one table.

`KINDS` maps a kind to its API group, version, struct and whether it lives in a namespace. A kind of another
group that happens to share a name (a Knative Service, say) is another kind: `kind_info` tells them apart.
"""

from dataclasses import dataclass
from typing import TypeAlias

from bayplan.model.cluster import Namespace, PriorityClass, Service
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from bayplan.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

Object: TypeAlias = (
    Pod
    | Node
    | Namespace
    | PriorityClass
    | Service
    | PodDisruptionBudget
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | Deployment
    | DaemonSet
    | Job
    | CronJob
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | ResourceClaim
    | ResourceClaimTemplate
    | DeviceClass
    | ResourceSlice
)


def object_key(thing: Object) -> str:
    """namespace/name, by which objects of one kind are told apart."""
    return f"{thing.metadata.namespace}/{thing.metadata.name}"


@dataclass(frozen=True, slots=True)
class KindInfo:
    """What is known of a kind; `group` is "" for the core API."""

    kind: str
    group: str
    version: str
    struct: type[Object]
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As written in an object: `v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version


_CORE, _APPS, _BATCH = "", "apps", "batch"
_POLICY, _SCHEDULING, _STORAGE = "policy", "scheduling.k8s.io", "storage.k8s.io"
_RESOURCE = "resource.k8s.io"

_TABLE: tuple[tuple[str, type[Object], bool], ...] = (
    (_CORE, Pod, True),
    (_CORE, Node, False),
    (_CORE, Namespace, False),
    (_CORE, Service, True),
    (_CORE, ReplicationController, True),
    (_CORE, PersistentVolume, False),
    (_CORE, PersistentVolumeClaim, True),
    (_APPS, ReplicaSet, True),
    (_APPS, StatefulSet, True),
    (_APPS, Deployment, True),
    (_APPS, DaemonSet, True),
    (_BATCH, Job, True),
    (_BATCH, CronJob, True),
    (_POLICY, PodDisruptionBudget, True),
    (_SCHEDULING, PriorityClass, False),
    (_STORAGE, StorageClass, False),
    (_STORAGE, CSINode, False),
    (_STORAGE, CSIDriver, False),
    (_STORAGE, CSIStorageCapacity, True),
    (_STORAGE, VolumeAttachment, False),
    (_RESOURCE, ResourceClaim, True),
    (_RESOURCE, ResourceClaimTemplate, True),
    (_RESOURCE, DeviceClass, False),
    (_RESOURCE, ResourceSlice, False),
)

KINDS: dict[str, KindInfo] = {
    struct.__name__: KindInfo(struct.__name__, group, "v1", struct, namespaced) for group, struct, namespaced in _TABLE
}


def kind_info(api_version: str, kind: str) -> KindInfo | None:
    """The kind's entry, or None when it is unknown or belongs to another group; "" accepts any group.

    The version is not looked at: older ones (policy/v1beta1) carry the same fields.
    """
    info = KINDS.get(kind)
    if info is None or not api_version:
        return info
    group = api_version.rpartition("/")[0]
    return info if group == info.group else None
