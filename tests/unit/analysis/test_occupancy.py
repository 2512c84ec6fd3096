"""Who takes what on a node."""

from __future__ import annotations

from typing import Any

from bayplan import Cluster
from bayplan.analysis.occupancy import Occupancy, Occupant, occupancies
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def test_pods_by_priority_with_what_they_take() -> None:
    things: list[Builder[Any]] = [
        make.node("a").capacity(cpu="4", memory="8Gi"),
        make.node("b").capacity(cpu="2", memory="1Gi"),
        make.pod("low").cpu("1").running("a"),
        make.pod("high").cpu("500m").priority(7).running("a"),
        make.pod("elsewhere").running("b"),
    ]
    view = Cluster.from_objects([thing.dict() for thing in things]).build_cache(gates=DEFAULT_GATES).view()
    assert occupancies(view, ["a"], ["cpu", "example.com/never-heard-of"]) == [
        Occupancy(
            "a",
            (4000, 0),
            (Occupant("default/high", 7, (500, 0)), Occupant("default/low", 0, (1000, 0))),
        )
    ]
