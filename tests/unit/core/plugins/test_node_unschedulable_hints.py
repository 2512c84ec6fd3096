"""What helps a pod that found every node cordoned."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_unschedulable import CORDON, NodeUnschedulable
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

OPEN, CORDONED = node("n").obj(), node("n").unschedulable().obj()
POD = pod("p").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, OPEN, True, id="new-node"),
        pytest.param(None, CORDONED, False, id="new-node-cordoned"),
        pytest.param(CORDONED, OPEN, True, id="uncordoned"),
        pytest.param(OPEN, CORDONED, False, id="cordoned"),
        pytest.param(OPEN, node("n").taint("a").obj(), False, id="was-open-before"),
        pytest.param(CORDONED, node("n").unschedulable().taint("a").obj(), False, id="stays-cordoned"),
        pytest.param(CORDONED, node("n").unschedulable().label("a").obj(), False, id="labels"),
        pytest.param(POD, pod("p").tolerates(CORDON.key).obj(), True, id="own-toleration"),
        pytest.param(POD, pod("p").tolerates("other").obj(), False, id="own-other-toleration"),
        pytest.param(pod("q").obj(), pod("q").tolerates(CORDON.key).obj(), False, id="toleration-of-another"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeUnschedulable(gates=DEFAULT_GATES), POD, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeUnschedulable(gates=DEFAULT_GATES)) == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_TAINT,
        EventResource.POD: ActionType.UPDATE_POD_TOLERATION,
    }
