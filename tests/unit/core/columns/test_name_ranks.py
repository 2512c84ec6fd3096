"""Numbers follow the order of names, whoever joins or leaves, and mostly nobody else gets another number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.columns import name_ranks
from bayplan.core.columns.name_ranks import RANKS_END, NameRanks


class Rows:
    """Rows with names, as a node table has them."""

    def __init__(self, *names: str) -> None:
        self.rows: dict[str, int] = {}
        self.free: list[int] = []
        self.count = 0
        self.ranks = NameRanks(self.rows)
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        if self.free:
            self.rows[name] = self.free.pop()
        else:
            self.rows[name] = self.count
            self.count += 1
        self.ranks.add(name)

    def remove(self, name: str) -> None:
        self.free.append(self.rows.pop(name))
        self.ranks.remove(name)

    def by_name(self) -> dict[str, int]:
        numbers = self.ranks.of_rows(self.count)
        assert len(numbers) == self.count
        return {name: numbers.item(row) for name, row in self.rows.items()}


def test_others_keep_their_numbers() -> None:
    rows = Rows(*(f"n{number:03}" for number in range(0, 100, 2)))
    before, version = rows.by_name(), rows.ranks.version
    rows.remove("n050")
    rows.add("n033")
    rows.add("n999")
    rows.add("a")
    after = rows.by_name()
    assert sorted(after, key=after.__getitem__) == sorted(after)
    assert {name: after[name] for name in before if name != "n050"}.items() <= before.items()
    assert rows.ranks.version == version


def test_where_no_number_is_left_all_get_others() -> None:
    rows = Rows(*(f"n{number}" for number in range(10, 30)))
    rows.by_name()
    version, name = rows.ranks.version, "n10"
    while rows.ranks.version == version:
        name += "x"  # between that one and the next
        rows.add(name)
        found = rows.by_name()
        assert len(rows.rows) < 60, "numbers lie apart, but not so far"
    assert sorted(found, key=found.__getitem__) == sorted(found)


def test_a_name_that_comes_and_goes_before_anybody_asks() -> None:
    rows = Rows("b", "a")
    rows.remove("a")
    rows.add("c")
    rows.add("d")
    rows.remove("d")
    found = rows.by_name()
    assert found["b"] < found["c"]


@given(st.lists(st.tuples(st.sampled_from(["add", "add", "add", "remove", "ask"]), st.text("abc", max_size=4))))
def test_numbers_are_in_the_order_of_names(steps: list[tuple[str, str]]) -> None:
    """Even where numbers are few, and only inserted one by one."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(name_ranks, "RANKS_END", 1 << 10)
        patched.setattr(name_ranks, "MANY", 1)
        rows = Rows()
        for step, name in steps:
            if step == "ask":
                found = rows.by_name()
                assert sorted(found, key=found.__getitem__) == sorted(found)
                assert len({*found.values()}) == len(found)
                assert all(0 <= number < RANKS_END for number in found.values())
            elif step == "add" and name not in rows.rows:
                rows.add(name)
            elif step == "remove" and name in rows.rows:
                rows.remove(name)
