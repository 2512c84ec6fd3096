"""A clock that can be set."""

from __future__ import annotations

import math

import pytest

from bayplan.worlds.clock import Clock


class Read:
    """The clock that it goes by."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now


def test_it_goes_as_the_other_does_until_it_is_set() -> None:
    read = Read()
    clock = Clock(read)
    read.now += 50
    assert clock() == 1_050
    clock.set_rate(10)
    read.now += 5
    assert clock() == 1_100
    clock.set_rate(0)
    read.now += 1_000
    assert clock() == 1_100
    clock.advance(900)
    assert clock() == 2_000
    clock.set_rate(1)
    read.now += 1
    assert clock() == 2_001


def test_how_long_it_takes() -> None:
    clock = Clock(Read())
    clock.set_rate(4)
    assert clock.real_seconds(2_000_000_000) == 0.5
    clock.set_rate(0)
    assert clock.real_seconds(1) == math.inf


@pytest.mark.parametrize("rate", [-1.0, math.inf, math.nan])
def test_what_a_clock_cannot_do(rate: float) -> None:
    with pytest.raises(ValueError, match="cannot go"):
        Clock().set_rate(rate)
    with pytest.raises(ValueError, match="cannot be put back"):
        Clock().advance(-1)
