"""What a placed pod leaves behind for the next one: volumes kept for it, nominations that end."""

from __future__ import annotations

import pytest

from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
from bayplan.model.resource_claims import CLAIM_FINALIZER, ResourceClaim
from bayplan.testing.builders import claim, node, pod, storage_class, volume
from bayplan.testing.devices import asks, claim_of, device, device_class, held, slice_of, with_claims


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
