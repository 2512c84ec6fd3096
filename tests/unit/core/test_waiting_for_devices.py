"""A pod whose devices have to be made ready is bound when they are; if that fails it gets other devices."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.devices import asks, claim_of, device, device_class, slice_of, with_claims, with_condition

from bayplan.config.loading import load_configuration
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.config.scheduling import build_scheduler
from bayplan.core.actions import Action, Bind, DeallocateClaim, Emit, ReleaseClaim, SetCondition, WriteVolumes
from bayplan.core.events import ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.scheduler import Scheduler
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim, ResourceClaimStatus
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.testing.builders import node, pod

UID = "pod-default-p"
BIND = Bind("default/p", UID, "n1")
START = 100  # seconds


class Waiting:
    """A scheduler whose only pod waits for the device of its claim since the start."""

    def __init__(self, *others: Object, binding_timeout: str | None = None) -> None:
        args = [{"name": "DynamicResources", "args": {"bindingTimeout": binding_timeout}}] if binding_timeout else []
        profile = {"schedulerName": "default-scheduler", "pluginConfig": args}
        head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        self.scheduler: Scheduler = build_scheduler(
            load_configuration({**head, "profiles": [profile]}, release=DEFAULT_RELEASE), started_at=0
        )
        attached = slice_of("n1", device("d0", waits_for=["attached"], fails_on=["broken"]))
        self.pod: Pod = with_claims(pod("p").obj(), "c")
        self.claim = claim_of("c", asks("r"))
        for one in (node("n1").obj(), device_class(), attached, deepcopy(self.claim), *others, self.pod):
            self.scheduler.observe(ObjectAdded(one), START * SECOND)
        (write,) = (action for action in self.actions(START) if isinstance(action, WriteVolumes))
        (wanted,) = write.objects
        assert isinstance(wanted, ResourceClaim)
        self.stored = deepcopy(wanted)
        assert self.stored.status.allocation is not None
        self.stored.status.allocation.allocation_timestamp = "1970-01-01T00:01:40Z"
        self.stored.metadata.resource_version = "7"
        self.scheduler.observe(VolumesAnswered("default/p", UID, claims=(self.stored,)), START * SECOND)
        self.scheduler.observe(ObjectChanged(self.claim, self.stored), START * SECOND)
        note = "waiting for binding conditions for device on node n1"
        pending = Emit("default/p", UID, "Normal", "BindingConditionsPending", "Scheduling", note)
        assert self.actions(START) == [pending]

    def actions(self, second: int) -> list[Action]:
        found: list[Action] = []
        while (decision := self.scheduler.decide(second * SECOND)) is not None:
            found += decision.actions
        return found

    def report(self, condition: str, second: int, **fields: str) -> None:
        """The driver writes the condition of the device."""
        said = with_condition(self.stored, condition, **fields)
        said.metadata = replace(said.metadata, resource_version="8")
        self.scheduler.observe(ObjectChanged(self.stored, said), second * SECOND)
        self.stored = said

    def due(self) -> float:
        at = self.scheduler.wake_at()
        assert at is not None
        return at / SECOND


def refusals(actions: list[Action]) -> list[str]:
    return [action.message for action in actions if isinstance(action, SetCondition)]


def test_the_pod_is_bound_at_the_first_look_after_its_device_is_ready() -> None:
    """It is looked every five seconds."""
    world = Waiting()
    assert world.due() == START + 5
    assert world.actions(START + 5) == []
    world.report("attached", START + 7)
    assert world.actions(START + 7) == []
    assert world.actions(START + 10) == [BIND]
    assert world.scheduler.wake_at() is None


def test_a_condition_that_says_failure_ends_the_wait() -> None:
    """The pod leaves the claim; in the next attempt its devices are taken away, and then it gets others."""
    world = Waiting()
    world.report("broken", START + 1, reason="NoPower", message='the "rack" is off')
    failed = world.actions(START + 5)
    what = 'claim=c, reason=NoPower, message="the \\"rack\\" is off"'
    assert refusals(failed) == [f'running PreBind plugin "DynamicResources": device binding failed: {what}']
    assert ReleaseClaim("default/p", UID, "default/c") in failed
    assert DeallocateClaim("default/p", UID, "default/c") in world.actions(START + 20)


@pytest.mark.parametrize("timeout", [None, "60s"])
def test_a_device_that_never_gets_ready_is_given_up(timeout: str | None) -> None:
    """After ten minutes, or what the configuration says; then its devices are taken away."""
    world = Waiting(binding_timeout=timeout)
    seconds = 600 if timeout is None else 60
    for second in range(START, START + seconds, 5):
        assert world.actions(second) == []
    failed = world.actions(START + seconds)
    assert refusals(failed) == [
        'running PreBind plugin "DynamicResources": device binding timeout: context deadline exceeded'
    ]
    assert DeallocateClaim("default/p", UID, "default/c") in world.actions(START + seconds + 11)


def test_a_pod_that_joins_a_claim_gives_up_when_the_claim_has_had_its_time() -> None:
    """The time of the claim counts, not that of the pod."""
    world = Waiting(binding_timeout="60s")
    joining = with_claims(pod("q").obj(), "c")
    world.scheduler.observe(ObjectAdded(joining), (START + 32) * SECOND)
    (write,) = (action for action in world.actions(START + 32) if isinstance(action, WriteVolumes))
    (wanted,) = write.objects
    assert isinstance(wanted, ResourceClaim)
    world.scheduler.observe(VolumesAnswered("default/q", "pod-default-q", claims=(wanted,)), (START + 32) * SECOND)
    for second in range(START + 32, START + 60):
        assert refusals(world.actions(second)) == []
    world.actions(START + 60)
    expected = 'running PreBind plugin "DynamicResources": device binding timeout: claim=c'
    assert expected in [text for second in range(START + 61, START + 63) for text in refusals(world.actions(second))]


def test_a_claim_that_goes_ends_the_wait() -> None:
    world = Waiting()
    world.scheduler.observe(ObjectRemoved(world.stored), (START + 1) * SECOND)
    assert refusals(world.actions(START + 5)) == [
        'running PreBind plugin "DynamicResources": could not find ResourceClaim "default/c"'
    ]


def test_devices_that_were_taken_away_are_waited_for_no_longer_than_any() -> None:
    """As upstream: a claim without devices is not ready."""
    world = Waiting(binding_timeout="60s")
    freed = replace(world.stored, status=ResourceClaimStatus())
    world.scheduler.observe(ObjectChanged(world.stored, freed), (START + 1) * SECOND)
    for second in range(START, START + 60, 5):
        assert world.actions(second) == []
    assert len(refusals(world.actions(START + 60))) == 1


def test_a_pod_that_goes_while_it_waits_leaves_its_claim() -> None:
    world = Waiting()
    world.scheduler.observe(ObjectRemoved(world.pod), (START + 1) * SECOND)
    assert world.actions(START + 1) == [ReleaseClaim("default/p", UID, "default/c")]
    assert world.scheduler.wake_at() is None


def test_a_more_important_pod_takes_the_node_from_one_that_waits() -> None:
    """Nothing is deleted, as the pod is not bound."""
    full = node("n1").capacity(cpu="1", memory="1Gi", pods=1).obj()
    world = Waiting()
    world.scheduler.observe(ObjectChanged(node("n1").obj(), full), (START + 1) * SECOND)
    world.scheduler.observe(ObjectAdded(pod("urgent").priority(10).obj()), (START + 1) * SECOND)
    stopped = world.actions(START + 1)
    assert ReleaseClaim("default/p", UID, "default/c") in stopped
    assert 'running PreBind plugin "DynamicResources": preempted by DefaultPreemption' in refusals(stopped)
