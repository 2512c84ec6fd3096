"""Pods without resource claims pass untouched."""

from __future__ import annotations

from tests.support import cache_of, prepared, raw_and_normal_scores

from bayplan.core.framework.contract import PreScorePlugin, Skip
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.testing.builders import node, pod


def test_a_pod_without_claims_is_skipped() -> None:
    """There is nothing to filter."""
    _, _, outcome = prepared(DynamicResources(), cache_of(node("n").obj()), pod("p").obj())
    assert isinstance(outcome, Skip)


def test_a_pod_without_claims_scores_nothing_but_scores() -> None:
    """It has no preparing step that could skip, so its zeros are part of every total."""
    plugin = DynamicResources()
    cache = cache_of(node("a").obj(), node("b").obj())
    assert not isinstance(plugin, PreScorePlugin)
    assert raw_and_normal_scores(plugin, cache, pod("p").obj()) == ({"a": 0, "b": 0}, {"a": 0, "b": 0})
