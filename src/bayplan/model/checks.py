"""Checks of an object beyond the types of its fields, so that nothing downstream fails on it.

Every quantity and time can be parsed, every operator and policy exists, every object has a name. Faults are appended as
(field, message). Not checked here: what an API server rejects although it could be scheduled; that is the job of
`bayplan.admission`. Runs for every pod of a large cluster, so the common path is short.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from bayplan.model.conversion import FieldFault
from bayplan.model.cron_schedules import ScheduleError, parse_schedule
from bayplan.model.group_checks import check_group_workload, check_pod_group
from bayplan.model.groups import PodGroup, Workload
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector, ObjectMeta, RawQuantity
from bayplan.model.node import Node
from bayplan.model.node_pool_checks import check_autoscaler, check_node_pool
from bayplan.model.node_pools import Autoscaler, NodePool
from bayplan.model.pod import (
    PREFERRED,
    REQUIRED,
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    ReportedResources,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import (
    DeviceCapacity,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimTemplate,
    ResourceSlice,
)
from bayplan.model.selectors import LABEL_OPERATORS, NODE_OPERATORS
from bayplan.model.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from bayplan.model.timestamps import parse_time
from bayplan.model.volumes import PersistentVolumeClaimSpec, Volume
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

TOLERATION_OPERATORS = frozenset({"", "Equal", "Exists", "Gt", "Lt"})
UNSATISFIABLE_ACTIONS = frozenset({"DoNotSchedule", "ScheduleAnyway"})
INCLUSION_POLICIES = frozenset({"Honor", "Ignore"})
PREEMPTION_POLICIES = frozenset({"PreemptLowerPriority", "Never"})
CONCURRENCY_POLICIES = frozenset({"", "Allow", "Forbid", "Replace"})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_NAME_RULE = "must begin with a letter or digit, and may only contain letters, digits, '-', '.', '_' and ':'"
_NAME_MAX = 253


def check(obj: Object) -> list[FieldFault]:
    """Everything that is wrong with the object; empty if nothing is."""
    faults: list[FieldFault] = []
    _metadata(obj.metadata, isinstance(obj, Pod), faults)
    specific = _CHECKS.get(type(obj))
    if specific is not None:
        specific(obj, faults)
    if faults and obj.metadata.uid:
        faults = [fault for fault in faults if not _UNKNOWN_OPERATORS.search(fault[0])]
    return faults


#: An operator that the API server which stored the object did not mind. The scheduler reads these selectors when it
#: needs them, and then says what upstream says: budgets protect nothing, pods get an error.
_UNKNOWN_OPERATORS = re.compile(
    r"(\.topologySpreadConstraints\[\d+\]\.labelS|^spec\.s)elector\.matchExpressions\[\d+\]\.operator$"
)


def _metadata(metadata: ObjectMeta, may_generate_name: bool, faults: list[FieldFault]) -> None:
    if not metadata.name and not (may_generate_name and metadata.generate_name):
        faults.append(("metadata.name", "is missing"))
    for field, text in (
        ("name", metadata.name),
        ("generateName", metadata.generate_name),
        ("namespace", metadata.namespace),
    ):
        if text:
            _name(text, f"metadata.{field}", faults)
    for number, owner in enumerate(metadata.owner_references):
        if owner.name:
            _name(owner.name, f"metadata.ownerReferences[{number}].name", faults)
    if metadata.creation_timestamp is not None:
        _time(metadata.creation_timestamp, "metadata.creationTimestamp", faults)
    if metadata.deletion_timestamp is not None:
        _time(metadata.deletion_timestamp, "metadata.deletionTimestamp", faults)


def _name(text: str, path: str, faults: list[FieldFault]) -> None:
    """Looser than the rules of any API server, and yet harmless in commands, tables, pages and paths."""
    if _NAME.fullmatch(text) is None:
        faults.append((path, f"{_shown(text)}: {_NAME_RULE}"))
    elif len(text) > _NAME_MAX:
        faults.append((path, f"{_shown(text)}: must be no more than {_NAME_MAX} characters"))


def _pod(pod: Pod, faults: list[FieldFault]) -> None:
    _pod_spec(pod.spec, "spec", faults)
    status = pod.status
    if status.start_time is not None:
        _time(status.start_time, "status.startTime", faults)
    if status.resources is not None:
        _requirements(status.resources, "status.resources", faults)
    _quantities(status.allocated_resources or {}, "status.allocatedResources", faults)
    for name, statuses in (
        ("containerStatuses", status.container_statuses),
        ("initContainerStatuses", status.init_container_statuses),
    ):
        for position, container in enumerate(statuses):
            if container.allocated_resources:
                path = f"status.{name}[{position}].allocatedResources"
                _quantities(container.allocated_resources, path, faults)
            if container.resources is not None:
                _requirements(container.resources, f"status.{name}[{position}].resources", faults)


def _pod_spec(spec: PodSpec, path: str, faults: list[FieldFault]) -> None:
    _containers(spec.containers, path, "containers", faults)
    if spec.init_containers:
        _containers(spec.init_containers, path, "initContainers", faults)
    if spec.overhead:
        _quantities(spec.overhead, f"{path}.overhead", faults)
    if spec.resources is not None:
        _requirements(spec.resources, f"{path}.resources", faults)
    if spec.affinity is not None:
        _affinity(spec.affinity, f"{path}.affinity", faults)
    for position, toleration in enumerate(spec.tolerations):
        if toleration.operator not in TOLERATION_OPERATORS:
            _toleration(toleration, f"{path}.tolerations[{position}]", faults)
    for position, constraint in enumerate(spec.topology_spread_constraints):
        _spread(constraint, f"{path}.topologySpreadConstraints[{position}]", faults)
    for position, volume in enumerate(spec.volumes):
        if volume.ephemeral is not None:
            _ephemeral(volume, f"{path}.volumes[{position}]", faults)
    if spec.preemption_policy is not None:
        _choice(spec.preemption_policy, PREEMPTION_POLICIES, f"{path}.preemptionPolicy", faults)
    if spec.scheduling_group is not None and not spec.scheduling_group.pod_group_name:
        faults.append((f"{path}.schedulingGroup", "must specify one of: `podGroupName`"))


def _containers(containers: Sequence[Container], path: str, name: str, faults: list[FieldFault]) -> None:
    # The path is made only for a quantity that fails: pods are many, faults are few.
    for position, container in enumerate(containers):
        resources = container.resources
        for raws in (resources.requests, resources.limits):
            for raw in raws.values():
                try:
                    parse_quantity(raw)
                except ValueError:
                    _requirements(resources, f"{path}.{name}[{position}].resources", faults)
                    break
            else:
                continue
            break


def _requirements(resources: ResourceRequirements | ReportedResources, path: str, faults: list[FieldFault]) -> None:
    _quantities(resources.requests or {}, f"{path}.requests", faults)
    _quantities(resources.limits, f"{path}.limits", faults)


def _quantities(quantities: dict[str, RawQuantity], path: str, faults: list[FieldFault]) -> None:
    for name, raw in quantities.items():
        _quantity(raw, f"{path}[{name}]", faults)


def _quantity(raw: RawQuantity, path: str, faults: list[FieldFault]) -> None:
    try:
        parse_quantity(raw)
    except ValueError as error:
        faults.append((path, f"{_shown(raw)}: {error}"))


def _time(text: str, path: str, faults: list[FieldFault]) -> None:
    try:
        parse_time(text)
    except ValueError as error:
        faults.append((path, str(error)))


def _choice(value: str, choices: frozenset[str], path: str, faults: list[FieldFault]) -> None:
    if value not in choices:
        listed = ", ".join(sorted(choice for choice in choices if choice))
        faults.append((path, f"{_shown(value)} is not one of {listed}"))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _toleration(toleration: Toleration, path: str, faults: list[FieldFault]) -> None:
    _choice(toleration.operator, TOLERATION_OPERATORS, f"{path}.operator", faults)


def _spread(constraint: TopologySpreadConstraint, path: str, faults: list[FieldFault]) -> None:
    _choice(constraint.when_unsatisfiable, UNSATISFIABLE_ACTIONS, f"{path}.whenUnsatisfiable", faults)
    if constraint.node_affinity_policy is not None:
        _choice(constraint.node_affinity_policy, INCLUSION_POLICIES, f"{path}.nodeAffinityPolicy", faults)
    if constraint.node_taints_policy is not None:
        _choice(constraint.node_taints_policy, INCLUSION_POLICIES, f"{path}.nodeTaintsPolicy", faults)
    _label_selector(constraint.label_selector, f"{path}.labelSelector", faults)


def _label_selector(selector: LabelSelector | None, path: str, faults: list[FieldFault]) -> None:
    if selector is None:
        return
    for position, requirement in enumerate(selector.match_expressions):
        if requirement.operator not in LABEL_OPERATORS:
            at = f"{path}.matchExpressions[{position}].operator"
            _choice(requirement.operator, LABEL_OPERATORS, at, faults)


def _affinity(affinity: Affinity, path: str, faults: list[FieldFault]) -> None:
    if affinity.node_affinity is not None:
        _node_affinity(affinity.node_affinity, f"{path}.nodeAffinity", faults)
    if affinity.pod_affinity is not None:
        _pod_affinity(affinity.pod_affinity, f"{path}.podAffinity", faults)
    if affinity.pod_anti_affinity is not None:
        _pod_affinity(affinity.pod_anti_affinity, f"{path}.podAntiAffinity", faults)


def _node_affinity(affinity: NodeAffinity, path: str, faults: list[FieldFault]) -> None:
    if affinity.required is not None:
        for position, term in enumerate(affinity.required.node_selector_terms):
            _node_term(term, f"{path}.{REQUIRED}.nodeSelectorTerms[{position}]", faults)
    for position, preferred in enumerate(affinity.preferred):
        _node_term(preferred.preference, f"{path}.{PREFERRED}[{position}].preference", faults)


def _node_term(term: NodeSelectorTerm, path: str, faults: list[FieldFault]) -> None:
    _node_operators(term.match_expressions, f"{path}.matchExpressions", faults)
    _node_operators(term.match_fields, f"{path}.matchFields", faults)


def _node_operators(requirements: Sequence[NodeSelectorRequirement], path: str, faults: list[FieldFault]) -> None:
    for position, requirement in enumerate(requirements):
        _choice(requirement.operator, NODE_OPERATORS, f"{path}[{position}].operator", faults)


def _pod_affinity(affinity: PodAffinity | PodAntiAffinity, path: str, faults: list[FieldFault]) -> None:
    for position, term in enumerate(affinity.required):
        _pod_term(term, f"{path}.{REQUIRED}[{position}]", faults)
    for position, weighted in enumerate(affinity.preferred):
        _pod_term(weighted.pod_affinity_term, f"{path}.{PREFERRED}[{position}].podAffinityTerm", faults)


def _pod_term(term: PodAffinityTerm, path: str, faults: list[FieldFault]) -> None:
    _label_selector(term.label_selector, f"{path}.labelSelector", faults)
    _label_selector(term.namespace_selector, f"{path}.namespaceSelector", faults)


def _ephemeral(volume: Volume, path: str, faults: list[FieldFault]) -> None:
    assert volume.ephemeral is not None
    template = volume.ephemeral.volume_claim_template
    if template is not None:
        _claim_spec(template.spec, f"{path}.ephemeral.volumeClaimTemplate.spec", faults)


def _claim_spec(spec: PersistentVolumeClaimSpec, path: str, faults: list[FieldFault]) -> None:
    _quantities(spec.resources.requests, f"{path}.resources.requests", faults)
    _quantities(spec.resources.limits, f"{path}.resources.limits", faults)
    _label_selector(spec.selector, f"{path}.selector", faults)


def _node(node: Node, faults: list[FieldFault]) -> None:
    _quantities(node.status.allocatable, "status.allocatable", faults)
    _quantities(node.status.capacity, "status.capacity", faults)


def _workload(workload: ReplicaSet | Deployment | StatefulSet | DaemonSet | Job, faults: list[FieldFault]) -> None:
    _label_selector(workload.spec.selector, "spec.selector", faults)
    _pod_spec(workload.spec.template.spec, "spec.template.spec", faults)


def _replication_controller(controller: ReplicationController, faults: list[FieldFault]) -> None:
    _pod_spec(controller.spec.template.spec, "spec.template.spec", faults)


def _stateful_set(workload: StatefulSet, faults: list[FieldFault]) -> None:
    _workload(workload, faults)
    for position, claim in enumerate(workload.spec.volume_claim_templates):
        _claim_spec(claim.spec, f"spec.volumeClaimTemplates[{position}].spec", faults)


def _cron_job(cron_job: CronJob, faults: list[FieldFault]) -> None:
    spec, status = cron_job.spec, cron_job.status
    try:
        parse_schedule(spec.schedule)
    except ScheduleError as error:
        faults.append(("spec.schedule", f"{_shown(spec.schedule)}: {error}" if spec.schedule else "is missing"))
    _choice(spec.concurrency_policy, CONCURRENCY_POLICIES, "spec.concurrencyPolicy", faults)
    for name, number in (
        ("startingDeadlineSeconds", spec.starting_deadline_seconds),
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
    ):
        if number is not None and number < 0:
            faults.append((f"spec.{name}", f"{number}: must be greater than or equal to 0"))
    for name, time in (
        ("lastScheduleTime", status.last_schedule_time),
        ("lastSuccessfulTime", status.last_successful_time),
    ):
        if time is not None:
            _time(time, f"status.{name}", faults)
    _pod_spec(spec.job_template.spec.template.spec, "spec.jobTemplate.spec.template.spec", faults)


def _budget(budget: PodDisruptionBudget, faults: list[FieldFault]) -> None:
    _label_selector(budget.spec.selector, "spec.selector", faults)
    for name, bound in (
        ("minAvailable", budget.spec.min_available),
        ("maxUnavailable", budget.spec.max_unavailable),
    ):
        if isinstance(bound, str) and not _is_percentage(bound):
            faults.append((f"spec.{name}", f"{_shown(bound)} is neither a number nor a percentage such as 50%"))


def _is_percentage(text: str) -> bool:
    digits = text.removesuffix("%")
    return digits != text and digits.isascii() and digits.isdigit() and len(digits) <= 9


def _volume(volume: PersistentVolume, faults: list[FieldFault]) -> None:
    _quantities(volume.spec.capacity, "spec.capacity", faults)
    affinity = volume.spec.node_affinity
    if affinity is not None and affinity.required is not None:
        for position, term in enumerate(affinity.required.node_selector_terms):
            _node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{position}]", faults)


def _claim(claim: PersistentVolumeClaim, faults: list[FieldFault]) -> None:
    _claim_spec(claim.spec, "spec", faults)
    _quantities(claim.status.capacity, "status.capacity", faults)


def _storage_capacity(capacity: CSIStorageCapacity, faults: list[FieldFault]) -> None:
    if capacity.capacity is not None:
        _quantity(capacity.capacity, "capacity", faults)
    if capacity.maximum_volume_size is not None:
        _quantity(capacity.maximum_volume_size, "maximumVolumeSize", faults)
    _label_selector(capacity.node_topology, "nodeTopology", faults)


def _resource_claim(claim: ResourceClaim, faults: list[FieldFault]) -> None:
    _device_claim(claim.spec, "spec", faults)
    allocation = claim.status.allocation
    if allocation is None:
        return
    for position, result in enumerate(allocation.devices.results):
        path = f"status.allocation.devices.results[{position}].consumedCapacity"
        _quantities(result.consumed_capacity, path, faults)
    _node_selector(allocation.node_selector, "status.allocation.nodeSelector", faults)


def _claim_template(template: ResourceClaimTemplate, faults: list[FieldFault]) -> None:
    _device_claim(template.spec.spec, "spec.spec", faults)


def _device_claim(spec: ResourceClaimSpec, path: str, faults: list[FieldFault]) -> None:
    for position, request in enumerate(spec.devices.requests):
        at = f"{path}.devices.requests[{position}]"
        if request.exactly is not None and request.exactly.capacity is not None:
            _quantities(request.exactly.capacity.requests, f"{at}.exactly.capacity.requests", faults)
        for place, sub_request in enumerate(request.first_available):
            if sub_request.capacity is not None:
                _quantities(sub_request.capacity.requests, f"{at}.firstAvailable[{place}].capacity.requests", faults)


def _resource_slice(resource_slice: ResourceSlice, faults: list[FieldFault]) -> None:
    spec = resource_slice.spec
    _node_selector(spec.node_selector, "spec.nodeSelector", faults)
    for position, device in enumerate(spec.devices):
        at = f"spec.devices[{position}]"
        _node_selector(device.node_selector, f"{at}.nodeSelector", faults)
        for name, capacity in device.capacity.items():
            _device_capacity(capacity, f"{at}.capacity[{name}]", faults)
        for place, consumed in enumerate(device.consumes_counters):
            for name, counter in consumed.counters.items():
                _quantity(counter.value, f"{at}.consumesCounters[{place}].counters[{name}].value", faults)
    for position, counters in enumerate(spec.shared_counters):
        for name, counter in counters.counters.items():
            _quantity(counter.value, f"spec.sharedCounters[{position}].counters[{name}].value", faults)


def _device_capacity(capacity: DeviceCapacity, path: str, faults: list[FieldFault]) -> None:
    _quantity(capacity.value, f"{path}.value", faults)
    policy = capacity.request_policy
    if policy is None:
        return
    bounds = policy.valid_range
    amounts = [policy.default, *policy.valid_values]
    amounts += [bounds.min, bounds.max, bounds.step] if bounds is not None else []
    for amount in amounts:
        if amount is not None:
            _quantity(amount, f"{path}.requestPolicy", faults)


def _node_selector(selector: NodeSelector | None, path: str, faults: list[FieldFault]) -> None:
    if selector is not None:
        for position, term in enumerate(selector.node_selector_terms):
            _node_term(term, f"{path}.nodeSelectorTerms[{position}]", faults)


_CHECKS: dict[type, Callable[[Any, list[FieldFault]], None]] = {
    Pod: _pod,
    Node: _node,
    ReplicationController: _replication_controller,
    ReplicaSet: _workload,
    Deployment: _workload,
    DaemonSet: _workload,
    StatefulSet: _stateful_set,
    Job: _workload,
    CronJob: _cron_job,
    PodDisruptionBudget: _budget,
    PersistentVolume: _volume,
    PersistentVolumeClaim: _claim,
    CSIStorageCapacity: _storage_capacity,
    ResourceClaim: _resource_claim,
    ResourceClaimTemplate: _claim_template,
    ResourceSlice: _resource_slice,
    PodGroup: check_pod_group,
    Workload: check_group_workload,
    NodePool: check_node_pool,
    Autoscaler: check_autoscaler,
}
