"""What controllers say about what they write."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.controllers.ownership import reference_to
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.structs import replace
from bayplan.model.workloads import (
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    ReplicaSet,
    ReplicaSetSpec,
    StatefulSet,
)
from bayplan.worlds.controller_events import events_of, refusal_of


def meta(name: str, owner: Any = None) -> ObjectMeta:
    references = [] if owner is None else [reference_to(owner)]
    return ObjectMeta(name=name, namespace="shop", uid=f"uid-{name}", owner_references=references)


def pod_of(owner: Any) -> Pod:
    return Pod(metadata=meta("p", owner))


def replica_set(replicas: int) -> ReplicaSet:
    return ReplicaSet(metadata=meta("web-1", Deployment(metadata=meta("web"))), spec=ReplicaSetSpec(replicas=replicas))


def job(*conditions: Condition) -> Job:
    return Job(metadata=meta("once"), status=JobStatus(conditions=list(conditions)))


COMPLETE = Condition(type="Complete", status="True")
FAILED = Condition(type="Failed", status="True", reason="BackoffLimitExceeded", message="too often")
SUSPENDED = Condition(type="Suspended", status="True", message="Job suspended")
RESUMED = Condition(type="Suspended", status="False", message="Job resumed")


@pytest.mark.parametrize(
    ("component", "before", "after", "said"),
    [
        (
            "deployment-controller",
            None,
            replica_set(3),
            "Deployment/web Normal ScalingReplicaSet: Scaled up replica set web-1 from 0 to 3",
        ),
        (
            "deployment-controller",
            replica_set(3),
            replica_set(1),
            "Deployment/web Normal ScalingReplicaSet: Scaled down replica set web-1 from 3 to 1",
        ),
        (
            "replicaset-controller",
            None,
            pod_of(ReplicaSet(metadata=meta("rs"))),
            "ReplicaSet/rs Normal SuccessfulCreate: Created pod: p",
        ),
        (
            "replicaset-controller",
            pod_of(ReplicaSet(metadata=meta("rs"))),
            None,
            "ReplicaSet/rs Normal SuccessfulDelete: Deleted pod: p",
        ),
        (
            "daemonset-controller",
            None,
            pod_of(DaemonSet(metadata=meta("ds"))),
            "DaemonSet/ds Normal SuccessfulCreate: Created pod: p",
        ),
        (
            "statefulset-controller",
            None,
            pod_of(StatefulSet(metadata=meta("db"))),
            "StatefulSet/db Normal SuccessfulCreate: Create Pod p in StatefulSet db successful",
        ),
        (
            "statefulset-controller",
            pod_of(StatefulSet(metadata=meta("db"))),
            None,
            "StatefulSet/db Normal SuccessfulDelete: Delete Pod p in StatefulSet db successful",
        ),
        (
            "cronjob-controller",
            None,
            replace(job(), metadata=meta("run", CronJob(metadata=meta("cron")))),
            "CronJob/cron Normal SuccessfulCreate: Created job run",
        ),
        ("job-controller", job(), job(COMPLETE), "Job/once Normal Completed: Job completed"),
        ("job-controller", job(), job(FAILED), "Job/once Warning BackoffLimitExceeded: too often"),
        ("job-controller", job(), job(SUSPENDED), "Job/once Normal Suspended: Job suspended"),
        ("job-controller", job(SUSPENDED), job(RESUMED), "Job/once Normal Resumed: Job resumed"),
        ("job-controller", job(COMPLETE), job(COMPLETE), ""),
        ("kubelet", pod_of(ReplicaSet(metadata=meta("rs"))), None, ""),
        ("replicaset-controller", None, Pod(metadata=meta("alone")), ""),
        ("deployment-controller", replica_set(3), replica_set(3), ""),
    ],
)
def test_what_is_said(component: str, before: Object | None, after: Object | None, said: str) -> None:
    lines = [
        f"{one.about.kind}/{one.about.name} {one.type} {one.reason}: {one.message}"
        for one in events_of(component, before, after)
    ]
    assert lines == ([said] if said else [])


def test_a_budget_without_pods() -> None:
    looked_at = PodDisruptionBudgetStatus(observed_generation=1)
    before = PodDisruptionBudget(metadata=meta("pdb"))
    after = replace(before, status=looked_at)
    assert [one.reason for one in events_of("disruption-controller", before, after)] == ["NoPods"]
    assert list(events_of("disruption-controller", after, after)) == []


@pytest.mark.parametrize(
    ("component", "owner", "message"),
    [
        ("replicaset-controller", ReplicaSet(metadata=meta("rs")), "Error creating: no room"),
        (
            "statefulset-controller",
            StatefulSet(metadata=meta("db")),
            "Create Pod p in StatefulSet db failed error: no room",
        ),
    ],
)
def test_refusals(component: str, owner: Any, message: str) -> None:
    (one,) = refusal_of(component, pod_of(owner), "no room")
    assert (one.type, one.reason, one.message) == ("Warning", "FailedCreate", message)
