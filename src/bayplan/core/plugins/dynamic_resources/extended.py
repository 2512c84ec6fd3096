"""Extended resources that device classes stand for: `example.com/gpu: 2` becomes a claim of two devices.

Takes the pod's requests and the classes; gives the requests of a claim that the scheduler would make for the pod on a
node that does not offer the resource itself. Init containers that end before others start share devices with them.
Upstream: plugins/dynamicresources/extendeddynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bayplan.core.columns.devices import Inventory
from bayplan.core.columns.resources import is_extended_resource
from bayplan.core.columns.shapes import PodInfo
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Container
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.resource_claims import (
    DEVICE_CLASS_PREFIX,
    EXACT_COUNT,
    EXTENDED_RESOURCE_ANNOTATION,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)

#: The name of a claim that is not written yet; no object can have it.
UNWRITTEN = "<extended-resources>"


def backed_resources(pod: PodInfo, inventory: Inventory) -> tuple[str, ...]:
    """Requested resources that a device class stands for, sorted."""
    return tuple(
        sorted(
            name
            for name, amount in pod.shape.requests.asked.items()
            if amount and may_be_backed(name) and inventory.class_of_resource(name) is not None
        )
    )


def may_be_backed(name: str) -> bool:
    return is_extended_resource(name) or name.startswith(DEVICE_CLASS_PREFIX)


def existing_claim(pod: PodInfo, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """The claim that an earlier attempt wrote for the pod."""
    for claim in claims:
        if claim.is_for_extended_resources and any(
            owner.name == pod.name and owner.controller and owner.uid == pod.uid
            for owner in claim.metadata.owner_references
        ):
            return claim
    return None


def unwritten_claim(pod: PodInfo, inventory: Inventory, resources: Sequence[str]) -> ResourceClaim:
    """The claim the scheduler would write for the pod, where these resources come as devices."""
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    requests = sorted(_requests(pod, inventory, resources), key=lambda request: request.name)
    return ResourceClaim(
        metadata=ObjectMeta(
            name=UNWRITTEN,
            namespace=pod.namespace,
            generate_name=f"{pod.name}-extended-resources-",
            annotations={EXTENDED_RESOURCE_ANNOTATION: "true"},
            owner_references=[owner],
        ),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=requests)),
    )


def _requests(pod: PodInfo, inventory: Inventory, resources: Sequence[str]) -> Iterable[DeviceRequest]:
    init = pod.spec.init_containers
    containers = [*init, *pod.spec.containers]
    for name in resources:
        device_class = inventory.class_of_resource(name)
        assert device_class is not None
        class_name = device_class.metadata.name
        lasting: dict[int, DeviceRequest] = {}
        for place, container in enumerate(containers):
            if place >= len(init) or container.restart_policy == "Always":
                request = _request(place, container, name, class_name, 0)
                if request is not None:
                    lasting[place] = request
        largest: DeviceRequest | None = None
        for place, container in enumerate(init):
            if container.restart_policy != "Always":
                later = sum(_count(request) for at, request in lasting.items() if at >= place)
                request = _request(place, container, name, class_name, later)
                if request is not None and (largest is None or _count(largest) < _count(request)):
                    largest = request
        if largest is not None:
            yield largest
        yield from lasting.values()


def _request(place: int, container: Container, name: str, class_name: str, at_hand: int) -> DeviceRequest | None:
    """What the container needs beyond the devices it can use anyway; None if nothing."""
    requests = container.resources.requests
    amount, rest = divmod(parse_quantity(requests.get(name, 0)), NANO_PER_UNIT)
    if rest or amount <= at_hand:
        return None
    position = sorted(requests).index(name)
    return DeviceRequest(
        name=f"container-{place}-request-{position}",
        exactly=ExactDeviceRequest(device_class_name=class_name, allocation_mode=EXACT_COUNT, count=amount - at_hand),
    )


def _count(request: DeviceRequest) -> int:
    assert request.exactly is not None
    return request.exactly.count
