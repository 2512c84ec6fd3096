"""How much is missing on nodes that lack a resource."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayplan import Cluster
from bayplan.analysis.shortage import Shortage, shortages
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, Rows
from bayplan.core.cycle import attempt
from bayplan.core.explain import Explanation
from bayplan.core.framework.contract import Reads, State
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import SUCCESS, Status, unschedulable
from bayplan.core.snapshot import View
from bayplan.testing import builders as make
from bayplan.testing.building import Builder


def test_most_free_and_most_offered() -> None:
    things: list[Builder[Any]] = [
        make.node("a").capacity(cpu="4", memory="8Gi"),
        make.node("b").capacity(cpu="8", memory="8Gi"),
        make.node("tainted").capacity(cpu="6").taint("k"),
        make.pod("on-a").cpu("1").running("a"),
        make.pod("on-b").cpu("6").running("b"),
        make.pod("x").cpu("5").memory("16Gi"),
    ]
    why = Cluster.from_objects([thing.dict() for thing in things]).explain("default/x")
    gib = 1 << 30
    assert shortages(why.explanation) == [
        Shortage("cpu", 5000, 3000, "a", 8000),
        Shortage("memory", 16 * gib, 8 * gib, "a", 8 * gib),
    ]


def test_room_that_is_kept_for_a_more_important_pod_is_not_free() -> None:
    things: list[Builder[Any]] = [
        make.node("a").capacity(cpu="4"),
        make.pod("nominee").cpu("3").priority(10).nominated("a"),
        make.pod("x").cpu("2"),
        make.pod("y").cpu("5").priority(20),
    ]
    cluster = Cluster.from_objects([thing.dict() for thing in things])
    assert shortages(cluster.explain("default/x").explanation) == [Shortage("cpu", 2000, 1000, "a", 4000)]
    assert shortages(cluster.explain("default/y").explanation) == [Shortage("cpu", 5000, 4000, "a", 4000)]


def test_nothing_is_short_where_nothing_is_looked_at() -> None:
    assert shortages(Cluster.from_objects([make.pod("x").dict()]).explain("default/x").explanation) == []


class Lucky:
    """A filter of somebody else that speaks as NodeResourcesFit does."""

    name: ClassVar[str] = "Lucky"
    reads: ClassVar[Reads] = Reads.NODE

    def filter(self, state: State, view: View, rows: Rows) -> IntArray:
        return np.ones(len(view.nodes.alive[rows]), dtype=np.int64)

    def explain_failure(self, state: State, view: View, code: int) -> Status:
        return unschedulable("Insufficient luck")


def test_words_of_other_plugins_are_not_taken_for_resources() -> None:
    cache = Cache(gates=DEFAULT_GATES)
    cache.add(make.node("a").obj())
    view, pod = cache.view(), cache.info(make.pod("x").obj())
    found = attempt(Profile("lucky", (), (), (Lucky(),), (), (), (), {}), pod, view)
    assert "Insufficient luck" in found.message
    assert shortages(Explanation(found, view, SUCCESS)) == []
