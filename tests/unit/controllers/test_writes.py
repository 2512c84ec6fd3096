"""Statuses of workloads: somebody else's numbers do not stay."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.workload_stage import TEMPLATE, Workloads

from bayplan.controllers.contract import Controller
from bayplan.controllers.workloads.daemon_set import DaemonSetController
from bayplan.controllers.workloads.deployment import DeploymentController
from bayplan.controllers.workloads.replica_set import ReplicaSetController, ReplicationManager
from bayplan.controllers.workloads.stateful_set import StatefulSetController
from bayplan.model.structs import replace
from bayplan.testing.builders import (
    daemon_set,
    deployment,
    node,
    replica_set,
    replication_controller,
    stateful_set,
)

WORKLOADS: dict[str, tuple[Any, list[Controller]]] = {
    "ReplicaSet": (replica_set("w").replicas(2), [ReplicaSetController()]),
    "ReplicationController": (replication_controller("w").replicas(2), [ReplicationManager()]),
    "Deployment": (deployment("w").replicas(2), [DeploymentController(), ReplicaSetController()]),
    "StatefulSet": (stateful_set("w").replicas(1), [StatefulSetController()]),
    "DaemonSet": (daemon_set("w"), [DaemonSetController()]),
}


@pytest.mark.parametrize("kind", WORKLOADS)
def test_a_status_that_somebody_else_wrote_is_put_right(kind: str) -> None:
    workload, controllers = WORKLOADS[kind]
    stage = Workloads(*controllers)
    stage.create(node("n1").manifest().obj(), workload.template(TEMPLATE).manifest().obj())
    stage.run_all()
    right = status_of(stage, kind)
    wrong = replace(right, **{"number_ready" if kind == "DaemonSet" else "ready_replicas": 7})
    stage.store.modify_status(kind, "default", "w", lambda stored: replace(stored, status=wrong), stage.now)
    stage.settle()
    assert status_of(stage, kind) == right


def status_of(stage: Workloads, kind: str) -> Any:
    found: Any = stage.store.get(kind, "default", "w")
    return found.status
