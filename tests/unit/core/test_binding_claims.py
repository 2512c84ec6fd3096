"""Resource claims on the way to a node: kept in memory, written, taken back when the pod does not get there."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.devices import asks, claim_of, device, device_class, held, owned, slice_of, with_claims

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Bind, DeallocateClaim, Nominate, ReleaseClaim, SetCondition, WriteVolumes
from bayplan.core.decision import Decision
from bayplan.core.events import (
    BindAnswered,
    ClaimWriteFailed,
    ObjectAdded,
    ObjectChanged,
    ObjectRemoved,
    VolumesAnswered,
)
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from bayplan.model.resource_claims import EXTENDED_RESOURCE_ANNOTATION, ResourceClaim
from bayplan.model.structs import replace
from bayplan.testing.builders import node, pod

SECOND = 10**9
GPU = "example.com/gpu"


def user(name: str, claim: str) -> Pod:
    return with_claims(pod(name).obj(), claim)


def versioned(claim: ResourceClaim, version: int) -> ResourceClaim:
    """The claim as it was stored at some time."""
    return replace(claim, metadata=replace(claim.metadata, uid="c-1", resource_version=str(version)))


def scheduler(*objects: Object, gates: str = "") -> Scheduler:
    made = build_scheduler(load_configuration(None, gates, release=DEFAULT_RELEASE), started_at=0)
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


def test_a_claim_made_for_a_pod_is_what_the_watch_shows_once_the_pod_is_on_its_node() -> None:
    asking = pod("p").request({GPU: 1}).obj()
    world = scheduler(asking)
    claim = written(decided(world))
    world.observe(VolumesAnswered("default/p", "pod-default-p"), SECOND)
    decided(world, 1)
    world.observe(BindAnswered("default/p", "pod-default-p"), SECOND)
    assert world.cache.objects.claims_in_flight
    world.observe(ObjectChanged(asking, pod("p").request({GPU: 1}).running("n1").obj()), 2 * SECOND)
    assert not world.cache.objects.claims_in_flight
    freed = deepcopy(claim)
    freed.status.allocation = None
    world.observe(ObjectChanged(claim, freed), 3 * SECOND)
    assert stored(world, claim.metadata.name).status.allocation is None


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


@pytest.mark.parametrize("is_own", [False, True], ids=["deallocated", "deleted"])
def test_a_pod_whose_claim_could_not_be_freed_is_tried_again(is_own: bool) -> None:
    world, freeing = _frees_a_claim(is_own=is_own)
    assert world.decide(100 * SECOND) is None  # nothing else would wake it
    world.observe(ClaimWriteFailed("default/p", "another", "of a pod that had the name before"), 100 * SECOND)
    assert world.decide(100 * SECOND) is None
    world.observe(ClaimWriteFailed("default/p", "pod-default-p", "the server is busy"), 100 * SECOND)
    assert freeing in decided(world, 100).actions


def test_a_claim_that_could_not_be_freed_while_the_pod_is_tried_brings_it_back() -> None:
    world, freeing = _frees_a_claim(is_own=False)
    queued = world.queue.find("default/p")
    assert queued is not None
    world.queue.activate(["default/p"], 100 * SECOND)
    popped = world.queue.pop(100 * SECOND)
    assert popped is queued
    world.observe(ClaimWriteFailed("default/p", "pod-default-p", "the server is busy"), 100 * SECOND)
    world.queue.return_failed(popped, ("DynamicResources",), (), 100 * SECOND)
    assert freeing in decided(world, 103).actions


def _frees_a_claim(*, is_own: bool) -> tuple[Scheduler, DeallocateClaim | ReleaseClaim]:
    """A scheduler that has decided to take devices from the claim of pod p, and how it said so."""
    asking = pod("p").request({GPU: 1}).obj() if is_own else user("p", "c")
    claim = held(claim_of("c", asks("r")), "n1", "d0")
    assert claim.status.allocation is not None
    gone = NodeSelectorRequirement(key="metadata.name", operator="In", values=["gone"])
    claim.status.allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[gone])])
    if is_own:
        claim.metadata.annotations[EXTENDED_RESOURCE_ANNOTATION] = "true"
        claim = owned(claim, asking)
    world = scheduler(claim, asking)
    freeing = decided(world).actions[0]
    expected = ReleaseClaim("default/p", "pod-default-p", "default/c", True) if is_own else None
    assert freeing == (expected or DeallocateClaim("default/p", "pod-default-p", "default/c"))
    assert isinstance(freeing, DeallocateClaim | ReleaseClaim)
    return world, freeing


def as_written(claim: ResourceClaim, version: str) -> ResourceClaim:
    """The claim as an API server reports it once it has taken the write."""
    made = deepcopy(claim)
    made.metadata.resource_version = version
    return made


def test_a_lost_answer_keeps_the_devices_and_asks_again() -> None:
    """Nobody knows whether the claim has its devices, so nobody else gets them."""
    world = scheduler(claim_of("c", asks("r")), claim_of("e", asks("r")), user("p", "c"))
    first = decided(world)
    world.observe(VolumesAnswered("default/p", "pod-default-p", "timed out", lost=True), SECOND)
    again = decided(world, 1)
    assert again.actions == (WriteVolumes("default/p", "pod-default-p", (written(first),)),)
    world.observe(ObjectAdded(user("q", "e")), SECOND)
    assert "cannot allocate all claims" in decided(world, 1).message
    done = as_written(written(first), "7")
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(done,)), 2 * SECOND)
    assert decided(world, 2).actions == (Bind("default/p", "pod-default-p", "n1"),)


def test_an_answer_reports_what_a_lost_one_did() -> None:
    """The first request was done and the second refused: the claim has its devices, and the pod is taken off it."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    claim = as_written(written(decided(world)), "7")
    world.observe(VolumesAnswered("default/p", "pod-default-p", "timed out", lost=True), SECOND)
    decided(world, 1)
    world.observe(VolumesAnswered("default/p", "pod-default-p", "no", claims=(claim,)), 2 * SECOND)
    failed = decided(world, 2)
    assert ReleaseClaim("default/p", "pod-default-p", "default/c") in failed.actions
    assert stored(world) == claim
    assert not world.cache.objects.claims_in_flight


