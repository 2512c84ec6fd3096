"""Vocabularies: an id lasts as long as anything uses its value, and so does a serial, which never comes again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.core.columns import ABSENT
from bayplan.core.columns.vocabulary import Serials, Vocabulary


def test_equal_values_share_an_id_until_the_last_user_drops_it() -> None:
    words = Vocabulary(blank="")
    first = words.take("a")
    assert words.take("a") == first
    assert not words.drop(first)
    assert words.find("a") == first
    assert words.drop(first)
    assert words.find("a") == ABSENT
    assert words.in_use == 0


def test_a_free_id_is_blank_until_a_new_value_gets_it() -> None:
    words = Vocabulary(blank="")
    a, b = words.take("a"), words.take("b")
    words.drop(a)
    assert words.values[a] == ""
    version = words.version
    assert words.take("c") == a
    assert words.version > version
    assert words.values == ["c", "b"]
    assert words.take("d") not in (a, b)


def test_more_drops_than_users_are_an_error() -> None:
    words = Vocabulary(blank="")
    used = words.take("a")
    words.drop(used)
    with pytest.raises(AssertionError):
        words.drop(used)


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcde"))))
def test_values_in_use_are_those_taken_more_often_than_dropped(steps: list[tuple[bool, str]]) -> None:
    words, serials, users = Vocabulary(blank=""), Serials[str](), dict.fromkeys("abcde", 0)
    numbers: dict[str, int] = {}
    gone: set[int] = set()
    for takes, value in steps:
        if takes:
            words.take(value)
            numbers[value] = serials.take(value)
            assert numbers[value] not in gone
            users[value] += 1
        elif users[value]:
            words.drop(words.find(value))
            serials.drop(numbers[value])
            users[value] -= 1
            if not users[value]:
                gone.add(numbers[value])
        in_use = {each for each, count in users.items() if count}
        assert set(words) == in_use == {each for each, _ in serials.items()}
        assert {each for each in words.values if each} == in_use
        assert len(words) <= 5
        assert all((number in serials) == (value in in_use) for value, number in numbers.items())
