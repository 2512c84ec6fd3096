"""Times of keys: their order, and that what is canceled leaves nothing behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bayplan.controllers.timers import STRETCH_NS, Timers, earliest


def test_gives_back_by_time_then_by_order_of_setting() -> None:
    timers: Timers[str] = Timers()
    for key, at in (("late", 9), ("second", 5), ("first", 2), ("third", 5)):
        timers.set(key, at)
    assert list(timers.pop_due(5)) == ["first", "second", "third"]
    assert timers.next_at() == 9
    assert list(timers.pop_due(8)) == []


def test_setting_again_replaces() -> None:
    timers: Timers[str] = Timers()
    timers.set("a", 1)
    timers.set("a", 7)
    assert (len(timers), timers.at("a"), timers.next_at()) == (1, 7, 7)
    timers.set_earlier("a", 9)
    assert timers.at("a") == 7
    timers.set_earlier("a", 3)
    assert list(timers.pop_due(10)) == ["a"]
    assert timers.at("a") is None


def test_what_is_set_while_taking_out_comes_too_if_due() -> None:
    timers: Timers[int] = Timers()
    timers.set(1, 1)
    seen = []
    for key in timers.pop_due(3):
        seen.append(key)
        timers.set(key + 1, key + 1)
    assert seen == [1, 2, 3]
    assert timers.next_at() == 4


def test_canceled_keys_leave_the_heap() -> None:
    timers: Timers[int] = Timers()
    for key in range(10_000):
        timers.set(key, 10**9 + key)
    for key in range(9_999):
        timers.cancel(key)
    assert len(timers._near) + sum(map(len, timers._far.values())) < 100
    assert list(timers.pop_due(2 * 10**9)) == [9_999]


@given(
    st.lists(
        st.tuples(st.sampled_from(("set", "cancel", "pop")), st.integers(0, 9), st.integers(0, 5 * STRETCH_NS)),
        max_size=60,
    )
)
def test_agrees_with_a_sorted_list(steps: list[tuple[str, int, int]]) -> None:
    timers: Timers[int] = Timers()
    set_at: dict[int, tuple[int, int]] = {}  # time and number of the setting, by key
    for number, (action, key, at) in enumerate(steps):
        if action == "set":
            timers.set(key, at)
            set_at[key] = (at, number)
        elif action == "cancel":
            timers.cancel(key)
            set_at.pop(key, None)
        else:
            due = sorted((key for key in set_at if set_at[key][0] <= at), key=lambda key: set_at[key])
            assert list(timers.pop_due(at)) == due
            set_at = {key: setting for key, setting in set_at.items() if key not in due}
        assert len(timers) == len(set_at)
        assert timers.next_at() == min((time for time, _ in set_at.values()), default=None)


def test_earliest_of_what_there_is() -> None:
    assert earliest(None, 4, 2) == 2
    assert earliest(None) is None
