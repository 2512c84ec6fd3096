"""How long to wait before asking again."""

from __future__ import annotations

import pytest

from bayplan.client.backoff import RetryDelays


def test_delays_double_up_to_half_a_minute() -> None:
    backoff = RetryDelays(clock=lambda: 0.0, draw=lambda: 0.0)
    assert [backoff.delay_s() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_up_to_as_much_again_is_added_at_random() -> None:
    assert RetryDelays(draw=lambda: 0.5).delay_s() == pytest.approx(1.2)


@pytest.mark.parametrize(("quiet_s", "delay_s"), [(119.0, 1.6), (121.0, 0.8)])
def test_two_quiet_minutes_make_it_begin_anew(quiet_s: float, delay_s: float) -> None:
    times = iter([1000.0, 1000.0 + quiet_s])
    backoff = RetryDelays(clock=lambda: next(times), draw=lambda: 0.0)
    backoff.delay_s()
    assert backoff.delay_s() == delay_s
