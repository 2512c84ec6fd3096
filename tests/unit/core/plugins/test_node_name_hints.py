"""A pod that names a node waits for nodes to come."""

from __future__ import annotations

import pytest
from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.requeue import ActionType, EventResource
from bayplan.core.plugins.node_name import NodeName
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").obj(), True, id="the-node"),
        pytest.param(None, node("m").obj(), True, id="any-node"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), False, id="update"),
        pytest.param(node("n").obj(), None, False, id="gone"),
        pytest.param(pod("q").node("n").obj(), None, False, id="pod-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Every new node is worth a look, as upstream has it."""
    assert is_worth_it(NodeName(), pod("p").node("n").obj(), old, new) == worth_it


def test_registers() -> None:
    """As upstream."""
    assert registered(NodeName()) == {EventResource.NODE: ActionType.ADD}
