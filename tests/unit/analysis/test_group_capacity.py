"""How many more groups fit: whole ones, in one domain each, and nothing is left behind."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.devices import asks, claim_of, claim_template, device, device_class, slice_of

from bayplan import Cluster
from bayplan.config.releases import release_named
from bayplan.model.errors import InvalidObject
from bayplan.model.groups import PodGroupResourceClaim
from bayplan.model.kinds import Object
from bayplan.model.pod import PodResourceClaim
from bayplan.testing.builders import node, pod, pod_group, priority_class

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
CLAIMS = f"{ON},DRAWorkloadResourceClaims=true"


def cluster(size: int = 4, min_count: int = 4, *, within: str = "rack", running: bool = False) -> Cluster:
    """Three racks of four nodes for two pods each; most of one node is taken."""
    built: list[Any] = [
        node(f"n{number:02}").capacity(cpu="8", memory="64Gi", pods=50).labels(rack=f"r{number // 4}")
        for number in range(12)
    ]
    group = pod_group("t").gang(min_count)
    members = [pod(f"t-{number}").cpu("4").in_group("t") for number in range(size)]
    if running:
        members = [member.node(f"n{at + 8:02}") for at, member in enumerate(members)]
    built += [group.within(within) if within else group, *members, pod("busy").cpu("6").node("n00")]
    return Cluster.from_objects([each.dict() for each in built], "1.37")


def test_each_group_is_in_one_rack() -> None:
    found = cluster().group_capacity("t", feature_gates=ON)
    assert (found.groups, found.by_domain, found.pods) == (5, {"r0": 1, "r1": 2, "r2": 2}, 4)
    assert sum(found.by_node.values()) == 20
    assert found.stop == "0/4 nodes are available: 4 Insufficient cpu."


@pytest.mark.parametrize(
    ("settings", "groups"),
    [
        ({"within": ""}, 5),
        ({"size": 5, "min_count": 5}, 3),
        ({"size": 5, "min_count": 5, "within": ""}, 4),
        ({"size": 5, "min_count": 2}, 3),
        ({"running": True}, 4),
        ({"size": 9, "min_count": 9}, 0),
    ],
    ids=["anywhere", "five in a rack", "five anywhere", "all pods count", "beside the one that runs", "too large"],
)
def test_how_many_fit(settings: dict[str, Any], groups: int) -> None:
    found = cluster(**settings).group_capacity("t", feature_gates=ON)
    assert found.groups == groups
    assert found.is_enough is (groups > 0)


def test_a_group_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidObject, match="podgroup/default/none: not found in the input"):
        cluster().group_capacity("none", feature_gates=ON)


@pytest.mark.parametrize(
    ("size", "within", "groups"), [(4, "rack", 5), (4, "", 5), (5, "rack", 3), (5, "", 4), (9, "rack", 0), (1, "", 22)]
)
def test_gangs_that_nobody_has_created_are_counted_as_those_that_exist(size: int, within: str, groups: int) -> None:
    found = cluster().gang_capacity("cpu=4", size, within, feature_gates=ON)
    assert (found.groups, found.group, found.is_new, found.pods) == (groups, "cpu=4", True, size)


def test_only_so_many_have_to_fit() -> None:
    assert cluster().gang_capacity("cpu=4", 4, "rack", wanted=5, feature_gates=ON).is_enough
    assert not cluster().gang_capacity("cpu=4", 4, "rack", wanted=6, feature_gates=ON).is_enough


def test_a_label_that_no_node_has_is_named() -> None:
    found = cluster().gang_capacity("cpu=4", 4, "shelf", feature_gates=ON)
    assert found.stop == "no feasible placements found: no node that may take it has the label shelf"


def test_where_domains_do_not_count_they_are_not_spoken_of() -> None:
    assert cluster().group_capacity("t", feature_gates="GenericWorkload=true").within == ""
    with pytest.raises(InvalidObject, match="unless the gate TopologyAwareWorkloadScheduling is on"):
        cluster().gang_capacity("cpu=4", 4, "rack", feature_gates="GenericWorkload=true")


def test_more_fit_by_evicting_whole_units() -> None:
    """Four nodes are held by two gangs of a lower priority, which go as a whole; one node is free."""
    built: list[Any] = [node(f"n{number}").capacity(cpu="8", memory="64Gi", pods=50) for number in range(5)]
    for at, name in enumerate(("one", "two")):
        built.append(pod_group(name).gang(2).disrupted_as_a_whole())
        built += [pod(f"{name}-{k}").cpu("8").in_group(name).node(f"n{2 * at + k}") for k in range(2)]
    built += [priority_class("high", 10), pod_group("t").gang(1).priority(10)]
    built.append(pod("t-0").cpu("8").in_group("t").priority(10, class_name="high"))
    asked = Cluster.from_objects([each.dict() for each in built], "1.37")
    found = asked.group_capacity("t", evicting=True, feature_gates=ON)
    assert (found.groups, found.by_evicting) == (1, 4)
    assert sorted(found.victims) == ["default/one-0", "default/one-1", "default/two-0", "default/two-1"]
    assert asked.group_capacity("t", feature_gates=ON).by_evicting is None


def with_devices(entry: str, of_group: bool, named: str = "") -> Cluster:
    """Two nodes with three devices each, and a gang of two whose pods use an entry."""
    group = pod_group("t").gang(2).obj()
    pods = [pod(f"t-{at}").cpu("1").in_group("t").obj() for at in range(2)]
    template = None if named else "one"
    for each in pods:
        each.spec.resource_claims = [
            PodResourceClaim(name=entry, resource_claim_template_name=template, resource_claim_name=named or None)
        ]
    if of_group:
        group.spec.resource_claims = [PodGroupResourceClaim(name="ours", resource_claim_template_name="one")]
    nodes = [node(name).capacity(cpu="8", memory="64Gi", pods=50).obj() for name in "ab"]
    slices = [slice_of(name, *(device(f"d{at}") for at in range(3))) for name in "ab"]
    claims: list[Object] = [claim_template("one", asks("r")), *([claim_of(named, asks("r"))] if named else [])]
    return Cluster([*nodes, device_class(), *slices, *claims, group, *pods]).under(release_named("1.37"))


@pytest.mark.parametrize(
    ("cluster", "gates", "groups"),
    [
        (with_devices("own", of_group=False), CLAIMS, 3),
        (with_devices("own", of_group=True), CLAIMS, 3),
        (with_devices("ours", of_group=True), CLAIMS, 6),
        (with_devices("ours", of_group=True), ON, 0),
        (with_devices("all", of_group=False, named="everybodys"), CLAIMS, 4),
    ],
    ids=[
        "one each",
        "one each, and one that nobody uses",
        "one for the group",
        "which nobody makes",
        "one for everybody",
    ],
)
def test_claims_are_those_of_new_pods_and_new_groups(cluster: Cluster, gates: str, groups: int) -> None:
    assert cluster.group_capacity("t", feature_gates=gates).groups == groups
