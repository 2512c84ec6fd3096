"""What kubelets refuse, and in which words."""

from __future__ import annotations

import pytest

from bayplan.controllers.nodes.pod_admission import refusal_of
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

NODE = node("n").capacity(cpu=4, memory="8Gi", pods=2).label("disk", "ssd")


@pytest.mark.parametrize(
    ("asking", "others", "reason", "message"),
    [
        (pod("a").request(cpu=4), [], "", ""),
        (
            pod("a").request(cpu=2),
            [pod("b").request(cpu=3)],
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 2000, used: 3000, capacity: 4000",
        ),
        (
            pod("a"),
            [pod("b"), pod("c")],
            "OutOfpods",
            "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
        ),
        (pod("a").request(**{"example.com/gpu": 1}), [], "", ""),
        (
            pod("a").port(80),
            [pod("b").port(80)],
            "NodePorts",
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
        ),
        (pod("a").port(80), [pod("b").port(81)], "", ""),
        (
            pod("a").node_selector(disk="hdd"),
            [],
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
        ),
        (pod("a").node_selector(disk="ssd"), [], "", ""),
    ],
)
def test_refusals(asking: PodBuilder, others: list[PodBuilder], reason: str, message: str) -> None:
    refusal = refusal_of(asking.obj(), NODE.obj(), [other.obj() for other in others])
    if not reason:
        assert refusal is None
    else:
        assert refusal == (reason, f"Pod was rejected: {message}")


def test_only_taints_that_drive_pods_out_matter() -> None:
    tainted = node("n").capacity(cpu=4, pods=2).taint("k", "v", "NoExecute")
    refusal = refusal_of(pod("a").obj(), tainted.obj(), [])
    assert refusal is not None
    assert refusal.reason == "TaintToleration"
    assert refusal_of(pod("a").obj(), node("n").capacity(pods=2).taint("k", "v", "NoSchedule").obj(), []) is None
