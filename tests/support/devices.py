"""Devices and claims of devices in one line each, for tests.

Takes plain values and gives objects as an API server stores them: `slice_of("n1", device("gpu-0", model="a100"))`,
`claim_of("c", asks("gpu", count=2))`. Attributes may be text, numbers or truth values. Nothing is validated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.model.conditions import TRUE
from bayplan.model.meta import Condition, ObjectMeta, OwnerReference, RawQuantity
from bayplan.model.pod import Pod, PodResourceClaim
from bayplan.model.resource_claims import (
    EXACT_COUNT,
    AllocatedDeviceStatus,
    AllocationResult,
    CapacityRequirements,
    CELDeviceSelector,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceTaintSelector,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from bayplan.model.structs import replace

DRIVER = "gpu.example.com"
CLASS = "gpu"


def device(
    name: str,
    *,
    taints: Sequence[DeviceTaint] = (),
    capacity: dict[str, RawQuantity | DeviceCapacity] | None = None,
    waits_for: Sequence[str] = (),
    fails_on: Sequence[str] = (),
    **attributes: str | int | bool,
) -> Device:
    """A device; `capacity` are amounts, or what an API server holds of them. Conditions decide when pods are bound."""
    return Device(
        name=name,
        attributes={key: attribute(value) for key, value in attributes.items()},
        capacity={
            key: amount if isinstance(amount, DeviceCapacity) else DeviceCapacity(value=amount)
            for key, amount in (capacity or {}).items()
        },
        taints=list(taints),
        binding_conditions=list(waits_for),
        binding_failure_conditions=list(fails_on),
    )


def attribute(value: str | int | bool) -> DeviceAttribute:
    if isinstance(value, bool):
        return DeviceAttribute(bool_value=value)
    if isinstance(value, int):
        return DeviceAttribute(int_value=value)
    return DeviceAttribute(string_value=value)


def slice_of(node: str, *devices: Device, name: str = "", pool: str = "", **spec: Any) -> ResourceSlice:
    """All devices of a node's own pool; with `pool` and other fields of the spec, part of any other."""
    fields: dict[str, Any] = {"pool": ResourcePool(name=pool or node, generation=1, resource_slice_count=1), **spec}
    return ResourceSlice(
        metadata=ObjectMeta(name=name or f"{node}-slice"),
        spec=ResourceSliceSpec(driver=DRIVER, node_name=node or None, devices=list(devices), **fields),
    )


def taint_rule(name: str, key: str = "broken", effect: str = "NoSchedule", **selected: str) -> DeviceTaintRule:
    """A taint for the devices of a `driver`, a `pool` or of a name (`device`)."""
    spec = DeviceTaintRuleSpec(
        device_selector=DeviceTaintSelector(**selected), taint=DeviceTaint(key=key, effect=effect)
    )
    return DeviceTaintRule(metadata=ObjectMeta(name=name), spec=spec)


def device_class(name: str = CLASS, *expressions: str, extended: str | None = None) -> DeviceClass:
    spec = DeviceClassSpec(selectors=_selectors(expressions), extended_resource_name=extended)
    return DeviceClass(metadata=ObjectMeta(name=name), spec=spec)


def asks(
    name: str,
    *expressions: str,
    count: int = 1,
    mode: str = EXACT_COUNT,
    of: str = CLASS,
    admin: bool | None = None,
    tolerations: Sequence[DeviceToleration] = (),
    capacity: dict[str, RawQuantity] | None = None,
) -> DeviceRequest:
    """A request for devices that all expressions select."""
    exactly = ExactDeviceRequest(
        device_class_name=of,
        selectors=_selectors(expressions),
        allocation_mode=mode,
        count=count if mode == EXACT_COUNT else 0,
        admin_access=admin,
        tolerations=list(tolerations),
        capacity=None if capacity is None else CapacityRequirements(requests=dict(capacity)),
    )
    return DeviceRequest(name=name, exactly=exactly)


def asks_first_of(name: str, *alternatives: DeviceRequest) -> DeviceRequest:
    """A list of which the first available counts; the alternatives are plain requests."""
    listed = []
    for alternative in alternatives:
        exactly = alternative.exactly
        assert exactly is not None
        listed.append(
            DeviceSubRequest(
                name=alternative.name,
                device_class_name=exactly.device_class_name,
                selectors=exactly.selectors,
                allocation_mode=exactly.allocation_mode,
                count=exactly.count,
                tolerations=exactly.tolerations,
                capacity=exactly.capacity,
            )
        )
    return DeviceRequest(name=name, first_available=listed)


def claim_of(
    name: str, *requests: DeviceRequest, constraints: Sequence[DeviceConstraint] = (), namespace: str = "default"
) -> ResourceClaim:
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"claim-{namespace}-{name}"),
        spec=ResourceClaimSpec(devices=DeviceClaim(requests=list(requests), constraints=list(constraints))),
    )


def claim_template(name: str, *requests: DeviceRequest, namespace: str = "default") -> ResourceClaimTemplate:
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=list(requests)))
    return ResourceClaimTemplate(
        metadata=ObjectMeta(name=name, namespace=namespace), spec=ResourceClaimTemplateSpec(spec=spec)
    )


def held(claim: ResourceClaim, node: str, *devices: str, by: Sequence[Pod] = ()) -> ResourceClaim:
    """The claim with devices of a node's own pool, and its users."""
    requests = claim.spec.devices.requests
    results = [
        DeviceRequestAllocationResult(
            request=requests[0].name if requests else "", driver=DRIVER, pool=node, device=name
        )
        for name in devices
    ]
    users = [
        ResourceClaimConsumerReference(resource="pods", name=pod.metadata.name, uid=pod.metadata.uid) for pod in by
    ]
    allocation = AllocationResult(devices=DeviceAllocationResult(results=results))
    claim.status = ResourceClaimStatus(allocation=allocation, reserved_for=users)
    return claim


def with_condition(claim: ResourceClaim, kind: str, reason: str = "", message: str = "") -> ResourceClaim:
    """The claim once the driver of its devices has said that the condition holds for all of them."""
    allocation = claim.status.allocation
    assert allocation is not None
    held_true = Condition(type=kind, status=TRUE, reason=reason, message=message)
    statuses = [
        AllocatedDeviceStatus(driver=result.driver, pool=result.pool, device=result.device, conditions=[held_true])
        for result in allocation.devices.results
    ]
    return replace(claim, status=replace(claim.status, devices=statuses))


def owned(claim: ResourceClaim, pod: Pod) -> ResourceClaim:
    """The claim as made for the pod."""
    meta = pod.metadata
    claim.metadata.owner_references = [
        OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)
    ]
    return claim


def with_claims(pod: Pod, *names: str) -> Pod:
    """The pod with claims it names itself."""
    pod.spec.resource_claims = [PodResourceClaim(name=name, resource_claim_name=name) for name in names]
    return pod


def _selectors(expressions: Sequence[str]) -> list[DeviceSelector]:
    return [DeviceSelector(cel=CELDeviceSelector(expression=expression)) for expression in expressions]
