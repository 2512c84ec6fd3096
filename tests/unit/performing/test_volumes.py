"""Volumes and volume claims as the server has them after the scheduler wrote them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Api
from tests.support.scripted_client import Answer, ServingClient, refusal
from tests.support.virtual_time import run_virtually, virtual_ns

from bayplan.client.contract import LostError, TransportError
from bayplan.client.writes import Limits, Writer
from bayplan.core.actions import WriteVolumes
from bayplan.core.events import Event, VolumesAnswered
from bayplan.core.plugins.volume_claims import BOUND_BY_CONTROLLER, SELECTED_NODE
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectReference
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.testing.builders import claim, volume

VOLUMES = "/api/v1/persistentvolumes"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


def volume_document() -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n2"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "local": {"path": "/x"},
        "storageClassName": "local",
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv1"}, "spec": spec}


def claim_document() -> dict[str, Any]:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "local", "resources": resources}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}


class Storage:
    """A server with a volume and a claim, and a scheduler that knows them."""

    def __init__(self, *faults: Answer | None) -> None:
        api = Api()
        self.volume = api.post(VOLUMES, volume_document())
        self.claim = api.post(CLAIMS, claim_document())
        self.client = ServingClient(api, *faults)

    def kept(self) -> PersistentVolume:
        """The volume, kept for the claim, as the scheduler knows it: without its source."""
        made = volume("pv1").obj()
        made.metadata.resource_version = self.volume["metadata"]["resourceVersion"]
        made.metadata.annotations = {BOUND_BY_CONTROLLER: "yes"}
        made.spec.claim_ref = ObjectReference(
            api_version="v1",
            kind="PersistentVolumeClaim",
            namespace="default",
            name="data",
            uid=self.claim["metadata"]["uid"],
        )
        return made

    def selected(self) -> PersistentVolumeClaim:
        made = claim("data").obj()
        made.metadata.resource_version = self.claim["metadata"]["resourceVersion"]
        made.metadata.annotations = {SELECTED_NODE: "n2"}
        return made

    def write(self, *objects: Object) -> list[Event]:
        known = claim("data").obj()
        known.metadata.resource_version = self.claim["metadata"]["resourceVersion"]
        answers: list[Event] = []

        async def play() -> None:
            writer = Writer(
                self.client,
                lambda kind, key: known if (kind, key) == ("PersistentVolumeClaim", "default/data") else None,
                answers.append,
                limits=Limits(qps=0),
                clock=virtual_ns,
            )
            writer.perform(WriteVolumes("default/p", "u", objects), virtual_ns())
            await writer.drain(60)

        run_virtually(play())
        return answers


def test_a_volume_is_kept_for_its_claim_and_loses_nothing() -> None:
    storage = Storage()
    assert storage.write(storage.kept()) == [VolumesAnswered("default/p", "u")]
    assert storage.client.lines == [f"GET {VOLUMES}/pv1", f"PUT {VOLUMES}/pv1"]
    body = storage.client.requests[1].body
    meta = storage.claim["metadata"]
    assert body["spec"] == {
        **storage.volume["spec"],
        "claimRef": {
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "data",
            "uid": meta["uid"],
            "apiVersion": "v1",
            "resourceVersion": meta["resourceVersion"],
        },
    }
    assert body["metadata"] == {**storage.volume["metadata"], "annotations": {BOUND_BY_CONTROLLER: "yes"}}
    assert body["status"] == storage.volume["status"]
    assert storage.client.api.get(f"{VOLUMES}/pv1")["spec"]["local"] == {"path": "/x"}


def test_a_claim_selects_a_node_and_loses_nothing() -> None:
    storage = Storage()
    assert storage.write(storage.selected()) == [VolumesAnswered("default/p", "u")]
    stored = storage.client.api.get(f"{CLAIMS}/data")
    assert stored["metadata"]["annotations"] == {SELECTED_NODE: "n2"}
    assert stored["spec"] == storage.claim["spec"]


def test_what_has_changed_since_the_decision_is_a_conflict() -> None:
    storage = Storage()
    kept, api = storage.kept(), storage.client.api
    api.patch(f"{VOLUMES}/pv1", {"metadata": {"labels": {"a": "b"}}})
    (answer,) = storage.write(kept, storage.selected())
    assert isinstance(answer, VolumesAnswered)
    assert answer.error == (
        'Operation cannot be fulfilled on persistentvolumes "pv1": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert len(storage.client.requests) == 2  # the claim is left alone


def test_an_object_that_is_gone_is_named() -> None:
    storage = Storage()
    storage.client.api.delete(f"{CLAIMS}/data")
    storage.client.api.patch(f"{CLAIMS}/data", {"metadata": {"finalizers": None}})
    assert storage.write(storage.selected()) == [
        VolumesAnswered("default/p", "u", 'persistentvolumeclaims "data" not found')
    ]


def test_a_write_whose_answer_was_lost_is_found_to_be_done() -> None:
    storage = Storage(None, LostError("EOF"))
    assert storage.write(storage.kept()) == [VolumesAnswered("default/p", "u", "EOF", lost=True)]
    assert storage.write(storage.kept()) == [VolumesAnswered("default/p", "u")]
    assert [line.split()[0] for line in storage.client.lines] == ["GET", "PUT", "GET"]


@pytest.mark.parametrize("fault", [LostError("EOF"), refusal(429, "slow down", retry_after="1")])
def test_reading_is_repeated_without_harm(fault: TransportError | Answer) -> None:
    storage = Storage(fault)
    assert storage.write(storage.selected()) == [VolumesAnswered("default/p", "u")]
