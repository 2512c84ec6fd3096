"""Pods on tainted devices: who has to go, and when."""

from __future__ import annotations

import pytest
from tests.support.controller_stage import Stage
from tests.support.devices import DRIVER, asks, claim_of, device, held, slice_of, taint_rule, with_claims

from bayplan.controllers.device_taint_eviction import DeviceTaintEvictionController
from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.model.structs import replace
from bayplan.testing.builders import pod

NO_EXECUTE = "NoExecute"
BAD = DeviceTaint(key="bad", effect=NO_EXECUTE)
TOLERATED = DeviceToleration(key="bad", operator="Exists", effect=NO_EXECUTE)
FOR_A_WHILE = DeviceToleration(key="bad", operator="Exists", effect=NO_EXECUTE, toleration_seconds=30)
FOR_A_MOMENT = DeviceToleration(operator="Exists", effect=NO_EXECUTE, toleration_seconds=5)


def tainted(*taints: DeviceTaint) -> ResourceSlice:
    return slice_of("n1", device("d0", taints=taints), device("d1"))


def user(name: str = "p") -> Pod:
    return with_claims(pod(name).node("n1").grace(0).obj(), "c")


def used_by(*pods: Pod, device_name: str = "d0", tolerations: tuple[DeviceToleration, ...] = ()) -> ResourceClaim:
    claim = held(claim_of("c", asks("r")), "n1", device_name, by=pods)
    assert claim.status.allocation is not None
    for result in claim.status.allocation.devices.results:
        result.tolerations = list(tolerations)
    return claim


def stage(*objects: Object, has_rules: bool = False) -> Stage:
    world = Stage(DeviceTaintEvictionController(has_rules=has_rules), GarbageCollector())
    world.load(*objects)
    return world


def set_taints(world: Stage, *taints: DeviceTaint) -> None:
    def change(stored: ResourceSlice) -> ResourceSlice:
        return replace(stored, spec=tainted(*taints).spec)

    world.store.modify(ResourceSlice, "", "n1-slice", change, world.now)
    world.settle()


@pytest.mark.parametrize(
    ("tolerations", "stays"),
    [
        ((), 0),
        ((TOLERATED,), None),
        ((FOR_A_WHILE,), 30),
        ((FOR_A_WHILE, FOR_A_MOMENT), 5),
        ((FOR_A_MOMENT, TOLERATED), None),
        ((DeviceToleration(key="other", operator="Exists", effect=NO_EXECUTE),), 0),
        # Upstream: a toleration of every effect lets the scheduler choose the device, and does not keep it.
        ((DeviceToleration(key="bad", operator="Exists"),), 0),
        ((replace(FOR_A_WHILE, toleration_seconds=-1),), 0),
    ],
)
def test_a_pod_stays_on_a_tainted_device_as_long_as_it_is_tolerated(
    tolerations: tuple[DeviceToleration, ...], stays: int | None
) -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there, tolerations=tolerations))
    set_taints(world, BAD)
    if stays is None:
        world.pass_time(3600)
        assert world.has_pod("p")
        return
    if stays:
        world.pass_time(stays - 1)
        assert world.has_pod("p")
        world.pass_time(1)
    assert not world.has_pod("p")


@pytest.mark.parametrize(
    "taint",
    [DeviceTaint(key="bad", effect="NoSchedule"), DeviceTaint(key="bad", effect="None")],
    ids=["NoSchedule", "None"],
)
def test_other_taints_drive_nobody_away(taint: DeviceTaint) -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there))
    set_taints(world, taint)
    assert world.has_pod("p")


def test_a_taint_counts_from_when_it_was_added() -> None:
    """The start of the test is at midnight; the taint came twenty seconds before."""
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there, tolerations=(FOR_A_WHILE,)))
    set_taints(world, replace(BAD, time_added="2025-12-31T23:59:40Z"))
    world.pass_time(9)
    assert world.has_pod("p")
    world.pass_time(1)
    assert not world.has_pod("p")


def test_a_taint_that_goes_in_time_drives_nobody_away() -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there, tolerations=(FOR_A_WHILE,)))
    set_taints(world, BAD)
    world.pass_time(10)
    set_taints(world)
    world.pass_time(60)
    assert world.has_pod("p")


