"""What a placed pod leaves behind for the next one: volumes kept for it, nominations that end."""

from __future__ import annotations

import pytest
from tests.support.devices import asks, claim_of, device, device_class, held, slice_of, with_claims

from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.model.pod import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.model.resource_claims import CLAIM_FINALIZER, Device, ResourceClaim
from bayplan.testing.builders import claim, node, pod, storage_class, volume


def test_a_volume_is_given_to_one_pod_only() -> None:
    """Two pods wait for the same single volume: the first gets it, the second is told that there is none left."""
    objects: list[Object] = [
        node("n1").capacity(cpu="4", memory="8Gi", pods=110).obj(),
        storage_class("local", provisioner="kubernetes.io/no-provisioner", mode="WaitForFirstConsumer").obj(),
        volume("disk").storage_class("local").storage("10Gi").modes("ReadWriteOnce").obj(),
        claim("a").storage_class("local").storage("5Gi").modes("ReadWriteOnce").obj(),
        claim("b").storage_class("local").storage("5Gi").modes("ReadWriteOnce").obj(),
        pod("first").claim("a").obj(),
        pod("second").claim("b").obj(),
    ]
    first, second = Cluster(objects).place(["default/first", "default/second"]).decisions
    assert first.node == "n1"
    assert second.node is None
    assert "1 node(s) didn't find available persistent volumes to bind" in second.message


def test_a_nominated_pod_takes_its_node_without_scoring() -> None:
    """The pod would score better elsewhere, but the node it was nominated to still takes it."""
    objects: list[Object] = [
        node("big").capacity(cpu="64", memory="256Gi", pods=110).obj(),
        node("small").capacity(cpu="2", memory="4Gi", pods=110).obj(),
        pod("p").cpu("1").nominated("small").obj(),
    ]
    (decision,) = Cluster(objects).place(["default/p"]).decisions
    assert (decision.node, decision.total) == ("small", None)


@pytest.mark.parametrize(("other_users", "freed"), [([], True), ([pod("other").node("n2").obj()], False)])
def test_a_victim_gives_its_devices_back(other_users: list[Object], freed: bool) -> None:
    """Once the victim is gone the next pod gets the device, unless somebody else uses the claim as well."""
    victim = with_claims(pod("victim").cpu("1").node("n1").obj(), "old")
    taken = held(claim_of("old", asks("r")), "n1", "d0", by=[victim, *other_users])  # type: ignore[list-item]
    taken.metadata.finalizers = [CLAIM_FINALIZER]
    objects: list[Object] = [
        node("n1").capacity(cpu="1", memory="8Gi", pods=110).obj(),
        device_class(),
        slice_of("n1", device("d0")),
        victim,
        taken,
        claim_of("new", asks("r")),
        pod("urgent").cpu("1").priority(10).obj(),
        with_claims(pod("next").obj(), "new"),
    ]
    cluster = Cluster(objects)
    placement = cluster.place(["default/urgent", "default/next"])
    urgent, following = placement.decisions
    assert urgent.victims == ("default/victim",)
    assert (following.node == "n1") == freed
    left = next(
        obj for obj in cluster.after(placement).objects if isinstance(obj, ResourceClaim) and "old" in obj.metadata.name
    )
    assert [user.name for user in left.status.reserved_for] == [user.metadata.name for user in other_users]
    assert (left.status.allocation is None) == freed


def held_on(claim: ResourceClaim, node_name: str, device_name: str) -> ResourceClaim:
    """The claim with a device that is there for one node only."""
    here = NodeSelectorRequirement(key="metadata.name", operator="In", values=[node_name])
    allocation = held(claim, node_name, device_name).status.allocation
    assert allocation is not None
    allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[here])])
    return claim


@pytest.mark.parametrize(
    ("devices_of_n2", "placed_on"),
    [pytest.param([], None, id="no-other-device"), pytest.param([device("d1")], "n2", id="another-node-has-one")],
)
def test_evicting_for_devices_that_are_taken_back(devices_of_n2: list[Device], placed_on: str | None) -> None:
    """The device the pod had on n1 is no longer offered; no node fits, so the scheduler takes it back and evicts."""
    objects: list[Object] = [
        node("n1").capacity(cpu="1", memory="8Gi", pods=110).obj(),
        node("n2").capacity(cpu="1", memory="8Gi", pods=110).obj(),
        device_class(),
        slice_of("n2", *devices_of_n2),
        held_on(claim_of("mine", asks("r")), "n1", "d0"),
        pod("victim").cpu("1").node("n1").obj(),
        with_claims(pod("urgent").cpu("1").priority(10).obj(), "mine"),
        with_claims(pod("next").obj(), "mine"),
    ]
    urgent, following = Cluster(objects).place(["default/urgent", "default/next"]).decisions
    assert (urgent.node, urgent.victims) == (placed_on, ("default/victim",))
    assert ("cannot allocate all claims" in urgent.message) == (placed_on is None)
    assert following.node == placed_on
