"""Which points a sweep has."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.analysis.simulation.results import libraries
from bayplan.analysis.sweeping.axes import read_axes
from bayplan.analysis.sweeping.design import Design, design, read_sampling
from bayplan.model.errors import InvalidObject


def points(axes: dict[str, Any], sample: Any = "grid", baseline: Any = None) -> Design:
    return design(read_axes(axes), read_sampling(sample), baseline)


def test_a_grid_has_all_combinations_with_every_seed() -> None:
    found = points({"weight.A": [1, 2], "seed": [5, 6, 7], "weight.B": [3, 4]})
    assert found.points == (
        {"weight.A": 1, "weight.B": 3},
        {"weight.A": 1, "weight.B": 4},
        {"weight.A": 2, "weight.B": 3},
        {"weight.A": 2, "weight.B": 4},
    )
    assert found.seeds == (5, 6, 7)
    assert len(found) == 12


def test_without_seeds_each_point_is_run_once() -> None:
    assert points({"weight.A": [1, 2]}).seeds == (0,)
    assert points({"seed": [1, 2]}).points == ({},)


def test_a_latin_sample_has_one_draw_in_each_part_of_every_axis() -> None:
    found = points({"weight.A": {"from": 0, "to": 99}, "trace.stretch": {"from": 1.0, "to": 2.0}}, {"latin": 20})
    assert sorted(point["weight.A"] // 5 for point in found.points) == list(range(20))
    assert sorted(int((point["trace.stretch"] - 1) * 20) for point in found.points) == list(range(20))


def test_a_sample_depends_on_its_seed_alone() -> None:
    axes = {"weight.A": {"from": 1, "to": 1000, "log": True}, "config": [None, "a.yaml"]}
    assert points(axes, {"random": 30, "seed": 1}).points == points(axes, {"random": 30, "seed": 1}).points
    assert points(axes, {"random": 30, "seed": 1}).points != points(axes, {"random": 30, "seed": 2}).points
    assert all(1 <= point["weight.A"] <= 1000 for point in points(axes, {"random": 30}).points)


def test_points_that_are_drawn_twice_are_run_once() -> None:
    assert len(points({"weight.A": [1, 2]}, {"random": 50}).points) == 2


def test_the_baseline_is_found_by_its_values() -> None:
    assert points({"weight.A": [1, 2], "config": [None, "a.yaml"]}, baseline={"config": "a.yaml"}).baseline == 1
    assert points({"weight.A": [1, 2]}).baseline == 0


@pytest.mark.parametrize(
    ("axes", "sample", "baseline", "message"),
    [
        ({"weight.A": {"from": 1, "to": 2}}, "grid", None, r"axes\.weight\.A: from and to need a sample"),
        ({"weight.A": [1]}, {"random": 0}, None, "sample: expected grid"),
        ({"weight.A": [1]}, "all", None, "sample: expected grid"),
        ({"weight.A": [1]}, "grid", {"weight.B": 1}, r"baseline\.weight\.B: no such axis"),
        ({"weight.A": [1]}, "grid", {"weight.A": 9}, "baseline: no run has these values"),
        ({"weight.A": list(range(1001)), "seed": "1..1000"}, "grid", None, "1,001,000 runs; at most 1,000,000"),
    ],
)
def test_what_is_no_design(axes: dict[str, Any], sample: Any, baseline: Any, message: str) -> None:
    with pytest.raises(InvalidObject, match=message):
        points(axes, sample, baseline)


def test_a_search_without_optuna_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda _name: None)
    with pytest.raises(InvalidObject, match=r"sweep\.yaml: sample: .* pip install 'bayplan\[optuna\]'"):
        read_sampling({"search": 5, "objectives": ["cost"]}, "sweep.yaml")
