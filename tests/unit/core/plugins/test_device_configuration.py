"""What drivers are told about devices."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core.plugins.dynamic_resources.configuration import configuration
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


def test_a_class_is_quoted_once_for_all_requests_of_it_that_were_granted() -> None:
    configs = {"gpu": [opaque("1"), opaque("2")], "slow-nic": [opaque("3")], "nic": [opaque("4")]}
    classes = {name: DeviceClass(spec=DeviceClassSpec(config=config)) for name, config in configs.items()}
    assert configuration(claim(), ALLOCATED, classes) == [
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
    assert configuration(claim(config), ALLOCATED, {}) == [{"source": "FromClaim", **config}] * times
