"""Actions done on a store, in the words of an API server."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.devices import asks, claim_of, held

from bayplan.core.actions import Action, Bind, DeallocateClaim, ReleaseClaim, SetCondition, WriteVolumes
from bayplan.core.events import BindAnswered, VolumesAnswered
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    EXTENDED_RESOURCE_ANNOTATION,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from bayplan.store import Store
from bayplan.testing.builders import pod
from bayplan.worlds.performing import Performer

USER = pod("p").obj()
UID = USER.metadata.uid


def test_a_binding_that_was_done_already_counts_as_done() -> None:
    """Its request comes again when its answer was lost; to another node, or for another pod, it is refused."""
    store = Store()
    uid = store.create(pod("p").manifest().obj(), 0).metadata.uid
    performer = Performer(store, None)
    for _ in range(2):
        assert performer.perform(Bind("default/p", uid, "n1"), 0) == BindAnswered("default/p", uid)
    assert store.resource_version == 2
    assert store.get(Pod, "default", "p").spec.node_name == "n1"
    for refused, words in (
        (Bind("default/p", uid, "n2"), 'already assigned to node "n1"'),
        (Bind("default/p", "another", "n1"), "UID in precondition: another"),
        (Bind("default/nope", uid, "n1"), 'pods "nope" not found'),
    ):
        answer = performer.perform(refused, 0)
        assert isinstance(answer, BindAnswered)
        assert words in answer.error


def test_no_condition_is_written_on_another_pod_of_the_same_name() -> None:
    store = store_with()
    Performer(store, None).perform(SetCondition("default/p", "another", "Unschedulable", "no room"), 0)
    assert store.get(Pod, "default", "p").status.conditions == []


def wanted(name: str = "c", *devices: str) -> ResourceClaim:
    made = held(claim_of(name, asks("r")), "n1", *(devices or ("d0",)), by=[USER])
    made.metadata.finalizers = [CLAIM_FINALIZER]
    return made


def store_with(*claims: ResourceClaim) -> Store:
    store = Store()
    store.load([deepcopy(USER), *claims], 0)
    return store


def stored(store: Store, name: str = "c") -> ResourceClaim:
    return store.get(ResourceClaim, "default", name)


def perform(store: Store, action: Action) -> None:
    assert Performer(store, None).perform(action, 0) is None


def write(store: Store, claim: ResourceClaim) -> str:
    answer = Performer(store, None).perform(WriteVolumes("default/p", UID, (claim,)), 0)
    assert isinstance(answer, VolumesAnswered)
    return answer.error


def test_finalizer_devices_and_user_are_written_together() -> None:
    store = store_with(claim_of("c", asks("r")))
    assert write(store, wanted()) == ""
    claim = stored(store)
    assert claim.metadata.finalizers == [CLAIM_FINALIZER]
    assert claim.status.allocation is not None
    assert claim.status.allocation.allocation_timestamp == "1970-01-01T00:00:00Z"
    assert [user.uid for user in claim.status.reserved_for] == [UID]


def test_a_second_user_joins_the_first() -> None:
    first = held(claim_of("c", asks("r")), "n1", "d0", by=[pod("first").obj()])
    store = store_with(deepcopy(first))
    first.status.reserved_for.append(ResourceClaimConsumerReference(resource="pods", name="p", uid=UID))
    assert write(store, first) == ""
    assert [user.name for user in stored(store).status.reserved_for] == ["first", "p"]


def crowded() -> ResourceClaim:
    return held(claim_of("c", asks("r")), "n1", "d0", by=[pod(f"u{number}").obj() for number in range(256)])


@pytest.mark.parametrize(
    ("there", "fault"),
    [
        ((wanted("c", "d1"),), "claim default/c got allocated elsewhere in the meantime"),
        (
            (crowded(),),
            'add reservation to claim default/c: ResourceClaim.resource.k8s.io "c" is invalid: '
            "status.reservedFor: Too many: 257: must have at most 256 items",
        ),
        ((), 'resourceclaims.resource.k8s.io "c" not found'),
    ],
    ids=["other devices", "too many users", "gone"],
)
def test_what_does_not_fit_what_is_stored_is_refused(there: tuple[ResourceClaim, ...], fault: str) -> None:
    assert write(store_with(*there), wanted()) == fault


def test_the_claim_of_extended_resources_is_created_and_the_pod_told() -> None:
    made = wanted("p-extended-resources-abcde")
    made.metadata.annotations[EXTENDED_RESOURCE_ANNOTATION] = "true"
    store = store_with()
    assert write(store, made) == ""
    assert stored(store, "p-extended-resources-abcde").status.allocation is not None
    told = store.get(Pod, "default", "p").status.extended_resource_claim_status
    assert told is not None
    assert told.resource_claim_name == "p-extended-resources-abcde"
    perform(store, ReleaseClaim("default/p", UID, "default/p-extended-resources-abcde", delete=True))
    assert store.list(ResourceClaim) == []


def test_release_takes_one_user_off() -> None:
    there = held(claim_of("c", asks("r")), "n1", "d0", by=[USER, pod("other").obj()])
    store = store_with(there)
    perform(store, ReleaseClaim("default/p", UID, "default/c"))
    assert [user.name for user in stored(store).status.reserved_for] == ["other"]


@pytest.mark.parametrize(("users", "freed"), [([], True), ([USER], True), ([pod("other").obj()], False)])
def test_devices_are_taken_away_unless_somebody_else_uses_them(users: list[Pod], freed: bool) -> None:
    store = store_with(held(claim_of("c", asks("r")), "n1", "d0", by=users))
    perform(store, DeallocateClaim("default/p", UID, "default/c"))
    assert (stored(store).status.allocation is None) == freed
