"""ServiceCIDRs become ready, and wait for the addresses that only they contain."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.api_server import Document
from tests.unit.apiserver.housekeeping.stage import Stage, named

from bayplan.apiserver.housekeeping.service_cidrs import FINALIZER, ServiceRanges

CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
SERVICES = "/api/v1/namespaces/default/services"
MANAGED = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}


def stage_with(*ranges: str, name: str = "mine") -> Stage:
    stage = Stage([ServiceRanges()])
    stage.post(CIDRS, metadata=named(name), spec={"cidrs": [*ranges]})
    return stage


def address(stage: Stage, ip: str, **labels: str) -> None:
    parent = {"resource": "services", "namespace": "default", "name": "s"}
    stage.post(ADDRESSES, metadata={"name": ip, "labels": {**MANAGED, **labels}}, spec={"parentRef": parent})


def deleted(stage: Stage, name: str = "mine") -> Any:
    """The condition of what is still there."""
    stage.delete(f"{CIDRS}/{name}")
    return condition(stage, name)


def condition(stage: Stage, name: str = "mine") -> Any:
    code, found = stage.api.call("GET", f"{CIDRS}/{name}")
    return found["status"]["conditions"][0] if code == 200 else None


def test_each_is_ready_and_protected() -> None:
    stage = stage_with("10.200.0.0/24")
    for name in ("mine", "kubernetes"):
        found: Document = stage.api.get(f"{CIDRS}/{name}")
        assert found["metadata"]["finalizers"] == [FINALIZER]
        (ready,) = found["status"]["conditions"]
        assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "")
        assert ready["message"] == "Kubernetes Service CIDR is ready"


def test_one_without_addresses_goes() -> None:
    assert deleted(stage_with("10.200.0.0/24")) is None


def test_one_waits_for_the_addresses_that_only_it_contains() -> None:
    stage = stage_with("10.200.0.0/24", "fd00::/112")
    address(stage, "10.200.0.7")
    found = deleted(stage)
    assert (found["status"], found["reason"]) == ("False", "Terminating")
    assert found["message"].startswith("There are still IPAddresses referencing the ServiceCIDR")
    stage.delete(f"{ADDRESSES}/10.200.0.7")
    assert condition(stage) is None


def test_another_that_contains_the_address_is_enough() -> None:
    stage = stage_with("10.200.0.0/24")
    address(stage, "10.200.0.7")
    stage.post(CIDRS, metadata=named("part"), spec={"cidrs": ["10.200.0.0/28"]})
    assert deleted(stage) is None


def test_one_within_another_goes_whatever_it_contains() -> None:
    stage = stage_with("10.200.0.0/24")
    stage.post(CIDRS, metadata=named("all"), spec={"cidrs": ["10.200.0.0/16"]})
    address(stage, "10.200.0.7")
    assert deleted(stage) is None
    assert deleted(stage, "all")["status"] == "False"


@pytest.mark.parametrize("label", ["", "somebody.else"])
def test_addresses_that_the_server_did_not_give_out_do_not_count(label: str) -> None:
    stage = stage_with("10.200.0.0/24")
    address(stage, "10.200.0.7", **{"ipaddress.kubernetes.io/managed-by": label})
    assert deleted(stage) is None


def test_addresses_of_services_count() -> None:
    stage = stage_with("10.200.0.0/24")
    assert deleted(stage, "kubernetes")["reason"] == "Terminating"
    stage.post(CIDRS, metadata=named("larger"), spec={"cidrs": ["10.0.0.0/8"]})
    assert condition(stage, "kubernetes") is None


def test_headless_services_have_none() -> None:
    stage = stage_with("10.200.0.0/24")
    stage.post(SERVICES, metadata=named("s"), spec={"clusterIP": "None", "ports": [{"port": 1}]})
    assert deleted(stage) is None
