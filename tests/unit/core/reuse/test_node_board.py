"""What node objects say of pods is worked out anew where following changed nodes one by one is not enough."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest
from tests.support.caches import cache_of, chosen_node
from tests.support.preemption_attempts import default_profile

from bayplan.core.columns import ABSENT, IntArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.deciding import Decider
from bayplan.core.framework.contract import (
    MAX_NODE_SCORE,
    SKIP,
    Reads,
    Skip,
)
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.snapshot import View
from bayplan.testing.builders import node, pod

LICENSE = "example.com/license"


class PrefersLicenses:
    """A plugin that has nothing to say while no node has the resource that it looks for."""

    name: ClassVar[str] = "PrefersLicenses"
    score_reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes = OtherNodes.NOTHING

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> int | Skip:
        column = view.nodes.resources.find(LICENSE)
        return SKIP if column == ABSENT else column

    def score(self, state: int, view: View, rows: RowArray) -> IntArray:
        scores: IntArray = (view.nodes.allocatable[rows, state] > 0) * MAX_NODE_SCORE
        return scores


@pytest.mark.parametrize("reuse", [True, False], ids=["reuse", "from-scratch"])
def test_a_resource_that_no_node_had_before_is_seen_by_plugins_that_look_for_it(reuse: bool) -> None:
    plugin, profile = PrefersLicenses(), default_profile()
    profile = replace(
        profile,
        pre_score=(*profile.pre_score, plugin),
        score=(*profile.score, plugin),
        weights={**profile.weights, plugin.name: 5},
    )
    assert profile.follows_nodes
    decider = Decider({profile.scheduler_name: profile}, reuse=reuse)
    cache = cache_of(*(node(name).capacity(cpu="8", pods=9).obj() for name in "abc"))
    waiting = cache.info(pod("p").cpu("1").obj())
    found = [chosen_node(decider, waiting, cache.view()) for _ in range(3)]
    cache.add(node("b").capacity({LICENSE: 4}, cpu="8", pods=9).obj())
    found.append(chosen_node(decider, waiting, cache.view()))
    assert found == ["a", "a", "a", "b"]
