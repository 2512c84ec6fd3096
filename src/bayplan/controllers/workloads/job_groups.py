"""The Workload and the PodGroup of a Job, which its pods belong to.

Where the feature gate WorkloadWithJob is on, a Job that has not started gets both, and a gang's size follows the Job's
parallelism. A Job whose pods name a group themselves, or that another controller owns, gets none; but that controller
may leave the making of the group to the Job, by an annotation that names a template of its own Workload. Groups that
users have made are left alone. Upstream: pkg/controller/job/job_scheduling_manager.go (v1.37).
"""

from __future__ import annotations

from typing import Final

from bayplan.controllers.ownership import controlled_by, controller_reference, reference_to
from bayplan.controllers.workloads.job_pods import SUSPENDED
from bayplan.model.conditions import find_condition
from bayplan.model.groups import (
    ControllerReference,
    EmptyPart,
    GangPolicy,
    GroupSchedulingPolicy,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    Workload,
    WorkloadReference,
    WorkloadSpec,
)
from bayplan.model.kinds import ALL_KINDS
from bayplan.model.meta import ObjectMeta
from bayplan.model.structs import replace
from bayplan.model.workloads import Job
from bayplan.store import Store
from bayplan.store.stamping import safe_text

#: Names the template of its owner's Workload that the group of a Job is made from.
TEMPLATE_NAME: Final = "scheduling.k8s.io/group-template-name"
_NAME_MAX: Final = 253


def group_of_job(store: Store, job: Job, now: int, *, has_pods: bool) -> PodGroup | None:
    """The group that the Job's pods belong to, made if the Job is new; None if they belong to none."""
    if job.spec.template.spec.scheduling_group is not None:
        return None
    is_new = not has_pods and _has_never_started(job)
    if controller_reference(job.metadata) is not None:
        return _delegated_group(store, job, now, is_new=is_new)
    workloads = controlled_by(store, job, Workload)
    if not workloads and is_new:
        workloads = [store.create(workload_of(job), now)]
    if len(workloads) != 1 or len(workloads[0].spec.pod_group_templates) != 1:
        return None
    (workload,) = workloads
    group = _group_in(store, job, workload)
    if group is None and is_new:
        group = store.create(_group_from(job, workload, workload.spec.pod_group_templates[0], links_workload=True), now)
    wanted = _template_of(job).scheduling_policy.gang
    if wanted is not None:
        _resize_workload(store, workload, wanted, now)
        if group is not None:
            _resize_group(store, group, wanted, now)
    return group


def workload_of(job: Job) -> Workload:
    """The Workload that is made for a Job."""
    info = ALL_KINDS[Job.__name__]
    meta = ObjectMeta(name=_workload_name(job), namespace=job.metadata.namespace, owner_references=[reference_to(job)])
    controller = ControllerReference(api_group=info.group, kind=info.kind, name=job.metadata.name)
    return Workload(
        metadata=meta, spec=WorkloadSpec(controller_ref=controller, pod_group_templates=[_template_of(job)])
    )


def _has_never_started(job: Job) -> bool:
    status = job.status
    if status.start_time is not None or status.succeeded or status.failed:
        return False
    return find_condition(status.conditions, SUSPENDED) is None


def _template_of(job: Job) -> PodGroupTemplate:
    """Basic, unless the Job says otherwise; a gang is as large as the Job's parallelism unless it says how large."""
    asked = job.spec.scheduling
    policy = GroupSchedulingPolicy(basic=EmptyPart())
    if asked is not None and asked.scheduling_policy is not None and asked.scheduling_policy.gang is not None:
        parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
        size = asked.scheduling_policy.gang.min_count
        policy = GroupSchedulingPolicy(gang=GangPolicy(min_count=max(1, parallelism) if size is None else size))
    constraints = asked.scheduling_constraints if asked is not None else None
    return PodGroupTemplate(
        name=f"{job.metadata.name}-pgt-0",
        scheduling_policy=policy,
        scheduling_constraints=constraints if constraints is not None and constraints.topology else None,
        disruption_mode=asked.disruption_mode if asked is not None else None,
        resource_claims=[*asked.resource_claims] if asked is not None else [],
        priority_class_name=job.spec.template.spec.priority_class_name,
    )


def _group_in(store: Store, job: Job, workload: Workload) -> PodGroup | None:
    """The Job's group in a Workload, unless there are several."""
    name = workload.metadata.name
    groups = [
        group
        for group in controlled_by(store, job, PodGroup)
        if group.spec.workload_ref is not None and group.spec.workload_ref.workload_name == name
    ]
    return groups[0] if len(groups) == 1 else None


