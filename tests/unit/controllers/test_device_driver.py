"""Drivers of devices: after a while they say that a device is ready, or that it will not be."""

from __future__ import annotations

import pytest
from tests.support.controller_stage import Stage
from tests.support.devices import asks, claim_of, device, held, slice_of

from bayplan.controllers.device_driver import DeviceDriver
from bayplan.model.resource_claims import ResourceClaim, ResourceSlice
from bayplan.model.timestamps import format_time


def slice_with(**annotations: str) -> ResourceSlice:
    made = slice_of("n1", device("d0", waits_for=["attached", "powered"], fails_on=["broken"]), device("d1"))
    made.metadata.annotations = {f"bayplan/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return made


def allocated(world: Stage, *names: str) -> ResourceClaim:
    claim = held(claim_of("c", asks("r")), "n1", *names)
    assert claim.status.allocation is not None
    claim.status.allocation.allocation_timestamp = format_time(world.now)
    for result in claim.status.allocation.devices.results:
        if result.device == "d0":
            result.binding_conditions = ["attached", "powered"]
            result.binding_failure_conditions = ["broken"]
    return claim


def reported(world: Stage) -> dict[str, list[str]]:
    claim = world.store.get(ResourceClaim, "default", "c")
    return {status.device: [condition.type for condition in status.conditions] for status in claim.status.devices}


READY, FAILED = {"d0": ["attached", "powered"]}, {"d0": ["broken"]}


@pytest.mark.parametrize(
    ("annotations", "seconds", "said"),
    [
        ({}, 0, READY),
        ({"ready_seconds": "20"}, 19, {}),
        ({"ready_seconds": "20"}, 20, READY),
        ({"fails": "true"}, 0, FAILED),
        ({"fails": "true", "ready_seconds": "5"}, 5, FAILED),
    ],
)
def test_the_conditions_of_a_device_are_reported_in_time(
    annotations: dict[str, str], seconds: int, said: dict[str, list[str]]
) -> None:
    """Of a device that nobody waits for nothing is said."""
    world = Stage(DeviceDriver())
    world.load(slice_with(**annotations), allocated(world, "d0", "d1"))
    world.pass_time(seconds)
    assert reported(world) == said


def test_a_claim_that_lost_its_devices_is_left_alone() -> None:
    world = Stage(DeviceDriver())
    world.load(slice_with(ready_seconds="20"), allocated(world, "d0"))
    world.store.delete(ResourceClaim, "default", "c", world.now)
    world.pass_time(30)
    assert world.store.list(ResourceClaim) == []
