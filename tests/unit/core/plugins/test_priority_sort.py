"""The order of the queue."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of

from bayplan.core.framework.contract import QueueSortPlugin
from bayplan.core.plugins.priority_sort import PrioritySort
from bayplan.testing.builders import pod


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param((10, 5), (1, 0), id="priority before time"),
        pytest.param((1, 0), (None, 0), id="no priority is 0"),
        pytest.param((0, 0), (-1, 0), id="negative goes last"),
        pytest.param((7, 1), (7, 2), id="then earlier in the queue"),
    ],
)
def test_who_goes_first(first: tuple[int | None, int], second: tuple[int | None, int]) -> None:
    """Smaller keys go first: higher priority, then the earlier time."""
    cache = cache_of()
    keys = [PrioritySort().sort_key(cache.info(pod("p").priority(value).obj()), at) for value, at in (first, second)]
    assert keys[0] < keys[1]


def test_equal_pods_have_equal_keys() -> None:
    """A name decides nothing."""
    cache, plugin = cache_of(), PrioritySort()
    assert plugin.sort_key(cache.info(pod("a").obj()), 3) == plugin.sort_key(cache.info(pod("b").obj()), 3)


def test_is_a_queue_sort_plugin() -> None:
    """The framework finds it by what it can do."""
    assert isinstance(PrioritySort(), QueueSortPlugin)
