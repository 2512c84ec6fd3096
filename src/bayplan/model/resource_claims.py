"""Devices: who has which (ResourceSlice), of what kind (DeviceClass), and who wants or holds some (ResourceClaim).

See `meta` for the conventions. Kept is what decides whether devices can be allocated and what an allocation says;
opaque configuration for drivers is carried along.
"""

from copy import copy
from typing import Any, TypeAlias

import msgspec

from bayplan.model.meta import Condition, Int64, ObjectMeta, ObjectPart, RawQuantity, TopLevel
from bayplan.model.pod import NodeSelector

EXACT_COUNT, ALL_DEVICES = "ExactCount", "All"
EXTENDED_RESOURCE_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"
POD_CLAIM_NAME_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
CLAIM_FINALIZER = "resource.kubernetes.io/delete-protection"
DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"

Configuration: TypeAlias = dict[str, Any]
"""What only a driver understands, and the requests that it is about."""


class CELDeviceSelector(ObjectPart, kw_only=True):
    expression: str = ""


class DeviceSelector(ObjectPart, kw_only=True):
    cel: CELDeviceSelector | None = None


class DeviceToleration(ObjectPart, kw_only=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class CapacityRequirements(ObjectPart, kw_only=True):
    requests: dict[str, RawQuantity] = {}


class ExactDeviceRequest(ObjectPart, kw_only=True):
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(ObjectPart, kw_only=True):
    name: str = ""
    device_class_name: str = ""
    selectors: list[DeviceSelector] = []
    allocation_mode: str = ""
    count: Int64 = 0
    tolerations: list[DeviceToleration] = []
    capacity: CapacityRequirements | None = None


class DeviceRequest(ObjectPart, kw_only=True):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: list[DeviceSubRequest] = []


class DeviceConstraint(ObjectPart, kw_only=True):
    requests: list[str] = []
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(ObjectPart, kw_only=True):
    requests: list[DeviceRequest] = []
    constraints: list[DeviceConstraint] = []
    config: list[Configuration] = []


class ResourceClaimSpec(ObjectPart, kw_only=True):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


class DeviceRequestAllocationResult(ObjectPart, kw_only=True):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: list[DeviceToleration] = []
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    share_id: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, RawQuantity] = {}
    skip_node_operations: list[str] = []


class DeviceAllocationResult(ObjectPart, kw_only=True):
    results: list[DeviceRequestAllocationResult] = []
    config: list[Configuration] = []


class AllocationResult(ObjectPart, kw_only=True):
    devices: DeviceAllocationResult = msgspec.field(default_factory=DeviceAllocationResult)
    node_selector: NodeSelector | None = None
    allocation_timestamp: str | None = None


class ResourceClaimConsumerReference(ObjectPart, kw_only=True):
    api_group: str = msgspec.field(default="", name="apiGroup")
    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(ObjectPart, kw_only=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(default=None, name="shareID")
    conditions: list[Condition] = []


class ResourceClaimStatus(ObjectPart, kw_only=True):
    allocation: AllocationResult | None = None
    reserved_for: list[ResourceClaimConsumerReference] = []
    devices: list[AllocatedDeviceStatus] = []


class ResourceClaim(TopLevel, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)

    @property
    def is_for_extended_resources(self) -> bool:
        """A scheduler has made it for one pod, whose containers ask for extended resources."""
        return self.metadata.annotations.get(EXTENDED_RESOURCE_ANNOTATION) == "true"


class ResourceClaimTemplateSpec(ObjectPart, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(TopLevel, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)


class DeviceClassSpec(ObjectPart, kw_only=True):
    selectors: list[DeviceSelector] = []
    extended_resource_name: str | None = None
    config: list[Configuration] = []


class DeviceClass(TopLevel, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class DeviceAttribute(ObjectPart, kw_only=True):
    """One value of one of four types; lists count with a gate that is off by default."""

    int_value: Int64 | None = msgspec.field(default=None, name="int")
    bool_value: bool | None = msgspec.field(default=None, name="bool")
    string_value: str | None = msgspec.field(default=None, name="string")
    version_value: str | None = msgspec.field(default=None, name="version")
    int_values: list[Int64] | None = msgspec.field(default=None, name="ints")
    bool_values: list[bool] | None = msgspec.field(default=None, name="bools")
    string_values: list[str] | None = msgspec.field(default=None, name="strings")
    version_values: list[str] | None = msgspec.field(default=None, name="versions")


class CapacityRequestPolicyRange(ObjectPart, kw_only=True):
    min: RawQuantity | None = None
    max: RawQuantity | None = None
    step: RawQuantity | None = None


class CapacityRequestPolicy(ObjectPart, kw_only=True):
    default: RawQuantity | None = None
    valid_values: list[RawQuantity] = []
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(ObjectPart, kw_only=True):
    value: RawQuantity = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(ObjectPart, kw_only=True):
    value: RawQuantity = 0


class DeviceCounterConsumption(ObjectPart, kw_only=True):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class CounterSet(ObjectPart, kw_only=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceTaint(ObjectPart, kw_only=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class DeviceTaintSelector(ObjectPart, kw_only=True):
    """Which devices; what is not set is any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def selects(self, driver: str, pool: str, device: str) -> bool:
        return self.driver in (None, driver) and self.pool in (None, pool) and self.device in (None, device)


class DeviceTaintRuleSpec(ObjectPart, kw_only=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = msgspec.field(default_factory=DeviceTaint)


class DeviceTaintRuleStatus(ObjectPart, kw_only=True):
    conditions: list[Condition] = []


class DeviceTaintRule(TopLevel, kw_only=True):
    """A taint that devices get besides their own; it counts with a gate that is on since v1.37."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: DeviceTaintRuleSpec = msgspec.field(default_factory=DeviceTaintRuleSpec)
    status: DeviceTaintRuleStatus = msgspec.field(default_factory=DeviceTaintRuleStatus)


class Device(ObjectPart, kw_only=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: list[DeviceCounterConsumption] = []
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: list[DeviceTaint] = []
    binds_to_node: bool | None = None
    binding_conditions: list[str] = []
    binding_failure_conditions: list[str] = []
    allow_multiple_allocations: bool | None = None


class ResourcePool(ObjectPart, kw_only=True):
    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(ObjectPart, kw_only=True):
    driver: str = ""
    pool: ResourcePool = msgspec.field(default_factory=ResourcePool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: list[Device] = []
    per_device_node_selection: bool | None = None
    shared_counters: list[CounterSet] = []


class ResourceSlice(TopLevel, kw_only=True):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)


def left_to(claim: ResourceClaim, users: list[ResourceClaimConsumerReference]) -> ResourceClaim:
    """The claim when only these are left of its users; with the last one its devices go, if they were protected."""
    if users or CLAIM_FINALIZER not in claim.metadata.finalizers:
        status = claim.status
        return with_status(
            claim, ResourceClaimStatus(allocation=status.allocation, reserved_for=users, devices=status.devices)
        )
    return with_status(claim, ResourceClaimStatus())


def with_status(claim: ResourceClaim, status: ResourceClaimStatus) -> ResourceClaim:
    changed = copy(claim)
    changed.status = status
    return changed
