"""Which pods are pending, and why: grouped by workload, each tried on its own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of

from bayplan import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make

NODE = make.node("a").capacity(cpu="4")
LOW = make.pod("low").cpu("4").priority(1).running("a")


def test_pods_that_look_alike_are_one_group() -> None:
    made = make.deployment("web").replicas(2).template(make.pod("x").cpu("1"))
    web, alone = cluster_of(NODE, LOW, made, make.pod("alone").cpu("9")).pending().groups
    assert (alone.workload, len(alone.pods)) == ("default/alone", 1)
    assert (web.workload, len(web.pods)) == ("deployment/web", 2)
    assert alone.causes == ((1, "too little cpu (9 requested, these nodes have at most 4)"),)
    assert web.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_resource_that_no_node_has() -> None:
    (group,) = cluster_of(NODE, make.pod("x").request({"example.com/gpus": "1"})).pending().groups
    assert group.message.startswith("0/1 nodes are available: 1 Insufficient example.com/gpus.")


def test_none_takes_room_from_another_and_nothing_is_evicted() -> None:
    empty = cluster_of(NODE, make.pod("x").cpu("3"), make.pod("y").cpu("3"))
    assert [(group.workload, group.fits_on) for group in empty.pending().groups] == [("default/x", 1), ("default/y", 1)]
    full = cluster_of(NODE, LOW, make.pod("x").cpu("3").priority(9), make.pod("y").cpu("3").priority(9))
    assert [(group.node, group.victims) for group in full.pending().groups] == [("a", ("default/low",))] * 2


def test_pods_that_the_scheduler_does_not_try() -> None:
    cluster = cluster_of(NODE, make.pod("gated").gate("quota"), make.pod("other").scheduler("volcano"))
    assert {group.workload: group.gate for group in cluster.pending().groups} == {
        "default/gated": "waiting for scheduling gates: [quota]",
        "default/other": "it waits for scheduler 'volcano'",
    }


@pytest.mark.parametrize(
    ("namespace", "selector", "names"),
    [
        ("", "", ["default/x", "shop/y", "shop/z"]),
        ("shop", "", ["shop/y", "shop/z"]),
        ("shop", "app=web", ["shop/y"]),
        ("", "app in (web, api)", ["default/x", "shop/y"]),
        ("", "!app", ["shop/z"]),
        ("nowhere", "", []),
    ],
)
def test_some_of_them(namespace: str, selector: str, names: list[str]) -> None:
    cluster = cluster_of(
        make.pod("x").labels(app="api"),
        make.pod("y").namespace("shop").labels(app="web"),
        make.pod("z").namespace("shop"),
    )
    assert cluster.pending(namespace, selector).names == names


def test_a_selector_that_is_none() -> None:
    with pytest.raises(InvalidObject, match="--selector: "):
        cluster_of(NODE).pending("", "app in")


def test_it_agrees_with_explain() -> None:
    cluster = cluster_of(NODE, LOW, make.node("b").taint("k"), make.pod("x").cpu("2"))
    (group,) = cluster.pending().groups
    document = cluster.explain("x").document()
    assert group.message == document["message"]
    assert [(cause["count"], cause["cause"]) for cause in document["causes"]] == list(group.causes)


def test_a_pod_group_has_one_line_for_all_of_its_pods() -> None:
    node = make.node("n").capacity(cpu="4", memory="64Gi", pods=20)
    members = [make.pod(f"g-{at}").cpu("3").in_group("g") for at in range(2)]
    lone, short = make.pod_group("lone").gang(2), make.pod("lone-0").in_group("lone")
    built: list[Any] = [node, make.pod_group("g").gang(2), *members, lone, short, make.pod("alone").cpu("9")]
    cluster = Cluster.from_objects([each.dict() for each in built], "1.37")
    gang, waiting, alone = cluster.pending(feature_gates="GenericWorkload=true").groups
    assert (gang.workload, len(gang.pods), gang.fitting) == ("podgroup/g", 2, 1)
    assert gang.causes == ((1, "too little cpu (3 requested, at most 1 free)"),)
    assert waiting.gate == "waiting for minCount pods from a gang to appear in scheduling queue"
    assert (alone.workload, alone.fitting) == ("default/alone", None)
