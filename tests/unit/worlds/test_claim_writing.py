"""What an API server makes of the claims that a scheduler writes."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.devices import asks, claim_of, held

from bayplan.model.pod import Pod
from bayplan.model.resource_claims import (
    CLAIM_FINALIZER,
    EXTENDED_RESOURCE_ANNOTATION,
    ResourceClaim,
    ResourceClaimConsumerReference,
)
from bayplan.store import ApiError, Store
from bayplan.testing.builders import pod
from bayplan.worlds import claim_writing

USER = pod("p").obj()
UID = USER.metadata.uid


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


def write(store: Store, claim: ResourceClaim) -> None:
    claim_writing.write(store, claim, "default/p", UID, 0)


def test_finalizer_devices_and_user_are_written_together() -> None:
    store = store_with(claim_of("c", asks("r")))
    write(store, wanted())
    claim = stored(store)
    assert claim.metadata.finalizers == [CLAIM_FINALIZER]
    assert claim.status.allocation is not None
    assert claim.status.allocation.allocation_timestamp == "1970-01-01T00:00:00Z"
    assert [user.uid for user in claim.status.reserved_for] == [UID]


def test_a_second_user_joins_the_first() -> None:
    first = held(claim_of("c", asks("r")), "n1", "d0", by=[pod("first").obj()])
    store = store_with(deepcopy(first))
    first.status.reserved_for.append(ResourceClaimConsumerReference(resource="pods", name="p", uid=UID))
    write(store, first)
    assert [user.name for user in stored(store).status.reserved_for] == ["first", "p"]


def crowded() -> ResourceClaim:
    return held(claim_of("c", asks("r")), "n1", "d0", by=[pod(f"u{number}").obj() for number in range(256)])


@pytest.mark.parametrize(
    ("there", "fault"),
    [
        (wanted("c", "d1"), "claim default/c got allocated elsewhere in the meantime"),
        (
            crowded(),
            'add reservation to claim default/c: ResourceClaim.resource.k8s.io "c" is invalid: '
            "status.reservedFor: Too many: 257: must have at most 256 items",
        ),
    ],
    ids=["other devices", "too many users"],
)
def test_what_does_not_fit_what_is_stored_is_refused(there: ResourceClaim, fault: str) -> None:
    store = store_with(there)
    with pytest.raises(ApiError) as raised:
        write(store, wanted())
    assert str(raised.value) == fault


def test_a_claim_that_is_gone_is_refused() -> None:
    with pytest.raises(ApiError, match=r'resourceclaims\.resource\.k8s\.io "c" not found'):
        write(store_with(), wanted())


def test_the_claim_of_extended_resources_is_created_and_the_pod_told() -> None:
    made = wanted("p-extended-resources-abcde")
    made.metadata.annotations[EXTENDED_RESOURCE_ANNOTATION] = "true"
    store = store_with()
    write(store, made)
    assert stored(store, "p-extended-resources-abcde").status.allocation is not None
    told = store.get(Pod, "default", "p").status.extended_resource_claim_status
    assert told is not None
    assert told.resource_claim_name == "p-extended-resources-abcde"
    claim_writing.release(store, "default/p-extended-resources-abcde", UID, True, 0)
    assert store.list(ResourceClaim) == []


def test_release_takes_one_user_off() -> None:
    there = held(claim_of("c", asks("r")), "n1", "d0", by=[USER, pod("other").obj()])
    store = store_with(there)
    claim_writing.release(store, "default/c", UID, False, 0)
    assert [user.name for user in stored(store).status.reserved_for] == ["other"]


@pytest.mark.parametrize(("users", "freed"), [([], True), ([USER], True), ([pod("other").obj()], False)])
def test_devices_are_taken_away_unless_somebody_else_uses_them(users: list[Pod], freed: bool) -> None:
    store = store_with(held(claim_of("c", asks("r")), "n1", "d0", by=users))
    claim_writing.deallocate(store, "default/c", UID, 0)
    assert (stored(store).status.allocation is None) == freed
