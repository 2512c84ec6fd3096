"""How long a bar is."""

from __future__ import annotations

import pytest

from bayplan.report.answers.parts import Bar, Bars


@pytest.mark.parametrize(
    ("values", "full", "shares"),
    [
        pytest.param([2.0, 4.0], None, [0.5, 1.0], id="the largest fills the width"),
        pytest.param([2.0, 4.0], 8.0, [0.25, 0.5], id="of a given whole"),
        pytest.param([9.0, -1.0], 8.0, [1.0, 0.0], id="never longer than the width, never less than nothing"),
        pytest.param([0.0, 0.0], None, [0.0, 0.0], id="nothing at all"),
    ],
)
def test_a_bar_takes_its_share_of_the_width(values: list[float], full: float | None, shares: list[float]) -> None:
    bars = Bars([Bar("x", value) for value in values], full)
    assert [bars.share(bar) for bar in bars.rows] == shares
