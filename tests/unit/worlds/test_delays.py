"""Delays drawn from a seed."""

from __future__ import annotations

import pytest

from bayplan.worlds.delays import Draws, Latencies


@pytest.mark.parametrize("latencies", [Latencies(), Latencies(jitter=0.0), Latencies(api_ns=0)])
def test_a_time_that_does_not_matter_takes_as_much_from_the_seed_as_one_that_does(latencies: Latencies) -> None:
    draws, skipping = Draws(7, latencies), Draws(7, latencies)
    draws.api()
    skipping.skip_api()
    assert [draws.random.random(), draws.api()] == [skipping.random.random(), skipping.api()]
