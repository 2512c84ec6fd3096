"""A follower is current, gets the rows that have changed, or has to be made again; and few of them are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pytest
from tests.support.caches import cache_of

from bayplan.core.cache import Cache
from bayplan.core.columns import RowArray, changes
from bayplan.core.columns.changes import ChangeLog
from bayplan.core.following import Follower, followed
from bayplan.core.snapshot import View
from bayplan.testing.builders import budget, node, pod


class Noting(Follower):
    """Notes which rows it was told of, and follows all that there is to follow but budgets."""

    def __init__(self, view: View, *logs: ChangeLog) -> None:
        super().__init__(view, *(logs or (view.nodes.usage_changes, view.nodes.importance_changes)))
        self.told: list[list[int]] = []

    def epoch(self, view: View) -> Hashable:
        return view.objects.budgets_version

    def update(self, view: View, rows: RowArray) -> bool:
        self.told.append(sorted(set(rows.tolist())))
        return True


def cluster() -> Cache:
    cache = cache_of(*(node(name).capacity(cpu=4).obj() for name in "abc"))
    cache.add_pod(pod("old").cpu(1).running("c").obj())
    return cache


def started_again(cache: Cache) -> None:
    cache.nodes.importance_changed(2)


def both(cache: Cache) -> None:
    cache.add_pod(pod("x").cpu(1).running("a").obj())
    started_again(cache)


CHANGES: dict[str, tuple[Callable[[Cache], object], list[list[int]] | None]] = {
    "nothing": (lambda _: None, []),
    "a pod comes": (lambda cache: cache.add_pod(pod("x").cpu(1).running("b").obj()), [[1]]),
    "only the other log grows": (started_again, [[2]]),
    "both logs grow": (both, [[0, 2]]),
    "a node joins": (lambda cache: cache.add(node("d").capacity(cpu=4).obj()), [[3]]),
    "the epoch changes": (lambda cache: cache.add(budget("pdb").selects(app="x").allows(0).obj()), None),
    "every row may have changed": (lambda cache: cache.nodes.all_changed(), None),
}


@pytest.mark.parametrize("change", CHANGES)
def test_it_is_told_of_rows_that_have_changed_once(change: str) -> None:
    cache = cluster()
    make, expected = CHANGES[change]
    follower = Noting(cache.view())
    make(cache)
    assert follower.follow(cache.view()) == (expected is not None)
    if expected is not None:
        assert follower.follow(cache.view())
    assert follower.told == (expected or [])


@pytest.mark.parametrize("log", ["usage_changes", "importance_changes"])
def test_a_log_that_does_not_reach_back_makes_it_again(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "LOG_LENGTH_MAX", 4)
    cache = cluster()
    follower = Noting(cache.view())
    for _ in range(9):
        getattr(cache.nodes, log).append(0)
    assert not follower.follow(cache.view())
    assert follower.told == []


def test_it_is_told_of_a_table_that_got_longer_though_no_log_did() -> None:
    """As a row without a node object is none that node objects have changed in."""
    cache = cluster()
    follower = Noting(cache.view(), cache.nodes.spec_changes)
    cache.add_pod(pod("x").cpu(1).running("unseen").obj())
    assert follower.follow(cache.view())
    assert follower.follow(cache.view())
    assert follower.told == [[]]


def test_what_cannot_follow_is_made_again() -> None:
    """By default nothing can be followed."""
    cache = cluster()
    log = cache.nodes.spec_changes
    kept: dict[str, Follower] = {}

    def known() -> Follower:
        return followed(kept, "key", cache.view(), lambda: Follower(cache.view(), log), 1)

    first = known()
    cache.add_pod(pod("x").cpu(1).running("b").obj())
    assert known() is first
    cache.add(node("a").capacity(cpu=8).obj())
    assert known() is not first


def test_all_are_forgotten_before_there_are_too_many() -> None:
    cache = cluster()
    view, kept = cache.view(), dict[int, Noting]()
    sizes = []
    for key in (1, 2, 1, 3):
        followed(kept, key, view, lambda: Noting(view), 2)
        sizes.append(len(kept))
    assert sizes == [1, 2, 2, 1]
