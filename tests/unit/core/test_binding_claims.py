"""Resource claims on the way to a node: kept in memory, written, taken back when the pod does not get there."""

from __future__ import annotations

from copy import deepcopy

from bayplan.config.loading import load_configuration
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind, DeallocateClaim, Nominate, ReleaseClaim, SetCondition, WriteVolumes
from bayplan.core.decision import Decision
from bayplan.core.events import BindAnswered, ObjectAdded, ObjectChanged, VolumesAnswered
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.testing.builders import node, pod
from bayplan.testing.devices import asks, claim_of, device, device_class, held, slice_of, with_claims

SECOND = 10**9
GPU = "example.com/gpu"


def user(name: str, claim: str) -> Pod:
    return with_claims(pod(name).obj(), claim)


def scheduler(*objects: Object, gates: str = "") -> Scheduler:
    made = build_scheduler(load_configuration(None, gates), started_at=0)
    for thing in (node("n1").obj(), device_class(extended=GPU), slice_of("n1", device("d0")), *objects):
        made.observe(ObjectAdded(thing), 0)
    return made


def decided(world: Scheduler, at: int = 0) -> Decision:
    decision = world.decide(at * SECOND)
    assert decision is not None
    return decision


def written(decision: Decision) -> ResourceClaim:
    (action,) = (action for action in decision.actions if isinstance(action, WriteVolumes))
    (claim,) = action.objects
    assert isinstance(claim, ResourceClaim)
    return claim


def stored(world: Scheduler, name: str = "c") -> ResourceClaim:
    return world.cache.objects.resource_claims["default", name]


def test_the_claim_is_written_and_then_the_pod_is_bound() -> None:
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    claim = written(decided(world))
    assert claim.status.allocation is not None
    assert [consumer.name for consumer in claim.status.reserved_for] == ["p"]
    world.observe(VolumesAnswered("default/p", "pod-default-p"), SECOND)
    assert decided(world, 1).actions == (Bind("default/p", "pod-default-p", "n1"),)


def test_the_node_is_announced_while_something_is_written() -> None:
    """Unless the gate NominatedNodeNameForExpectation is off."""
    objects: list[Object] = [claim_of("c", asks("r")), user("p", "c")]
    assert Nominate("default/p", "n1") in decided(scheduler(*objects)).actions
    silent = scheduler(*objects, gates="NominatedNodeNameForExpectation=false")
    (only,) = decided(silent).actions
    assert isinstance(only, WriteVolumes)


def test_others_wait_while_the_claim_is_being_written() -> None:
    """The device is taken, and the claim itself is nobody's to use yet."""
    world = scheduler(
        claim_of("c", asks("r")), claim_of("e", asks("r")), user("p", "c"), user("q", "c"), user("r", "e")
    )
    decided(world)
    sharing = decided(world)
    assert "resource claim default/c is in the process of being allocated" in sharing.message
    assert "cannot allocate all claims" in decided(world).message
    world.observe(VolumesAnswered("default/p", "pod-default-p"), SECOND)
    decided(world, 1)
    claim = stored(world)
    world.observe(ObjectChanged(claim_of("c", asks("r")), claim), SECOND)
    assert decided(world, 2).pod == "default/q"


def test_a_refused_write_gives_the_device_back() -> None:
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    decided(world)
    world.observe(VolumesAnswered("default/p", "pod-default-p", "no"), SECOND)
    conditions = [action for action in decided(world, 1).actions if isinstance(action, SetCondition)]
    assert [condition.message for condition in conditions] == ['running PreBind plugin "DynamicResources": no']
    assert stored(world).status.allocation is None
    assert not world.cache.objects.devices.holders
    assert not world.cache.objects.claims_in_flight


def test_a_failed_binding_takes_the_pod_off_the_claim() -> None:
    """The devices stay with the claim until somebody needs them elsewhere, as upstream has it."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    decided(world)
    world.observe(VolumesAnswered("default/p", "pod-default-p"), SECOND)
    decided(world, 1)
    world.observe(BindAnswered("default/p", "pod-default-p", "no"), 2 * SECOND)
    releases = [action for action in decided(world, 2).actions if isinstance(action, ReleaseClaim)]
    assert releases == [ReleaseClaim("default/p", "pod-default-p", "default/c")]


def test_the_claim_of_an_extended_resource_is_deleted_with_the_attempt() -> None:
    asking = pod("p").request({GPU: 1}).obj()
    world = scheduler(asking)
    claim = written(decided(world))
    world.observe(VolumesAnswered("default/p", "pod-default-p", "no"), SECOND)
    decided(world, 1)
    assert not world.cache.objects.resource_claims
    decided(world, 20)
    world.observe(VolumesAnswered("default/p", "pod-default-p"), 20 * SECOND)
    decided(world, 20)
    world.observe(BindAnswered("default/p", "pod-default-p", "no"), 21 * SECOND)
    releases = [action for action in decided(world, 21).actions if isinstance(action, ReleaseClaim)]
    assert releases == [ReleaseClaim("default/p", "pod-default-p", f"default/{claim.metadata.name}", True)]


def test_old_news_of_a_claim_do_not_free_its_devices() -> None:
    """The watch may still show the claim as it was when its finalizer came."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    decided(world)
    late = claim_of("c", asks("r"))
    late.metadata.finalizers = ["resource.kubernetes.io/delete-protection"]
    world.observe(ObjectChanged(claim_of("c", asks("r")), late), SECOND)
    assert stored(world).status.allocation is not None
    assert stored(world).metadata.finalizers == late.metadata.finalizers


def test_devices_out_of_reach_are_taken_from_the_claim() -> None:
    claim = held(claim_of("c", asks("r")), "n1", "d0")
    assert claim.status.allocation is not None
    gone = NodeSelectorRequirement(key="metadata.name", operator="In", values=["gone"])
    claim.status.allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[gone])])
    world = scheduler(deepcopy(claim), user("p", "c"))
    refused = decided(world)
    assert "deallocation of ResourceClaim completed" in refused.message
    assert refused.actions[0] == DeallocateClaim("default/p", "pod-default-p", "default/c")
    free = claim_of("c", asks("r"))
    world.observe(ObjectChanged(claim, free), 2 * SECOND)
    assert written(decided(world, 12)).status.allocation is not None
