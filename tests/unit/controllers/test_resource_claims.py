"""Claims of devices: made from templates, given back, deleted with the pods they were made for."""

from __future__ import annotations

from copy import deepcopy

from tests.support.devices import asks, claim_of, claim_template, held, with_claims
from tests.support.workload_stage import Workloads

from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.controllers.resource_claims import ResourceClaimController, claim_from
from bayplan.model.pod import Pod, PodResourceClaim
from bayplan.model.resource_claims import CLAIM_FINALIZER, ResourceClaim
from bayplan.testing.builders import pod


def stage() -> Workloads:
    return Workloads(ResourceClaimController(), GarbageCollector())


def from_template(name: str = "train") -> Pod:
    made = pod(name).manifest().obj()
    made.spec.resource_claims = [PodResourceClaim(name="gpu", resource_claim_template_name="one-gpu")]
    return made


def claims(world: Workloads) -> list[ResourceClaim]:
    return world.store.list(ResourceClaim)


def told(world: Workloads, name: str) -> list[tuple[str, str | None]]:
    return [(s.name, s.resource_claim_name) for s in world.pod(name).status.resource_claim_statuses]


def in_use(claim: ResourceClaim, *users: Pod) -> ResourceClaim:
    made = held(claim, "n1", "d0", by=users)
    made.metadata.finalizers = [CLAIM_FINALIZER]
    return made


def test_a_claim_is_made_from_the_template_and_the_pod_is_told() -> None:
    world = stage()
    world.create(claim_template("one-gpu", asks("r")), from_template())
    (made,) = claims(world)
    assert made.metadata.name.startswith("train-gpu-")
    assert made.metadata.annotations == {"resource.kubernetes.io/pod-claim-name": "gpu"}
    assert [owner.uid for owner in made.metadata.owner_references] == [world.pod("train").metadata.uid]
    assert made.spec.devices.requests == [asks("r")]
    assert told(world, "train") == [("gpu", made.metadata.name)]


def test_a_pod_waits_for_its_template() -> None:
    world = stage()
    world.create(from_template())
    assert claims(world) == []
    world.create(claim_template("one-gpu", asks("r")))
    assert told(world, "train") == [("gpu", claims(world)[0].metadata.name)]


def test_a_claim_that_is_deleted_comes_again() -> None:
    world = stage()
    world.create(claim_template("one-gpu", asks("r")), from_template())
    first = claims(world)[0].metadata.name
    world.delete(ResourceClaim, "default", first)
    (second,) = claims(world)
    assert second.metadata.name != first
    assert told(world, "train") == [("gpu", second.metadata.name)]


def test_long_names_are_cut_on_both_sides() -> None:
    made = claim_from(claim_template("t", asks("r")), pod("p" * 60).obj(), "c" * 20)
    assert made.metadata.generate_name == "p" * 41 + "-" + "c" * 13


def test_the_last_user_gives_the_devices_back() -> None:
    world = stage()
    one, other = (with_claims(pod(name).node("n1").obj(), "shared") for name in ("one", "other"))
    world.load(one, other)
    world.load(in_use(claim_of("shared", asks("r")), world.pod("one"), world.pod("other")))
    world.delete(Pod, "default", "one", grace_seconds=0)
    (claim,) = claims(world)
    assert [user.name for user in claim.status.reserved_for] == ["other"]
    assert claim.status.allocation is not None
    world.delete(Pod, "default", "other", grace_seconds=0)
    (claim,) = claims(world)
    assert claim.status.allocation is None
    assert claim.metadata.finalizers == []


def test_a_pod_that_ended_gives_its_devices_back_and_a_claim_made_for_it_goes() -> None:
    world = stage()
    world.create(claim_template("one-gpu", asks("r")), from_template())
    (claim,) = claims(world)
    world.bind("train", "n1")
    world.store.modify_status(
        ResourceClaim,
        "default",
        claim.metadata.name,
        lambda stored: in_use(deepcopy(stored), world.pod("train")),
        world.now,
    )
    world.settle()
    assert [user.name for user in claims(world)[0].status.reserved_for] == ["train"]
    world.end("train")
    assert claims(world) == []


def test_a_claim_that_nobody_ever_used_stays_allocated() -> None:
    """Only leaving gives devices back: somebody may be about to come."""
    world = stage()
    world.load(in_use(claim_of("spare", asks("r"))))
    assert claims(world)[0].status.allocation is not None


def test_a_claim_in_use_goes_when_it_is_not_used_any_more() -> None:
    world = stage()
    world.load(with_claims(pod("one").node("n1").obj(), "shared"))
    world.load(in_use(claim_of("shared", asks("r")), world.pod("one")))
    world.delete(ResourceClaim, "default", "shared")
    assert claims(world)[0].metadata.deletion_timestamp is not None
    world.delete(Pod, "default", "one", grace_seconds=0)
    assert claims(world) == []
