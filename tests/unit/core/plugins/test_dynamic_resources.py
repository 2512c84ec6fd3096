"""Pods without resource claims pass untouched, pods with claims are turned away in clear words."""

from __future__ import annotations

import pytest
from tests.support import cache_of, prepared, raw_and_normal_scores

from bayplan.core.columns import ALL_ROWS, row_array
from bayplan.core.framework.contract import PreScorePlugin, Skip
from bayplan.core.framework.verdict import Code, Status
from bayplan.core.plugins.dynamic_resources import NO_CLAIMS_REASON, DynamicResources
from bayplan.model.pod import Pod, PodResourceClaim
from bayplan.testing.builders import node, pod


def claiming(*names: str) -> Pod:
    made = pod("p").obj()
    made.spec.resource_claims = [PodResourceClaim(name=name) for name in names]
    return made


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


def test_a_pod_with_claims_is_turned_away() -> None:
    """On every node, without hope for preemption, naming what is not supported."""
    _, _, outcome = prepared(DynamicResources(), cache_of(node("n").obj()), claiming("gpu", "nic"))
    assert isinstance(outcome, Status)
    assert outcome.code is Code.UNRESOLVABLE
    assert outcome.message == "pods with resource claims are not supported yet (spec.resourceClaims: gpu, nic)"


@pytest.mark.parametrize(("incoming", "code"), [(pod("p").obj(), 0), (claiming("gpu"), 1)], ids=["none", "claims"])
def test_says_the_same_without_its_preparing_step(incoming: Pod, code: int) -> None:
    """A profile may leave out pre_filter and still filter."""
    plugin = DynamicResources()
    info, view, _ = prepared(plugin, cache_of(node("a").obj(), node("b").obj()), incoming)
    assert plugin.filter(info, view, ALL_ROWS).tolist() == [code, code]
    assert plugin.filter(info, view, row_array([1])).tolist() == [code]
    if code:
        assert "resource claims" in plugin.explain_failure(info, view, code).message


def test_any_pod_may_enter_the_queue() -> None:
    """The attempt, not the queue, tells why a pod with claims waits."""
    assert DynamicResources().pre_enqueue(cache_of().info(claiming("gpu"))).ok


def test_what_post_filter_says() -> None:
    """The sentence is part of most failure messages of the default profile."""
    assert NO_CLAIMS_REASON == "no new claims to deallocate"
