"""Means, intervals, differences and effects against what is known of the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.analysis.sweeping.statistics import differences, effect, estimates, pareto_front


def test_the_interval_is_about_that_of_a_normal_mean() -> None:
    draws = np.random.default_rng(1).normal(10, 2, (1, 400))
    (found,) = estimates(draws)
    assert found is not None
    assert found.mean == pytest.approx(draws.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * 2 / 20, rel=0.15)


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    draws = np.random.default_rng(2).normal(0, 1, (400, 30))
    covered = sum(found.low <= 0 <= found.high for found in estimates(draws) if found is not None)
    assert 0.90 <= covered / 400 <= 0.98


def test_failed_runs_do_not_count() -> None:
    some, none = estimates(np.array([[1.0, np.nan, 3.0], [np.nan] * 3]))
    assert some is not None
    assert (some.mean, some.seeds) == (2.0, 2)
    assert none is None


def test_what_a_seed_does_to_all_points_cancels_out() -> None:
    seeds = np.random.default_rng(3).normal(0, 100, 10)
    base, more = differences(np.array([seeds, seeds + 5 + np.linspace(-1, 1, 10)]), 0)
    assert base is None
    assert more is not None
    assert more.mean == pytest.approx(5)
    assert 4 < more.low < more.high < 6
    assert more.real
    assert more.p_value == pytest.approx(2 / 2**10)


def test_five_seeds_cannot_tell_a_difference_from_chance() -> None:
    (_, five) = differences(np.array([[0.0] * 5, [1.0] * 5]), 0)
    (_, six) = differences(np.array([[0.0] * 6, [1.0] * 6]), 0)
    assert five is not None
    assert six is not None
    assert (five.real, six.real) == (False, True)


def test_of_many_points_without_a_difference_hardly_any_is_called_real() -> None:
    """Without the correction, one in twenty would be."""
    noise = np.random.default_rng(4).normal(0, 1, (200, 12))
    assert sum(found.real for found in differences(noise, 0) if found is not None) <= 4


def test_main_effects_of_a_table_that_adds_up() -> None:
    """Rows: a is 0 or 10, b is 0 or 1."""
    matrix = np.array([[0.0], [1.0], [10.0], [11.0]]) + np.zeros((1, 4))
    by_a = effect("a", "m", ["x", "x", "y", "y"], matrix)
    by_b = effect("b", "m", [1, 2, 1, 2], matrix)
    assert by_a is not None
    assert by_b is not None
    assert [(level.value, level.estimate.mean) for level in by_a.levels] == [("x", 0.5), ("y", 10.5)]
    assert (by_a.range, by_b.range) == (10, 1)
    assert by_a.share == pytest.approx(100 / 101)
    assert by_a.share + by_b.share == pytest.approx(1)


def test_many_numbers_are_put_into_bins() -> None:
    found = effect("a", "m", list(range(50)), np.arange(50.0)[:, np.newaxis])
    assert found is not None
    assert [level.value for level in found.levels] == ["0 to 9", "10 to 19", "20 to 29", "30 to 39", "40 to 49"]
    assert effect("a", "m", [1, 1], np.zeros((2, 2))) is None


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([10, 1, 5], ["1", "5", "10"]),
        ([0.5, 2], ["0.5", "2"]),
        (["default", "b.yaml", "a.yaml"], ["default", "b.yaml", "a.yaml"]),
        ([True, False], ["True", "False"]),
        ([*range(1, 8), 9, 11, *[1] * 9], ["1 to 2", "3 to 4", "5 to 6", "7 to 9", "11"]),
    ],
)
def test_levels_of_numbers_are_in_order_and_each_number_is_in_one(values: list[Any], levels: list[str]) -> None:
    found = effect("a", "m", values, np.arange(float(len(values)))[:, np.newaxis])
    assert found is not None
    assert [level.value for level in found.levels] == levels


def test_nobody_on_the_front_is_beaten() -> None:
    costs = np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [5.0, 1.0], [1.0, 5.0], [np.nan, 0.0]])
    assert pareto_front(costs) == [0, 1, 3, 4]
    assert pareto_front(costs[:, :1]) == [0, 4]