def test_only_the_claims_that_were_written_keep_their_devices() -> None:
    """Of two claims the second is refused: the first one stays served, and the pod is taken off it."""
    asking = with_claims(pod("p").obj(), "c", "e")
    world = scheduler(
        claim_of("c", asks("r")), claim_of("e", asks("r")), slice_of("n1", device("d0"), device("d1")), asking
    )
    (write,) = (action for action in decided(world).actions if isinstance(action, WriteVolumes))
    done, _ = write.objects
    assert isinstance(done, ResourceClaim)
    answer = VolumesAnswered(
        "default/p", "pod-default-p", "no", claims=(as_written(done, "7"), claim_of("e", asks("r")))
    )
    world.observe(answer, SECOND)
    releases = [action for action in decided(world, 1).actions if isinstance(action, ReleaseClaim)]
    assert releases == [ReleaseClaim("default/p", "pod-default-p", "default/c")]
    assert [stored(world, name).status.allocation is not None for name in ("c", "e")] == [True, False]
    assert [str(held_device) for held_device in world.cache.objects.devices.holders] == ["gpu.example.com/n1/d0"]


def test_a_pod_that_goes_during_the_write_leaves_its_devices_when_it_is_answered() -> None:
    """Until then the write may take effect at any time."""
    leaving = user("p", "c")
    world = scheduler(claim_of("c", asks("r")), claim_of("e", asks("r")), leaving)
    claim = as_written(written(decided(world)), "7")
    world.observe(ObjectRemoved(leaving), SECOND)
    world.observe(ObjectAdded(user("q", "e")), SECOND)
    assert "cannot allocate all claims" in decided(world, 1).message
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(claim,)), 2 * SECOND)
    assert decided(world, 2).actions == (ReleaseClaim("default/p", "pod-default-p", "default/c"),)
    assert stored(world) == claim
    assert not world.cache.objects.claims_in_flight


