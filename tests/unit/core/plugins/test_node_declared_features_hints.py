"""What helps a pod that needs a feature which no node declares."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_declared_features import NodeDeclaredFeatures
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.testing.builders import node, pod


def needy(name: str, **labels: str) -> Pod:
    made = pod(name).host_network().labels(labels).obj()
    made.spec.host_users = False
    return made


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").obj(), True, id="any-new-node"),
        pytest.param(node("n").obj(), node("n").declares("x").obj(), True, id="declares-something-else"),
        pytest.param(node("n").declares("x").obj(), node("n").declares("x").label("a").obj(), False, id="labels"),
        pytest.param(needy("p"), pod("p").obj(), True, id="needs-less-itself"),
        pytest.param(needy("p"), pod("p").labels(a="1").obj(), True, id="needs-less-and-has-labels"),
        pytest.param(needy("p"), needy("p", a="1"), False, id="needs-the-same"),
        pytest.param(needy("q"), pod("q").obj(), False, id="another-needs-less"),
        pytest.param(pod("q").node("n").obj(), None, False, id="pod-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodeDeclaredFeatures(gates=DEFAULT_GATES), needy("p"), old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeDeclaredFeatures(gates=DEFAULT_GATES)) == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE,
        EventResource.POD: ActionType.UPDATE,
    }
