"""New names sort as the old ones, and are as different."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.analysis.anonymizing.renaming import Renaming

NAMES = st.lists(st.text("ab01259-.", min_size=1, max_size=8), min_size=1, max_size=30, unique=True)
ORDINALS = st.sets(st.integers(0, 120).map(str), max_size=12)


@given(NAMES, ORDINALS)
def test_the_order_stays_and_nothing_falls_together(names: list[str], ordinals: set[str]) -> None:
    rename = Renaming(names, ordinals)
    assert [rename(name) for name in sorted(names)] == sorted({rename(name) for name in names})
    assert len({rename(name) for name in names}) == len(names)


@given(NAMES)
def test_what_is_made_of_names_is_made_of_the_new_ones(names: list[str]) -> None:
    rename = Renaming(names, ["0", "7"])
    for first, second in zip(names, reversed(names), strict=True):
        assert rename(f"{first}-{second}.7") == f"{rename(first)}-{rename(second)}.7"


def test_nothing_is_left_of_a_name() -> None:
    rename = Renaming(["web-0", "ip-10-0-12-7.internal", "6f8-x"], ["0"])
    assert [rename(name) for name in ("web-0", "ip-10-0-12-7.internal", "6f8-x")] == [
        "x7-0",
        "x6-x1-0-x2-x4.x5",
        "x3-x8",
    ]


def test_nothing_is_left_of_a_number_between_two_ordinals() -> None:
    rename = Renaming(["web-4711", "web-4712", "web-05"], ["0", "06", "4", "48"])
    assert rename("web-4711-4712-05") == "x4-40x2-40x3-00x1"
