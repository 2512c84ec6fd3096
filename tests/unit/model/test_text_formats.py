"""Formats of text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bayplan.model.text_formats import is_base64, is_date, is_date_time, is_uuid


@pytest.mark.parametrize(
    ("holds", "texts"),
    [
        (is_uuid, ["123e4567-e89b-12d3-a456-426614174000", "123E4567e89b12d3a456426614174000"]),
        (is_base64, ["YQ==", "YWI=", "YWJj", "a+/\\"]),
        (is_date, ["2021-01-01", "2024-02-29"]),
        (
            is_date_time,
            ["2021-01-01T00:00:00Z", "2021-01-01t23:59:59.5z", "2021-01-01T00:00:00+99:00", "2021-01-01T00:00:00ZTx"],
        ),
    ],
)
def test_texts_of_the_format(holds: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if not holds(text)] == []


@pytest.mark.parametrize(
    ("holds", "texts"),
    [
        (is_uuid, ["", "123e4567-e89b-12d3-a456-42661417400", "g23e4567-e89b-12d3-a456-426614174000"]),
        (is_base64, ["", "YQ", "YQ=", "YQ==YQ==", "Y-=="]),
        (is_date, ["", "2021-1-01", "2021-02-30", "2021-01-01Z", "21-01-01"]),
        (
            is_date_time,
            [
                *("", "2021-01-01", "2021-01-01T00:00:00", "2021-01-01T24:00:00Z", "2021-01-01T00:60:00Z"),
                *("2021-01-01T00:00:60Z", "2021-02-30T00:00:00Z", "2021-01-01T00:00:00.Z", "2021-01-01 00:00:00Z"),
            ],
        ),
    ],
)
def test_other_texts(holds: Callable[[str], bool], texts: list[str]) -> None:
    assert [text for text in texts if holds(text)] == []
