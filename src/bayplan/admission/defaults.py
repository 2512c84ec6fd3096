"""The defaults of an API server that scheduling can notice, for every kind.

Takes an object and completes it in place: it belongs to whoever loads it, and copying half a million pods
would cost more than admitting them. Every default is idempotent. What an API server does only at creation
(tolerations, the merging of label keys, the first phase) is done only to pods that are not stored yet. A
default whose absence a plugin understands (`nodeAffinityPolicy`, say) stays absent. Not known here are
LimitRanges and RuntimeClasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from bayplan.admission.priority import PREEMPT_LOWER_PRIORITY
from bayplan.admission.resources import default_requests
from bayplan.admission.stored import looks_stored
from bayplan.model.cluster import Namespace, PriorityClass
from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import LabelSelector, LabelSelectorRequirement
from bayplan.model.node import Node
from bayplan.model.pod import Container, Pod, PodAffinityTerm, PodSpec, Toleration
from bayplan.model.resource_claims import (
    EXACT_COUNT,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
)
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from bayplan.model.timestamps import parse_time
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.volumes import PersistentVolumeClaimSpec
from bayplan.model.well_known import (
    BETA_STORAGE_CLASS,
    DEFAULT_NAMESPACE,
    DEFAULT_SCHEDULER_NAME,
    NOT_READY,
    UNREACHABLE,
)
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobSpec,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

GRACE_SECONDS = 30
NAME_LABEL = "kubernetes.io/metadata.name"
TOLERATION_SECONDS = 300
DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)

_FOR_A_WHILE = tuple(
    Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=TOLERATION_SECONDS)
    for key in (NOT_READY, UNREACHABLE)
)
_NAMESPACED = frozenset(info.struct for info in KINDS.values() if info.namespaced)


def default_object(obj: Object) -> None:
    """Completes any object; pods get the parts of creation as well unless they are stored."""
    kind = type(obj)
    if kind in _NAMESPACED and not obj.metadata.namespace:
        obj.metadata.namespace = DEFAULT_NAMESPACE
    default = _BY_KIND.get(kind)
    if default is not None:
        default(obj)


def default_pod(pod: Pod) -> None:
    """As `default_object`, for a pod. Raises ValueError for a malformed quantity that has to be summed up."""
    spec = pod.spec
    default_requests(spec)
    default_pod_spec(spec)
    if spec.host_network:
        _open_host_ports(spec.containers)
        _open_host_ports(spec.init_containers)
    if looks_stored(pod):
        return
    pod.status.phase = pod.status.phase or "Pending"
    tolerate_for_a_while(spec)
    merge_label_keys(pod)


def default_pod_spec(spec: PodSpec) -> None:
    """What templates get too."""
    spec.scheduler_name = spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    spec.restart_policy = spec.restart_policy or "Always"
    if spec.termination_grace_period_seconds is None:
        spec.termination_grace_period_seconds = GRACE_SECONDS
    for container in spec.containers:
        _default_protocols(container)
    for container in spec.init_containers:
        _default_protocols(container)
    for volume in spec.volumes:
        if volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            _default_claim_spec(volume.ephemeral.volume_claim_template.spec)


def _default_protocols(container: Container) -> None:
    for port in container.ports:
        port.protocol = port.protocol or "TCP"


def _open_host_ports(containers: Iterable[Container]) -> None:
    for container in containers:
        for port in container.ports:
            port.host_port = port.host_port or port.container_port


def tolerate_for_a_while(spec: PodSpec) -> None:
    """Five minutes on a node that is not ready or unreachable, unless the pod says something about that."""
    for wanted in _FOR_A_WHILE:
        for given in spec.tolerations:
            if given.key in (wanted.key, "") and given.effect in (NO_EXECUTE, ""):
                break
        else:
            spec.tolerations.append(wanted)


def merge_label_keys(pod: Pod) -> None:
    """Writes matchLabelKeys and mismatchLabelKeys into the selectors they narrow, once.

    Only keys the pod has a label for count, and a missing selector stays missing: it selects nothing.
    """
    labels = pod.metadata.labels
    for constraint in pod.spec.topology_spread_constraints:
        _narrow(constraint.label_selector, constraint.match_label_keys, "In", labels)
    for term in _affinity_terms(pod.spec):
        _narrow(term.label_selector, term.match_label_keys, "In", labels)
        _narrow(term.label_selector, term.mismatch_label_keys, "NotIn", labels)


def _affinity_terms(spec: PodSpec) -> Iterable[PodAffinityTerm]:
    if spec.affinity is None:
        return
    for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if affinity is not None:
            yield from affinity.required
            for weighted in affinity.preferred:
                yield weighted.pod_affinity_term


def _narrow(selector: LabelSelector | None, keys: list[str], operator: str, labels: dict[str, str]) -> None:
    if selector is None:
        return
    for key in keys:
        if key in labels:
            requirement = LabelSelectorRequirement(key=key, operator=operator, values=[labels[key]])
            if requirement not in selector.match_expressions:
                selector.match_expressions.append(requirement)


def default_storage_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The class for claims that name none: the newest marked one, of equally old ones the first by name."""
    marked = [known for known in classes if _is_marked_default(known)]
    return min(marked, key=lambda known: (-_created_at(known), known.metadata.name), default=None)


