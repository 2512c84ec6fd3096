"""Making room for a pod group: which pods have to move so that enough of its pods fit, all in one domain."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.changed_clusters import cluster_of, owned

from bayplan.analysis.answers.moving.group_defrag import GroupDefrag
from bayplan.model.errors import InvalidObject
from bayplan.testing import builders as make
from bayplan.testing.building import Builder
from bayplan.testing.pods import PodBuilder

ON = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
SECONDS = 5.0


def racks(*sizes: int) -> list[Builder[Any]]:
    """Nodes a0, a1 … in rack a, b0 … in rack b, for 4 CPUs each."""
    return [
        make.node(f"{rack}{number}").capacity(cpu="4", pods=20).labels(rack=rack)
        for rack, size in zip("abc", sizes, strict=False)
        for number in range(size)
    ]


def app(name: str, cpu: str, node: str) -> PodBuilder:
    return owned(name).labels(app=name).cpu(cpu).running(node)


def gang(size: int, cpu: str = "4", *, min_count: int = 0, within: str = "rack") -> list[Builder[Any]]:
    group = make.pod_group("g").gang(min_count or size)
    members = [make.pod(f"g{number}").cpu(cpu).in_group("g") for number in range(size)]
    return [group.within(within) if within else group, *members]


def room_for_gang(*things: Builder[Any], **rest: Any) -> GroupDefrag:
    return cluster_of(*things).group_defrag("g", seconds=SECONDS, feature_gates=ON, **rest)


def moves(found: GroupDefrag) -> list[tuple[str, str]]:
    return sorted((step.pod.removeprefix("default/"), step.source) for step in found.steps or ())


def test_the_rack_that_takes_the_fewest_moves_is_cleared() -> None:
    in_a = [app("p", "2", "a0"), app("q", "2", "a1")]
    found = room_for_gang(
        *racks(2, 2, 2), *in_a, app("r", "2", "b0"), app("s", "3", "c0"), app("t", "2", "c1"), *gang(2)
    )
    assert (moves(found), found.domain, found.within) == ([("r", "b0")], "b", "rack")
    assert (found.works, found.is_proven, found.bound) == (True, True, 1)
    assert found.nodes == {"default/g0": "b0", "default/g1": "b1"}
    assert found.targets == ("b0", "b1")


def test_pods_leave_the_rack_and_not_for_the_room_that_is_made() -> None:
    found = room_for_gang(*racks(2, 1), app("p", "2", "a0"), app("q", "2", "a1"), *gang(2))
    assert moves(found) == [("p", "a0"), ("q", "a1")]
    assert {step.node for step in found.steps or ()} == {"b0"}
    assert found.bound == 1
    assert not found.is_proven


def test_without_a_constraint_any_nodes_will_do() -> None:
    found = room_for_gang(*racks(2, 2), app("p", "2", "a0"), app("q", "2", "b0"), *gang(3, within=""))
    assert (len(moves(found)), found.domain, found.within) == (1, "", "")
    assert set(found.nodes) == {"default/g0", "default/g1", "default/g2"}


def test_only_as_many_as_the_quorum_need_room() -> None:
    things = [*racks(2, 1), app("p", "2", "a0"), app("q", "2", "a1"), make.pod("fixed").cpu("1").running("b0")]
    found = room_for_gang(*things, *gang(2, min_count=1))
    assert (len(moves(found)), found.needed, len(found.nodes)) == (1, 1, 1)


def test_nothing_moves_for_a_group_that_fits() -> None:
    found = room_for_gang(*racks(2, 2), app("p", "2", "a0"), *gang(2))
    assert (found.steps, found.works) == (None, True)
    assert found.fits_on == {"default/g0": "b0", "default/g1": "b1"}


def test_bare_pods_stay_and_are_counted() -> None:
    bare = [make.pod(f"bare{number}").cpu("2").running(node) for number, node in enumerate(("a0", "a1", "b0"))]
    found = room_for_gang(*racks(2, 2), *bare, *gang(2))
    assert (found.works, found.bound) == (False, None)
    assert {why.value: count for why, count in found.fixed.items()} == {"no controller would recreate it": 3}


def test_no_more_moves_than_allowed() -> None:
    found = room_for_gang(*racks(2, 1), app("p", "2", "a0"), app("q", "2", "a1"), *gang(2), max_moves=1)
    assert not found.works


@pytest.mark.parametrize(
    ("things", "message"),
    [
        ([], "not found in the input"),
        (gang(2, min_count=3), "is not tried, so room would not help: waiting for minCount pods from a gang"),
        ([make.pod_group("g").gang(1), make.pod("g0").in_group("g").running("a0")], "has no pod that waits"),
    ],
    ids=["no group", "too few pods", "all run"],
)
def test_a_group_that_room_would_not_help_is_refused(things: list[Builder[Any]], message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        room_for_gang(*racks(2), *things)


def test_gates_off_are_said() -> None:
    with pytest.raises(InvalidObject, match="pod groups are off"):
        cluster_of(*racks(2), *gang(2)).group_defrag("g")