def test_a_pod_that_goes_after_the_write_is_taken_off_its_claim() -> None:
    leaving = user("p", "c")
    world = scheduler(claim_of("c", asks("r")), leaving)
    claim = as_written(written(decided(world)), "7")
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(claim,)), SECOND)
    decided(world, 1)
    world.observe(ObjectRemoved(leaving), 2 * SECOND)
    assert decided(world, 2).actions == (ReleaseClaim("default/p", "pod-default-p", "default/c"),)


def test_news_older_than_the_answer_do_not_free_devices() -> None:
    """The watch lags behind the answer, also when the pod has lost its node again meanwhile."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    claim = as_written(written(decided(world)), "7")
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(claim,)), SECOND)
    decided(world, 1)
    world.observe(BindAnswered("default/p", "pod-default-p", "no"), SECOND)
    decided(world, 1)
    world.observe(ObjectChanged(claim_of("c", asks("r")), as_written(claim_of("c", asks("r")), "6")), SECOND)
    assert stored(world).status.allocation is not None
    world.observe(ObjectChanged(claim_of("c", asks("r")), as_written(claim_of("c", asks("r")), "8")), SECOND)
    assert stored(world).status.allocation is None


def test_a_claim_of_the_same_name_that_went_before_does_not_take_the_new_one_along() -> None:
    """Each attempt writes the claim of an extended resource under the same name."""
    world = scheduler(pod("p").request({GPU: 1}).obj())
    claim = written(decided(world))
    gone = as_written(claim, "5")
    gone.metadata.uid = "an earlier one"
    world.observe(ObjectRemoved(gone), SECOND)
    assert world.cache.objects.devices.holders


def test_what_the_watch_showed_during_an_attempt_is_what_is_left_of_it() -> None:
    """A label that came while the devices were only assumed stays; the devices go."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    decided(world)
    labeled = as_written(claim_of("c", asks("r")), "3")
    labeled.metadata.labels = {"team": "x"}
    world.observe(ObjectChanged(claim_of("c", asks("r")), labeled), SECOND)
    world.observe(VolumesAnswered("default/p", "pod-default-p", "no"), SECOND)
    assert stored(world) == labeled


def test_a_claim_that_came_and_went_unseen_leaves_nothing_behind() -> None:
    """The watch broke and never showed the claim that was written for the pod."""
    asking = pod("p").request({GPU: 1}).obj()
    world = scheduler(asking)
    claim = as_written(written(decided(world)), "7")
    claim.metadata.uid = "claim-of-p"
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(claim,)), SECOND)
    decided(world, 1)
    assert world.cache.objects.devices.holders
    world.observe(ObjectRemoved(asking), 2 * SECOND)
    assert not world.cache.objects.resource_claims
    assert not world.cache.objects.devices.holders


def test_a_write_that_is_never_answered_is_given_up_but_its_devices_are_not() -> None:
    """After ten minutes the pod is tried again; the write may still take effect."""
    world = scheduler(claim_of("c", asks("r")), user("p", "c"))
    decided(world)
    late = decided(world, 600)
    conditions = [action.message for action in late.actions if isinstance(action, SetCondition)]
    assert conditions == ['running PreBind plugin "DynamicResources": context deadline exceeded']
    assert world.cache.objects.devices.holders


def test_an_answer_that_is_older_than_what_the_watch_has_shown_is_passed_over() -> None:
    """The claim was written, then given back because its pod was deleted; the answer to the write comes last."""
    before = versioned(claim_of("c", asks("r")), 1)
    leaving = user("p", "c")
    world = scheduler(before, leaving)
    ours, given_back = versioned(written(decided(world)), 2), versioned(before, 3)
    waiting = user("q", "e")
    world.observe(ObjectAdded(claim_of("e", asks("r"))), 0)
    world.observe(ObjectAdded(waiting), 0)
    assert "cannot allocate all claims" in decided(world).message
    world.observe(ObjectRemoved(leaving), SECOND)
    world.observe(ObjectChanged(before, ours), SECOND)
    world.observe(ObjectChanged(ours, given_back), SECOND)
    world.observe(VolumesAnswered("default/p", "pod-default-p", claims=(ours,)), SECOND)
    assert stored(world) == given_back
    assert not world.cache.objects.devices.holders
    pods = []
    while (decision := world.decide(20 * SECOND)) is not None:
        pods.append(decision.pod)
    assert "default/q" in pods, "the device is free again"
