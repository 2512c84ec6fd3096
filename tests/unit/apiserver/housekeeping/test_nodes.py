"""Every node says for how long it may keep what it has read."""

from __future__ import annotations

from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.nodes import ANNOTATION, NodeTimeToLive

NODES = "/api/v1/nodes"


def test_the_annotation_follows_the_number_of_nodes() -> None:
    stage = Stage([NodeTimeToLive()])
    stage.post(NODES, metadata=named("first", annotations={"note": "hello"}))
    assert stage.api.get(f"{NODES}/first")["metadata"]["annotations"] == {"note": "hello", ANNOTATION: "0"}
    for number in range(100):
        stage.post(NODES, metadata=named(f"n{number}"))
    assert stage.api.get(f"{NODES}/first")["metadata"]["annotations"][ANNOTATION] == "15"
