"""Nodes say that they are alive."""

from __future__ import annotations

import pytest
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping import node_leases
from bayplan.apiserver.housekeeping.garbage import DocumentCollector
from bayplan.apiserver.housekeeping.node_leases import NodeLeases
from bayplan.model.time_units import SECOND

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def test_a_lease_is_made_for_each_node_and_renewed() -> None:
    stage = Stage([NodeLeases()])
    node = stage.post(NODES, metadata=named("n"))
    lease = stage.api.get(f"{LEASES}/n")
    assert lease["spec"] == {
        "holderIdentity": "n",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": node["metadata"]["uid"]}
    assert lease["metadata"]["ownerReferences"] == [owner]
    stage.api.now += 9 * SECOND
    stage.settle()
    assert stage.api.get(f"{LEASES}/n") == lease
    stage.api.now += SECOND
    stage.settle()
    assert stage.api.get(f"{LEASES}/n")["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"


def test_a_lease_that_somebody_deletes_comes_back_and_one_without_its_node_goes() -> None:
    stage = Stage([NodeLeases(), DocumentCollector()])
    stage.post(NODES, metadata=named("n"))
    stage.delete(f"{LEASES}/n")
    stage.api.now += 10 * SECOND
    stage.settle()
    assert stage.names(LEASES) == ["n"]
    stage.delete(f"{NODES}/n")
    stage.api.now += 10 * SECOND
    stage.settle()
    assert stage.names(LEASES) == []


def test_leases_of_many_nodes_last_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_leases, "_USUAL_NODES", 2)
    monkeypatch.setattr(node_leases, "_AT_ONCE_MAX", 2)
    stage = Stage([NodeLeases()])
    for number in range(5):
        stage.api.post(NODES, {"metadata": named(f"n{number}")})
    stage.settle()
    assert len(stage.names(LEASES)) == 5
    assert stage.api.get(f"{LEASES}/n0")["spec"]["leaseDurationSeconds"] == 120
    stage.api.now += 29 * SECOND
    stage.settle()
    assert stage.api.get(f"{LEASES}/n0")["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"
    stage.api.now += SECOND
    stage.settle()
    assert stage.api.get(f"{LEASES}/n0")["spec"]["renewTime"] == "2026-01-01T00:00:30.000000Z"
