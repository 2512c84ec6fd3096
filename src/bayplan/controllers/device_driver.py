"""Drivers that make devices ready for the node of a pod: they report the conditions that the scheduler waits for.

Watches claims and slices. A while after a claim got devices with binding conditions all of these are reported to hold;
the annotation `bayplan/ready-seconds` of the device's ResourceSlice says after how long, by default at once. With
`bayplan/fails` the first failure condition is reported instead. Devices are not offered or taken away here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bayplan.controllers.nodes.kubelet import annotated_seconds, is_to_fail
from bayplan.controllers.ownership import NamespacedName, namespaced_name
from bayplan.controllers.work_queue import Reconciler
from bayplan.model.conditions import TRUE
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.resource_claims import (
    AllocatedDeviceStatus,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.model.structs import replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.watch_types import DELETED
from bayplan.store import Store, WatchEvent

READY_SECONDS = "bayplan/ready-seconds"


class DeviceDriver(Reconciler[NamespacedName]):
    """The drivers of all devices."""

    name: ClassVar[str] = "device-driver"
    watches: ClassVar[frozenset[str]] = frozenset({"ResourceClaim", "ResourceSlice"})

    def __init__(self) -> None:
        super().__init__()
        self._slices: dict[tuple[str, str], dict[str, ResourceSlice]] = {}  # by driver and pool, then by name

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        changed = change.new
        if isinstance(changed, ResourceSlice):
            slices = self._slices.setdefault((changed.spec.driver, changed.spec.pool.name), {})
            slices.pop(changed.metadata.name, None)
            if change.type != DELETED:
                slices[changed.metadata.name] = changed
        elif isinstance(changed, ResourceClaim) and change.type != DELETED and any(_unreported(changed)):
            self._queue.add(namespaced_name(changed))

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        claim = store.find(ResourceClaim, *key)
        allocation = claim.status.allocation if claim is not None else None
        if claim is None or allocation is None:
            return
        allocated_at = parse_time(allocation.allocation_timestamp) if allocation.allocation_timestamp else now
        statuses = list(claim.status.devices)
        for result in _unreported(claim):
            meta = self._origin(result)
            ready_at = allocated_at + int((annotated_seconds(meta, READY_SECONDS) or 0) * SECOND)
            if ready_at > now:
                self._queue.add_at(key, ready_at)
            else:
                statuses.append(_report(result, is_to_fail(meta), now))
        if len(statuses) > len(claim.status.devices):
            status = replace(claim.status, devices=statuses)
            store.modify_status(ResourceClaim, *key, lambda stored: replace(stored, status=status), now)

    def _origin(self, result: DeviceRequestAllocationResult) -> ObjectMeta:
        """The metadata of the slice that has the device; of one that is gone nothing is known."""
        for each in self._slices.get((result.driver, result.pool), {}).values():
            if any(device.name == result.device for device in each.spec.devices):
                return each.metadata
        return ObjectMeta()


def _unreported(claim: ResourceClaim) -> Iterable[DeviceRequestAllocationResult]:
    """Devices of the claim that somebody waits for and nothing is known of."""
    allocation = claim.status.allocation
    known = {(status.driver, status.pool, status.device) for status in claim.status.devices}
    return (
        result
        for result in (allocation.devices.results if allocation is not None else ())
        if result.binding_conditions and (result.driver, result.pool, result.device) not in known
    )


def _report(result: DeviceRequestAllocationResult, fails: bool, now: int) -> AllocatedDeviceStatus:
    kinds = result.binding_failure_conditions[:1] if fails else result.binding_conditions
    return AllocatedDeviceStatus(
        driver=result.driver,
        pool=result.pool,
        device=result.device,
        share_id=result.share_id,
        conditions=[Condition(type=kind, status=TRUE, last_transition_time=format_time(now)) for kind in kinds],
    )
