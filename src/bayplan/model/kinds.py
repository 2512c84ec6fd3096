"""The kinds this package knows, in one table.

`KINDS` maps a kind to its API group, version, struct and whether it lives in a namespace. A kind of another
group that happens to share a name (a Knative Service, say) is another kind: `kind_info` distinguishes them.
"""

from dataclasses import dataclass
from typing import TypeAlias

from bayplan.model.cluster import Namespace, PriorityClass, Service
from bayplan.model.groups import PodGroup, Workload
from bayplan.model.near_matches import near
from bayplan.model.node import Node
from bayplan.model.node_pools import OWN_API, Autoscaler, NodePool
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.resource_claims import (
    DeviceClass,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
)
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
    | DeviceTaintRule
    | PodGroup
    | Workload
    | NodePool
    | Autoscaler
)


def object_key(obj: Object) -> str:
    """namespace/name, which identifies an object of its kind."""
    return f"{obj.metadata.namespace}/{obj.metadata.name}"


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

    @property
    def plural(self) -> str:
        """The kind's name in paths, permissions and refusals: `pods`."""
        name = self.kind.lower()
        if name.endswith("y"):
            return f"{name[:-1]}ies"
        return f"{name}es" if name.endswith("s") else f"{name}s"


_BY_GROUP: dict[str, tuple[type[Object], ...]] = {
    "": (Pod, Node, Namespace, Service, ReplicationController, PersistentVolume, PersistentVolumeClaim),
    "apps": (ReplicaSet, StatefulSet, Deployment, DaemonSet),
    "batch": (Job, CronJob),
    "policy": (PodDisruptionBudget,),
    "scheduling.k8s.io": (PriorityClass, PodGroup, Workload),
    "storage.k8s.io": (StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment),
    "resource.k8s.io": (ResourceClaim, ResourceClaimTemplate, DeviceClass, ResourceSlice, DeviceTaintRule),
}
_WITHOUT_NAMESPACE = frozenset(
    {
        *(Node, Namespace, PersistentVolume, PriorityClass),
        *(StorageClass, CSINode, CSIDriver, VolumeAttachment),
        *(DeviceClass, ResourceSlice, DeviceTaintRule),
    }
)

_NOT_YET_V1: dict[type[Object], str] = {DeviceTaintRule: "v1beta2", PodGroup: "v1beta1", Workload: "v1beta1"}

KINDS: dict[str, KindInfo] = {
    struct.__name__: KindInfo(
        struct.__name__, group, _NOT_YET_V1.get(struct, "v1"), struct, struct not in _WITHOUT_NAMESPACE
    )
    for group, structs in _BY_GROUP.items()
    for struct in structs
}


def _own(struct: type[Object]) -> KindInfo:
    group, _, version = OWN_API.partition("/")
    return KindInfo(struct.__name__, group, version, struct, namespaced=False)


#: Kinds of bayplan's own, which files, stores and `bayplan up` hold, and no other API server or client knows.
OWN_KINDS: dict[str, KindInfo] = {struct.__name__: _own(struct) for struct in (NodePool, Autoscaler)}
ALL_KINDS = KINDS | OWN_KINDS


def meant_kind(api_version: str, kind: str) -> str:
    """The known kind of which this one looks like a misspelling; "" if it is some other kind.

    Only groups of Kubernetes itself are searched, in which users cannot define kinds.
    """
    group = api_version.rpartition("/")[0]
    known = [name for name, info in ALL_KINDS.items() if info.group == group or not api_version]
    return next(iter(near(kind, known)), "")


def kind_info(api_version: str, kind: str) -> KindInfo | None:
    """The kind's entry, or None when it is unknown or belongs to another group; "" accepts any group.

    The version is ignored: older ones (policy/v1beta1) have the same fields.
    """
    info = ALL_KINDS.get(kind)
    if info is None or not api_version:
        return info
    group = api_version.rpartition("/")[0]
    return info if group == info.group else None
