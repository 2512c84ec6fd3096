"""What helps a pod that found every node tainted."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.taint_toleration import TaintToleration
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

PATTERN = pod("p").tolerates("mine")
POD = PATTERN.obj()
CLOSED = node("n").taint("theirs").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").obj(), True, id="new-node"),
        pytest.param(None, node("n").taint("mine").obj(), True, id="new-node-tolerated"),
        pytest.param(None, node("n").taint("theirs", effect="PreferNoSchedule").obj(), True, id="new-node-unwelcome"),
        pytest.param(None, CLOSED, False, id="new-node-closed"),
        pytest.param(CLOSED, node("n").obj(), True, id="taint-gone"),
        pytest.param(CLOSED, node("n").taint("mine").obj(), True, id="taint-replaced"),
        pytest.param(CLOSED, node("n").taint("theirs").taint("mine").obj(), False, id="still-closed"),
        pytest.param(node("n").obj(), node("n").taint("mine").obj(), False, id="was-open-before"),
        pytest.param(node("n").taint("a", effect="NoExecute").obj(), node("n").obj(), True, id="no-execute-gone"),
        pytest.param(
            node("n").taint("a", effect="PreferNoSchedule").obj(), node("n").obj(), False, id="prefer-no-schedule-gone"
        ),
        pytest.param(CLOSED, node("n").taint("theirs").label("a").obj(), False, id="labels"),
        pytest.param(POD, pod("p").tolerates("mine").tolerates("x").obj(), True, id="own-toleration"),
        pytest.param(pod("q").obj(), pod("q").tolerates("theirs").obj(), False, id="toleration-of-another"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(TaintToleration(gates=DEFAULT_GATES), POD, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(TaintToleration(gates=DEFAULT_GATES)) == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_TAINT,
        EventResource.POD: ActionType.UPDATE_POD_TOLERATION,
    }
