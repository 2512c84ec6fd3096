"""Resource claims that the members of a group share."""

from __future__ import annotations

import pytest
from tests.support.devices import asks, claim_of, device, device_class, held, slice_of

from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles, queue_order
from bayplan.config.releases import RELEASES
from bayplan.core.actions import DeallocateClaim, ReleaseClaim, WriteVolumes
from bayplan.core.cache import Cache
from bayplan.core.decision import Decision, Outcome
from bayplan.core.events import ObjectAdded
from bayplan.core.plugins.dynamic_resources.claims import ClaimError, claims_of
from bayplan.core.scheduler import Scheduler
from bayplan.model.groups import PodGroup, PodGroupResourceClaim
from bayplan.model.kinds import Object
from bayplan.model.meta import OwnerReference
from bayplan.model.pod import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
)
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimConsumerReference
from bayplan.model.time_units import SECOND
from bayplan.testing import builders as make

NOW = 1_000 * SECOND
OFF = "GenericWorkload=true"
ON = "GenericWorkload=true,DRAWorkloadResourceClaims=true"
OF_GROUP = ("scheduling.k8s.io", "podgroups", "g")


def decided(gates: str, *objects: Object) -> Decision:
    configuration = load_configuration(None, gates, release=RELEASES["1.37"], with_groups=True)
    profiles = build_profiles(configuration)
    scheduler = Scheduler(profiles, queue_order(profiles), started_at=NOW, gates=configuration.gates)
    for each in objects:
        scheduler.observe(ObjectAdded(each), NOW)
    decision = scheduler.decide(NOW + 1)
    assert decision is not None
    return decision


def nodes(count: int = 2, cpu: str = "4") -> list[Object]:
    """The first of them has a device."""
    made: list[Object] = [
        make.node(f"n{number}").capacity(cpu=cpu, memory="8Gi", pods=9).obj() for number in range(count)
    ]
    return [*made, device_class(), slice_of("n0", device("d"))]


def members(count: int, cpu: str = "1") -> list[Pod]:
    pods = [make.pod(f"p{number}").cpu(cpu).in_group("g").obj() for number in range(count)]
    for pod in pods:
        pod.spec.resource_claims = [PodResourceClaim(name="c", resource_claim_name="shared")]
    return pods


def gang(size: int) -> PodGroup:
    group = make.pod_group("g").gang(size).obj()
    group.spec.resource_claims = [PodGroupResourceClaim(name="c", resource_claim_name="shared")]
    return group


def shared_claim() -> ResourceClaim:
    return claim_of("shared", asks("r"))


def users_written(decision: Decision) -> dict[str, list[tuple[str, str, str]]]:
    """By pod, whom the claim that is written for it names."""
    found = {}
    for action in decision.actions:
        if isinstance(action, WriteVolumes):
            (claim,) = [obj for obj in action.objects if isinstance(obj, ResourceClaim)]
            found[action.pod] = [(user.api_group, user.resource, user.name) for user in claim.status.reserved_for]
    return found


def test_each_member_is_among_the_users_of_a_claim_that_they_share() -> None:
    decision = decided(OFF, *nodes(), shared_claim(), gang(3), *members(3))
    assert decision.outcome is Outcome.ASSUMED
    written = users_written(decision)
    assert {pod: users[-1] for pod, users in written.items()} == {
        f"default/p{number}": ("", "pods", f"p{number}") for number in range(3)
    }


def test_a_claim_of_the_group_has_the_group_as_its_only_user() -> None:
    decision = decided(ON, *nodes(), shared_claim(), gang(3), *members(3))
    assert decision.outcome is Outcome.ASSUMED
    assert {tuple(users) for users in users_written(decision).values()} == {(OF_GROUP,)}


def test_a_claim_that_the_group_does_not_name_is_the_pods() -> None:
    group = make.pod_group("g").gang(2).obj()
    written = users_written(decided(ON, *nodes(), shared_claim(), group, *members(2)))
    assert {user for users in written.values() for user in users} == {("", "pods", "p0"), ("", "pods", "p1")}


def held_by_group(node: str) -> ResourceClaim:
    """Allocated on a node for the group, as an earlier cycle may have left it."""
    claim = held(shared_claim(), node, "d")
    user = ResourceClaimConsumerReference(api_group=OF_GROUP[0], resource=OF_GROUP[1], name="g", uid="uid-g")
    claim.status.reserved_for = [user]
    assert claim.status.allocation is not None
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
    claim.status.allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field])])
    return claim


def gang_with_uid(size: int) -> PodGroup:
    group = gang(size)
    group.metadata.uid = "uid-g"
    return group


@pytest.mark.parametrize(("gates", "released"), [(OFF, []), (ON, [DeallocateClaim])], ids=["gate off", "gate on"])
def test_a_group_that_does_not_fit_gives_back_what_it_holds_where_it_cannot_run(
    gates: str, released: list[type[object]]
) -> None:
    """The devices are on a node that is too small for the second pod."""
    decision = decided(gates, *nodes(cpu="1"), held_by_group("n0"), gang_with_uid(2), *members(2))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    freed = [action for action in decision.actions if isinstance(action, DeallocateClaim | ReleaseClaim)]
    assert [type(action) for action in freed] == released


def test_a_claim_that_is_of_use_everywhere_is_left_by_the_group() -> None:
    """Only one node, with the devices: nothing is unavailable, so the group gives up its place among the users."""
    decision = decided(ON, *nodes(1, cpu="1"), held_by_group("n0"), gang_with_uid(2), *members(2))
    (left,) = [action for action in decision.actions if isinstance(action, ReleaseClaim)]
    assert (left.uid, left.claim, left.delete) == ("uid-g", "default/shared", False)


def test_members_take_claims_that_were_made_for_their_group() -> None:
    """And say in upstream's words what they do not take."""
    claim = shared_claim()
    claim.metadata.owner_references = [
        OwnerReference(api_version="scheduling.k8s.io/v1beta1", kind="PodGroup", name="g", uid="uid-g", controller=True)
    ]
    pods = members(2)
    for pod in pods:
        pod.spec.resource_claims = [PodResourceClaim(name="c", resource_claim_template_name="t")]
        pod.status.resource_claim_statuses = [PodResourceClaimStatus(name="c", resource_claim_name="shared")]
    group = gang_with_uid(2)
    group.spec.resource_claims = [PodGroupResourceClaim(name="c", resource_claim_template_name="t")]
    assert decided(ON, *nodes(), claim, group, *pods).outcome is Outcome.ASSUMED
    pods[0].status.resource_claim_statuses = [PodResourceClaimStatus(name="c", resource_claim_name="other")]
    other = claim_of("other", asks("r"))
    configuration = load_configuration(None, ON, release=RELEASES["1.37"], with_groups=True)
    cache = Cache(configuration.gates)
    for each in (*nodes(), other, group):
        cache.add(each)
    with pytest.raises(ClaimError, match=r"\(neither Pod nor PodGroup g is the owner\)"):
        list(claims_of(cache.info(pods[0])))
