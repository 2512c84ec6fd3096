"""The devices that ResourceSlices offer, who holds them, and what selectors say of them.

`Inventory` follows slices, claims and classes as they come and go. Devices of equal content share a content id, so
that a selector is evaluated once for each distinct device and not for each device. Which claim holds a device is kept
by device; `changes_since` says which pools have to be looked at again. What devices a claim gets is not decided here,
nor which slices a node can see (`plugins/device_pools.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayplan.core.feature_gates import FeatureGates
from bayplan.model.device_selectors import (
    CompiledDeviceSelector,
    DeviceSelectorError,
    Dialect,
    compile_device_selector,
    variables_of,
)
from bayplan.model.fingerprint import fingerprint
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import (
    DEVICE_CLASS_PREFIX,
    Device,
    DeviceCapacity,
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceTaintRule,
    ResourceClaim,
    ResourceSlice,
    ResourceSliceSpec,
)
from bayplan.model.structs import Struct
from bayplan.model.timestamps import parse_time

#: Changes that are remembered; whoever lags further behind looks at everything again.
CHANGES_MAX = 1 << 16
#: Distinct devices that may be remembered when there are none any more.
CONTENTS_KEPT_MIN = 64
#: Expressions whose answers are remembered, and answers by what expressions look at.
ANSWERS_MAX = 4_096
#: Things that are worked out from devices.
WORKED_OUT_MAX = 1_024

Amounts: TypeAlias = dict[str, int]  # nano units by name


class PoolId(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    @property
    def pool_id(self) -> PoolId:
        return PoolId(self.driver, self.pool)

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class DeviceEntry(Struct, eq=False):
    """One device of one slice."""

    id: DeviceId
    device: Device
    slice: ResourceSlice
    content_id: int


@dataclass(slots=True)
class Share:
    """A part of a device that several claims may hold."""

    claim: str
    consumed: Amounts


class SelectorFailure(NamedTuple):
    """A selector that gives no answer for a device."""

    text: str
    ran: bool = False  # it compiles, and failed on this device
    lacks_key: bool = False  # it looked for something that the device does not have


MATCHES, MATCHES_NOT, FAILS = 1, 0, 2


class Inventory:
    """All devices, by what they are and by who holds them."""

    def __init__(
        self,
        slices: dict[str, ResourceSlice],
        classes: dict[str, DeviceClass],
        taint_rules: dict[str, DeviceTaintRule],
        gates: FeatureGates,
    ) -> None:
        self.gates = gates
        self._taint_rules = taint_rules
        self.slices = slices
        self.classes = classes
        # Whoever keeps what follows from these hears of changes at once.
        self.on_class_change: Callable[[], None] = lambda: None
        self.on_devices_change: Callable[[PoolId], None] = lambda _: None
        self.on_slices_change: Callable[[Iterable[ResourceSlice]], None] = lambda _: None
        self.holders: dict[DeviceId, list[str]] = {}  # claims (namespace/name) that hold the whole device
        self.shares: dict[DeviceId, list[Share]] = {}
        self.changes_end = 0  # how many changes of holders there have been
        self.remembered: dict[Hashable, Any] = {}  # worked out from all this by whoever needs it
        self._changes: list[PoolId] = []
        self._contents: dict[bytes, int] = {}
        self._samples: list[tuple[str, Device]] = []  # by content id
        self._entries: dict[str, tuple[ResourceSlice, list[DeviceEntry]]] = {}
        self._answers: dict[str, list[bool | SelectorFailure]] = {}  # expression -> by content id, or why it fails
        self._by_values: dict[
            Hashable, bool | SelectorFailure
        ] = {}  # the same by the values that the expression looks at
        self._extended: dict[str, DeviceClass] | None = None
        self._dialect = Dialect(
            shares=gates.dra_consumable_capacity,
            lists=gates.dra_list_type_attributes or gates.release.selectors_know_lists,
        )

    # ---------------------------------------------------------------- what happens

    def slice_changed(self, concerned: Iterable[ResourceSlice]) -> None:
        """A slice came, changed or went: as it was, and as it is."""
        self.remembered.clear()
        self.on_slices_change(concerned)
        if len(self._entries) > 2 * len(self.slices) + 16:
            self._entries = {name: entry for name, entry in self._entries.items() if name in self.slices}
        device_count = sum(len(each.spec.devices) for each in self.slices.values())
        if len(self._samples) > 2 * device_count + CONTENTS_KEPT_MIN:
            self._forget_contents()

    def _forget_contents(self) -> None:
        """Most of the devices that were ever seen are gone: what is there now is read again."""
        for each in (self._contents, self._samples, self._entries, self._answers, self._by_values):
            each.clear()

    def taint_rule_changed(self) -> None:
        if self.gates.dra_device_taint_rules:
            self._entries.clear()
            self.remembered.clear()

    def remember(self, key: Hashable, value: Any) -> None:
        """Keep it under the key; each claim may bring keys of its own, and at some point there are too many."""
        if len(self.remembered) >= WORKED_OUT_MAX:
            self.remembered.clear()
        self.remembered[key] = value

    def class_changed(self) -> None:
        self._extended = None
        self.remembered.clear()
        self.on_class_change()

    def claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """A claim came, changed or went: devices may have changed hands."""
        before = old.status.allocation if old is not None else None
        after = new.status.allocation if new is not None else None
        if before is after:
            return
        if old is not None and before is not None:
            self._release(_key(old), before.devices.results)
        if new is not None and after is not None:
            self._hold(_key(new), after.devices.results)

    def _hold(self, claim: str, results: Iterable[DeviceRequestAllocationResult]) -> None:
        for result in results:
            if result.admin_access:
                continue  # looks on, and takes nothing from anybody
            device_id = _device_id(result)
            if self._is_whole(result):
                self.holders.setdefault(device_id, []).append(claim)
            else:
                consumed = {name: parse_quantity(amount) for name, amount in result.consumed_capacity.items()}
                self.shares.setdefault(device_id, []).append(Share(claim, consumed))
            self._log(device_id.pool_id)

    def _release(self, claim: str, results: Iterable[DeviceRequestAllocationResult]) -> None:
        for result in results:
            if result.admin_access:
                continue
            device_id = _device_id(result)
            whole = self.holders.get(device_id)
            if self._is_whole(result) and whole is not None:
                self.holders.pop(device_id)
                whole.remove(claim)
                if whole:
                    self.holders[device_id] = whole
            left = [share for share in self.shares.pop(device_id, ()) if share.claim != claim]
            if left:
                self.shares[device_id] = left
            self._log(device_id.pool_id)

    def _is_whole(self, result: DeviceRequestAllocationResult) -> bool:
        return result.share_id is None or not self.gates.dra_consumable_capacity

    def _log(self, pool_id: PoolId) -> None:
        if len(self._changes) == CHANGES_MAX:
            del self._changes[: CHANGES_MAX // 2]
        self._changes.append(pool_id)
        self.changes_end += 1
        self.on_devices_change(pool_id)

    def changes_since(self, position: int) -> list[PoolId] | None:
        """Pools in which devices changed hands; None when nobody remembers."""
        start = len(self._changes) - (self.changes_end - position)
        return self._changes[start:] if start >= 0 else None

    # ---------------------------------------------------------------- what there is

    def entries_of(self, resource_slice: ResourceSlice) -> list[DeviceEntry]:
        """The devices of a slice, in its order."""
        name = resource_slice.metadata.name
        known = self._entries.get(name)
        if known is None or known[0] is not resource_slice:
            known = self._entries[name] = (resource_slice, list(self._make_entries(resource_slice)))
        return known[1]

    def _make_entries(self, resource_slice: ResourceSlice) -> Iterator[DeviceEntry]:
        spec = resource_slice.spec
        for each in spec.devices:
            device = self._as_seen(spec, each)
            content = fingerprint(
                (spec.driver, device.attributes, device.capacity, device.taints, device.allow_multiple_allocations)
            )
            content_id = self._contents.setdefault(content, len(self._samples))
            if content_id == len(self._samples):
                self._samples.append((spec.driver, device))
            yield DeviceEntry(DeviceId(spec.driver, spec.pool.name, device.name), device, resource_slice, content_id)

    def _as_seen(self, spec: ResourceSliceSpec, device: Device) -> Device:
        """The device without what belongs to features that are off, and with the taints that rules give it."""
        gates = self.gates
        rules = self._taint_rules.values() if gates.dra_device_taint_rules else ()
        ruled = [rule.spec.taint for rule in rules if _is_ruled(rule, spec, device)]
        if gates.dra_device_taints and gates.dra_consumable_capacity and not ruled:
            return device
        seen = copy(device)
        seen.taints = [*device.taints, *ruled]
        if not gates.dra_device_taints:
            seen.taints = []
        if not gates.dra_consumable_capacity:
            seen.allow_multiple_allocations = None
            seen.capacity = {name: DeviceCapacity(value=each.value) for name, each in device.capacity.items()}
        return seen

    def slices_under(self, rule: DeviceTaintRule) -> list[ResourceSlice]:
        """Slices with a device that the rule is about."""
        return [s for s in self.slices.values() if any(_is_ruled(rule, s.spec, device) for device in s.spec.devices)]

    @property
    def content_count(self) -> int:
        return len(self._samples)

    def sample(self, content_id: int) -> Device:
        """A device with that content; names differ."""
        return self._samples[content_id][1]

    def consumed(self, device_id: DeviceId) -> Amounts | None:
        """What of the device's capacity is taken by those who share it; None: nobody does, or takes any."""
        total: Amounts = {}
        for share in self.shares.get(device_id, ()):
            for name, amount in share.consumed.items():
                total[name] = total.get(name, 0) + amount
        return total or None

    def is_allocated(self, device_id: DeviceId) -> bool:
        return device_id in self.holders or device_id in self.shares

    # ---------------------------------------------------------------- what selectors say

    def answer(self, expression: str, content_id: int) -> bool | SelectorFailure:
        """Whether a device of that content is meant, or why the expression fails on it."""
        if len(self._answers) >= ANSWERS_MAX or len(self._by_values) >= ANSWERS_MAX:
            self._answers.clear()
            self._by_values.clear()
        answers = self._answers.setdefault(expression, [])
        while len(answers) <= content_id:
            answers.append(self._ask(expression, *self._samples[len(answers)]))
        return answers[content_id]

    def _ask(self, expression: str, driver: str, device: Device) -> bool | SelectorFailure:
        """Devices that differ only in what the expression does not look at get the same answer."""
        try:
            selector = compile_device_selector(expression, self._dialect)
        except DeviceSelectorError as problem:
            return SelectorFailure(f"CEL compile error: {problem}")
        key = (expression, selector.values_of(driver, device))
        if key[1] is None:
            return self._evaluate(selector, driver, device)
        answer = self._by_values.get(key)
        if answer is None:
            answer = self._by_values[key] = self._evaluate(selector, driver, device)
        return answer

    def _evaluate(self, selector: CompiledDeviceSelector, driver: str, device: Device) -> bool | SelectorFailure:
        try:
            return selector.matches(variables_of(driver, device, self._dialect))
        except DeviceSelectorError as problem:
            # As upstream, which goes by the words.
            return SelectorFailure(f"CEL runtime error: {problem}", ran=True, lacks_key="no such key:" in str(problem))

    def outcomes(self, expressions: tuple[str, ...]) -> NDArray[np.int8]:
        """(contents,) MATCHES where all expressions do; the first that does not, or fails, decides."""
        key = ("outcomes", expressions)
        known: NDArray[np.int8] | None = self.remembered.get(key)
        if known is not None and len(known) == self.content_count:
            return known
        found = np.full(self.content_count, MATCHES, dtype=np.int8)
        for expression in expressions:
            for content_id in np.flatnonzero(found == MATCHES).tolist():
                answer = self.answer(expression, content_id)
                if answer is not True:
                    found[content_id] = FAILS if isinstance(answer, SelectorFailure) else MATCHES_NOT
        self.remember(key, found)
        return found

    # ---------------------------------------------------------------- extended resources

    def class_of_resource(self, resource_name: str) -> DeviceClass | None:
        """The class that stands for an extended resource: of several the newest, then the one named first."""
        if not self.gates.dra_extended_resource:
            return None
        if self._extended is None:
            self._extended = {}
            for device_class in self.classes.values():
                explicit = device_class.spec.extended_resource_name
                if explicit is not None:
                    known = self._extended.get(explicit)
                    if known is not None and not _comes_before(device_class, known):
                        continue  # as upstream, which then forgets the name that every class has of itself
                    self._extended[explicit] = device_class
                self._extended[DEVICE_CLASS_PREFIX + device_class.metadata.name] = device_class
        return self._extended.get(resource_name)


