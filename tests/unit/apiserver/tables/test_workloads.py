"""Rows of deployments, sets, jobs, cron jobs, revisions and budgets."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.tables.workloads import (
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    POD_DISRUPTION_BUDGETS,
    POD_TEMPLATES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from bayplan.model.timestamps import parse_time

Part = dict[str, Any]
CREATED = "2026-01-01T00:00:00Z"
NOW = parse_time("2026-01-01T00:01:00Z")
TEMPLATE: Part = {
    "metadata": {"labels": {"b": "2", "a": "1"}},
    "spec": {"containers": [{"name": "c1", "image": "i1"}, {"name": "c2", "image": "i2"}], "nodeSelector": {"d": "s"}},
}
SELECTOR: Part = {
    "matchLabels": {"b": "2"},
    "matchExpressions": [
        {"key": "c", "operator": "In", "values": ["y", "x"]},
        {"key": "a", "operator": "Exists"},
        {"key": "d", "operator": "DoesNotExist"},
        {"key": "e", "operator": "NotIn", "values": ["z"]},
    ],
}
SELECTOR_TEXT = "a,b=2,c in (x,y),!d,e notin (z)"


def named(**fields: Any) -> Part:
    return {"metadata": {"name": "x", "creationTimestamp": CREATED}, **fields}


def test_a_deployment_shows_ready_current_and_available_pods() -> None:
    deployment = named(
        spec={"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
        status={"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
    )
    assert DEPLOYMENTS.cells(deployment, NOW) == ["x", "1/3", 2, 1, "60s", "c1,c2", "i1,i2", SELECTOR_TEXT]


def test_a_deployment_without_status_has_no_pods() -> None:
    deployment = named(spec={"replicas": 3, "template": TEMPLATE, "selector": {}})
    assert DEPLOYMENTS.cells(deployment, NOW) == ["x", "0/3", 0, 0, "60s", "c1,c2", "i1,i2", ""]


def test_a_replica_set_shows_numbers() -> None:
    replica_set = named(spec={"replicas": 3, "template": TEMPLATE}, status={"replicas": 2, "readyReplicas": 1})
    assert REPLICA_SETS.cells(replica_set, NOW) == ["x", 3, 2, 1, "60s", "c1,c2", "i1,i2", "<none>"]


def test_a_replication_controllers_selector_is_a_set_of_labels() -> None:
    controller = named(spec={"replicas": 3, "selector": {"b": "2", "a": "1"}})
    assert REPLICATION_CONTROLLERS.cells(controller, NOW) == ["x", 3, 0, 0, "60s", "", "", "a=1,b=2"]


def test_a_stateful_set_shows_ready_pods() -> None:
    stateful_set = named(spec={"replicas": 3, "template": TEMPLATE}, status={"readyReplicas": 2})
    assert STATEFUL_SETS.cells(stateful_set, NOW) == ["x", "2/3", "60s", "c1,c2", "i1,i2"]


def test_a_daemon_set_shows_its_nodes() -> None:
    status = {
        "desiredNumberScheduled": 5,
        "currentNumberScheduled": 4,
        "numberReady": 3,
        "updatedNumberScheduled": 2,
        "numberAvailable": 1,
    }
    daemon_set = named(spec={"template": TEMPLATE, "selector": {"matchLabels": {"a": "1"}}}, status=status)
    assert DAEMON_SETS.cells(daemon_set, NOW) == ["x", 5, 4, 3, 2, 1, "d=s", "60s", "c1,c2", "i1,i2", "a=1"]


@pytest.mark.parametrize(
    ("conditions", "is_deleted", "state"),
    [
        ([], False, "Running"),
        ([], True, "Terminating"),
        (["Suspended"], False, "Suspended"),
        (["Suspended"], True, "Terminating"),
        (["FailureTarget"], False, "FailureTarget"),
        (["SuccessCriteriaMet"], False, "SuccessCriteriaMet"),
        (["SuccessCriteriaMet", "Complete"], True, "Complete"),
        (["FailureTarget", "Failed"], True, "Failed"),
    ],
)
def test_a_jobs_state_comes_from_its_conditions(conditions: list[str], is_deleted: bool, state: str) -> None:
    job = named(status={"conditions": [{"type": kind, "status": "True"} for kind in conditions]})
    if is_deleted:
        job["metadata"]["deletionTimestamp"] = CREATED
    assert JOBS.cells(job, NOW)[1] == state


@pytest.mark.parametrize(
    ("spec", "completions"),
    [
        ({"completions": 5, "parallelism": 2}, "1/5"),
        ({"parallelism": 3}, "1/1 of 3"),
        ({"parallelism": 1}, "1/1"),
        ({}, "1/1"),
    ],
)
def test_a_jobs_completions_may_be_open(spec: Part, completions: str) -> None:
    assert JOBS.cells(named(spec=spec, status={"succeeded": 1}), NOW)[2] == completions


@pytest.mark.parametrize(
    ("status", "duration"),
    [
        ({}, ""),
        ({"startTime": "2026-01-01T00:00:20Z"}, "40s"),
        ({"startTime": "2026-01-01T00:00:20Z", "completionTime": "2026-01-01T00:00:30Z"}, "10s"),
    ],
)
def test_a_jobs_duration_goes_on_until_it_is_complete(status: Part, duration: str) -> None:
    assert JOBS.cells(named(status=status), NOW)[3] == duration


@pytest.mark.parametrize(
    ("spec", "status", "cells"),
    [
        ({"schedule": "* * * * *"}, {}, ["* * * * *", "<none>", "<unset>", 0, "<none>"]),
        (
            {"schedule": "@daily", "timeZone": "Etc/UTC", "suspend": False},
            {"active": [{}, {}], "lastScheduleTime": "2026-01-01T00:00:50Z"},
            ["@daily", "Etc/UTC", "False", 2, "10s"],
        ),
        ({"schedule": "@daily", "suspend": True}, {}, ["@daily", "<none>", "True", 0, "<none>"]),
    ],
)
def test_a_cron_job_shows_its_schedule(spec: Part, status: Part, cells: list[Any]) -> None:
    spec = {**spec, "jobTemplate": {"spec": {"template": TEMPLATE}}}
    assert CRON_JOBS.cells(named(spec=spec, status=status), NOW) == ["x", *cells, "60s", "c1,c2", "i1,i2", "<none>"]


def test_a_pod_template_shows_containers_and_labels() -> None:
    assert POD_TEMPLATES.cells(named(template=TEMPLATE), NOW) == ["x", "c1,c2", "i1,i2", "a=1,b=2"]


@pytest.mark.parametrize(
    ("owners", "controller"),
    [
        ([], "<none>"),
        ([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"}], "<none>"),
        ([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "controller": True}], "daemonset.apps/agent"),
        ([{"apiVersion": "v1", "kind": "Pod", "name": "p", "controller": True}], "pod/p"),
    ],
)
def test_a_revision_names_its_controller(owners: list[Part], controller: str) -> None:
    revision = named(revision=4)
    revision["metadata"]["ownerReferences"] = owners
    assert CONTROLLER_REVISIONS.cells(revision, NOW) == ["x", controller, 4, "60s"]


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [({"minAvailable": 2}, ["2", "N/A"]), ({"maxUnavailable": "30%"}, ["N/A", "30%"]), ({}, ["N/A", "N/A"])],
)
def test_a_budget_shows_its_bound_and_what_it_allows(spec: Part, bounds: list[str]) -> None:
    budget = named(spec=spec, status={"disruptionsAllowed": 1})
    assert POD_DISRUPTION_BUDGETS.cells(budget, NOW) == ["x", *bounds, 1, "60s"]
