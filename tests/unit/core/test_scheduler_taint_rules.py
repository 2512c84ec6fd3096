"""DeviceTaintRules that come and go: with their gate they are news to pods that wait for devices."""

from __future__ import annotations

import pytest
from tests.support.devices import asks, claim_of, device, device_class, slice_of, taint_rule, with_claims

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.core.lifecycle import PodState
from bayplan.core.scheduler import Scheduler
from bayplan.model.meta import ObjectMeta
from bayplan.model.resource_claims import DeviceTaintSelector
from bayplan.model.structs import replace
from bayplan.testing.builders import node, pod

RULE = taint_rule("broken", device="d0")
ELSEWHERE = replace(RULE, spec=replace(RULE.spec, device_selector=DeviceTaintSelector(pool="n2")))


def rejecting(gates: str, *, count: int = 1) -> Scheduler:
    """A scheduler whose only pod asks for so many of the one device there is, which the rule taints."""
    made = build_scheduler(load_configuration(None, gates, release=DEFAULT_RELEASE), started_at=0)
    objects = (
        node("n1").obj(),
        device_class(),
        slice_of("n1", device("d0")),
        RULE,
        claim_of("c", asks("r", count=count)),
    )
    for obj in (*objects, with_claims(pod("p").obj(), "c")):
        made.observe(ObjectAdded(obj), 0)
    made.decide(0)
    assert place(made) is PodState.UNSCHEDULABLE
    return made


def place(world: Scheduler) -> PodState:
    queued = world.queue.find("default/p")
    assert queued is not None
    return queued.state


@pytest.mark.parametrize(
    ("event", "wakes"),
    [
        pytest.param(ObjectRemoved(RULE), True, id="gone"),
        pytest.param(ObjectChanged(RULE, ELSEWHERE), True, id="about another pool"),
        pytest.param(ObjectChanged(RULE, replace(RULE, metadata=ObjectMeta(name="broken"))), False, id="as before"),
        pytest.param(ObjectAdded(replace(ELSEWHERE, metadata=ObjectMeta(name="x"))), False, id="another, of no device"),
    ],
)
def test_a_rule_is_a_change_of_the_slices_it_is_about(event: ObjectAdded, wakes: bool) -> None:
    world = rejecting("DRADeviceTaintRules=true")
    world.observe(event, 10**9)
    assert (place(world) is not PodState.UNSCHEDULABLE) is wakes


def test_without_the_gate_a_rule_is_no_news() -> None:
    world = rejecting("", count=2)
    world.observe(ObjectRemoved(RULE), 10**9)
    assert place(world) is PodState.UNSCHEDULABLE


def test_the_pod_gets_the_device_when_the_rule_is_gone() -> None:
    world = rejecting("DRADeviceTaintRules=true")
    world.observe(ObjectRemoved(RULE), 10**9)
    decision = world.decide(10 * 10**9)
    assert decision is not None
    assert decision.node == "n1"
