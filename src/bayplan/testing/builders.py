"""Kubernetes objects in one line each: `pod("a").cpu("500m").labels(app="x").node("n1").priority(10).obj()`.

A builder starts from what an API server would have stored (uid, creation time, defaults, priority 0), so that its
object can go straight into the core. `manifest()` removes those again, as in a file that has not been applied yet.
Each method changes the builder and returns it; `obj()` returns an independent struct, so a builder can serve as a
pattern. Selectors are maps of labels or text as for `kubectl -l`, see `selector`. Nothing is validated: tests need
invalid objects too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, TypeVar

from bayplan.model.cluster import Namespace, PriorityClass, Service
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, ObjectReference, RawQuantity
from bayplan.model.node import ContainerImage, Node, Taint
from bayplan.model.pod import NodeSelector, NodeSelectorTerm, PodTemplateSpec
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.storage import (
    CSINode,
    CSINodeDriver,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeNodeAffinity,
    VolumeNodeResources,
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
from bayplan.testing.building import CREATED_AT, Builder, format_time
from bayplan.testing.pod_groups import PodGroupBuilder
from bayplan.testing.pods import PodBuilder
from bayplan.testing.selecting import Selecting, node_term, selector

__all__ = [
    "budget",
    "claim",
    "cron_job",
    "csi_node",
    "daemon_set",
    "deployment",
    "format_time",
    "job",
    "namespace",
    "node",
    "node_term",
    "pod",
    "pod_group",
    "priority_class",
    "replica_set",
    "replication_controller",
    "selector",
    "service",
    "stateful_set",
    "storage_class",
    "volume",
]

ReplicatedT = TypeVar("ReplicatedT", bound=Object)


class NodeBuilder(Builder[Node]):
    """A node: 4 CPUs, 32Gi and 110 pods unless set otherwise."""

    def __init__(self, name: str) -> None:
        super().__init__(Node(), name)
        self.labels({"kubernetes.io/hostname": name}).capacity(cpu="4", memory="32Gi", pods=110)

    def capacity(self, given: Mapping[str, RawQuantity] | None = None, /, **quantities: RawQuantity) -> Self:
        """Capacity, and allocatable to match."""
        status = self._object.status
        status.capacity.update({**(given or {}), **quantities})
        status.allocatable.update({**(given or {}), **quantities})
        return self

    def allocatable(self, given: Mapping[str, RawQuantity] | None = None, /, **quantities: RawQuantity) -> Self:
        self._object.status.allocatable.update({**(given or {}), **quantities})
        return self

    def label(self, key: str, value: str = "") -> Self:
        return self.labels({key: value})

    def zone(self, name: str) -> Self:
        return self.label("topology.kubernetes.io/zone", name)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        self._object.spec.taints.append(Taint(key=key, value=value, effect=effect))
        return self

    def unschedulable(self) -> Self:
        self._object.spec.unschedulable = True
        return self

    def image(self, *names: str, size_bytes: int) -> Self:
        self._object.status.images.append(ContainerImage(names=list(names), size_bytes=size_bytes))
        return self

    def declares(self, *features: str) -> Self:
        self._object.status.declared_features.extend(features)
        return self


class BudgetBuilder(Builder[PodDisruptionBudget]):
    """A PodDisruptionBudget, without status unless `allows` is called."""

    def selects(self, selecting: Selecting | None = None, /, **labels: str) -> Self:
        self._object.spec.selector = selector(labels if selecting is None else selecting)
        return self

    def min_available(self, number: int | str) -> Self:
        self._object.spec.min_available = number
        return self

    def max_unavailable(self, number: int | str) -> Self:
        self._object.spec.max_unavailable = number
        return self

    def allows(self, disruptions: int, *, disrupted: Iterable[str] = ()) -> Self:
        self._object.status = PodDisruptionBudgetStatus(
            disruptions_allowed=disruptions, disrupted_pods=dict.fromkeys(disrupted, CREATED_AT)
        )
        return self


class WorkloadBuilder(Builder[ReplicatedT]):
    """Anything with a pod template: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job."""

    def set(self, **fields: Any) -> Self:
        """Fields of the spec: replicas, parallelism, completions, suspend, ordinals, …"""
        for name, value in fields.items():
            if not hasattr(self._object.spec, name):  # type: ignore[union-attr]
                raise AttributeError(f"{type(self._object).__name__} has no spec field {name!r}")
            setattr(self._object.spec, name, value)  # type: ignore[union-attr]
        return self

    def replicas(self, count: int) -> Self:
        return self.set(replicas=count)

    def selects(self, selecting: Selecting | None = None, /, **labels: str) -> Self:
        return self.set(selector=selector(labels if selecting is None else selecting))

    def template(self, pattern: PodBuilder) -> Self:
        """Pods like this one; its labels become the selector if there is none yet."""
        made = pattern.obj()
        spec = made.spec
        # What admission computed for the pattern would contradict the class that the real pod names.
        spec.priority = spec.priority or None
        if spec.preemption_policy == "PreemptLowerPriority":
            spec.preemption_policy = None
        meta = ObjectMeta(labels=made.metadata.labels, annotations=made.metadata.annotations)
        self.set(template=PodTemplateSpec(metadata=meta, spec=spec))
        if getattr(self._object.spec, "selector", "") is None:  # type: ignore[union-attr]
            self.selects(dict(meta.labels))
        return self

    def claim_template(self, pattern: ClaimBuilder) -> Self:
        """A volume claim template of a StatefulSet."""
        assert isinstance(self._object, StatefulSet)
        made = pattern.manifest().obj()
        made.metadata.namespace = ""
        self._object.spec.volume_claim_templates.append(made)
        return self


class ClaimBuilder(Builder[PersistentVolumeClaim]):
    """A PersistentVolumeClaim: 1Gi, ReadWriteOnce, without a class."""

    def __init__(self, name: str, namespace: str = "default") -> None:
        super().__init__(PersistentVolumeClaim(), name, namespace)
        self._object.spec.access_modes = ["ReadWriteOnce"]
        self._object.spec.volume_mode = "Filesystem"
        self.storage("1Gi")

    def manifest(self) -> Self:
        self._object.spec.volume_mode = None
        return super().manifest()

    def storage(self, quantity: RawQuantity) -> Self:
        self._object.spec.resources.requests["storage"] = quantity
        return self

    def storage_class(self, name: str | None) -> Self:
        self._object.spec.storage_class_name = name
        return self

    def modes(self, *modes: str) -> Self:
        self._object.spec.access_modes = list(modes)
        return self

    def bound(self, volume_name: str) -> Self:
        self._object.spec.volume_name = volume_name
        self._object.status.phase = "Bound"
        self._meta.annotations["pv.kubernetes.io/bind-completed"] = "yes"
        return self


class VolumeBuilder(Builder[PersistentVolume]):
    """A PersistentVolume: 1Gi, ReadWriteOnce, available."""

    def __init__(self, name: str) -> None:
        super().__init__(PersistentVolume(), name)
        spec = self._object.spec
        spec.capacity = {"storage": "1Gi"}
        spec.access_modes = ["ReadWriteOnce"]
        spec.volume_mode = "Filesystem"
        self._object.status.phase = "Available"

    def set(self, **fields: Any) -> Self:
        """Fields of the spec: csi, aws_elastic_block_store, volume_mode, …"""
        for name, value in fields.items():
            if not hasattr(self._object.spec, name):
                raise AttributeError(f"PersistentVolume has no spec field {name!r}")
            setattr(self._object.spec, name, value)
        return self

    def storage(self, quantity: RawQuantity) -> Self:
        self._object.spec.capacity["storage"] = quantity
        return self

    def storage_class(self, name: str) -> Self:
        self._object.spec.storage_class_name = name
        return self

    def modes(self, *modes: str) -> Self:
        self._object.spec.access_modes = list(modes)
        return self

    def node_affinity(self, *terms: str | NodeSelectorTerm) -> Self:
        parsed = [node_term(term) if isinstance(term, str) else term for term in terms]
        self._object.spec.node_affinity = VolumeNodeAffinity(required=NodeSelector(node_selector_terms=parsed))
        return self

    def bound_to(self, claimed: ClaimBuilder) -> Self:
        meta = claimed.obj().metadata
        self._object.spec.claim_ref = ObjectReference(
            api_version="v1",
            kind="PersistentVolumeClaim",
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
        )
        self._object.status.phase = "Bound"
        return self


class CSINodeBuilder(Builder[CSINode]):
    """A CSINode, named as its node."""

    def driver(self, name: str, *, count: int | None = None, topology_keys: Iterable[str] = ()) -> Self:
        allocatable = None if count is None else VolumeNodeResources(count=count)
        self._object.spec.drivers.append(
            CSINodeDriver(name=name, allocatable=allocatable, topology_keys=list(topology_keys))
        )
        return self


def pod(name: str, namespace: str = "default") -> PodBuilder:
    return PodBuilder(name, namespace)


def pod_group(name: str, namespace: str = "default") -> PodGroupBuilder:
    return PodGroupBuilder(name, namespace)


def node(name: str) -> NodeBuilder:
    return NodeBuilder(name)


def namespace(name: str) -> Builder[Namespace]:
    return Builder(Namespace(), name).labels({"kubernetes.io/metadata.name": name})


def priority_class(
    name: str, value: int, *, default: bool = False, policy: str | None = "PreemptLowerPriority"
) -> Builder[PriorityClass]:
    return Builder(PriorityClass(value=value, global_default=default, preemption_policy=policy), name)


def budget(name: str, namespace: str = "default") -> BudgetBuilder:
    return BudgetBuilder(PodDisruptionBudget(), name, namespace)


def service(name: str, namespace: str = "default", /, **selected: str) -> Builder[Service]:
    made = Service()
    made.spec.selector = dict(selected)
    return Builder(made, name, namespace)


def replica_set(name: str, namespace: str = "default") -> WorkloadBuilder[ReplicaSet]:
    return WorkloadBuilder(ReplicaSet(), name, namespace)


def deployment(name: str, namespace: str = "default") -> WorkloadBuilder[Deployment]:
    return WorkloadBuilder(Deployment(), name, namespace)


def stateful_set(name: str, namespace: str = "default") -> WorkloadBuilder[StatefulSet]:
    return WorkloadBuilder(StatefulSet(), name, namespace)


def daemon_set(name: str, namespace: str = "default") -> WorkloadBuilder[DaemonSet]:
    return WorkloadBuilder(DaemonSet(), name, namespace)


def job(name: str, namespace: str = "default") -> WorkloadBuilder[Job]:
    return WorkloadBuilder(Job(), name, namespace)


def cron_job(name: str, namespace: str = "default") -> Builder[CronJob]:
    return Builder(CronJob(), name, namespace)


def replication_controller(name: str, namespace: str = "default") -> WorkloadBuilder[ReplicationController]:
    return WorkloadBuilder(ReplicationController(), name, namespace)


def claim(name: str, namespace: str = "default") -> ClaimBuilder:
    return ClaimBuilder(name, namespace)


def volume(name: str) -> VolumeBuilder:
    return VolumeBuilder(name)


def storage_class(
    name: str, *, mode: str | None = "Immediate", provisioner: str = "example.com/disk", default: bool = False
) -> Builder[StorageClass]:
    built = Builder(StorageClass(provisioner=provisioner, volume_binding_mode=mode), name)
    return built.annotations({"storageclass.kubernetes.io/is-default-class": "true"}) if default else built


def csi_node(name: str) -> CSINodeBuilder:
    return CSINodeBuilder(CSINode(), name)
