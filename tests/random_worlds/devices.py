"""Random devices: classes, slices of nodes, claims and templates for them, and what happens to them.

Takes a draw and the character of its world. Pods use the claims and templates by the names that are shared here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.random_worlds.character import DEVICE_RESOURCE, TAINT_KEYS, Character
from tests.random_worlds.draw import Draw
from tests.support.devices import (
    CLASS,
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

from bayplan.controllers.device_driver import READY_SECONDS
from bayplan.controllers.nodes.kubelet import FAILS
from bayplan.model.kinds import Object
from bayplan.model.resource_claims import (
    ALL_DEVICES,
    Device,
    DeviceCapacity,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.model.tolerations import NO_EXECUTE

CLAIM_NAMES = ("devices-1", "devices-2", "devices-3", "devices-4")
TEMPLATE_NAMES = ("template-1", "template-2")
_NUMA = f"{DRIVER}/numa"
_LARGE = f'device.attributes["{DRIVER}"].model == "large"'
_LARGE_CLASS = "large"


def draw_device_objects(draw: Draw, namespaces: Sequence[str]) -> Iterator[Object]:
    """The class of all devices, that of the large ones, and templates and claims in each namespace."""
    yield device_class(extended=draw.pick("extended resource of class", None, DEVICE_RESOURCE))
    if draw.chance(0.3):
        yield a_taint_rule(draw)
    if draw.pick("class of large devices", True, True, False):
        yield device_class(_LARGE_CLASS, _LARGE)
    for namespace in namespaces:
        for name in TEMPLATE_NAMES[: draw.number(1, 2)]:
            yield claim_template(name, draw_request(draw), namespace=namespace)
        for name in CLAIM_NAMES[: draw.number(0, 4)]:
            yield _claim(draw, name, namespace)


def a_taint_rule(draw: Draw, character: Character | None = None) -> DeviceTaintRule:
    name = f"rule-{draw.number(1, 2)}"
    return taint_rule(name, draw.any_of(TAINT_KEYS), device=f"device-{draw.number(0, 3)}")


def a_device_class(draw: Draw, character: Character) -> DeviceClass:
    """One of the classes that claims name, perhaps again; either may stand for the resource."""
    extended = draw.pick("extended resource of class", None, DEVICE_RESOURCE)
    name, expressions = draw.any_of(((CLASS, ()), (_LARGE_CLASS, (_LARGE,))))
    return device_class(name, *expressions, extended=extended)


def draw_slice(draw: Draw, node_name: str) -> ResourceSlice:
    """The devices of a node; those that have to be made ready take their time."""
    made = slice_of(node_name, *draw_devices(draw))
    made.metadata.annotations = {READY_SECONDS: str(draw.any_of((0, 1, 7, 20)))}
    if draw.pick("devices fail to get ready", *[False] * 4, True):
        made.metadata.annotations[FAILS] = "true"
    return made


def draw_devices(draw: Draw) -> list[Device]:
    return [_device(draw, f"device-{number}") for number in range(draw.number(1, 4))]


def _device(draw: Draw, name: str) -> Device:
    made = device(
        name,
        taints=[draw_device_taint(draw)] if draw.chance(0.1) else [],
        model=draw.any_of(("large", "small")),
        numa=draw.number(0, 1),
    )
    match draw.pick("device", *["plain"] * 4, "made ready first", "shared"):
        case "made ready first":
            made.binding_conditions, made.binding_failure_conditions = ["attached"], ["broken"]
            made.binds_to_node = True
        case "shared":
            made.allow_multiple_allocations = True
            made.capacity = {"memory": DeviceCapacity(value="4")}
    return made


def draw_device_taint(draw: Draw) -> DeviceTaint:
    return DeviceTaint(key=draw.any_of(TAINT_KEYS), effect=draw.pick("device taint", "NoSchedule", "NoExecute"))


def a_resource_claim(draw: Draw, character: Character) -> ResourceClaim:
    """One of the handful of claims that pods use by name."""
    return _claim(draw, draw.any_of(CLAIM_NAMES), draw.any_of(character.namespaces))


def _claim(draw: Draw, name: str, namespace: str) -> ResourceClaim:
    constraints = {
        "none": [],
        "match": [DeviceConstraint(match_attribute=_NUMA)],
        "distinct": [DeviceConstraint(distinct_attribute=_NUMA)],
    }[draw.pick("device constraint", "none", "none", "match", "distinct")]
    requests = [draw_request(draw), asks("another")] if draw.chance(0.2) else [draw_request(draw)]
    made = claim_of(name, *requests, constraints=constraints, namespace=namespace)
    made.metadata.uid = ""
    return made


def draw_request(draw: Draw) -> DeviceRequest:
    large = asks("large", _LARGE)
    match draw.pick(
        "device request",
        *["any"] * 3,
        *["large", "class", "two", "all", "first of", "tolerant", "patient", "admin", "part"],
    ):
        case "large":
            return large
        case "class":
            return asks("class", of=_LARGE_CLASS)
        case "two":
            return asks("two", count=2)
        case "all":
            return asks("all", mode=ALL_DEVICES)
        case "first of":
            return asks_first_of("best", large, asks("two", count=2))
        case "tolerant":
            # A toleration of every effect would let pods come and be evicted, again and again.
            effects = ("NoSchedule", NO_EXECUTE)
            return asks("tolerant", tolerations=[DeviceToleration(operator="Exists", effect=e) for e in effects])
        case "patient":
            toleration = DeviceToleration(operator="Exists", effect=NO_EXECUTE, toleration_seconds=draw.number(0, 20))
            return asks("patient", tolerations=[toleration])
        case "admin":
            return asks("admin", admin=True)
        case "part":
            return asks("part", capacity={"memory": draw.number(1, 3)})
    return asks("any")
