"""Random devices: classes, slices of nodes, claims and templates for them, and what happens to them.

Takes a draw and the character of its world. Pods use the claims and templates by the names that are shared here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.model.kinds import Object
from bayplan.model.resource_claims import (
    ALL_DEVICES,
    Device,
    DeviceConstraint,
    DeviceRequest,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.testing.devices import (
    DRIVER,
    asks,
    asks_first_of,
    claim_of,
    claim_template,
    device,
    device_class,
    slice_of,
    taint_rule,
)
from bayplan.testing.random_character import TAINT_KEYS, Character
from bayplan.testing.random_draw import Draw

CLAIM_NAMES = ("devices-1", "devices-2", "devices-3", "devices-4")
TEMPLATE_NAMES = ("template-1", "template-2")
#: What devices of the class are known as to pods that ask for an amount.
DEVICE_RESOURCE = "example.com/device"
_LARGE = f'device.attributes["{DRIVER}"].model == "large"'


def draw_device_objects(draw: Draw, namespaces: Sequence[str]) -> Iterator[Object]:
    """The class of all devices, and templates and claims in each namespace."""
    yield device_class(extended=draw.pick("extended resource of class", None, DEVICE_RESOURCE))
    if draw.chance(0.3):
        yield taint_rule("rule", draw.any_of(TAINT_KEYS), device=f"device-{draw.number(0, 3)}")
    for namespace in namespaces:
        for name in TEMPLATE_NAMES[: draw.number(1, 2)]:
            yield claim_template(name, draw_request(draw), namespace=namespace)
        for name in CLAIM_NAMES[: draw.number(0, 4)]:
            yield _claim(draw, name, namespace)


def draw_slice(draw: Draw, node_name: str) -> ResourceSlice:
    """The devices of a node."""
    return slice_of(node_name, *draw_devices(draw))


def draw_devices(draw: Draw) -> list[Device]:
    return [
        device(
            f"device-{number}",
            taints=[DeviceTaint(key=draw.any_of(TAINT_KEYS), effect="NoSchedule")] if draw.chance(0.1) else [],
            model=draw.any_of(("large", "small")),
            numa=draw.number(0, 1),
        )
        for number in range(draw.number(1, 4))
    ]


def a_resource_claim(draw: Draw, character: Character) -> ResourceClaim:
    """One of the handful of claims that pods use by name."""
    return _claim(draw, draw.any_of(CLAIM_NAMES), draw.any_of(character.namespaces))


def _claim(draw: Draw, name: str, namespace: str) -> ResourceClaim:
    constraints = [DeviceConstraint(match_attribute=f"{DRIVER}/numa")] if draw.chance(0.3) else []
    made = claim_of(name, draw_request(draw), constraints=constraints, namespace=namespace)
    made.metadata.uid = ""
    return made


def draw_request(draw: Draw) -> DeviceRequest:
    large = asks("large", _LARGE)
    match draw.pick("device request", "any", "large", "two", "all", "first of", "tolerant", "admin"):
        case "large":
            return large
        case "two":
            return asks("two", count=2)
        case "all":
            return asks("all", mode=ALL_DEVICES)
        case "first of":
            return asks_first_of("best", large, asks("two", count=2))
        case "tolerant":
            return asks("tolerant", tolerations=[DeviceToleration(operator="Exists")])
        case "admin":
            return asks("admin", admin=True)
    return asks("any")
