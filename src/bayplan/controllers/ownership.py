"""Who controls whom: from a pod to its workload, and from a workload to the pods it has already.

Takes the objects of a cluster once and answers by name, as owner references are written. Where both sides know a
uid these must agree, as a new object may bear an old one's name; manifests have none, so there the name decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.meta import ObjectMeta, ObjectReference, OwnerReference
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.workloads import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from bayplan.store import Store

Workload: TypeAlias = Deployment | ReplicaSet | ReplicationController | StatefulSet | DaemonSet | Job
WORKLOADS = (Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job)
TEMPLATE_HASH = "pod-template-hash"

Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace, name."""
NamespacedName: TypeAlias = tuple[str, str]
"""Of an object whose kind is known: namespace and name."""

OwnedT = TypeVar("OwnedT", Pod, ReplicaSet)
ObjectT = TypeVar("ObjectT", bound=Object)


class Ownership:
    """The workloads of a cluster by name, and what each of them controls."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.workloads: dict[Key, Workload] = {}
        self._pods: dict[Key, list[Pod]] = {}
        self._replica_sets: dict[Key, list[ReplicaSet]] = {}
        for obj in objects:
            if isinstance(obj, Pod):
                _file(self._pods, obj)
            elif isinstance(obj, WORKLOADS):
                self.workloads[key_of(obj)] = obj
                if isinstance(obj, ReplicaSet):
                    _file(self._replica_sets, obj)
        self._stray_pods = self._find_stray_pods()

    def controller_of(self, meta: ObjectMeta) -> Workload | None:
        """The workload that the metadata's controller reference leads to, if it is there."""
        reference = controller_reference(meta)
        if reference is None:
            return None
        found = self.workloads.get((reference.kind, meta.namespace, reference.name))
        return found if found is not None and _agree(reference, found.metadata) else None

    def pods_of(self, workload: Workload) -> list[Pod]:
        """Pods whose controller this workload is, in order of arrival; for a Deployment through its ReplicaSets."""
        if isinstance(workload, Deployment):
            known = [pod for replica_set in self.replica_sets_of(workload) for pod in self.pods_of(replica_set)]
            return known + self.stray_pods_of(workload)
        return _owned(self._pods, workload)

    def stray_pods_of(self, deployment: Deployment) -> list[Pod]:
        """Pods that name a ReplicaSet of this Deployment which is not among the objects."""
        return self._stray_pods.get(key_of(deployment), [])

    def replica_sets_of(self, deployment: Deployment) -> list[ReplicaSet]:
        return _owned(self._replica_sets, deployment)

    def _find_stray_pods(self) -> dict[Key, list[Pod]]:
        """Dumps often hold Deployments and pods but no ReplicaSets."""
        found: dict[Key, list[Pod]] = {}
        for (kind, namespace, name), pods in self._pods.items():
            if kind == "ReplicaSet" and (kind, namespace, name) not in self.workloads:
                deployment = deployment_behind(pods[0].metadata)
                if deployment:
                    found.setdefault(("Deployment", namespace, deployment), []).extend(pods)
        return found


def key_of(obj: Object) -> Key:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name


def namespaced_name(obj: Object) -> NamespacedName:
    return obj.metadata.namespace, obj.metadata.name


def controller_reference(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that is marked as the controller."""
    for reference in meta.owner_references:
        if reference.controller:
            return reference
    return None


def deployment_behind(meta: ObjectMeta) -> str:
    """The Deployment of a pod whose ReplicaSet is unknown, as such a set is called `<deployment>-<hash>`; else ""."""
    reference = controller_reference(meta)
    suffix = f"-{meta.labels.get(TEMPLATE_HASH, '')}"
    if reference is None or reference.kind != "ReplicaSet" or suffix == "-" or not reference.name.endswith(suffix):
        return ""
    return reference.name.removesuffix(suffix)


def controller_of_kind(meta: ObjectMeta, kind: str) -> NamespacedName | None:
    """The name of the controller, if it is of that kind."""
    reference = controller_reference(meta)
    return None if reference is None or reference.kind != kind else (meta.namespace, reference.name)


def is_controlled_by(obj: Object, owner: Object) -> bool:
    reference = controller_reference(obj.metadata)
    return reference is not None and reference.uid == owner.metadata.uid


def controlled_by(store: Store, owner: Object, struct: type[ObjectT]) -> list[ObjectT]:
    """The stored objects of a kind whose controller the owner is, in order of arrival."""
    owned = store.owned_by(owner.metadata.uid)
    return [obj for obj in owned if isinstance(obj, struct) and is_controlled_by(obj, owner)]


def reference_to(owner: Object) -> OwnerReference:
    """A controller reference to the object."""
    info = ALL_KINDS[type(owner).__name__]
    return OwnerReference(
        api_version=info.api_version,
        kind=info.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )


def object_reference(obj: Object) -> ObjectReference:
    """As one object names another that it does not own."""
    info, meta = ALL_KINDS[type(obj).__name__], obj.metadata
    return ObjectReference(
        api_version=info.api_version, kind=info.kind, namespace=meta.namespace, name=meta.name, uid=meta.uid
    )


def is_terminal(pod: Pod) -> bool:
    return pod.status.phase in FINISHED_PHASES


def is_active(pod: Pod) -> bool:
    """Whether its controller still counts on it: neither ended nor being deleted."""
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in FINISHED_PHASES


def _file(filed: dict[Key, list[OwnedT]], obj: OwnedT) -> None:
    reference = controller_reference(obj.metadata)
    if reference is not None:
        filed.setdefault((reference.kind, obj.metadata.namespace, reference.name), []).append(obj)


def _owned(filed: dict[Key, list[OwnedT]], owner: Workload) -> list[OwnedT]:
    return [
        obj
        for obj in filed.get(key_of(owner), ())
        if (reference := controller_reference(obj.metadata)) is not None and _agree(reference, owner.metadata)
    ]


def _agree(reference: OwnerReference, owner: ObjectMeta) -> bool:
    return not reference.uid or not owner.uid or reference.uid == owner.uid
