"""What helps a pod that found no node near or far enough from other pods."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.inter_pod_affinity import InterPodAffinity
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod

NEAR = pod("p").labels(app="p").pod_affinity("zone", {"app": "a"}).pod_affinity("rack", {"tier": "x"}).obj()
APART = pod("p").labels(app="p").pod_anti_affinity("zone", {"app": "a"}).obj()
APART_TWICE = (
    pod("p").labels(app="p").pod_anti_affinity("zone", {"app": "a"}).pod_anti_affinity("rack", {"tier": "x"}).obj()
)
WITHOUT = pod("p").labels(app="p").obj()

WANTED = pod("q").labels(app="a", tier="x").node("n")
HALF_WANTED = pod("q").labels(app="a").node("n")


@pytest.mark.parametrize(
    ("waiting", "old", "new", "worth_it"),
    [
        pytest.param(NEAR, None, WANTED.obj(), True, id="wanted-pod-added"),
        pytest.param(NEAR, None, HALF_WANTED.obj(), False, id="pod-added-that-meets-one-term"),
        pytest.param(NEAR, HALF_WANTED.obj(), WANTED.obj(), True, id="begins-to-match"),
        pytest.param(NEAR, WANTED.obj(), HALF_WANTED.obj(), False, id="ceases-to-match"),
        pytest.param(NEAR, WANTED.obj(), None, False, id="wanted-pod-gone"),
        pytest.param(APART, HALF_WANTED.obj(), None, True, id="unwanted-pod-gone"),
        pytest.param(APART, pod("q").labels(app="b").node("n").obj(), None, False, id="other-pod-gone"),
        pytest.param(APART, pod("q").labels(app="a").nominated("n").obj(), None, True, id="nominated-pod-gone"),
        pytest.param(APART, pod("q").labels(app="a").obj(), None, False, id="waiting-pod-gone"),
        pytest.param(APART, pod("q", "b").labels(app="a").node("n").obj(), None, False, id="other-namespace"),
        pytest.param(APART, HALF_WANTED.obj(), pod("q").labels(app="b").node("n").obj(), True, id="relabeled"),
        pytest.param(APART, None, HALF_WANTED.obj(), False, id="unwanted-pod-added"),
        pytest.param(APART_TWICE, WANTED.obj(), None, True, id="meets-both-anti-terms"),
        # One term is enough to keep the pod away, but upstream (v1.36) asks for all: a wake-up is missed.
        pytest.param(APART_TWICE, HALF_WANTED.obj(), None, False, id="meets-one-anti-term"),
        pytest.param(WITHOUT, pod("p").labels(app="p").obj(), pod("p").labels(app="z").obj(), True, id="own-labels"),
        pytest.param(WITHOUT, HALF_WANTED.obj(), None, False, id="no-terms-at-all"),
    ],
)
def test_pod_changes(waiting: Pod, old: Pod | None, new: Pod | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, old, new) == worth_it


@pytest.mark.parametrize(
    ("terms", "worth_it"),
    [
        pytest.param([{"app": "p"}], True, id="against-this-pod"),
        pytest.param([{"app": "z"}], False, id="against-another"),
        # As above: one of the two is enough to keep this pod away.
        pytest.param([{"app": "p"}, {"app": "z"}], False, id="one-of-two"),
        pytest.param([{"app": "p"}, "app"], True, id="both"),
        pytest.param([{"app": "p"}, "not a valid selector!"], True, id="does-not-parse"),
    ],
)
def test_anti_affinity_of_a_pod_that_goes(terms: list[dict[str, str] | str], worth_it: bool) -> None:
    """It may have been what kept this pod away."""
    gone = pod("q").node("n")
    for selecting in terms:
        gone.pod_anti_affinity("zone", {"!": "!"} if selecting == "not a valid selector!" else selecting)
    assert is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), WITHOUT, gone.obj(), None) == worth_it


@pytest.mark.parametrize(
    ("selecting", "worth_it"),
    [
        pytest.param({}, True, id="every-namespace"),
        pytest.param("team notin (b)", True, id="met-by-no-labels"),
        # Labels of namespaces are not looked at: a wake-up is missed when the namespace has the label.
        pytest.param({"team": "b"}, False, id="asks-for-a-label"),
    ],
)
def test_namespace_selectors_are_tested_on_no_labels(selecting: dict[str, str] | str, worth_it: bool) -> None:
    """As upstream."""
    waiting = pod("p").pod_affinity("zone", {"app": "a"}, namespace_selector=selecting).obj()
    assert (
        is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, None, pod("q", "b").labels(app="a").node("n").obj())
        == worth_it
    )


def test_a_pod_that_does_not_parse_is_always_worth_it() -> None:
    """Upstream's hint fails, which counts as a yes."""
    waiting = pod("p").pod_affinity("zone", {"!": "!"}).obj()
    assert is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, None, node("n").obj())
    assert is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, None, WANTED.obj())


def test_preferred_terms_that_do_not_parse_are_not_looked_at() -> None:
    """Only required terms decide whether a change is worth an attempt."""
    waiting = pod("p").pod_affinity("zone", {"!": "!"}, weight=1).obj()
    assert not is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, None, node("n").obj())
    assert not is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, None, WANTED.obj())


IN_A, IN_B, NOWHERE = (node("n").labels(zone="a").obj(), node("n").labels(zone="b").obj(), node("n").obj())


@pytest.mark.parametrize(
    ("waiting", "old", "new", "worth_it"),
    [
        pytest.param(NEAR, None, IN_A, True, id="near-new-node"),
        pytest.param(NEAR, None, NOWHERE, False, id="near-new-node-without-key"),
        pytest.param(NEAR, NOWHERE, IN_A, True, id="near-key-appears"),
        pytest.param(NEAR, IN_A, IN_B, True, id="near-value-changes"),
        pytest.param(NEAR, IN_A, NOWHERE, False, id="near-key-vanishes"),
        pytest.param(NEAR, IN_A, node("n").labels(zone="a", other="x").obj(), False, id="near-other-label"),
        pytest.param(APART, None, NOWHERE, True, id="apart-any-new-node"),
        pytest.param(APART, IN_A, NOWHERE, True, id="apart-key-vanishes"),
        pytest.param(APART, IN_A, IN_B, True, id="apart-value-changes"),
        pytest.param(APART, NOWHERE, IN_A, False, id="apart-key-appears"),
        pytest.param(APART, IN_A, None, False, id="gone"),
        pytest.param(APART, IN_A, node("n").labels(zone="a").taint("t").obj(), False, id="taints"),
        # Kept away by the terms of others, this pod could go to a new node; upstream does not wake it.
        pytest.param(WITHOUT, None, NOWHERE, False, id="no-terms-new-node"),
        pytest.param(WITHOUT, IN_A, NOWHERE, False, id="no-terms-key-vanishes"),
    ],
)
def test_node_changes(waiting: Pod, old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(InterPodAffinity(gates=DEFAULT_GATES), waiting, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(InterPodAffinity(gates=DEFAULT_GATES)) == {
        EventResource.POD: ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE,
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL,
    }
