"""Which pods workloads would create: their manifests count as pods.

Takes the objects of a cluster, admitted; gives for each workload that lacks pods the new ones, and what comes
along with them: the ReplicaSet of a Deployment that has none for its template yet (default spreading looks at
it), the claims of StatefulSets and of ephemeral volumes. Pods that exist are taken off, whatever their template.
Names are made up but always the same. New objects still have to be admitted. Nothing is scaled down, no rollout
is played through, ordered starts happen at once, and CronJobs create nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count, islice

from bayplan.controllers.ownership import (
    TEMPLATE_HASH,
    WORKLOADS,
    NamespacedName,
    Ownership,
    Workload,
    controller_reference,
    is_active,
    is_terminal,
    namespaced_name,
)
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces, daemon_template, pin, pinned_to
from bayplan.controllers.workloads.job_pods import JOB_INDEX_LABEL, is_finished, job_labels, open_indexes
from bayplan.controllers.workloads.pods_from_templates import Stamp, ephemeral_claims, mount_claims
from bayplan.controllers.workloads.templates import replica_set_of, same_template, template_hash
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.workloads import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"


@dataclass(slots=True)
class PendingWorkload:
    """A workload, the pods it would create, and the objects it would create for them."""

    workload: Workload
    pods: list[Pod] = field(default_factory=list)
    along: list[ReplicaSet | PersistentVolumeClaim] = field(default_factory=list)

    def objects(self) -> list[Object]:
        """Everything new, what the pods need before the pods."""
        return [*self.along, *self.pods]


def pods_to_create(objects: Sequence[Object], ownership: Ownership | None = None) -> list[PendingWorkload]:
    """For every workload that lacks pods, in the order of the objects, those it would create.

    `ownership` is that of the objects, if it is known.
    """
    expansion = _Expansion(objects, ownership)
    pending = (expansion.pending(workload) for workload in objects if isinstance(workload, WORKLOADS))
    return [workload for workload in pending if workload.pods]


def next_to_create(objects: Sequence[Object], kind: str, namespace: str, name: str) -> PendingWorkload:
    """The next pod of one workload and what comes along: one it lacks, or one more than it wants.

    A DaemonSet that lacks none gives a pod for no node in particular, as a new node would bring one.
    Raises LookupError when there is no such workload.
    """
    expansion = _Expansion(objects)
    workload = expansion.ownership.workloads.get((kind, namespace, name))
    if workload is None:
        raise LookupError(f"no {kind} {namespace}/{name}")
    return expansion.next(workload)


class _Expansion:
    """What expanding needs to know of the cluster: owners, nodes, and names in use."""

    def __init__(self, objects: Sequence[Object], ownership: Ownership | None = None) -> None:
        self.ownership = Ownership(objects) if ownership is None else ownership
        self._objects = objects
        self._nodes = [node for node in objects if isinstance(node, Node)]

    # Names matter only where something is created, as in few clusters.

    @cached_property
    def _pod_names(self) -> set[NamespacedName]:
        return {namespaced_name(obj) for obj in self._objects if isinstance(obj, Pod)}

    @cached_property
    def _claim_names(self) -> set[NamespacedName]:
        return {namespaced_name(obj) for obj in self._objects if isinstance(obj, PersistentVolumeClaim)}

    def pending(self, workload: Workload) -> PendingWorkload:
        """The pods the workload lacks."""
        if isinstance(workload, DaemonSet):
            return self._complete(self._daemons(workload))
        return self._make(workload, self._lacking(workload))

    def next(self, workload: Workload) -> PendingWorkload:
        """One pod, lacking or not."""
        if isinstance(workload, DaemonSet):
            lacking = self._daemons(workload, at_most=1)
            return self._complete(lacking if lacking.pods else self._spare_daemon(workload))
        return self._make(workload, 1)

    def _lacking(self, workload: Deployment | ReplicaSet | ReplicationController | StatefulSet | Job) -> int:
        if isinstance(workload, Job):
            return _job_lacks(workload, self.ownership.pods_of(workload))
        wanted = 1 if workload.spec.replicas is None else workload.spec.replicas
        if isinstance(workload, StatefulSet):
            return len(list(self._free_ordinals(workload, wanted)))
        if isinstance(workload, ReplicaSet) and self._belongs_to_deployment(workload):
            return 0
        return max(0, wanted - sum(map(is_active, self.ownership.pods_of(workload))))

    def _belongs_to_deployment(self, replica_set: ReplicaSet) -> bool:
        return isinstance(self.ownership.controller_of(replica_set.metadata), Deployment)

    def _make(
        self, workload: Deployment | ReplicaSet | ReplicationController | StatefulSet | Job, number: int
    ) -> PendingWorkload:
        pending = PendingWorkload(workload)
        if number <= 0:
            return pending
        if isinstance(workload, StatefulSet):
            self._make_ordinals(pending, workload, number)
        elif isinstance(workload, Job):
            self._make_job_pods(pending, workload, number)
        elif isinstance(workload, Deployment):
            self._make_replicas(pending, self._current_replica_set(pending, workload), number)
        else:
            self._make_replicas(pending, workload, number)
        return self._complete(pending)

    def _make_replicas(self, pending: PendingWorkload, owner: ReplicaSet | ReplicationController, number: int) -> None:
        stamp = Stamp(owner.spec.template, owner)
        names = self._new_names(pending.workload.metadata)
        pending.pods = [stamp.pod(name) for name in islice(names, number)]

    def _current_replica_set(self, pending: PendingWorkload, deployment: Deployment) -> ReplicaSet:
        """The ReplicaSet of the Deployment's template, made up if it is not there yet."""
        existing = self.ownership.replica_sets_of(deployment)
        for replica_set in existing:
            if same_template(replica_set.spec.template, deployment.spec.template):
                return replica_set
        if deployment.spec.paused and existing:
            # A paused Deployment scales what it has and starts nothing new.
            return max(existing, key=lambda replica_set: replica_set.metadata.creation_timestamp or "")
        made = _replica_set_of(deployment, self.ownership.stray_pods_of(deployment))
        pending.along.append(made)
        return made

    def _make_ordinals(self, pending: PendingWorkload, owner: StatefulSet, number: int) -> None:
        stamp = Stamp(owner.spec.template, owner)
        for ordinal in islice(self._free_ordinals(owner, None), number):
            pod = stamp.pod(f"{owner.metadata.name}-{ordinal}")
            pod.metadata.labels[POD_NAME_LABEL] = pod.metadata.name
            pod.metadata.labels[POD_INDEX_LABEL] = str(ordinal)
            self._add_missing(pending, mount_claims(pod, owner))
            pending.pods.append(pod)

    def _free_ordinals(self, owner: StatefulSet, replicas: int | None) -> Iterator[int]:
        """Ordinals without a pod, of this many replicas or without end.

        An ended pod leaves its ordinal: the controller deletes it and creates it again under the same name.
        A pod that is being deleted keeps it until it is gone.
        """
        start = owner.spec.ordinals.start if owner.spec.ordinals is not None else 0
        ended = {pod.metadata.name for pod in self.ownership.pods_of(owner) if is_terminal(pod)}
        for ordinal in count(start) if replicas is None else range(start, start + replicas):
            name = f"{owner.metadata.name}-{ordinal}"
            if name in ended or (owner.metadata.namespace, name) not in self._pod_names:
                yield ordinal

    def _make_job_pods(self, pending: PendingWorkload, owner: Job, number: int) -> None:
        stamp = Stamp(owner.spec.template, owner, job_labels(owner))
        if owner.spec.completion_mode != "Indexed":
            pending.pods = [stamp.pod(name) for name in islice(self._new_names(owner.metadata), number)]
            return
        for index in islice(open_indexes(owner, self.ownership.pods_of(owner)), number):
            pod = stamp.pod(self._unused(owner.metadata.namespace, f"{owner.metadata.name}-{index}"))
            pod.metadata.labels[JOB_INDEX_LABEL] = str(index)
            pod.metadata.annotations[JOB_INDEX_LABEL] = str(index)
            pending.pods.append(pod)

    def _daemons(self, owner: DaemonSet, at_most: int | None = None) -> PendingWorkload:
        template = daemon_template(owner)
        places = DaemonPlaces(template.spec)
        served = {pinned_to(pod) for pod in self.ownership.pods_of(owner) if not is_terminal(pod)}
        unserved = (node for node in self._nodes if node.metadata.name not in served and places.include(node))
        stamp = Stamp(template, owner)
        pending = PendingWorkload(owner)
        for node in islice(unserved, at_most):
            name = self._unused(owner.metadata.namespace, f"{owner.metadata.name}-{node.metadata.name}")
            pod = stamp.pod(name)
            pin(pod, node.metadata.name)
            pending.pods.append(pod)
        return pending

    def _spare_daemon(self, owner: DaemonSet) -> PendingWorkload:
        name = next(self._new_names(owner.metadata))
        return PendingWorkload(owner, [Stamp(daemon_template(owner), owner).pod(name)])

    def _complete(self, pending: PendingWorkload) -> PendingWorkload:
        for pod in pending.pods:
            if pod.spec.volumes:
                self._add_missing(pending, ephemeral_claims(pod))
        return pending

    def _add_missing(self, pending: PendingWorkload, claims: Iterable[PersistentVolumeClaim]) -> None:
        pending.along += [claim for claim in claims if namespaced_name(claim) not in self._claim_names]

    def _new_names(self, owner: ObjectMeta) -> Iterator[str]:
        for number in count(1):
            name = f"{owner.name}-new-{number}"
            if (owner.namespace, name) not in self._pod_names:
                self._pod_names.add((owner.namespace, name))
                yield name

    def _unused(self, namespace: str, name: str) -> str:
        if (namespace, name) not in self._pod_names:
            self._pod_names.add((namespace, name))
            return name
        return next(self._new_names(ObjectMeta(name=name, namespace=namespace)))


def _replica_set_of(deployment: Deployment, stray_pods: Sequence[Pod]) -> ReplicaSet:
    if not stray_pods:
        return replica_set_of(deployment, template_hash(deployment.spec.template))
    # Its newest pods know what the ReplicaSet is called that the input left out.
    newest = stray_pods[-1].metadata
    made = replica_set_of(deployment, newest.labels[TEMPLATE_HASH])
    reference = controller_reference(newest)
    made.metadata.uid = reference.uid if reference is not None else ""
    return made


def _job_lacks(job: Job, pods: Sequence[Pod]) -> int:
    # Upstream: pkg/controller/job/job_controller.go manageJob (v1.36).
    if job.spec.suspend or is_finished(job):
        return 0
    active = sum(map(is_active, pods))
    succeeded = max(job.status.succeeded, sum(pod.status.phase == "Succeeded" for pod in pods))
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if job.spec.completions is not None:
        wanted = min(parallelism, job.spec.completions - succeeded)
    else:
        # A work queue: once a pod has succeeded the others may end, and none is started any more.
        wanted = 0 if succeeded else parallelism
    return max(0, wanted - active)