def _is_marked_default(storage_class: StorageClass) -> bool:
    return any(storage_class.metadata.annotations.get(name) == "true" for name in DEFAULT_CLASS_ANNOTATIONS)


def _created_at(storage_class: StorageClass) -> int:
    written = storage_class.metadata.creation_timestamp
    return parse_time(written) if written else 0


def set_storage_class(claim: PersistentVolumeClaim, default: StorageClass) -> None:
    """Gives an unbound claim without a class the default one, stored or not.

    A claim stored before there was a default gets it as well: in a cluster a controller sees to that.
    """
    spec = claim.spec
    names_a_class = spec.storage_class_name is not None or BETA_STORAGE_CLASS in claim.metadata.annotations
    if not names_a_class and not spec.volume_name:
        spec.storage_class_name = default.metadata.name


def _default_node(node: Node) -> None:
    if not node.status.allocatable:
        node.status.allocatable = dict(node.status.capacity)


def _default_namespace(namespace: Namespace) -> None:
    if namespace.metadata.name:
        namespace.metadata.labels[NAME_LABEL] = namespace.metadata.name


def _default_priority_class(priority_class: PriorityClass) -> None:
    priority_class.preemption_policy = priority_class.preemption_policy or PREEMPT_LOWER_PRIORITY


def _default_volume(volume: PersistentVolume) -> None:
    volume.spec.volume_mode = volume.spec.volume_mode or "Filesystem"
    volume.status.phase = volume.status.phase or "Pending"


def _default_claim(claim: PersistentVolumeClaim) -> None:
    _default_claim_spec(claim.spec)
    claim.status.phase = claim.status.phase or "Pending"


def _default_claim_spec(spec: PersistentVolumeClaimSpec) -> None:
    spec.volume_mode = spec.volume_mode or "Filesystem"


def _default_storage_class_fields(storage_class: StorageClass) -> None:
    storage_class.volume_binding_mode = storage_class.volume_binding_mode or "Immediate"
    storage_class.reclaim_policy = storage_class.reclaim_policy or "Delete"


def _default_replicated(workload: Deployment | ReplicaSet | StatefulSet | ReplicationController) -> None:
    if workload.spec.replicas is None:
        workload.spec.replicas = 1
    default_pod_spec(workload.spec.template.spec)


def _default_stateful_set(stateful_set: StatefulSet) -> None:
    _default_replicated(stateful_set)
    stateful_set.spec.pod_management_policy = stateful_set.spec.pod_management_policy or "OrderedReady"
    for template in stateful_set.spec.volume_claim_templates:
        _default_claim(template)


def _default_replication_controller(controller: ReplicationController) -> None:
    _default_replicated(controller)
    controller.spec.selector = controller.spec.selector or dict(controller.spec.template.metadata.labels)


def _default_job_spec(spec: JobSpec) -> None:
    # A job with a parallelism alone is a work queue: one success ends it, so completions stay absent.
    if spec.completions is None and spec.parallelism is None:
        spec.completions = 1
    if spec.parallelism is None:
        spec.parallelism = 1
    spec.completion_mode = spec.completion_mode or "NonIndexed"
    default_pod_spec(spec.template.spec)


def _default_cron_job(cron_job: CronJob) -> None:
    spec = cron_job.spec
    spec.concurrency_policy = spec.concurrency_policy or "Allow"
    if spec.successful_jobs_history_limit is None:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is None:
        spec.failed_jobs_history_limit = 1
    _default_job_spec(spec.job_template.spec)


def _default_devices(spec: ResourceClaimSpec) -> None:
    """One device, unless a request says something else."""
    for request in spec.devices.requests:
        alternatives: list[ExactDeviceRequest | DeviceSubRequest] = [*request.first_available]
        if request.exactly is not None:
            alternatives.append(request.exactly)
        for asked in alternatives:
            asked.allocation_mode = asked.allocation_mode or EXACT_COUNT
            if asked.allocation_mode == EXACT_COUNT and not asked.count:
                asked.count = 1


_BY_KIND: dict[type[Any], Callable[[Any], None]] = {
    Pod: default_pod,
    Node: _default_node,
    Namespace: _default_namespace,
    PriorityClass: _default_priority_class,
    PersistentVolume: _default_volume,
    PersistentVolumeClaim: _default_claim,
    StorageClass: _default_storage_class_fields,
    Deployment: _default_replicated,
    ReplicaSet: _default_replicated,
    StatefulSet: _default_stateful_set,
    ReplicationController: _default_replication_controller,
    DaemonSet: lambda daemon_set: default_pod_spec(daemon_set.spec.template.spec),
    Job: lambda job: _default_job_spec(job.spec),
    CronJob: _default_cron_job,
    ResourceClaim: lambda claim: _default_devices(claim.spec),
    ResourceClaimTemplate: lambda template: _default_devices(template.spec.spec),
}
