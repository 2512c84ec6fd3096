"""Who gives way when a table does not fit."""

from __future__ import annotations

import pytest

from bayplan.report.column_widths import WidthDemand, demand, widths

NAME, TEXT = WidthDemand(30, 18), WidthDemand(60, 10, is_text=True)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        pytest.param(100, [30, 60], id="room for both"),
        pytest.param(80, [30, 50], id="text gives way first"),
        pytest.param(50, [30, 20], id="down to what can be read"),
        pytest.param(40, [20, 20], id="then names give way"),
        pytest.param(28, [18, 10], id="down to their longest words"),
        pytest.param(25, [15, 10], id="which are split at last"),
        pytest.param(5, [12, 10], id="but not into bits"),
    ],
)
def test_columns_share_the_room(room: int, expected: list[int]) -> None:
    assert widths([NAME, TEXT], room) == expected


def test_the_widest_of_several_texts_gives_way() -> None:
    assert widths([TEXT, WidthDemand(25, 5, is_text=True)], 50) == [25, 25]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Largest piece", "15Gi"], WidthDemand(13, 7)),
        (["pod", "x" * 40], WidthDemand(40, 40)),
        (["budgets\nviolated", "1"], WidthDemand(8, 8)),
        ([], WidthDemand(0, 0)),
    ],
)
def test_what_a_column_asks_for(texts: list[str], expected: WidthDemand) -> None:
    assert demand(texts) == expected


def test_numbers_are_never_split() -> None:
    assert widths([WidthDemand(13, 13, is_number=True), WidthDemand(13, 13)], 20) == [13, 12]
