"""The arithmetic that says where to look for thresholds."""

from __future__ import annotations

import numpy as np
from tests.support.caches import cache_of

from bayplan.analysis.answers.exposure.turns import NEVER, turns
from bayplan.testing.builders import budget, node, pod


def test_pods_stand_in_the_order_in_which_they_are_spared() -> None:
    cache = cache_of(
        node("n").capacity(cpu="4", pods=4).obj(),
        budget("guard").selects(app="x").allows(0).obj(),
        pod("old").cpu("1").running("n", since=1).obj(),
        pod("new").cpu("1").running("n", since=2).obj(),
        pod("guarded").cpu("500m").labels(app="x").priority(-9).running("n", since=3).obj(),
        pod("idle").priority(-10).running("n").obj(),
        pod("above").cpu("1").priority(5).running("m").obj(),
    )
    view = cache.view()
    found = turns(cache.info(pod("preemptor").priority(1).obj()), view, np.array([0]))
    assert [view.pods.keys[row].partition("/")[2] for row in found.pod_rows] == ["guarded", "old", "new", "idle"]
    assert found.amounts[:, 0].tolist() == [3501, 2501, 1501, NEVER]
    assert found.spared_after.tolist() == [3, 2, 1, 0]
    assert found.crowded.tolist() == [False, False, False, True]
    assert found.protected.tolist() == [True, False, False, False]


def test_without_pods_there_is_nothing_to_say() -> None:
    cache = cache_of(node("n").obj())
    found = turns(cache.info(pod("preemptor").priority(1).obj()), cache.view(), np.array([0]))
    assert (len(found.pod_rows), len(found.spared_after)) == (0, 0)
