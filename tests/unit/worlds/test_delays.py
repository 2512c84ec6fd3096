"""Delays drawn from a seed."""

from __future__ import annotations

from random import Random

import pytest

from bayplan.worlds.delays import Draws, Latencies


@pytest.mark.parametrize("jitter", [0.5, 0.1, 1 / 3])
@pytest.mark.parametrize("typical", [1, 2_000_000, 3_333_333_333, 86_400_000_000_007])
def test_draws_lie_around_what_is_typical(typical: int, jitter: float) -> None:
    """One number of the seed's for each, so that simulations stay what they were."""
    draws, random = Draws(7, Latencies(api_ns=typical, watch_ns=typical, jitter=jitter)), Random(7)
    for draw in (draws.api, draws.watch) * 50:
        assert draw() == int(typical * (1 + jitter * (2 * random.random() - 1)))


def test_without_jitter_nothing_is_drawn() -> None:
    draws = Draws(7, Latencies(api_ns=5, jitter=0.0))
    assert [draws.api(), draws.api()] == [5, 5]
    assert draws.random.random() == Random(7).random()


@pytest.mark.parametrize("latencies", [Latencies(), Latencies(jitter=0.0), Latencies(api_ns=0)])
def test_a_time_that_does_not_matter_takes_as_much_from_the_seed_as_one_that_does(latencies: Latencies) -> None:
    draws, skipping = Draws(7, latencies), Draws(7, latencies)
    draws.api()
    skipping.skip_api()
    assert [draws.random.random(), draws.api()] == [skipping.random.random(), skipping.api()]
