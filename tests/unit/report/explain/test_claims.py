"""What is said of the devices that a pod's claims could have had."""

from __future__ import annotations

from bayplan.analysis.device_report import claims_report
from bayplan.core.cache import Cache
from bayplan.model.kinds import Object
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DeviceConstraint, DeviceTaint
from bayplan.report.explain.claims import claim_parts
from bayplan.report.terminal import rendered
from bayplan.testing.builders import node, pod
from bayplan.testing.devices import (
    DRIVER,
    asks,
    claim_of,
    device,
    device_class,
    held,
    slice_of,
    with_claims,
)

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
    cache = Cache()
    for thing in (*OBJECTS, *objects):
        cache.add(thing)
    return rendered(claim_parts({"claims": claims_report(cache.info(asking), cache.view())}))


def test_every_device_has_its_reason() -> None:
    shown = report(with_claims(pod("p").obj(), "c"), claim_of("c", asks("r", MODEL_A), constraints=[NUMA]))
    assert [" ".join(line.split()) for line in shown.splitlines() if "─" not in line] == [
        "",
        "Devices for claim default/c",
        "request wants devices what became of them which",
        f"r 1 1 available {DRIVER}/n1/d0",
        f"1 held by another claim {DRIVER}/n1/d1 (default/others)",
        f"1 not selected by request: {MODEL_A} {DRIVER}/n1/d2",
        f"1 has a taint that is not tolerated {DRIVER}/n1/d3",
        f"1 selector of request fails: CEL runtime error: no such key: model {DRIVER}/n1/d4",
        "5 devices of all nodes looked at; on one node all requests must be met together.",
        f"All of them must have the same {DRIVER}/numa.",
    ]


def test_a_claim_with_devices_says_which_and_whose_it_is() -> None:
    shown = report(with_claims(pod("p").obj(), "others"))
    assert shown == f"Claim default/others has {DRIVER}/n1/d1, used by user.\n"


def test_a_pod_without_claims_has_nothing_to_report() -> None:
    assert report(pod("p").obj()) == ""
