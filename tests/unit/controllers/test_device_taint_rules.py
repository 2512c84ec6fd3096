"""What DeviceTaintRules say in their status: whether pods are leaving, and how many."""

from __future__ import annotations

import pytest
from tests.support.controller_stage import START, Stage
from tests.support.devices import asks, claim_of, device, held, slice_of, taint_rule, with_claims

from bayplan.controllers.device_taint_eviction import DeviceTaintEvictionController
from bayplan.controllers.device_taint_rules import RuleCounts, with_eviction_condition
from bayplan.controllers.garbage_collector import GarbageCollector
from bayplan.model.kinds import Object
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceTaint, DeviceTaintRule, DeviceToleration
from bayplan.model.structs import replace
from bayplan.testing.builders import pod

NO_EXECUTE = "NoExecute"


def stage(*objects: Object, has_rules: bool = True) -> Stage:
    world = Stage(DeviceTaintEvictionController(has_rules=has_rules), GarbageCollector())
    world.load(slice_of("n1", device("d0"), device("d1")), *objects)
    return world


def users(namespace: str = "default", grace: int = 0, stays: int | None = None) -> list[Object]:
    """Two pods that share a device; with `stays` they tolerate what happens to it for so many seconds."""
    both: list[Pod] = [
        with_claims(pod(name, namespace=namespace).node("n1").grace(grace).obj(), "c") for name in ("p", "q")
    ]
    claim = held(claim_of("c", asks("r"), namespace=namespace), "n1", "d0", by=both)
    assert claim.status.allocation is not None
    if stays is not None:
        toleration = DeviceToleration(operator="Exists", effect=NO_EXECUTE, toleration_seconds=stays)
        claim.status.allocation.devices.results[0].tolerations = [toleration]
    return [*both, claim]


def condition(world: Stage, name: str = "r") -> Condition:
    (found,) = world.store.get(DeviceTaintRule, "", name).status.conditions
    return found


def told(world: Stage, name: str = "r") -> tuple[str, str, str]:
    found = condition(world, name)
    return found.status, found.reason, found.message


@pytest.mark.parametrize(
    ("effect", "counts", "expected"),
    [
        (NO_EXECUTE, RuleCounts(), ("False", "NotStarted", "")),
        (
            NO_EXECUTE,
            RuleCounts(pods=1, namespaces=1),
            ("True", "PodsPendingEviction", "1 pod needs to be evicted in 1 namespace."),
        ),
        (
            NO_EXECUTE,
            RuleCounts(pods=3, namespaces=2, evicted=1),
            (
                "True",
                "PodsPendingEviction",
                "3 pods need to be evicted in 2 different namespaces. 1 pod evicted since starting the controller.",
            ),
        ),
        (NO_EXECUTE, RuleCounts(evicted=2), ("False", "Completed", "2 pods evicted since starting the controller.")),
        ("NoSchedule", RuleCounts(), ("False", "OtherEffect", "Eviction only happens for the NoExecute effect.")),
        (
            "None",
            RuleCounts(published=1, allocated=2, pods=1, namespaces=1),
            (
                "False",
                "NoEffect",
                "1 published device selected. 2 allocated devices selected. 1 pod would be evicted in 1 namespace "
                "if the effect was NoExecute. This information will not be updated again. "
                "Recreate the DeviceTaintRule to trigger an update.",
            ),
        ),
        (
            "None",
            RuleCounts(),
            (
                "False",
                "NoEffect",
                "0 published devices selected. 0 allocated devices selected. "
                "0 pods would be evicted in 0 different namespaces "
                "if the effect was NoExecute. This information will not be updated again. "
                "Recreate the DeviceTaintRule to trigger an update.",
            ),
        ),
    ],
)
def test_the_condition_says_what_is_going_on(effect: str, counts: RuleCounts, expected: tuple[str, str, str]) -> None:
    rule = with_eviction_condition(taint_rule("r", "bad", effect, device="d0"), counts, START)
    (found,) = rule.status.conditions
    assert (found.status, found.reason, found.message) == expected
    assert found.type == "EvictionInProgress"


def test_a_condition_that_says_the_same_keeps_its_time() -> None:
    rule = with_eviction_condition(taint_rule("r", "bad", NO_EXECUTE, device="d0"), RuleCounts(), START)
    assert with_eviction_condition(rule, RuleCounts(), START + 10**12) is rule


def test_a_rule_tells_whom_it_drives_away_and_ten_seconds_later_that_it_is_done() -> None:
    world = stage(*users())
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    assert not world.has_pod("p")
    assert told(world) == ("True", "PodsPendingEviction", "2 pods need to be evicted in 1 namespace.")
    assert condition(world).observed_generation == 1
    world.pass_time(9)
    assert condition(world).status == "True"
    world.pass_time(1)
    assert told(world) == ("False", "Completed", "2 pods evicted since starting the controller.")
    assert condition(world).last_transition_time == "2026-01-01T00:00:10Z"


def test_pods_that_are_tolerated_for_a_while_are_pending_until_they_go() -> None:
    world = stage(*users(stays=60))
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    world.pass_time(59)
    assert told(world) == ("True", "PodsPendingEviction", "2 pods need to be evicted in 1 namespace.")
    world.pass_time(11)
    assert told(world) == ("False", "Completed", "2 pods evicted since starting the controller.")


def test_pods_of_several_namespaces_are_counted() -> None:
    world = stage(*users("a", stays=60), *users("b", stays=60))
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    assert told(world)[2] == "4 pods need to be evicted in 2 different namespaces."


def test_a_pod_that_is_leaving_is_not_pending_and_counts_once() -> None:
    world = stage(*users(grace=600))
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    world.pass_time(10)
    assert told(world) == ("False", "Completed", "2 pods evicted since starting the controller.")


def test_a_rule_that_selects_nothing_in_use_has_not_started() -> None:
    world = stage(*users())
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d1"))
    assert told(world) == ("False", "NotStarted", "")


def test_a_rule_without_an_effect_tells_what_it_would_do_and_drives_nobody_away() -> None:
    world = stage(*users())
    world.create(taint_rule("r", "bad", "None", pool="n1"))
    assert told(world)[2].startswith(
        "2 published devices selected. 1 allocated device selected. 2 pods would be evicted in 1 namespace if "
    )
    world.pass_time(60)
    assert world.has_pod("p")


def test_a_rule_that_changes_is_reported_at_once() -> None:
    world = stage(*users())
    world.create(taint_rule("r", "bad", "None", pool="n1"))

    def harmless(rule: DeviceTaintRule) -> DeviceTaintRule:
        spec = replace(rule.spec, taint=DeviceTaint(key="bad", effect="NoSchedule"))
        return replace(rule, spec=spec)

    world.store.modify(DeviceTaintRule, "", "r", harmless, world.now)
    world.settle()
    assert told(world)[1] == "OtherEffect"
    assert condition(world).observed_generation == 2


def test_without_the_gate_rules_have_no_status() -> None:
    world = stage(*users(), has_rules=False)
    world.create(taint_rule("r", "bad", NO_EXECUTE, device="d0"))
    assert world.store.get(DeviceTaintRule, "", "r").status.conditions == []
