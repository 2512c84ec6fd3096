"""Making room for a pod where pods of gangs are in the way."""

from __future__ import annotations

from tests.unit.analysis.answers.gangs.test_explaining import ON, cluster_of
from tests.unit.analysis.answers.moving.test_consolidate_groups import members

from bayplan.analysis.answers.moving.defrag import Defrag
from bayplan.analysis.answers.moving.stock import Fixed
from bayplan.testing import builders as make

NODES = [make.node(name).capacity(cpu="4") for name in "abc"]
LARGE = make.pod("large").cpu("4")


def room_for_large(min_count: int) -> Defrag:
    group = make.pod_group("g").gang(min_count)
    cluster = cluster_of(*NODES, LARGE, group, *members("a", "b", "c"))
    return cluster.defrag("large", seconds=5.0, feature_gates=ON)


def test_a_pod_that_its_gang_can_spare_is_moved() -> None:
    found = room_for_large(2)
    assert found.steps is not None
    assert len(found.steps) == 1


def test_a_gang_does_not_lose_its_quorum() -> None:
    found = room_for_large(3)
    assert (found.steps, found.fixed) == (None, {Fixed.GROUP: 3})
