"""Collections of the young: cycles that end young are freed, and nothing else is looked at."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from bayplan.worlds.collecting import CHANGES_MAX, YOUNG_MAX, CollectionsWhileLive, YoungCollector, brief_collections


class _Node:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


def _cycle() -> weakref.ref[_Node]:
    return weakref.ref(_Node())


@pytest.fixture(autouse=True)
def _without_collections() -> Iterator[None]:
    """Nothing is collected but by the test, and the test leaves nothing frozen."""
    gc.collect()
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


def test_a_cycle_that_ended_young_is_freed() -> None:
    ended = _cycle()
    assert ended() is not None
    YoungCollector().look()
    assert ended() is None


def test_one_that_ends_within_the_round_is_freed_at_its_end() -> None:
    collector, living = YoungCollector(), _Node()
    collector.look()
    ended = weakref.ref(living)
    del living
    looks = 0
    while ended() is not None:
        collector.look()
        looks += 1
        assert looks < 10
    assert gc.get_freeze_count() > 0


def test_what_outlives_a_round_is_not_looked_at_again() -> None:
    collector, living = YoungCollector(), [_Node() for _ in range(1_000)]
    for _ in range(4):
        collector.look()
    young = {id(found) for generation in range(3) for found in gc.get_objects(generation)}
    assert young.isdisjoint(map(id, living))


def test_a_flood_of_objects_is_not_looked_at() -> None:
    collector, ended = YoungCollector(), _cycle()
    flood = [[number] for number in range(YOUNG_MAX + 1_000)]
    collector.look()
    assert ended() is not None
    assert len(flood) > YOUNG_MAX
    assert gc.get_count()[0] < YOUNG_MAX


def test_a_flood_that_python_has_counted_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a million objects that would take as long as what it is to avoid."""
    flood = [[number] for number in range(YOUNG_MAX + 1_000)]
    monkeypatch.setattr(gc, "get_objects", lambda _: pytest.fail("counted"))
    YoungCollector().look()
    assert gc.get_freeze_count() > len(flood)


def test_a_flood_that_replaces_another_is_not_looked_at() -> None:
    """A list that is read again frees as many old objects as it makes, so Python's own count stays low."""
    collector = YoungCollector()
    known = [[number] for number in range(2 * YOUNG_MAX)]
    gc.freeze()
    ended = _cycle()
    known = [[number] for number in range(2 * YOUNG_MAX)]
    assert gc.get_count()[0] < YOUNG_MAX
    collector.look()
    assert ended() is not None
    assert len(known) > YOUNG_MAX


def test_changes_bring_about_a_look() -> None:
    collector, ended = YoungCollector(), _cycle()
    live = CollectionsWhileLive(collector)
    for _ in range(CHANGES_MAX - 1):
        collector.note_change()
    assert ended() is not None
    live.observed(None, 0)  # type: ignore[arg-type]
    assert ended() is None


def test_nothing_is_looked_at_while_nothing_happens() -> None:
    collector, ended = YoungCollector(), _cycle()
    collector.look_if_due()
    assert ended() is not None
    collector.note_change()
    collector.look_if_due()
    assert ended() is None


def test_the_collector_of_python_is_back_afterwards() -> None:
    gc.enable()

    async def within() -> tuple[bool, int]:
        async with brief_collections():
            return gc.isenabled(), gc.get_freeze_count()

    is_enabled, frozen = asyncio.run(within())
    assert not is_enabled
    assert frozen > 1_000
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
