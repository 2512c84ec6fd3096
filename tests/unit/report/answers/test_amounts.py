"""Amounts in words."""

from __future__ import annotations

import pytest

from bayplan.report.answers.amounts import amount_in_words, bare_amount, percent


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", 1000, "1 core"),
        ("cpu", 2500, "2.5 cores"),
        ("cpu", 1, "0.001 cores"),
        ("memory", 3 << 30, "3Gi of memory"),
        ("nvidia.com/gpu", 2, "2 of nvidia.com/gpu"),
    ],
)
def test_an_amount_names_its_resource(resource: str, amount: int, expected: str) -> None:
    assert amount_in_words(resource, amount) == expected


def test_an_amount_whose_resource_is_known() -> None:
    assert (bare_amount("cpu", 500), bare_amount("memory", 1 << 20)) == ("0.5 cores", "1Mi")


@pytest.mark.parametrize(("share", "expected"), [(0.0, "0%"), (0.001, "<1%"), (0.25, "25%"), (1.0, "100%")])
def test_a_share(share: float, expected: str) -> None:
    assert percent(share) == expected
