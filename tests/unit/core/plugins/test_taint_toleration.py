"""Taints keep pods away or make nodes less welcome, unless tolerated."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, prepared, raw_and_normal_scores, verdicts

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.columns import row_array
from bayplan.core.framework.contract import (
    FilterPlugin,
    NormalizePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.taint_toleration import REASON, TaintToleration
from bayplan.testing.builders import NodeBuilder, node, pod
from bayplan.testing.pods import PodBuilder


@pytest.mark.parametrize(
    ("tainted", "incoming", "fits"),
    [
        pytest.param(node("n"), pod("p"), True, id="no taint"),
        pytest.param(node("n").taint("k", "v"), pod("p"), False, id="NoSchedule"),
        pytest.param(node("n").taint("k", "v", "NoExecute"), pod("p"), False, id="NoExecute"),
        pytest.param(node("n").taint("k", "v", "PreferNoSchedule"), pod("p"), True, id="PreferNoSchedule"),
        pytest.param(node("n").taint("k", "v"), pod("p").tolerates("k", "v", "NoSchedule"), True, id="all equal"),
        pytest.param(node("n").taint("k", "v"), pod("p").tolerates("k", "w"), False, id="another value"),
        pytest.param(node("n").taint("k", "v"), pod("p").tolerates("k"), True, id="key exists"),
        pytest.param(node("n").taint("k", "v"), pod("p").tolerates("k", effect="NoExecute"), False, id="wrong effect"),
        pytest.param(node("n").taint("k", "v"), pod("p").tolerates(), True, id="tolerates everything"),
        pytest.param(
            node("n").taint("k", "v").taint("k", "v", "NoExecute"),
            pod("p").tolerates("k", effect="NoSchedule"),
            False,
            id="one of two tolerated",
        ),
        pytest.param(
            node("n").taint("a").taint("b", "", "NoExecute"),
            pod("p").tolerates("a").tolerates("b"),
            True,
            id="each tolerated by another",
        ),
        pytest.param(
            node("n").taint("k", "v", "NoExecute"),
            pod("p").tolerates("k", effect="NoExecute", seconds=0),
            True,
            id="seconds play no part",
        ),
        pytest.param(
            node("n").taint("k", "5"), pod("p").tolerates("k", "4", operator="Gt"), False, id="Gt is switched off"
        ),
        pytest.param(node("n").taint("k", "v", "Whatever"), pod("p"), True, id="unknown effect"),
    ],
)
def test_filter(tainted: NodeBuilder, incoming: PodBuilder, fits: bool) -> None:
    """Every NoSchedule and NoExecute taint must be tolerated by at least one toleration."""
    status = verdicts(TaintToleration(gates=DEFAULT_GATES), cache_of(tainted.obj()), incoming.obj())["n"]
    assert status.ok is fits
    if not fits:
        assert status.code is Code.UNRESOLVABLE
        assert status.reasons == (REASON,) == ("node(s) had untolerated taint(s)",)


def prefer(name: str, *keys: str) -> NodeBuilder:
    built = node(name)
    for key in keys:
        built.taint(key, "", "PreferNoSchedule")
    return built


@pytest.mark.parametrize(
    ("nodes", "incoming", "raw", "normal"),
    [
        pytest.param([prefer("a"), prefer("b")], pod("p"), [0, 0], [100, 100], id="none anywhere"),
        pytest.param(
            [prefer("a"), prefer("b", "x"), prefer("c", "x", "y", "z")],
            pod("p"),
            [0, 1, 3],
            [100, 67, 0],
            id="counted and reversed",
        ),
        pytest.param([prefer("a", "x"), prefer("b", "y")], pod("p"), [1, 1], [0, 0], id="equally bad"),
        pytest.param(
            [prefer("a", "x"), prefer("b", "x", "y")], pod("p").tolerates("x"), [0, 1], [100, 0], id="tolerated"
        ),
        pytest.param(
            [prefer("a", "x"), prefer("b")],
            pod("p").tolerates("x", effect="NoSchedule"),
            [1, 0],
            [0, 100],
            id="toleration of another effect",
        ),
        pytest.param(
            [node("a").taint("x"), node("b").taint("x", "", "NoExecute")],
            pod("p"),
            [0, 0],
            [100, 100],
            id="other effects do not count",
        ),
    ],
)
def test_score(nodes: list[NodeBuilder], incoming: PodBuilder, raw: list[int], normal: list[int]) -> None:
    """Untolerated PreferNoSchedule taints are counted; the node with most of them gets nothing."""
    scored = raw_and_normal_scores(
        TaintToleration(gates=DEFAULT_GATES), cache_of(*(item.obj() for item in nodes)), incoming.obj()
    )
    assert scored is not None
    assert list(scored[0].values()) == raw
    assert list(scored[1].values()) == normal


def test_answers_for_the_rows_asked_about() -> None:
    """One code for each row, in the order of the rows."""
    plugin = TaintToleration(gates=DEFAULT_GATES)
    cache = cache_of(node("a").obj(), node("b").taint("k").obj(), node("c").obj())
    info, view, _ = prepared(plugin, cache, pod("p").obj())
    assert plugin.filter(info, view, row_array([1, 2, 1])).tolist() == [1, 0, 1]


def test_a_kept_state_serves_nodes_tainted_later() -> None:
    """The prepared state holds no table of the taints that were known when it was made."""
    plugin = TaintToleration(gates=DEFAULT_GATES)
    cache = cache_of(node("a").obj())
    info, view, _ = prepared(plugin, cache, pod("p").obj())
    state = plugin.pre_score(info, view, row_array([0]))
    cache.add(prefer("a", "x", "y").obj())
    assert plugin.score(state, cache.view(), row_array([0])).tolist() == [2]


def test_extension_points() -> None:
    """It filters without preparation and prepares its score."""
    plugin = TaintToleration(gates=DEFAULT_GATES)
    for point in (FilterPlugin, PreScorePlugin, ScorePlugin, NormalizePlugin):
        assert isinstance(plugin, point)
    assert not isinstance(plugin, PreFilterPlugin)
