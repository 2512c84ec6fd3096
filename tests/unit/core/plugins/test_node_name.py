"""A pod that names a node fits there and nowhere else."""

from __future__ import annotations

import pytest
from tests.support.caches import cache_of, prepared, verdicts

from bayplan.core.columns import row_array
from bayplan.core.framework.contract import (
    SKIP,
    FilterPlugin,
    Ready,
)
from bayplan.core.framework.verdict import Code
from bayplan.core.plugins.node_name import REASON, NarrowingNodeName, NodeName
from bayplan.testing.builders import node, pod


@pytest.mark.parametrize(
    ("named", "fitting"),
    [
        pytest.param("", {"a", "b", "c"}, id="no name"),
        pytest.param("b", {"b"}, id="a known node"),
        pytest.param("elsewhere", set(), id="an unknown node"),
        pytest.param("B", set(), id="case matters"),
    ],
)
def test_only_the_named_node_fits(named: str, fitting: set[str]) -> None:
    """All other nodes are beyond repair."""
    cache = cache_of(*(node(name).obj() for name in "abc"))
    outcome = verdicts(NodeName(), cache, pod("p").node(named).obj())
    assert {name for name, status in outcome.items() if status.ok} == fitting
    for name in outcome.keys() - fitting:
        assert outcome[name].code is Code.UNRESOLVABLE
        assert outcome[name].reasons == (REASON,) == ("node(s) didn't match the requested node name",)


@pytest.mark.parametrize(("named", "codes"), [("", [0, 0, 0]), ("b", [1, 0, 1])], ids=["no name", "a name"])
def test_answers_for_the_rows_asked_about(named: str, codes: list[int]) -> None:
    """One code for each row, in the order of the rows."""
    plugin = NodeName()
    cache = cache_of(*(node(name).obj() for name in "abc"))
    info, view, _ = prepared(plugin, cache, pod("p").node(named).obj())
    assert plugin.filter(info, view, row_array([2, 1, 0])).tolist() == codes


def test_is_a_filter_plugin() -> None:
    """The framework finds it by what it can do."""
    assert isinstance(NodeName(), FilterPlugin)


def test_since_1_37_only_the_named_node_is_looked_at() -> None:
    cache = cache_of(*(node(name).obj() for name in "abc"))
    _, _, outcome = prepared(NarrowingNodeName(), cache, pod("p").node("b").obj())
    assert isinstance(outcome, Ready)
    assert outcome.nodes == ("b",)
    assert prepared(NarrowingNodeName(), cache, pod("q").obj())[2] is SKIP
