"""How many nodes a pool has is in its status."""

from __future__ import annotations

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.node_pools import NodePoolSizes
from bayplan.apiserver.registry.own_kinds import serve_own_kinds

NODES = "/api/v1/nodes"
POOLS = "/apis/bayplan/v1/nodepools"


def test_the_status_follows_the_nodes() -> None:
    stage = Stage([NodePoolSizes()])
    serve_own_kinds(stage.api.registry)

    def sizes() -> list[int]:
        return [stage.api.get(f"{POOLS}/{name}")["status"]["nodes"] for name in ("a", "b")]

    stage.post(NODES, metadata=named("early", labels={"bayplan/node-pool": "b"}))
    spec = {"max": 3, "template": {"status": {"allocatable": {"cpu": "1"}}}}
    for name in ("a", "b"):
        stage.post(POOLS, apiVersion="bayplan/v1", kind="NodePool", metadata=named(name), spec=spec)
    assert sizes() == [0, 1]
    stage.post(NODES, metadata=named("n1", labels={"bayplan/node-pool": "a"}))
    stage.post(NODES, metadata=named("n2", labels={"bayplan/node-pool": "a"}))
    stage.post(NODES, metadata=named("of-none"))
    stage.post(NODES, metadata=named("of-another", labels={"bayplan/node-pool": "gone"}))
    assert sizes() == [2, 1]
    stage.patch(f"{NODES}/n1", metadata={"labels": {"bayplan/node-pool": "b"}})
    stage.delete(f"{NODES}/early")
    assert sizes() == [1, 1]
