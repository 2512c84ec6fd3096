"""What drivers are told about devices."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core.plugins.dynamic_resources.configuration import configuration
from bayplan.core.release import V1_36, V1_37, Release
from bayplan.model.resource_claims import (
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)


def opaque(value: str) -> dict[str, Any]:
    return {"opaque": {"driver": "d", "parameters": {"mode": value}}}


def claim(*config: dict[str, Any]) -> ResourceClaim:
    alternatives = [
        DeviceSubRequest(name="x", device_class_name="nic"),
        DeviceSubRequest(name="y", device_class_name="slow-nic"),
    ]
    requests = [
        DeviceRequest(name="a", exactly=ExactDeviceRequest(device_class_name="gpu")),
        DeviceRequest(name="b", exactly=ExactDeviceRequest(device_class_name="gpu")),
        DeviceRequest(name="c", first_available=alternatives),
    ]
    return ResourceClaim(spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests, config=list(config))))


ALLOCATED = {"a", "b", "c/y"}


CONFIGS = {"gpu": [opaque("1"), opaque("2")], "slow-nic": [opaque("3")], "nic": [opaque("4")]}
CLASSES = {name: DeviceClass(spec=DeviceClassSpec(config=config)) for name, config in CONFIGS.items()}


@pytest.mark.parametrize("release", [V1_36, V1_37], ids=["1.36", "1.37"])
def test_a_class_is_quoted_once_for_all_requests_of_it_that_were_granted(release: Release) -> None:
    assert configuration(claim(), ALLOCATED, CLASSES, release) == [
        {"source": "FromClass", "requests": ["a", "b"], **opaque("1")},
        {"source": "FromClass", "requests": ["a", "b"], **opaque("2")},
        {"source": "FromClass", "requests": ["c/y"], **opaque("3")},
    ]


@pytest.mark.parametrize(
    ("requests", "times"),
    [([], 1), (["a"], 1), (["a", "b"], 2), (["c"], 1), (["c/y"], 1), (["c/x"], 0)],
)
def test_a_claims_own_configuration_counts_where_it_is_about_what_was_granted(requests: list[str], times: int) -> None:
    config = {**opaque("1"), **({"requests": requests} if requests else {})}
    assert configuration(claim(config), ALLOCATED, {}, V1_36) == [{"source": "FromClaim", **config}] * times
    assert configuration(claim(config), ALLOCATED, {}, V1_37) == [{"source": "FromClaim", **config}] * min(times, 1)


@pytest.mark.parametrize("requests", [["a", "b", "c"], ["c/y", "b", "a"], ["a", "b", "c", "c/x"]])
def test_configuration_for_all_names_no_requests_since_1_37(requests: list[str]) -> None:
    config = {"requests": requests, **opaque("1")}
    assert configuration(claim(config), ALLOCATED, {}, V1_37) == [{"source": "FromClaim", **opaque("1")}]


def test_a_class_of_all_requests_names_none_since_1_37() -> None:
    of_gpus = claim()
    del of_gpus.spec.devices.requests[2]
    asked = {release: configuration(of_gpus, {"a", "b"}, CLASSES, release) for release in (V1_36, V1_37)}
    assert asked[V1_37] == [{"source": "FromClass", **opaque(mode)} for mode in "12"]
    assert asked[V1_36] == [{"source": "FromClass", "requests": ["a", "b"], **opaque(mode)} for mode in "12"]
