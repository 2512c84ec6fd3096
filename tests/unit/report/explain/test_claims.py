"""What is said of the devices that a pod's claims could have had."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.devices import (
    DRIVER,
    asks,
    asks_first_of,
    claim_of,
    device,
    device_class,
    held,
    slice_of,
    with_claims,
    with_condition,
)

from bayplan.analysis.device_report import claims_report
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceConstraint, DeviceTaint, ResourcePool
from bayplan.model.structs import replace
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.explain.claims import claim_parts
from bayplan.report.terminal import rendered
from bayplan.testing.builders import node, pod

MODEL_A = f'device.attributes["{DRIVER}"].model == "a"'
OBJECTS: tuple[Object, ...] = (
    node("n1").obj(),
    device_class("gpu", f'device.driver == "{DRIVER}"'),
    slice_of(
        "n1",
        device("d0", model="a"),
        device("d1", model="a"),
        device("d2", model="b"),
        device("d3", model="a", taints=[DeviceTaint(key="broken", effect="NoSchedule")]),
        device("d4"),
    ),
    held(claim_of("others", asks("r")), "n1", "d1", by=[pod("user").obj()]),
)
NUMA = DeviceConstraint(match_attribute=f"{DRIVER}/numa")


def report(asking: Pod, *objects: Object) -> str:
    cache = Cache(gates=DEFAULT_GATES)
    for thing in (*OBJECTS, *objects):
        cache.add(thing)
    return rendered(terminal_parts(claim_parts({"claims": claims_report(cache.info(asking), cache.view())})))


def test_every_device_has_its_reason() -> None:
    shown = report(with_claims(pod("p").obj(), "c"), claim_of("c", asks("r", MODEL_A), constraints=[NUMA]))
    assert [" ".join(line.split()) for line in shown.splitlines() if "─" not in line] == [
        "",
        "Devices for claim default/c",
        "request wanted devices outcome which",
        f"r 1 1 available {DRIVER}/n1/d0",
        f"1 in use {DRIVER}/n1/d1 (default/others)",
        f"1 not selected by request: {MODEL_A} {DRIVER}/n1/d2",
        f"1 tainted broken:NoSchedule {DRIVER}/n1/d3",
        f"1 selector of request fails: CEL runtime error: no such key: model {DRIVER}/n1/d4",
        "5 devices checked on all nodes; all requests must be met together on one node.",
        f"All of them must have the same {DRIVER}/numa.",
    ]


def test_a_claim_with_devices_says_which_and_whose_it_is() -> None:
    shown = report(with_claims(pod("p").obj(), "others"))
    assert shown == f"Claim default/others has {DRIVER}/n1/d1, used by user.\n"


def test_a_pod_without_claims_has_nothing_to_report() -> None:
    assert report(pod("p").obj()) == ""


def test_the_node_that_comes_closest_is_named() -> None:
    """Five devices are available, but no node has four."""
    asking = with_claims(pod("p").obj(), "c")
    shown = report(
        asking, claim_of("c", asks("r", count=4)), node("n2").obj(), slice_of("n2", device("d0"), device("d1"))
    )
    assert "Request r: n1 has the most available, 3 of 4." in shown
    shown = report(asking, claim_of("c", asks("r")), node("n2").obj(), slice_of("n2", device("d0")))
    assert "the most available" not in shown


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"pool": ResourcePool(name="n2", generation=1, resource_slice_count=2)}, "its pool is being updated"),
        ({"devices": [device("d0"), device("d0")]}, "its pool is invalid"),
    ],
)
def test_devices_of_pools_that_offer_nothing_are_not_available(changed: dict[str, Any], reason: str) -> None:
    offered = slice_of("n2", device("d0"))
    offered.spec = replace(offered.spec, **changed)
    shown = report(with_claims(pod("p").obj(), "c"), claim_of("c", asks("r")), node("n2").obj(), offered)
    (line,) = (line for line in shown.splitlines() if f"{DRIVER}/n2/d0" in line)
    assert reason in line


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (None, "is not ready yet: attached."),
        ("broken", "will not become ready: broken."),
        ("attached", None),
    ],
)
def test_devices_that_are_not_ready_say_so(condition: str | None, said: str | None) -> None:
    claim = held(claim_of("c", asks("r")), "n1", "d0")
    assert claim.status.allocation is not None
    (result,) = claim.status.allocation.devices.results
    result.binding_conditions, result.binding_failure_conditions = ["attached"], ["broken"]
    if condition is not None:
        claim = with_condition(claim, condition)
    shown = report(with_claims(pod("p").obj(), "c"), claim)
    expected = "" if said is None else f"{DRIVER}/n1/d0 {said}\n"
    assert shown == f"Claim default/c has {DRIVER}/n1/d0, not in use.\n{expected}"


def test_of_a_list_one_is_enough() -> None:
    choice = asks_first_of("best", asks("large", MODEL_A), asks("any"))
    shown = report(with_claims(pod("p").obj(), "c"), claim_of("c", choice))
    assert "Request best: the first available of best/large and best/any is used." in shown
