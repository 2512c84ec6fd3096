"""Numbers by label values, and how they are written."""

from __future__ import annotations

from threading import Thread

import pytest
from tests.support.metered_scheduler import families, samples

from bayplan.serving.metrics.tallies import Counts, Durations, Family, Reading, number_text, page

MS = 1_000_000
BUCKETS = (0.001, 0.002)


@pytest.mark.parametrize(
    ("took_ns", "grown"),
    [(0, [1, 1, 1]), (1 * MS, [1, 1, 1]), (1 * MS + 1, [0, 1, 1]), (2 * MS, [0, 1, 1]), (2 * MS + 1, [0, 0, 1])],
)
def test_a_bucket_holds_what_is_no_longer_than_its_bound(took_ns: int, grown: list[int]) -> None:
    durations = Durations(Family("d", "histogram", "help", (), BUCKETS))
    durations.add(took_ns)
    text = page([durations]).encode()
    assert list(samples(text, "d_bucket").values()) == grown
    assert samples(text, "d_sum") == {(): took_ns / 1e9}
    assert samples(text, "d_count") == {(): 1}


def test_series_are_kept_apart_and_added_up() -> None:
    counts = Counts(Family("c_total", "counter", "help", ("kind", "outcome")))
    counts.add(("a", "x"))
    counts.add(("a", "x"), by=2)
    counts.add(("b", "x"))
    assert samples(page([counts]).encode(), "c_total") == {("a", "x"): 3, ("b", "x"): 1}


def test_a_reading_shows_what_is_gone_as_zero() -> None:
    state: dict[tuple[str, ...], float] = {("a",): 2}
    gauge = Reading(Family("g", "gauge", "help", ("event",)), lambda: state)
    assert samples(page([gauge]).encode(), "g") == {("a",): 2}
    state.clear()
    state["b",] = 1
    assert samples(page([gauge]).encode(), "g") == {("a",): 0, ("b",): 1}


def test_a_family_without_labels_is_there_from_the_start_and_one_with_labels_is_not() -> None:
    plain, labeled = (
        Counts(Family(f"{name}_total", "counter", "help", labels))
        for name, labels in (("plain", ()), ("labeled", ("a",)))
    )
    assert page([labeled, plain]) == "# HELP plain_total help\n# TYPE plain_total counter\nplain_total 0\n"


def test_a_histogram_of_numbers_is_not_scaled() -> None:
    victims = Durations(Family("v", "histogram", "help", (), (1, 2)), unit=1)
    victims.add(2)
    text = page([victims])
    assert '_bucket{le="1"} 0\n' in text
    assert '_bucket{le="2"} 1\n' in text
    assert "v_sum 2.0\n" in text


def test_label_values_are_escaped() -> None:
    counts = Counts(Family("c_total", "counter", "help", ("host",)))
    counts.add(('a"b\\c\nd',))
    assert samples(page([counts]).encode(), "c_total") == {('a"b\\c\nd',): 1}


def test_families_come_in_order_of_their_names() -> None:
    counts = [Counts(Family(f"{name}_total", "counter", "help")) for name in "cab"]
    assert [family.name for family in families(page(counts).encode())] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1"), (0.0001, "0.0001"), (1e-05, "1e-05"), (16.384, "16.384"), (float("inf"), "+Inf")]
)
def test_numbers_are_written_as_go_does(number: float, text: str) -> None:
    assert number_text(number) == text


def test_many_entries_are_counted_like_few() -> None:
    durations = Durations(Family("d", "histogram", "help", (), BUCKETS))
    for took_ns in range(0, 3 * MS, 1_000):
        durations.add(took_ns)
    for _ in range(2):  # asking changes nothing
        text = page([durations]).encode()
        assert list(samples(text, "d_bucket").values()) == [1_001, 2_001, 3_000]
        assert samples(text, "d_sum") == {(): sum(range(0, 3 * MS, 1_000)) / 1e9}
        assert durations.counts() == {(): 3_000}


def test_no_entry_is_lost_or_counted_twice_when_one_thread_counts_while_another_adds() -> None:
    durations = Durations(Family("d", "histogram", "help", (), BUCKETS))

    def add() -> None:
        for _ in range(20_000):
            durations.add(MS)

    adding = Thread(target=add)
    adding.start()
    while adding.is_alive():
        durations.counts()
    adding.join()
    assert durations.counts() == {(): 20_000}
