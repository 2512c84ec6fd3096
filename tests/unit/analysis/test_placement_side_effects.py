"""What a placed pod leaves behind for the next one: volumes kept for it, nominations that end."""

from __future__ import annotations

from bayplan.analysis.cluster import Cluster
from bayplan.model.kinds import Object
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
