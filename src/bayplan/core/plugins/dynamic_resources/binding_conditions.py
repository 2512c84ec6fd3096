"""Devices that have to be made ready before a pod that uses them is bound: what their claims say about it.

Takes claims as they are known, and a time; says whether all conditions hold that the devices' drivers asked for, or why
they will not, in upstream's words. `wait_for_devices` is PreBind of DynamicResources.
Upstream: plugins/dynamicresources/dynamicresources.go isPodReadyForBinding (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.core.actions import Emit
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import AssumedPod, Pending
from bayplan.core.framework.verdict import SUCCESS, Code, Status
from bayplan.core.plugins.dynamic_resources.claims import ClaimError, claim_name, claims_of
from bayplan.core.snapshot import NamespacedName, Objects, View
from bayplan.model.conditions import TRUE, find_condition, is_condition_true
from bayplan.model.kinds import Object
from bayplan.model.resource_claims import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim
from bayplan.model.selectors import quoted
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import parse_time

#: How often it is looked whether devices are ready.
LOOK_EVERY_NS = 5 * SECOND
BINDING_TIMEOUT = "device binding timeout"


class DeviceBindingError(Exception):
    """Why devices will not be ready."""


def wait_for_devices(pod: PodInfo, view: View, placement: AssumedPod, timeout_ns: int) -> Status | Pending:
    """Looks from time to time, whatever happens to the claims in between."""
    until = placement.asked_at + timeout_ns
    try:
        if not placement.times_asked:
            if not any(map(has_conditions, claims_used_by(pod, view.objects, placement.written))):
                return SUCCESS
            note = f"waiting for binding conditions for device on node {placement.node_name}"
            pending = Emit(pod.key, pod.uid, "Normal", "BindingConditionsPending", "Scheduling", note)
            return Pending(until, look_at=placement.now, actions=(pending,))
        if are_ready(view.objects, places_used_by(pod, placement.written), placement.now, timeout_ns):
            return SUCCESS
    except (ClaimError, DeviceBindingError) as problem:
        return Status(Code.ERROR, (str(problem),))
    if placement.now >= until:
        return Status(Code.ERROR, (f"{BINDING_TIMEOUT}: context deadline exceeded",))
    return Pending(until, look_at=min(placement.now + LOOK_EVERY_NS, until))


def places_to_release(pod: PodInfo, placement: AssumedPod) -> list[NamespacedName]:
    """The claims that were written for the pod; all it uses, if it has waited for their devices."""
    has_waited = placement.times_asked > 1
    return places_used_by(pod, placement.written) if has_waited else list(map(_place, _claims_among(placement.written)))


def places_used_by(pod: PodInfo, written: Iterable[Object]) -> list[NamespacedName]:
    """Where the pod's claims are, among them one that was made for it alone. Raises ClaimError."""
    entries = () if pod.claims is None else pod.claims.entries
    names = [claim_name(pod, entry)[0] for entry in entries]
    places = [(pod.namespace, name) for name in names if name is not None]
    return list(dict.fromkeys((*places, *map(_place, _claims_among(written)))))


def _claims_among(objects: Iterable[Object]) -> list[ResourceClaim]:
    return [obj for obj in objects if isinstance(obj, ResourceClaim)]


def _place(claim: ResourceClaim) -> NamespacedName:
    return claim.metadata.namespace, claim.metadata.name


def claims_used_by(pod: PodInfo, objects: Objects, written: Iterable[Object]) -> list[ResourceClaim]:
    """The pod's claims as they are known, among them one that was made for it alone. Raises ClaimError."""
    named = {_place(claim): claim for claim in claims_of(pod)}
    for claim in _claims_among(written):
        named.setdefault(_place(claim), objects.resource_claims.get(_place(claim), claim))
    return list(named.values())


def has_conditions(claim: ResourceClaim) -> bool:
    """Whether there is anything to wait for."""
    allocation = claim.status.allocation
    return allocation is not None and any(result.binding_conditions for result in allocation.devices.results)


def are_ready(objects: Objects, places: Iterable[NamespacedName], now: int, timeout_ns: int) -> bool:
    """Whether the devices of all these claims are. Raises DeviceBindingError."""
    for namespace, name in places:
        claim = objects.resource_claims.get((namespace, name))
        if claim is None:
            raise DeviceBindingError(f'could not find ResourceClaim "{namespace}/{name}"')
        if not is_ready(claim):
            if is_overdue(claim, now, timeout_ns):
                raise DeviceBindingError(f"{BINDING_TIMEOUT}: claim={name}")
            return False
    return True


def is_ready(claim: ResourceClaim) -> bool:
    """Whether all conditions of all devices hold. Raises DeviceBindingError."""
    allocation = claim.status.allocation
    return allocation is not None and all(
        _is_device_ready(claim, result) for result in allocation.devices.results if result.binding_conditions
    )


def _is_device_ready(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> bool:
    status = status_of(claim, result)
    if status is None:
        return False
    for kind in result.binding_failure_conditions:
        failed = find_condition(status.conditions, kind)
        if failed is not None and failed.status == TRUE:
            what = f"claim={claim.metadata.name}, reason={failed.reason}, message={quoted(failed.message)}"
            raise DeviceBindingError(f"device binding failed: {what}")
    return all(is_condition_true(status.conditions, kind) for kind in result.binding_conditions)


def is_overdue(claim: ResourceClaim, now: int | None, timeout_ns: int) -> bool:
    """Whether the claim has had its devices for longer than making them ready may take."""
    allocation = claim.status.allocation
    if now is None or allocation is None or allocation.allocation_timestamp is None or not has_conditions(claim):
        return False
    return parse_time(allocation.allocation_timestamp) + timeout_ns < now


def is_in_vain(claim: ResourceClaim, now: int | None, timeout_ns: int) -> bool:
    """Whether it is time to try other devices."""
    try:
        return not is_ready(claim) and is_overdue(claim, now, timeout_ns)
    except DeviceBindingError:
        return True


def status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    """What its driver says about one device of the claim."""
    wanted = (result.driver, result.pool, result.device)
    return next((s for s in claim.status.devices if (s.driver, s.pool, s.device) == wanted), None)
