"""Quantities as the real server writes them."""

from __future__ import annotations

import pytest

from bayplan.apiserver.admitting.quantities import added, canonical, canonical_amount, subtracted


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("0.5", "500m"),
        (0.5, "500m"),
        (1, "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Mi", "1Gi"),
        ("1536Mi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("0.5Gi", "512Mi"),
        ("100Ei", "9223372036854775807"),
        ("1e3", "1e3"),
        ("1500e3", "1500e3"),
        ("12E", "12E"),
        ("0", "0"),
        ("0Mi", "0"),
        ("-1", "-1"),
        ("1n", "1n"),
        ("+1", "+1"),
        ("01Gi", "01Gi"),
        ("1e0", "1e0"),
        ("5.", "5."),
        ("01024Ki", "1Mi"),
        ("+1000", "1k"),
        (" 1 ", "1"),
    ],
)
def test_a_quantity_has_one_way_of_being_written(given: str | float, written: str) -> None:
    assert canonical(given) == written


def test_amounts_of_resources_are_rounded_away_from_zero_to_thousandths() -> None:
    assert canonical_amount("1u") == "1m"
    assert canonical_amount("1000100u") == "1001m"
    assert canonical_amount("-1n") == "-1m"


def test_a_sum_keeps_the_notation_of_the_left_one_unless_that_is_zero() -> None:
    assert added("1Gi", "1Gi") == "2Gi"
    assert added("0", "1Gi") == "1Gi"
    assert added("500m", "1") == "1500m"


def test_a_difference_is_never_below_zero() -> None:
    assert subtracted("1", "2") == "0"
    assert subtracted("1", "1") == "0"
    assert subtracted("2n", "1n") == "1n"
    assert subtracted("2Gi", "1Gi") == "1Gi"