class SliceIndex:
    """Slices by where they are to be looked for."""

    def __init__(self, inventory: Inventory) -> None:
        self.on_node: dict[str, list[ResourceSlice]] = {}
        self.shared: list[ResourceSlice] = []
        self.by_pool: dict[PoolId, list[ResourceSlice]] = {}
        for resource_slice in inventory.slices.values():
            spec = resource_slice.spec
            if spec.node_name and not spec.shared_counters:
                self.on_node.setdefault(spec.node_name, []).append(resource_slice)
            else:
                self.shared.append(resource_slice)
            self.by_pool.setdefault(pool_id_of(resource_slice), []).append(resource_slice)


def slice_index(inventory: Inventory) -> SliceIndex:
    index: SliceIndex | None = inventory.remembered.get("slices")
    if index is None:
        index = inventory.remembered["slices"] = SliceIndex(inventory)
    return index


def pool_id_of(resource_slice: ResourceSlice) -> PoolId:
    return PoolId(resource_slice.spec.driver, resource_slice.spec.pool.name)


def _is_ruled(rule: DeviceTaintRule, spec: ResourceSliceSpec, device: Device) -> bool:
    """Upstream takes a rule without a selector for one about every device, whatever its API says."""
    selector = rule.spec.device_selector
    return selector is None or selector.selects(spec.driver, spec.pool.name, device.name)


def _comes_before(one: DeviceClass, other: DeviceClass) -> bool:
    mine, others = _created(one), _created(other)
    return mine > others or (mine == others and one.metadata.name < other.metadata.name)


def _created(device_class: DeviceClass) -> int:
    created = device_class.metadata.creation_timestamp
    return parse_time(created) if created is not None else 0


def _device_id(result: DeviceRequestAllocationResult) -> DeviceId:
    return DeviceId(result.driver, result.pool, result.device)


def _key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"
