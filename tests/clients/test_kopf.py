"""kopf: an operator for a custom resource, its finalizer, and handlers for every stage of its life."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import kopf
import pytest
from tests.clients.manifests import SHIPS, ship

from bayplan.testing import LiveCluster

FINALIZER = "kopf.zalando.org/KopfFinalizerMarker"
WITHIN_S = 30.0


class Operator:
    """Notes what it is called for, and says in an event that a ship was built."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self.registry = kopf.OperatorRegistry()
        ships = ("sea.example", "v1", "ships")
        kopf.on.login(registry=self.registry)(kopf.login_with_kubeconfig)
        kopf.on.create(*ships, registry=self.registry, id="create")(self.created)
        kopf.on.update(*ships, registry=self.registry, id="update")(self.updated)
        kopf.on.delete(*ships, registry=self.registry, id="delete")(self.deleted)

    def created(self, spec: Any, name: str, body: kopf.Body, **_: Any) -> dict[str, int]:
        self.seen.append(("created", name))
        kopf.info(body, reason="Built", message=f"{name} has {spec['bays']} bays")
        return {"bays": spec["bays"]}

    def updated(self, diff: Any, name: str, **_: Any) -> None:
        self.seen += [("updated", f"{name}: {old} to {new}") for _, _, old, new in diff]

    def deleted(self, name: str, **_: Any) -> None:
        self.seen.append(("deleted", name))


@pytest.fixture
def operator(k: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    k.apply(SHIPS)
    monkeypatch.setenv("KUBECONFIG", str(k.kubeconfig))
    made, ready, stop = Operator(), threading.Event(), threading.Event()
    running = kopf.operator(
        registry=made.registry, namespaces=["default"], standalone=True, ready_flag=ready, stop_flag=stop
    )
    thread = threading.Thread(target=lambda: asyncio.run(running))
    thread.start()
    assert ready.wait(WITHIN_S)
    yield made
    stop.set()
    thread.join(WITHIN_S)
    assert not thread.is_alive()


@pytest.mark.slow
def test_a_resource_is_handled_from_creation_to_deletion(k: LiveCluster, operator: Operator) -> None:
    k.apply(ship("anna", 3))
    anna = k.wait_until(lambda k: k.get("ship", "anna").get("status") and k.get("ship", "anna"), WITHIN_S)
    assert anna["status"] == {"create": {"bays": 3}}
    assert anna["metadata"]["finalizers"] == [FINALIZER]
    (event,) = k.wait_until(lambda k: [event for event in k.list("events") if event["reason"] == "Built"], WITHIN_S)
    assert (event["involvedObject"]["kind"], event["message"]) == ("Ship", "anna has 3 bays")
    k.apply(ship("anna", 4))
    k.wait_until(lambda _: ("updated", "anna: 3 to 4") in operator.seen, WITHIN_S)
    k.delete("ship", "anna")
    k.wait_until("ship/anna gone", WITHIN_S)
    assert operator.seen == [("created", "anna"), ("updated", "anna: 3 to 4"), ("deleted", "anna")]


@pytest.mark.slow
def test_what_was_there_before_the_operator_is_handled_too(k: LiveCluster, request: pytest.FixtureRequest) -> None:
    k.apply(SHIPS)
    k.apply(ship("early", 1))
    operator = request.getfixturevalue("operator")
    k.wait_until(lambda _: ("created", "early") in operator.seen, WITHIN_S)
    k.delete("ship", "early")
    k.wait_until("ship/early gone", WITHIN_S)
