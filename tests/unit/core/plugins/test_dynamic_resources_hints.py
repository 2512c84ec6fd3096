"""What may help a pod with resource claims; claims themselves are not looked at."""

from __future__ import annotations

import pytest
from tests.requeueing import is_worth_it, registered
from tests.support import cache_of

from bayplan.core.framework.requeue import ActionType, ClusterEvent, EventResource
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.model.kinds import Object
from bayplan.testing.builders import node, pod

POD = pod("p").obj()


@pytest.mark.parametrize(
    ("old", "new", "worth_it"),
    [
        pytest.param(None, node("n").obj(), True, id="new-node"),
        pytest.param(node("n").obj(), node("n").label("a").obj(), True, id="node-labels"),
        pytest.param(node("n").obj(), node("n").capacity(cpu="9").obj(), True, id="node-allocatable"),
        pytest.param(node("n").obj(), None, False, id="node-gone"),
        pytest.param(POD, pod("p").labels(a="1").obj(), False, id="own-labels"),
        pytest.param(pod("q").node("n").obj(), None, False, id="pod-gone"),
    ],
)
def test_changes(old: Object | None, new: Object | None, worth_it: bool) -> None:
    """Queue or skip."""
    assert is_worth_it(DynamicResources(), POD, old, new) == worth_it


@pytest.mark.parametrize(("name", "worth_it"), [("p", True), ("q", False)])
def test_generated_claims_help_their_own_pod(name: str, worth_it: bool) -> None:
    """Whether all of them exist by now is for the attempt to find out."""
    generated = ClusterEvent(EventResource.UNSCHEDULABLE_POD, ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    (hint,) = (it.hint for it in DynamicResources().events_to_register() if it.cluster_event.covers(generated))
    assert hint is not None
    changed = pod(name).obj()
    assert hint(cache_of().info(POD), changed, changed) == worth_it


def test_registers() -> None:
    """As upstream."""
    changed = ActionType.ADD | ActionType.UPDATE
    assert registered(DynamicResources()) == {
        EventResource.NODE: ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE,
        EventResource.RESOURCE_CLAIM: changed,
        EventResource.POD: ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        EventResource.DEVICE_CLASS: changed,
        EventResource.RESOURCE_SLICE: changed,
    }
