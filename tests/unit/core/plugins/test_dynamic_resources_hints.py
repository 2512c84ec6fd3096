"""What may help a pod whose claims could not be served."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.caches import cache_of
from tests.support.devices import asks, claim_of, device, device_class, held, owned, slice_of, with_claims
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.core.plugins.dynamic_resources.hints import after_claim_change, after_own_claims_made
from bayplan.core.queue.changes import pod_changes
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod, PodResourceClaim, PodResourceClaimStatus
from bayplan.model.resource_claims import ResourceClaim
from bayplan.testing.builders import node, pod

POD = pod("p").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").obj(), True, id="new-node"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), True, id="node-labels"),
        pytest.param(node("n").obj(), node("n").capacity(cpu="9").obj(), True, id="node-allocatable"),
        pytest.param(node("n").obj(), None, False, id="node-gone"),
        pytest.param(POD, pod("p").labels(a="1").obj(), False, id="own-labels"),
        pytest.param(pod("q").node("n").obj(), None, False, id="pod-gone"),
        pytest.param(None, slice_of("n", device("d")), True, id="new-slice"),
        pytest.param(slice_of("n"), slice_of("n", device("d")), True, id="slice-changed"),
        pytest.param(slice_of("n", device("d")), None, False, id="slice-gone"),
        pytest.param(None, device_class(), True, id="new-class"),
        pytest.param(device_class(), device_class("gpu", "true"), True, id="class-changed"),
        pytest.param(device_class(), None, False, id="class-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(DynamicResources(gates=DEFAULT_GATES), POD, old, new) == worth_it


def free(name: str = "c") -> ResourceClaim:
    return claim_of(name, asks("r"))


def in_use(name: str = "c") -> ResourceClaim:
    return held(free(name), "n", "d")


def labeled() -> ResourceClaim:
    made = free()
    made.metadata.labels = {"a": "1"}
    return made


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, free(), True, id="own-claim-came"),
        pytest.param(None, free("else"), False, id="another-claim-came"),
        pytest.param(free(), in_use(), True, id="own-claim-got-devices"),
        pytest.param(free(), labeled(), False, id="own-claim-labels"),
        pytest.param(free("else"), in_use("else"), False, id="another-claim-got-devices"),
        pytest.param(in_use("else"), free("else"), True, id="devices-given-back"),
    ],
)
def test_claims(old: ResourceClaim | None, new: ResourceClaim, worth_it: bool) -> None:
    """Asked when the cache knows the claim as it is now."""
    cache = cache_of(free(), new)
    assert after_claim_change(cache.info(with_claims(deepcopy(POD), "c")), old, new) == worth_it


def test_devices_given_back_are_no_help_while_the_own_claim_is_missing() -> None:
    info = cache_of().info(with_claims(deepcopy(POD), "c"))
    assert not after_claim_change(info, in_use("else"), free("else"))


def test_a_pod_with_an_extended_resource_hears_of_devices_given_back() -> None:
    info = cache_of(device_class(extended="example.com/gpu")).info(pod("p").request({"example.com/gpu": 1}).obj())
    assert after_claim_change(info, in_use(), free())
    assert not after_claim_change(info, None, free())


def from_template(*told: str) -> Pod:
    made = pod("p").obj()
    made.spec.resource_claims = [PodResourceClaim(name="gpu", resource_claim_template_name="t")]
    made.status.resource_claim_statuses = [
        PodResourceClaimStatus(name="gpu", resource_claim_name=name) for name in told
    ]
    return made


def test_a_pod_is_told_its_claims() -> None:
    """That is an event of its own, which helps when all claims can be used."""
    before, after = from_template(), from_template("c")
    assert pod_changes(before, after, DEFAULT_GATES) == [ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM]
    made = owned(free(), after)
    assert after_own_claims_made(cache_of(made).info(after), before, after)
    assert not after_own_claims_made(cache_of().info(after), before, after)
    other = deepcopy(after)
    other.metadata.uid = "another"
    assert not after_own_claims_made(cache_of(made).info(after), before, other)


def test_registers() -> None:
    """As upstream."""
    changed = ActionType.ADD | ActionType.UPDATE
    assert registered(DynamicResources(gates=DEFAULT_GATES)) == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE,
        EventResource.RESOURCE_CLAIM: changed,
        EventResource.POD: ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS: changed,
        EventResource.RESOURCE_SLICE: changed,
    }
