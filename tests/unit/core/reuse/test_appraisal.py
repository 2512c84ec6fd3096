"""One pass of compiled loops, array code, and plugins that are asked about a single row come to the same values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.caches import cache_of
from tests.support.preemption_attempts import default_profile

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.core.columns import IntArray, RowArray, every_row, loops, row_array
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.cycle import attempt
from bayplan.core.framework.profile import Profile
from bayplan.core.framework.verdict import CycleError
from bayplan.core.plugins.node_resources_fit import NodeResourcesFit
from bayplan.core.reuse.appraisal import NOT_FEASIBLE, RANKS, Appraisal, appraised_by, total_of
from bayplan.core.reuse.node_board import NodeBoard, Plain, local_states, node_board_for
from bayplan.core.snapshot import View
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod
from bayplan.testing.pods import PodBuilder

pytestmark = pytest.mark.usefixtures("either_way")

PROFILE = default_profile()
#: Of any size and with anything on them; one is closed, one holds a large image, and rows are not in order of names.
NODES: tuple[Object, ...] = (
    node("d").capacity(cpu=2, memory="4Gi").obj(),
    node("b").capacity(cpu=8, memory="8Gi", pods=2).obj(),
    node("c").capacity(cpu=8, memory="32Gi").unschedulable().obj(),
    node("a").capacity(cpu=8, memory="32Gi").image("large:1", size_bytes=700 << 20).obj(),
    node("e").capacity(cpu=8, memory="32Gi").obj(),
    pod("on-b").cpu(5).memory("1Gi").running("b").obj(),
    pod("idle").running("b").obj(),
    pod("on-e").cpu(1).memory("1Gi").running("e").obj(),
)
#: Local score plugins that are not normalized.
BY_ITSELF = {"NodeResourcesFit", "NodeResourcesBalancedAllocation", "ImageLocality"}
PODS = {
    "fits on some": pod("p").cpu(3).memory("1Gi"),
    "fits nowhere": pod("p").cpu(64),
    "asks for nothing": pod("p"),
    "wants an image": pod("p").cpu(1).image("large:1"),
    "wants a port": pod("p").cpu(1).port(host=80),
}


def appraisal_of(cache: Cache, info: PodInfo, profile: Profile = PROFILE) -> tuple[Appraisal, NodeBoard]:
    view = cache.view()
    node_board = node_board_for(profile, info, view)
    assert isinstance(node_board, NodeBoard)
    states = local_states(profile, info, view, node_board)
    assert states is not None
    return Appraisal(profile, info, view, states), node_board


class OutOfRange:
    name = "OutOfRange"

    def score(self, state: object, view: View, rows: RowArray) -> IntArray:
        return np.full(len(rows), 101)


def value_of(appraisal: Appraisal, cache: Cache, node_board: NodeBoard, row: int) -> int:
    return appraisal.of_rows(cache.view(), node_board, row_array([row]))[0].item()


def asked_one_by_one(cache: Cache, info: PodInfo, row: int) -> int | None:
    """The total, from what each plugin says of the row by itself; None if one rejects it."""
    found = attempt(PROFILE, info, cache.view())
    if found.scored is None or found.scored.totals is None or row not in found.scored.rows:
        return None
    here = found.scored.rows == row
    return sum(int(scores[here][0]) for name, scores in found.scored.by_plugin.items() if name in BY_ITSELF)


@pytest.mark.parametrize("kind", PODS)
def test_all_rows_some_rows_and_one_row(kind: str) -> None:
    cache = cache_of(*NODES)
    info, every = cache.info(PODS[kind].obj()), every_row(cache.nodes.count)
    appraisal, node_board = appraisal_of(cache, info)
    expected = [asked_one_by_one(cache, info, row) for row in every.tolist()]
    values, feasible, best = appraisal.of_rows(cache.view(), node_board, every)
    totals = [None if values[row] == NOT_FEASIBLE else total_of(values.item(row)) for row in every.tolist()]
    assert totals == expected
    assert feasible == len(totals) - totals.count(None)
    assert best == (int(values.argmax()) if feasible else -1)
    some = row_array([3, 0, 3])
    assert appraisal.of_rows(cache.view(), node_board, some)[0].tolist() == values[some].tolist()
    for row in np.flatnonzero(~node_board.settled).tolist():
        assert value_of(appraisal, cache, node_board, row) == values[row]


def test_of_equal_totals_the_smallest_name_has_the_highest_value() -> None:
    cache = cache_of(*(node(name).capacity(cpu=4).obj() for name in "cab"))
    appraisal, node_board = appraisal_of(cache, cache.info(pod("p").cpu(1).obj()))
    values, _, best = appraisal.of_rows(cache.view(), node_board, every_row(3))
    assert cache.nodes.names[best] == "a"
    assert sorted("cab", key=dict(zip("cab", values, strict=True)).__getitem__) == ["c", "b", "a"]


def test_what_changes_is_seen() -> None:
    cache = cache_of(*NODES)
    info = cache.info(pod("p").cpu(3).obj())
    appraisal, node_board = appraisal_of(cache, info)
    row = cache.nodes.rows_by_name["e"]
    before = value_of(appraisal, cache, node_board, row)
    cache.add_pod(pod("more").cpu(1).memory("1Gi").running("e").obj())
    after = value_of(appraisal, cache, node_board, row)
    assert after < before - RANKS // 2
    cache.add_pod(pod("most").cpu(5).running("e").obj())
    assert value_of(appraisal, cache, node_board, row) == NOT_FEASIBLE


def test_a_score_out_of_range_is_an_error() -> None:
    cache = cache_of(node("n0").capacity(cpu=4).obj())
    info = cache.info(pod("p").cpu(1).obj())
    appraisal, node_board = appraisal_of(cache, info)
    appraisal._steps = None  # as where a plugin has no compiled rule
    (scorer, state), *others = appraisal._following
    plugin: Any = OutOfRange()
    appraisal._following = [Plain(scorer._replace(plugin=plugin, stays_in_range=False), state), *others]
    with pytest.raises(CycleError, match="invalid score 101"):
        value_of(appraisal, cache, node_board, 0)


#: Ask for nothing but amounts, more than nothing, and each container for all that has a default.
PLAIN_PODS = {
    "little": pod("p").cpu(1).memory("1Gi"),
    "much": pod("p").cpu(7).memory("1Gi"),
    "more than any node has": pod("p").cpu(64).memory("1Gi"),
}


@pytest.mark.parametrize("kind", PLAIN_PODS)
def test_an_outline_serves_pods_that_ask_for_other_amounts(kind: str) -> None:
    cache = cache_of(*NODES)
    view, info = cache.view(), cache.info(PLAIN_PODS[kind].obj())
    other, _ = appraisal_of(cache, cache.info(pod("other").cpu(2).memory("3Gi").obj()))
    appraisal, node_board = appraisal_of(cache, info)
    expected = appraisal.of_rows(view, node_board, every_row(cache.nodes.count))
    outline = other.outline(view, ("cpu", "memory"))
    assert outline is not None
    found = appraised_by(outline, info, view, node_board)
    if loops.compiled is None:
        assert found is None
        return
    assert found is not None
    assert found[0].tolist() == expected[0].tolist()
    assert found[1:3] == expected[1:3]


@pytest.mark.parametrize(
    ("asks", "plainly"),
    [
        (pod("p").cpu(1).memory("1Gi"), True),
        (pod("p").request({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}), True),
        (pod("p").cpu(1), False),  # memory is supposed
        (pod("p").cpu(0).memory("1Gi"), False),
        (pod("p").request({"cpu": "1", "memory": "1Gi", "example.com/device": "1"}), False),
        (pod("p").cpu(1).memory("1Gi").overhead(cpu="1"), True),
        (pod("p"), False),
    ],
)
def test_who_asks_plainly(asks: PodBuilder, plainly: bool) -> None:
    assert cache_of().info(asks.obj()).shape.asks_plainly == plainly


def test_plugins_that_promise_nothing_leave_no_outline() -> None:
    assert PROFILE.follows_requests
    fit = PROFILE.filter[[plugin.name for plugin in PROFILE.filter].index("NodeResourcesFit")]
    assert isinstance(fit, NodeResourcesFit)
    silent = type("Silent", (NodeResourcesFit,), {"follows_requests": False})(gates=DEFAULT_GATES)
    filters = tuple(silent if plugin is fit else plugin for plugin in PROFILE.filter)
    assert not replace(PROFILE, filter=filters).follows_requests
