"""Which error ends an attempt: that of the first node, in the order of the search, that ends in one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, Rows, every_row
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.deciding import Decider
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError, Status, unschedulable
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.well_known import BETA_ZONE, ZONE
from bayplan.testing.builders import node, pod


class Breaks:
    """A filter that raises where a node's name is in `at`, with the name of the first such row."""

    name: ClassVar[str] = "Breaks"
    reads: ClassVar[Reads] = Reads.CLUSTER

    def __init__(self, *at: str) -> None:
        self.at = at
        self.asked = 0

    def filter(self, state: Any, view: View, rows: Rows) -> IntArray:
        self.asked += 1
        asked_rows = every_row(view.nodes.count)[rows]
        for name in (view.nodes.names[row] for row in asked_rows):
            if name in self.at:
                raise CycleError(self.name, f"{name} is broken")
        codes: IntArray = np.zeros(len(asked_rows), dtype=np.int64)
        return codes

    def explain_failure(self, state: Any, view: View, code: int) -> Status:
        return unschedulable("never said")


class BreaksToo(Breaks):
    name: ClassVar[str] = "BreaksToo"


def breaking(*plugins: Breaks) -> Profile:
    """The default profile, with these filters behind its own."""
    profile = default_profile()
    return replace(profile, filter=(*profile.filter, *plugins))


def in_zones(**zones: str) -> list[Node]:
    return [node(name).labels({ZONE: zone}).capacity(cpu=4, pods=10).obj() for name, zone in zones.items()]


def error_of(profile: Profile, cache: Cache, info: PodInfo, start: int = 0) -> str:
    found = attempt(profile, info, cache.view(), start)
    assert found.error is not None
    return found.error.message


WAITING = pod("p").cpu(1).obj()
ZONED = in_zones(a1="a", a2="a", a3="a", b1="b", b2="b")
"""Searched in the order a1, b1, a2, b2, a3."""


@pytest.mark.parametrize(
    ("broken", "reported"),
    [
        (("a2", "b1"), "b1"),
        (("a3", "b2"), "b2"),
        (("a2", "a3"), "a2"),
        (("a3",), "a3"),
        (("a1", "a2", "a3", "b1", "b2"), "a1"),
    ],
)
def test_the_first_broken_node_in_the_order_of_the_search_is_reported(broken: tuple[str, ...], reported: str) -> None:
    cache = cache_of(*ZONED)
    profile, info = breaking(Breaks(*broken)), cache.info(WAITING)
    expected = f'running "Breaks" filter plugin: {reported} is broken'
    assert error_of(profile, cache, info) == expected
    for reuse in (True, False):
        with pytest.raises(CycleError, match=expected):
            Decider({"default-scheduler": profile}, reuse=reuse).decide(info, cache.view())


def test_the_search_order_counts_more_than_the_order_of_plugins() -> None:
    """The node that comes first ends the search, though another plugin would have raised earlier on a later node."""
    cache = cache_of(*ZONED)
    profile = breaking(Breaks("a2"), BreaksToo("b1"))
    assert error_of(profile, cache, cache.info(WAITING)) == 'running "BreaksToo" filter plugin: b1 is broken'


def test_a_beta_zone_label_counts_before_the_other() -> None:
    first, second, third = in_zones(a1="a", a2="a", b1="b")
    first.metadata.labels[BETA_ZONE] = "b"
    cache = cache_of(first, second, third)
    profile = breaking(Breaks("a2", "b1"))
    assert error_of(profile, cache, cache.info(WAITING)).endswith("a2 is broken")


def test_a_search_from_the_middle_meets_another_error_first() -> None:
    cache = cache_of(*ZONED)
    profile = breaking(Breaks("a1", "b2"))
    assert error_of(profile, cache, cache.info(WAITING), start=2).endswith("b2 is broken")
    assert error_of(profile, cache, cache.info(WAITING), start=4).endswith("a1 is broken")


def test_a_node_that_was_rejected_is_not_asked_whether_it_is_broken() -> None:
    cache = cache_of(*ZONED, pod("big").cpu(4).running("b1", 1).obj())
    profile = breaking(Breaks("a2", "b1"))
    assert error_of(profile, cache, cache.info(WAITING)).endswith("a2 is broken")


def test_a_node_that_is_full_with_its_nominated_pods_is_not_asked_without_them() -> None:
    """Upstream counts them first, and leaves a node that rejects the pod then."""
    cache = cache_of(*ZONED)
    cache.nominate(pod("important").cpu(4).priority(9).obj(), "b1")
    found = attempt(breaking(Breaks("b1")), cache.info(WAITING), cache.view())
    assert found.error is None
    assert found.filtered is not None
    assert [cache.nodes.names[row] for row in found.filtered.feasible_rows] == ["a1", "a2", "a3", "b2"]
    assert found.filtered.status_of(cache.view(), cache.nodes.rows_by_name["b1"]).reasons == ("Insufficient cpu",)


def test_one_broken_node_among_thousands_takes_few_looks() -> None:
    nodes = [node(f"n{number}").capacity(cpu=4, pods=10).obj() for number in range(3_000)]
    cache = cache_of(*nodes)
    plugin = Breaks("n2345", "n2999")
    assert error_of(breaking(plugin), cache, cache.info(WAITING)).endswith("n2345 is broken")
    assert plugin.asked < 20