def _group_from(job: Job, workload: Workload, template: PodGroupTemplate, *, links_workload: bool) -> PodGroup:
    owners = [reference_to(job)]
    if links_workload:
        owners.append(replace(reference_to(workload), controller=None, block_owner_deletion=None))
    meta = ObjectMeta(
        name=_group_name(workload.metadata.name, template.name),
        namespace=job.metadata.namespace,
        owner_references=owners,
    )
    spec = PodGroupSpec(
        workload_ref=WorkloadReference(workload_name=workload.metadata.name, template_name=template.name),
        scheduling_policy=template.scheduling_policy,
        scheduling_constraints=template.scheduling_constraints,
        resource_claims=template.resource_claims,
        disruption_mode=template.disruption_mode,
        priority_class_name=template.priority_class_name,
        priority=template.priority,
    )
    return PodGroup(metadata=meta, spec=spec)


def _delegated_group(store: Store, job: Job, now: int, *, is_new: bool) -> PodGroup | None:
    """The group of a Job whose owner has a Workload and leaves its groups to its Jobs."""
    name = job.metadata.annotations.get(TEMPLATE_NAME)
    workload = None if name is None else _workload_of_owner(store, job)
    if workload is None:
        return None
    templates = workload.spec.pod_group_templates
    template = next((each for each in templates if name in ("", each.name)), None)
    if template is None:
        return None
    group = next(
        (each for each in controlled_by(store, job, PodGroup) if _belongs_to(each, workload)),
        None,
    )
    if group is None and is_new:
        group = store.create(_group_from(job, workload, template, links_workload=False), now)
    if group is not None and template.scheduling_policy.gang is not None:
        _resize_group(store, group, template.scheduling_policy.gang, now)
    return group


def _workload_of_owner(store: Store, job: Job) -> Workload | None:
    owner = controller_reference(job.metadata)
    assert owner is not None
    group = owner.api_version.rpartition("/")[0]
    for workload in store.list(Workload, job.metadata.namespace):
        named = workload.spec.controller_ref
        if named is not None and (named.api_group, named.kind, named.name) == (group, owner.kind, owner.name):
            return workload
    return None


def _belongs_to(group: PodGroup, workload: Workload) -> bool:
    named = group.spec.workload_ref
    return named is not None and named.workload_name == workload.metadata.name


def _resize_workload(store: Store, workload: Workload, wanted: GangPolicy, now: int) -> None:
    (template,) = workload.spec.pod_group_templates
    if template.scheduling_policy.gang is None or template.scheduling_policy.gang == wanted:
        return
    resized = replace(template, scheduling_policy=GroupSchedulingPolicy(gang=wanted))

    def change(stored: Workload) -> Workload:
        return replace(stored, spec=replace(stored.spec, pod_group_templates=[resized]))

    store.modify(Workload, workload.metadata.namespace, workload.metadata.name, change, now)


def _resize_group(store: Store, group: PodGroup, wanted: GangPolicy, now: int) -> None:
    if group.spec.scheduling_policy.gang is None or group.spec.scheduling_policy.gang == wanted:
        return

    def change(stored: PodGroup) -> PodGroup:
        return replace(stored, spec=replace(stored.spec, scheduling_policy=GroupSchedulingPolicy(gang=wanted)))

    store.modify(PodGroup, group.metadata.namespace, group.metadata.name, change, now)


def _workload_name(job: Job) -> str:
    hashed = safe_text(str(_fnv32a(f"(types.UID){job.metadata.uid}")))
    return f"{job.metadata.name[: _NAME_MAX - len(hashed) - 1]}-{hashed}"


def _group_name(workload: str, template: str) -> str:
    """Both names and a hash of them; of long names each may take half."""
    hashed = safe_text(str(_fnv32a(workload + template)))
    room = _NAME_MAX - len(hashed) - 2
    if len(workload) + len(template) > room:
        half = room // 2
        if len(workload) <= half:
            template = template[: room - len(workload)]
        elif len(template) <= half:
            workload = workload[: room - len(template)]
        else:
            workload, template = workload[: room - half], template[:half]
    return f"{workload}-{template}-{hashed}"


def _fnv32a(text: str) -> int:
    value = 0x811C9DC5
    for byte in text.encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
