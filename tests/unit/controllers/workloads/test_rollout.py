"""The arithmetic of rollouts: bounds, sizes, shares."""

from __future__ import annotations

import pytest

from bayplan.controllers.int_or_percent import scaled_value
from bayplan.controllers.workloads.rollout import (
    Bounds,
    RolledReplicaSet,
    bounds_of,
    proportional_sizes,
    size_of_new,
    sizes_of_old,
)
from bayplan.model.workloads import RollingUpdate, UpdateStrategy
from bayplan.testing.builders import deployment


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [
        (3, 10, 3, 3),
        ("25%", 10, 3, 2),
        ("25%", 4, 1, 1),
        ("0%", 4, 0, 0),
        ("100%", 7, 7, 7),
        ("25", 8, 0, 0),
        ("many%", 8, 0, 0),
    ],
)
def test_shares(value: int | str, total: int, up: int, down: int) -> None:
    """Numbers stay, percentages are rounded as asked, nonsense is nothing."""
    assert scaled_value(value, total, round_up=True) == up
    assert scaled_value(value, total, round_up=False) == down


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        pytest.param(10, None, None, Bounds(10, 3, 2), id="a quarter by default, up and down"),
        pytest.param(1, None, None, Bounds(1, 1, 0), id="one replica is never away"),
        pytest.param(4, 0, 0, Bounds(4, 0, 1), id="neither would be a deadlock"),
        pytest.param(4, 0, "10%", Bounds(4, 0, 1), id="neither after rounding"),
        pytest.param(4, 2, 0, Bounds(4, 2, 0), id="numbers"),
    ],
)
def test_bounds(replicas: int, surge: int | str | None, unavailable: int | str | None, expected: Bounds) -> None:
    """What a strategy allows."""
    rolling = RollingUpdate(max_surge=surge, max_unavailable=unavailable)
    made = deployment("web").replicas(replicas).set(strategy=UpdateStrategy(rolling_update=rolling)).obj()
    assert bounds_of(made) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(0, 10, 3, id="as much as may be beyond"),
        pytest.param(3, 10, 3, id="full"),
        pytest.param(3, 8, 5, id="what went may come"),
        pytest.param(9, 0, 10, id="never more than wanted"),
        pytest.param(12, 0, 10, id="too many"),
    ],
)
def test_size_of_new(new: int, old: int, expected: int) -> None:
    """The new ReplicaSet grows into the room there is, of ten replicas with three more allowed."""
    assert size_of_new(Bounds(10, 3, 2), new, old, recreated=False) == expected


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        pytest.param(RolledReplicaSet(3, 0), [RolledReplicaSet(10, 10)], [8], id="as many as may be away"),
        pytest.param(RolledReplicaSet(3, 0), [RolledReplicaSet(8, 8)], [8], id="no more than that"),
        pytest.param(RolledReplicaSet(5, 3), [RolledReplicaSet(8, 8)], [5], id="as many as new ones are available"),
        pytest.param(
            RolledReplicaSet(3, 3), [RolledReplicaSet(10, 4)], [5], id="those that are not available need no substitute"
        ),
        pytest.param(
            RolledReplicaSet(3, 3), [RolledReplicaSet(2, 2), RolledReplicaSet(8, 8)], [0, 5], id="the oldest first"
        ),
        pytest.param(RolledReplicaSet(10, 10), [RolledReplicaSet(0, 0)], [0], id="done"),
    ],
)
def test_sizes_of_old(new: RolledReplicaSet, old: list[RolledReplicaSet], expected: list[int]) -> None:
    """Old ReplicaSets shrink by what can be spared, of ten replicas of which two may be away."""
    assert sizes_of_old(Bounds(10, 3, 2), new, old) == expected


@pytest.mark.parametrize(
    ("wanted", "members", "expected"),
    [
        pytest.param(20, [RolledReplicaSet(8, 0, 13), RolledReplicaSet(5, 0, 13)], [15, 10], id="twice as many"),
        pytest.param(5, [RolledReplicaSet(8, 0, 13), RolledReplicaSet(5, 0, 13)], [4, 3], id="half"),
        pytest.param(0, [RolledReplicaSet(8, 0, 13), RolledReplicaSet(5, 0, 13)], [0, 0], id="none"),
        pytest.param(10, [RolledReplicaSet(8, 0, 13), RolledReplicaSet(5, 0, 13)], [8, 5], id="nothing to do"),
        pytest.param(
            20, [RolledReplicaSet(8, 0), RolledReplicaSet(5, 0)], [15, 10], id="sized before anyone wrote it down"
        ),
    ],
)
def test_proportional_sizes(wanted: int, members: list[RolledReplicaSet], expected: list[int]) -> None:
    """Scaling amid a rollout keeps the proportions; what rounding leaves goes to the largest."""
    surge = scaled_value("25%", wanted, round_up=True)
    sizes = proportional_sizes(Bounds(wanted, surge, 0), members, total_now=13)
    assert sizes == expected
    assert sum(sizes) == (wanted + surge if wanted else 0)
