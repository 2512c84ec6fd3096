"""The Workload and the PodGroup that a Job makes for its pods, and when it makes none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.workloads.job import JobController
from bayplan.controllers.workloads.job_groups import TEMPLATE_NAME
from bayplan.model.groups import (
    ControllerReference,
    DisruptionMode,
    EmptyPart,
    GangPolicy,
    GroupSchedulingConstraints,
    GroupSchedulingPolicy,
    PodGroup,
    PodGroupTemplate,
    TopologyConstraint,
    Workload,
    WorkloadSpec,
)
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod, PodSchedulingGroup
from bayplan.model.workloads import Job, JobGangPolicy, JobGroupPolicy, JobScheduling
from bayplan.testing.builders import job, priority_class

GANG = JobScheduling(scheduling_policy=JobGroupPolicy(gang=JobGangPolicy()))


def a_job(**spec: Any) -> Job:
    return job("work").set(**spec).template(TEMPLATE).manifest().obj()


def stage_with(made: Job, *others: Any, makes_groups: bool = True) -> Workloads:
    stage = Workloads(JobController(batch_ns=0, makes_groups=makes_groups), GarbageCollector())
    for each in others:
        stage.create(each)
    stage.create(made)
    return stage


def only(stage: Workloads, kind: type[Any]) -> Any:
    (found,) = stage.store.list(kind)
    return found


def groups_of_pods(stage: Workloads) -> set[str]:
    named = [pod.spec.scheduling_group for pod in stage.store.list(Pod)]
    return {"" if group is None else group.pod_group_name for group in named}


def test_a_job_makes_a_basic_group_for_its_pods() -> None:
    stage = stage_with(a_job(parallelism=2))
    made, workload, group = (only(stage, kind) for kind in (Job, Workload, PodGroup))
    assert workload.spec.controller_ref == ControllerReference(api_group="batch", kind="Job", name="work")
    assert [template.name for template in workload.spec.pod_group_templates] == ["work-pgt-0"]
    assert group.spec.scheduling_policy == GroupSchedulingPolicy(basic=EmptyPart())
    assert (group.spec.workload_ref.workload_name, group.spec.workload_ref.template_name) == (
        workload.metadata.name,
        "work-pgt-0",
    )
    assert group.metadata.name.startswith(f"{workload.metadata.name}-work-pgt-0-")
    owners = [(owner.kind, owner.uid, owner.controller) for owner in group.metadata.owner_references]
    assert owners == [("Job", made.metadata.uid, True), ("Workload", workload.metadata.uid, None)]
    assert groups_of_pods(stage) == {group.metadata.name}
    assert len(stage.names()) == 2


def test_a_gang_is_as_large_as_the_parallelism_and_follows_it() -> None:
    stage = stage_with(a_job(parallelism=2, scheduling=GANG))
    assert only(stage, PodGroup).spec.scheduling_policy.gang == GangPolicy(min_count=2)
    stage.change(Job, "work", parallelism=4)
    assert only(stage, PodGroup).spec.scheduling_policy.gang == GangPolicy(min_count=4)
    template = only(stage, Workload).spec.pod_group_templates[0]
    assert template.scheduling_policy.gang == GangPolicy(min_count=4)


def test_what_a_job_says_of_its_group_is_passed_on() -> None:
    scheduling = JobScheduling(
        scheduling_policy=JobGroupPolicy(gang=JobGangPolicy(min_count=1)),
        scheduling_constraints=GroupSchedulingConstraints(topology=[TopologyConstraint(key="rack")]),
        disruption_mode=DisruptionMode(all=EmptyPart()),
    )
    made = a_job(parallelism=3, scheduling=scheduling)
    made.spec.template.spec.priority_class_name = "high"
    stage = stage_with(made, priority_class("high", 9).obj())
    spec = only(stage, PodGroup).spec
    assert spec.scheduling_policy.gang == GangPolicy(min_count=1)
    assert spec.scheduling_constraints == scheduling.scheduling_constraints
    assert spec.disruption_mode == scheduling.disruption_mode
    assert (spec.priority_class_name, spec.priority) == ("high", 9)


def _of_a_group_of_its_own() -> Job:
    made = a_job()
    made.spec.template.spec.scheduling_group = PodSchedulingGroup(pod_group_name="mine")
    return made


def _owned() -> Job:
    made = a_job()
    made.metadata.owner_references = [
        OwnerReference(api_version="jobset.x-k8s.io/v1", kind="JobSet", name="set", uid="u", controller=True)
    ]
    return made


@pytest.mark.parametrize(
    ("made", "group"),
    [(_of_a_group_of_its_own(), "mine"), (_owned(), "")],
    ids=["its pods name a group", "another controller owns it"],
)
def test_some_jobs_make_no_group(made: Job, group: str) -> None:
    stage = stage_with(made)
    assert stage.store.list(Workload) == []
    assert stage.store.list(PodGroup) == []
    assert groups_of_pods(stage) == {group}


def test_without_the_gate_nothing_is_made() -> None:
    stage = stage_with(a_job(), makes_groups=False)
    assert stage.store.list(PodGroup) == []
    assert groups_of_pods(stage) == {""}


def test_a_suspended_job_gets_its_group_before_it_has_pods() -> None:
    stage = stage_with(a_job(suspend=True, scheduling=GANG))
    group = only(stage, PodGroup)
    stage.change(Job, "work", suspend=False)
    assert groups_of_pods(stage) == {group.metadata.name}


def test_the_owner_of_a_job_may_leave_the_group_to_it() -> None:
    template = PodGroupTemplate(name="workers", scheduling_policy=GroupSchedulingPolicy(gang=GangPolicy(min_count=2)))
    reference = ControllerReference(api_group="jobset.x-k8s.io", kind="JobSet", name="set")
    workload = Workload(
        metadata=ObjectMeta(name="set", namespace="default"),
        spec=WorkloadSpec(controller_ref=reference, pod_group_templates=[template]),
    )
    made = _owned()
    made.metadata.annotations = {TEMPLATE_NAME: "workers"}
    stage = stage_with(made, workload)
    group = only(stage, PodGroup)
    assert group.spec.scheduling_policy.gang == GangPolicy(min_count=2)
    assert [owner.kind for owner in group.metadata.owner_references] == ["Job"]
    assert groups_of_pods(stage) == {group.metadata.name}


def test_names_are_cut_to_what_a_name_may_be() -> None:
    made = a_job()
    made.metadata.name = "w" * 60
    stage = stage_with(made)
    assert len(only(stage, PodGroup).metadata.name) <= 253
