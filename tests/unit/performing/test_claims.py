"""Resource claims as the server has them after the scheduler wrote them over HTTP."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.support.api_server import PODS, Api
from tests.support.api_server import pod as pod_document
from tests.support.devices import DRIVER, asks, claim_of, held, owned
from tests.support.scripted_client import Answer, ServingClient, refusal
from tests.support.virtual_time import run_virtually, virtual_ns

from bayplan.client.contract import LostError
from bayplan.client.writes import Limits, Writer
from bayplan.core.actions import Action, DeallocateClaim, ReleaseClaim, WriteVolumes
from bayplan.core.events import ClaimWriteFailed, Event, VolumesAnswered
from bayplan.model.kinds import Object
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import Container, Pod, ResourceRequirements
from bayplan.model.resource_claims import CLAIM_FINALIZER, EXTENDED_RESOURCE_ANNOTATION, ResourceClaim
from bayplan.model.time_units import MILLISECOND
from bayplan.testing.builders import pod

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
OPAQUE = {"opaque": {"driver": "dra.example.com", "parameters": {"mode": "fast"}}}
CONFLICT = refusal(409, "the object has been modified; please apply your changes to the latest version and try again")


def claim_document(name: str = "c") -> dict[str, Any]:
    request = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
    spec = {"devices": {"requests": [request], "config": [{"requests": ["r"], **OPAQUE}]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}


class Claims:
    """A server with a pod and a claim, and a scheduler that knows them."""

    def __init__(self, *faults: Answer | None) -> None:
        self.api = Api()
        self.claim = self.api.post(CLAIMS, claim_document())
        document = pod_document()
        document["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
        self.uid = self.api.post(PODS, document)["metadata"]["uid"]
        self.client = ServingClient(self.api, *faults)
        self.user: Pod = pod("p").uid(self.uid).obj()
        self.answered_at: list[int] = []
        self.created: Counter[tuple[str, bool]] = Counter()

    def wanted(self, *devices: str, name: str = "c", others: tuple[Pod, ...] = ()) -> ResourceClaim:
        made = held(claim_of(name, asks("r", of="gpu")), "n1", *(devices or ("d0",)), by=[*others, self.user])
        made.metadata.finalizers = [CLAIM_FINALIZER]
        assert made.status.allocation is not None
        made.status.allocation.devices.config = [{"source": "FromClaim", "requests": ["r"], **OPAQUE}]
        return made

    def writing(self, *claims: ResourceClaim) -> WriteVolumes:
        return WriteVolumes("default/p", self.uid, claims)

    def perform(self, *actions: Action) -> list[Event]:
        known: dict[tuple[str, str], Object] = {("Pod", "default/p"): self.user}
        answers: list[Event] = []
        self.answered_at = []

        def take(answer: Event) -> None:
            answers.append(answer)
            self.answered_at.append(virtual_ns())

        async def play() -> None:
            writer = Writer(
                self.client,
                lambda kind, key: known.get((kind, key)),
                take,
                limits=Limits(qps=0),
                clock=virtual_ns,
            )
            writer.perform_all(actions, virtual_ns())
            await writer.drain(60)
            self.created += writer.created

        run_virtually(play())
        return answers

    def written(self, *claims: ResourceClaim) -> VolumesAnswered:
        (answer,) = self.perform(self.writing(*claims))
        assert isinstance(answer, VolumesAnswered)
        return answer

    def stored(self, name: str = "c") -> dict[str, Any]:
        return self.api.get(f"{CLAIMS}/{name}")


def test_finalizer_devices_configuration_and_user_are_written() -> None:
    claims = Claims()
    answer = claims.written(claims.wanted())
    assert answer.error == ""
    assert [claim.status.reserved_for[0].uid for claim in answer.claims] == [claims.uid]
    stored = claims.stored()
    assert answer.claims[0].metadata.resource_version == stored["metadata"]["resourceVersion"]
    assert stored["metadata"]["finalizers"] == [CLAIM_FINALIZER]
    assert stored["spec"]["devices"]["config"] == [{"requests": ["r"], **OPAQUE}]
    assert stored["status"] == {
        "allocation": {
            "allocationTimestamp": "2026-11-15T20:38:06Z",
            "devices": {
                "config": [{"source": "FromClaim", "requests": ["r"], **OPAQUE}],
                "results": [{"request": "r", "driver": DRIVER, "pool": "n1", "device": "d0"}],
            },
        },
        "reservedFor": [{"resource": "pods", "name": "p", "uid": claims.uid}],
    }
    assert [line.partition(" ")[0] for line in claims.client.lines] == ["GET", "PUT", "PUT"]
    assert [request.path.removeprefix(CLAIMS) for request in claims.client.requests if request.method == "PUT"] == [
        "/c",
        "/c/status",
    ]


def test_a_second_user_joins_the_first() -> None:
    claims = Claims()
    claims.written(claims.wanted())
    other = Claims()
    other.api, other.client = claims.api, claims.client
    other.user = pod("q").uid("uid-q").obj()
    other.uid = "uid-q"
    answer = other.written(other.wanted(others=(claims.user,)))
    assert answer.error == ""
    assert [user["uid"] for user in claims.stored()["status"]["reservedFor"]] == [claims.uid, "uid-q"]


def test_devices_that_somebody_else_has_given_it_are_not_replaced() -> None:
    claims = Claims()
    claims.written(claims.wanted("d1"))
    assert claims.written(claims.wanted("d0")).error == "claim default/c got allocated elsewhere in the meantime"


def test_a_claim_that_lost_its_devices_is_not_used() -> None:
    claims = Claims()
    wanted = claims.wanted()
    wanted.metadata.finalizers = []  # it had its devices when the scheduler decided
    assert claims.written(wanted).error == "claim default/c got deallocated elsewhere in the meantime"


def test_a_claim_that_is_being_deleted_is_not_used() -> None:
    claims = Claims()
    claims.api.patch(f"{CLAIMS}/c", {"metadata": {"finalizers": ["example.com/hold"]}})
    claims.api.delete(f"{CLAIMS}/c")
    assert claims.written(claims.wanted()).error == "claim default/c got deleted in the meantime"


@pytest.mark.parametrize("at", [1, 2], ids=["finalizer", "status"])
def test_after_a_conflict_the_claim_is_read_again(at: int) -> None:
    claims = Claims(*[None] * at, CONFLICT)
    assert claims.written(claims.wanted()).error == ""
    assert claims.stored()["status"]["reservedFor"][0]["uid"] == claims.uid


def test_conflicts_without_end_are_reported_with_the_step() -> None:
    claims = Claims(None, *[CONFLICT, None] * 9)
    answer = claims.written(claims.wanted())
    assert answer.error.startswith("add finalizer to claim default/c: the object has been modified")
    assert sum(request.method == "PUT" for request in claims.client.requests) == 5


def test_a_write_whose_answer_was_lost_is_found_to_be_done() -> None:
    claims = Claims(None, None, LostError("EOF"))
    assert claims.written(claims.wanted()).lost
    before = claims.stored()
    assert claims.written(claims.wanted()).error == ""
    assert claims.stored() == before


def test_of_two_claims_the_one_that_was_written_is_reported() -> None:
    claims = Claims()
    answer = claims.written(claims.wanted(), claims.wanted(name="gone"))
    assert answer.error == 'resourceclaims.resource.k8s.io "gone" not found'
    assert [claim.metadata.name for claim in answer.claims] == ["c"]


def test_a_pod_is_taken_off_the_users() -> None:
    claims = Claims()
    claims.written(claims.wanted())
    claims.perform(ReleaseClaim("default/p", claims.uid, "default/c"))
    assert "reservedFor" not in claims.stored()["status"]
    assert "allocation" in claims.stored()["status"]


def test_devices_are_taken_away_unless_somebody_uses_them() -> None:
    claims = Claims()
    claims.written(claims.wanted())
    claims.perform(DeallocateClaim("default/q", "another", "default/c"))
    assert "allocation" in claims.stored()["status"]
    claims.perform(DeallocateClaim("default/p", claims.uid, "default/c"))
    assert claims.stored()["status"] == {}


@pytest.mark.parametrize("delete", [False, True])
def test_a_claim_that_is_gone_needs_nothing(delete: bool) -> None:
    claims = Claims()
    claims.perform(
        ReleaseClaim("default/p", claims.uid, "default/gone", delete), DeallocateClaim("default/p", "u", "default/gone")
    )
    assert claims.client.requests


@pytest.mark.parametrize(
    "action", [DeallocateClaim("default/p", "u", "default/c"), ReleaseClaim("default/p", "u", "default/c", delete=True)]
)
def test_a_claim_that_cannot_be_freed_is_reported_later_each_time(action: Action) -> None:
    claims = Claims(*[refusal(403, "you may not")] * 3)
    assert claims.perform(action, action, action) == [ClaimWriteFailed("default/p", "u", "you may not")] * 3
    first, second, third = claims.answered_at
    assert second - first == 100 * MILLISECOND
    assert third - second == 200 * MILLISECOND


def test_a_claim_that_was_freed_is_not_reported() -> None:
    claims = Claims()
    claims.written(claims.wanted())
    assert claims.perform(DeallocateClaim("default/p", claims.uid, "default/c")) == []


def extended(claims: Claims) -> ResourceClaim:
    requests: dict[str, RawQuantity] = {"example.com/gpu": 1}
    claims.user.spec.containers = [Container(name="c", resources=ResourceRequirements(requests=requests))]
    made = claims.wanted(name="p-extended-resources-abcde")
    made.spec.devices.requests[0].name = "container-0-request-0"
    assert made.status.allocation is not None
    made.status.allocation.devices.results[0].request = "container-0-request-0"
    for config in made.status.allocation.devices.config:
        config["requests"] = ["container-0-request-0"]
    made.metadata.uid = ""
    made.metadata.annotations = {EXTENDED_RESOURCE_ANNOTATION: "true"}
    return owned(made, claims.user)


def test_a_claim_for_extended_resources_is_made_and_the_pod_says_so() -> None:
    claims = Claims()
    answer = claims.written(extended(claims))
    assert answer.error == ""
    stored = claims.stored("p-extended-resources-abcde")
    assert stored["metadata"]["annotations"] == {EXTENDED_RESOURCE_ANNOTATION: "true"}
    assert stored["metadata"]["finalizers"] == [CLAIM_FINALIZER]
    assert stored["status"]["reservedFor"][0]["uid"] == claims.uid
    assert claims.api.get(f"{PODS}/p")["status"]["extendedResourceClaimStatus"] == {
        "requestMappings": [
            {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}
        ],
        "resourceClaimName": "p-extended-resources-abcde",
    }
    creation = next(request for request in claims.client.requests if request.method == "POST")
    assert creation.body["status"] == {}
    assert "finalizers" not in creation.body["metadata"]
    assert claims.created == {("ResourceClaim", True): 1}


def test_a_claim_whose_creation_was_not_confirmed_is_used() -> None:
    claims = Claims(None, LostError("EOF"))
    wanted = extended(claims)
    assert claims.written(wanted).lost
    assert claims.written(wanted).error == ""
    assert sum(request.method == "POST" for request in claims.client.requests) == 1
    assert claims.created == {("ResourceClaim", False): 1}


@pytest.mark.parametrize("faults", [(), (None, CONFLICT)], ids=["at once", "after a conflict"])
def test_a_claim_for_extended_resources_goes_with_the_attempt(faults: tuple[Answer | None, ...]) -> None:
    claims = Claims()
    claims.written(extended(claims))
    claims.client.faults = list(faults)
    claims.perform(ReleaseClaim("default/p", claims.uid, "default/p-extended-resources-abcde", delete=True))
    assert claims.api.call("GET", f"{CLAIMS}/p-extended-resources-abcde")[0] == 404
