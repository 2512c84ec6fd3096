"""Random clusters behind a proxy that cuts, delays, repeats, refuses, half-closes and stalls: all heals, and in time.

Seeds can be chosen: `make torture SEEDS=100 FIRST=200`. How much of each fault a seed has is its own; see `faults`.
"""

from __future__ import annotations

import os

import pytest
from tests.live.torture import tortured

from bayplan.client import backoff
from bayplan.client.event_loop import run_event_loop

FIRST = int(os.environ.get("FIRST", "5"))
SEEDS = int(os.environ.get("SEEDS", "4"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
def test_every_pod_that_fits_is_bound_once_whatever_goes_wrong(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A minute of refusals would make the next list wait for half a minute, which is right, and tells nothing.
    monkeypatch.setattr(backoff, "_MAX_S", 1.0)
    run_event_loop(_torture(seed))


async def _torture(seed: int) -> None:
    async with tortured(seed) as torture:
        await torture.live_through()
        await torture.come_to_rest()
        torture.check_what_was_asked()