def test_a_second_taint_does_not_renew_the_first() -> None:
    pod_there = user()
    other = DeviceTaint(key="other", effect="NoSchedule")
    world = stage(tainted(), pod_there, used_by(pod_there, tolerations=(FOR_A_WHILE,)))
    set_taints(world, BAD)
    world.pass_time(20)
    set_taints(world, BAD, other)
    world.pass_time(10)
    assert not world.has_pod("p")


def test_everybody_who_shares_the_device_has_to_go_and_nobody_else() -> None:
    first, second, elsewhere = user("first"), user("second"), with_claims(pod("elsewhere").node("n1").obj(), "e")
    unaffected = held(claim_of("e", asks("r")), "n1", "d1", by=[elsewhere])
    world = stage(tainted(), first, second, elsewhere, used_by(first, second), unaffected)
    set_taints(world, BAD)
    assert [each.metadata.name for each in world.store.list(Pod)] == ["elsewhere"]


def test_a_pod_that_comes_to_a_tainted_device_has_to_go_too() -> None:
    """The scheduler may have decided before the taint came."""
    waiting = with_claims(pod("p").grace(0).obj(), "c")
    world = stage(tainted(BAD), waiting, used_by(waiting))
    assert world.has_pod("p")
    world.bind("p", "n1")
    assert not world.has_pod("p")


def test_a_claim_that_gets_a_tainted_device_later_counts() -> None:
    pod_there = user()
    world = stage(tainted(BAD), pod_there, claim_of("c", asks("r")))
    assert world.has_pod("p")
    status = used_by(pod_there).status
    world.store.modify_status(ResourceClaim, "default", "c", lambda stored: replace(stored, status=status), world.now)
    world.settle()
    assert not world.has_pod("p")


def test_a_pod_that_only_names_the_claim_stays() -> None:
    """It is not among those for whom the claim is kept."""
    world = stage(tainted(), user(), used_by(user("somebody")))
    set_taints(world, BAD)
    assert world.has_pod("p")


def test_the_pod_is_told_why_before_it_goes() -> None:
    pod_there = with_claims(pod("p").node("n1").grace(30).obj(), "c")
    world = stage(tainted(), pod_there, used_by(pod_there))
    set_taints(world, BAD)
    leaving = world.pod("p")
    assert leaving.metadata.deletion_timestamp is not None
    (condition,) = (c for c in leaving.status.conditions if c.type == "DisruptionTarget")
    assert condition.reason == "DeletionByDeviceTaintManager"
    assert condition.message == "Device Taint manager: deleting due to NoExecute taint"


@pytest.mark.parametrize(
    ("rule", "stays"),
    [
        (taint_rule("r", "bad", NO_EXECUTE, device="d0"), False),
        (taint_rule("r", "bad", NO_EXECUTE, driver=DRIVER, pool="n1"), False),
        (taint_rule("r", "bad", NO_EXECUTE, pool="n1", device="d1"), True),
        (taint_rule("r", "bad", NO_EXECUTE, driver="other"), True),
        (taint_rule("r", "bad", "NoSchedule", device="d0"), True),
        # Upstream: such a rule keeps new pods from every device, and drives nobody away.
        (DeviceTaintRule(metadata=ObjectMeta(name="r"), spec=DeviceTaintRuleSpec(taint=BAD)), True),
    ],
    ids=["device", "driver and pool", "another device", "another driver", "NoSchedule", "no selector"],
)
def test_a_rule_drives_away_who_uses_its_devices(rule: DeviceTaintRule, stays: bool) -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there), has_rules=True)
    world.create(rule)
    assert world.has_pod("p") is stays


def test_without_the_gate_a_rule_drives_nobody_away() -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there))
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    assert world.has_pod("p")


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_the_toleration_of_a_claim_holds_for_a_rule(is_taken_back: bool) -> None:
    pod_there = user()
    world = stage(tainted(), pod_there, used_by(pod_there, tolerations=(FOR_A_WHILE,)), has_rules=True)
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    world.pass_time(29)
    assert world.has_pod("p")
    if is_taken_back:
        world.delete(DeviceTaintRule, "", "r")
    world.pass_time(1)
    assert world.has_pod("p") is is_taken_back


def test_a_pod_that_comes_to_a_device_of_a_rule_has_to_go_too() -> None:
    waiting = with_claims(pod("p").grace(0).obj(), "c")
    world = stage(taint_rule("r", "bad", NO_EXECUTE, device="d0"), waiting, used_by(waiting), has_rules=True)
    assert world.has_pod("p")
    world.bind("p", "n1")
    assert not world.has_pod("p")
