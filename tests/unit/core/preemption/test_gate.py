"""A gated preemptor is looked at when a pod goes, but that alone does not let it in."""

from __future__ import annotations

from tests.support.requeue_hints import is_worth_it, registered

from bayplan.core.framework.requeue import ActionType, EnqueueExtensions, EventResource
from bayplan.core.preemption.gate import PreemptionGate
from bayplan.testing.builders import node, pod

GATE = PreemptionGate(lambda key: False)


def test_nothing_is_worth_it() -> None:
    """Other plugins decide whether the victim was in the way."""
    preemptor = pod("p").priority(9).nominated("n").obj()
    assert not is_worth_it(GATE, preemptor, pod("victim").node("n").obj(), None)
    assert not is_worth_it(GATE, preemptor, None, node("n").obj())


def test_registers() -> None:
    """As upstream."""
    assert isinstance(GATE, EnqueueExtensions)
    assert PreemptionGate.name == "DefaultPreemption"
    assert registered(GATE) == {EventResource.POD: ActionType.DELETE}
