"""What helps a pod whose host ports are taken everywhere."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_ports import NodePorts
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

POD = pod("p").port(80).port(53, protocol="UDP", ip="10.0.0.1").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(pod("q").port(80).node("n").obj(), None, True, id="user-gone"),
        pytest.param(pod("q").port(80).nominated("n").obj(), None, True, id="nominated-user-gone"),
        pytest.param(pod("q").port(80).obj(), None, False, id="it-had-no-place"),
        pytest.param(pod("q").port(81).node("n").obj(), None, False, id="other-port"),
        pytest.param(pod("q").node("n").obj(), None, False, id="no-port"),
        pytest.param(pod("q").port(80, protocol="UDP").node("n").obj(), None, False, id="other-protocol"),
        pytest.param(pod("q").port(53, protocol="UDP").node("n").obj(), None, True, id="on-any-address"),
        pytest.param(
            pod("q").port(53, protocol="UDP", ip="10.0.0.2").node("n").obj(), None, False, id="on-another-address"
        ),
        pytest.param(None, pod("q").port(80).node("n").obj(), False, id="user-added"),
        pytest.param(None, node("n").obj(), True, id="new-node"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), False, id="labels"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(NodePorts(), POD, old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(NodePorts()) == {EventResource.POD: ActionType.DELETE, EventResource.NODE: ActionType.ADD}
