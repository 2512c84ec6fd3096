"""What helps a pod that would stand in a domain too full."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.args import LIST_DEFAULTING, PodTopologySpreadArgs
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.pod_topology_spread import PodTopologySpread
from bayplan.model.node import Node
from bayplan.model.pod import Pod, TopologySpreadConstraint
from bayplan.testing.builders import node, pod

PATTERN = pod("p").labels(app="a").spread("zone", {"app": "a"}).spread("rack", {"tier": "x"})
SPREAD = PATTERN.obj()
HONORING = pod("p").labels(app="a").spread("zone", {"app": "a"}, node_taints_policy="Honor").obj()
SOFT = pod("p").labels(app="a").spread("zone", {"app": "a"}, when="ScheduleAnyway").obj()

COUNTING = pod("q").labels(app="a").node("n")
OTHER = pod("q").labels(app="b").node("n")


@pytest.mark.parametrize(
    ("waiting", "old", "new", "worth_it"),
    [
        pytest.param(SPREAD, None, COUNTING.obj(), True, id="added"),
        pytest.param(SPREAD, COUNTING.obj(), None, True, id="gone"),
        pytest.param(SPREAD, pod("q").labels(tier="x").node("n").obj(), None, True, id="counts-for-the-other"),
        pytest.param(SPREAD, OTHER.obj(), None, False, id="counts-for-none"),
        pytest.param(SPREAD, pod("q", "b").labels(app="a").node("n").obj(), None, False, id="other-namespace"),
        pytest.param(SPREAD, pod("q").labels(app="a").obj(), None, False, id="it-had-no-place"),
        pytest.param(SPREAD, pod("q").labels(app="a").nominated("n").obj(), None, True, id="nominated-gone"),
        pytest.param(SPREAD, COUNTING.obj(), OTHER.obj(), True, id="ceases-to-count"),
        pytest.param(SPREAD, OTHER.obj(), COUNTING.obj(), True, id="begins-to-count"),
        pytest.param(SPREAD, OTHER.obj(), pod("q").labels(app="c").node("n").obj(), False, id="never-counts"),
        pytest.param(SPREAD, SPREAD, pod("p").spread("zone", {"app": "a"}).obj(), True, id="own-labels"),
        pytest.param(
            SPREAD,
            SPREAD,
            pod("p").labels(app="a", other="x").spread("zone", {"app": "a"}).obj(),
            False,
            id="own-other-label",
        ),
        pytest.param(
            HONORING,
            HONORING,
            pod("p").labels(app="a").spread("zone", {"app": "a"}, node_taints_policy="Honor").tolerates("t").obj(),
            True,
            id="own-toleration",
        ),
        pytest.param(
            SPREAD,
            SPREAD,
            pod("p").labels(app="a").spread("zone", {"app": "a"}).tolerates("t").obj(),
            False,
            id="own-toleration-that-does-not-count",
        ),
        pytest.param(
            HONORING, COUNTING.obj(), pod("q").labels(app="a").node("n").tolerates("t").obj(), False, id="its"
        ),
        pytest.param(SOFT, COUNTING.obj(), None, False, id="only-soft-constraints"),
        # From now on it does not count any more, but upstream does not register for that: a wake-up is missed.
        pytest.param(SPREAD, COUNTING.obj(), pod("q").labels(app="a").node("n").terminating().obj(), False, id="ends"),
    ],
)
def test_pod_changes(waiting: Pod, old: Pod | None, new: Pod | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(PodTopologySpread(gates=DEFAULT_GATES), waiting, old, new) == worth_it


IN_A = node("n").labels(zone="a", rack="1")


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, IN_A.obj(), True, id="new"),
        pytest.param(None, node("n").labels(zone="a").obj(), False, id="new-without-a-key"),
        pytest.param(IN_A.obj(), None, True, id="gone"),
        pytest.param(node("n").labels(zone="a").obj(), None, False, id="gone-without-a-key"),
        pytest.param(node("n").labels(zone="a").obj(), IN_A.obj(), True, id="got-the-key"),
        pytest.param(IN_A.obj(), node("n").labels(zone="a").obj(), True, id="lost-a-key"),
        pytest.param(IN_A.obj(), node("n").labels(zone="b", rack="1").obj(), True, id="moved"),
        pytest.param(IN_A.obj(), node("n").labels(zone="a", rack="1", x="y").obj(), False, id="other-label"),
        pytest.param(
            node("n").labels(zone="a").obj(), node("n").labels(zone="b").obj(), False, id="moved-without-a-key"
        ),
        pytest.param(IN_A.obj(), node("n").labels(zone="a", rack="1").taint("t").obj(), True, id="tainted"),
        pytest.param(node("n").obj(), node("n").taint("t").obj(), False, id="tainted-without-keys"),
        pytest.param(IN_A.obj(), node("n").labels(zone="a", rack="1").capacity(cpu="9").obj(), False, id="grew"),
        pytest.param(node("n").labels(zone="a", rack="1").unschedulable().obj(), IN_A.obj(), False, id="uncordoned"),
    ],
)
def test_node_changes(old: Node | None, new: Node | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(PodTopologySpread(gates=DEFAULT_GATES), SPREAD, old, new) == worth_it


BY_DEFAULT = PodTopologySpread(
    PodTopologySpreadArgs(
        defaulting_type=LIST_DEFAULTING,
        default_constraints=(
            TopologySpreadConstraint(topology_key="zone", when_unsatisfiable="DoNotSchedule", max_skew=1),
        ),
    ),
    gates=DEFAULT_GATES,
)


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(OTHER.obj(), None, True, id="any-pod-gone"),
        pytest.param(None, OTHER.obj(), True, id="any-pod-added"),
        pytest.param(OTHER.obj(), COUNTING.obj(), True, id="any-labels"),
        pytest.param(OTHER.obj(), pod("q").labels(app="b").node("n").tolerates("t").obj(), False, id="no-labels"),
        pytest.param(pod("q", "b").node("n").obj(), None, False, id="other-namespace"),
        pytest.param(None, node("n").labels(zone="a").obj(), True, id="node-with-the-key"),
        pytest.param(None, node("n").obj(), False, id="node-without-the-key"),
    ],
)
def test_default_constraints(old: Pod | None, new: Pod | None, worth_it: bool) -> None:
    """Their selector is not known to hints, so every pod of the namespace may count."""
    assert is_worth_it(BY_DEFAULT, pod("p").labels(app="z").obj(), old, new) == worth_it


def test_a_pod_that_does_not_parse_is_always_worth_it() -> None:
    """Upstream's hint fails, which counts as a yes."""
    waiting = pod("p").spread("zone", {"!": "!"}).obj()
    assert is_worth_it(PodTopologySpread(gates=DEFAULT_GATES), waiting, None, COUNTING.obj())
    assert is_worth_it(PodTopologySpread(gates=DEFAULT_GATES), waiting, None, node("n").obj())


def test_registers() -> None:
    """As upstream."""
    assert registered(PodTopologySpread(gates=DEFAULT_GATES)) == {
        EventResource.POD: ActionType.ADD
        | ActionType.UPDATE_POD_LABEL
        | ActionType.UPDATE_POD_TOLERATION
        | ActionType.DELETE,
        EventResource.NODE: ActionType.ADD
        | ActionType.DELETE
        | ActionType.UPDATE_NODE_LABEL
        | ActionType.UPDATE_NODE_TAINT,
    }
