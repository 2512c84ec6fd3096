"""How many more groups fit: whole ones, in one domain each, and nothing is left behind."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan import Cluster
from bayplan.model.errors import InvalidObject
from bayplan.testing.builders import node, pod, pod_group

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"


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
