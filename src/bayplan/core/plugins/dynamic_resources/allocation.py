"""Which devices of one node a pod's claims would get: an exhaustive search that takes the first solution.

Claims are served one after another, requests of a claim in their order, devices in the order of pools, slices and
slices' lists; within a request devices are taken in ascending order only, as the order makes no difference there. The
answer is therefore upstream's to the device. What cannot be tried at all is an `AllocationError`, and ends the attempt;
a search that takes too long is one as well. Upstream: structured/internal/incubating/allocator_incubating.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayplan.core.columns.devices import Amounts, DeviceEntry, DeviceId, Inventory, PoolId, SelectorFailure
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.plugins.device_pools import DevicePool, PoolError, node_matches, pools_of_node
from bayplan.core.plugins.dynamic_resources.capacity import CapacityError, consumption, has_capacity
from bayplan.core.plugins.dynamic_resources.constraints import Constraint, constraint_of
from bayplan.core.plugins.dynamic_resources.requests import ClaimPlan, Plan, RequestPlan, expressions_of
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import ALL_DEVICES, EXACT_COUNT, DeviceTaint, DeviceToleration

RESULTS_MAX = 32
#: Upstream stops by the clock, after ten seconds; here work is counted instead.
STEPS_MAX = 1_000_000
HINT_AT_KEYS = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)
HINDERING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


class AllocationError(Exception):
    """Something is wrong with a claim or a class; where `claim` is given the text goes on after that claim's name."""

    def __init__(self, text: str, claim: int | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.claim = claim

    def message(self, plan: Plan) -> str:
        return self.text if self.claim is None else f"claim {plan.claims[self.claim].label}{self.text}"


class _TooManyError(Exception):
    """The claim would get more devices than a claim may have."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """One device for one request."""

    request: RequestPlan
    entry: DeviceEntry
    consumed: Amounts | None  # of a device that is shared


@dataclass(slots=True)
class Allocation:
    """A solution: the devices of each claim, and for each list of alternatives the one that was taken."""

    devices: list[list[Chosen]]
    selected: dict[tuple[int, int], int]  # (claim, request) -> alternative


@dataclass(slots=True, eq=False)
class _Task:
    """A request with what was found out about it for this node."""

    claim: int
    request: RequestPlan
    count: int
    is_all: bool
    all_devices: list[tuple[DeviceEntry, DevicePool]]
    class_selectors: tuple[str | None, ...]
    selectable: dict[DeviceId, bool]


class Search:
    """One search on one node."""

    def __init__(self, inventory: Inventory, nodes: NodeTable, row: int, plan: Plan) -> None:
        self._inventory = inventory
        self._gates = inventory.gates
        self._release = inventory.gates.release
        self._nodes = nodes
        self._row = row
        self._plan = plan
        self._pools: list[DevicePool] = []
        self._places: list[tuple[DeviceEntry, DevicePool]] = []
        self._tasks: list[list[list[_Task]]] = []  # by claim, request and alternative
        self._constraints: list[list[Constraint]] = []
        self._allocating: dict[DeviceId, set[int]] = {}
        self._taking: dict[DeviceId, list[Amounts]] = {}  # shares of this very attempt
        self._available: dict[PoolId, dict[str, Amounts]] = {}
        self._using: dict[PoolId, dict[str, Amounts]] = {}
        self._results: list[list[Chosen]] = [[] for _ in plan.claims]
        self._selected: dict[tuple[int, int], int] = {}
        self._steps = 0

    def run(self) -> Allocation | None:
        """The first solution; None when there is none. Raises AllocationError."""
        try:
            self._pools = pools_of_node(self._inventory, self._nodes, self._row)
        except PoolError as problem:
            raise AllocationError(str(problem)) from problem
        self._places = [
            (entry, pool)
            for pool in self._pools
            if not pool.is_incomplete and not pool.is_invalid
            for entry in pool.entries
        ]
        for position, claim in enumerate(self._plan.claims):
            self._prepare(position, claim)
        try:
            found = self._from_claim(0)
        except _TooManyError:
            raise AllocationError("allocation max size exceeded") from None
        return Allocation(self._results, self._selected) if found else None

    @property
    def saw_invalid_pool(self) -> bool:
        return any(pool.is_invalid for pool in self._pools)

    # ---------------------------------------------------------------- before the search

    def _prepare(self, position: int, claim: ClaimPlan) -> None:
        tasks, least = [], 0
        for alternatives in claim.requests:
            self._check_gates(position, alternatives)
            prepared = [self._task(position, request) for request in alternatives]
            tasks.append(prepared)
            least += min(task.count for task in prepared)
        if least > RESULTS_MAX:
            text = f": number of requested devices {least} exceeds the claim limit of {RESULTS_MAX}"
            raise AllocationError(text, position)
        self._tasks.append(tasks)
        constraints = []
        for place, written in enumerate(claim.constraints):
            constraint = constraint_of(written, self._release, knows_distinct=not self._gates.allocates_as_before)
            if constraint is None:
                text = f", constraint #{place}: empty constraint (unsupported constraint type?)"
                raise AllocationError(text, position)
            constraints.append(constraint)
        self._constraints.append(constraints)

    def _check_gates(self, position: int, alternatives: tuple[RequestPlan, ...]) -> None:
        """Raises AllocationError for what belongs to a feature that is off."""
        if self._gates.dra_consumable_capacity or self._gates.allocates_as_before:
            return
        for request in alternatives:
            if request.capacity is not None:
                kind = "subrequest" if request.parent else "request"
                what = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
                raise AllocationError(f", {kind} {request.name}: {what}", position)

    def _task(self, position: int, request: RequestPlan) -> _Task:
        for place, expression in enumerate(request.selectors):
            if expression is None:
                what = "CEL expression empty (unsupported selector type?)"
                raise AllocationError(f", request {request.name}, selector #{place}: {what}", position)
        if not request.class_name:
            what = "missing device class name (unsupported request type?)"
            raise AllocationError(f", request {request.name}: {what}", position)
        device_class = self._inventory.classes.get(request.class_name)
        if device_class is None:
            missing = f'deviceclass.resource.k8s.io "{request.class_name}" not found'
            what = f"could not retrieve device class {request.class_name}: {missing}"
            raise AllocationError(f", request {request.name}: {what}", position)
        is_all = request.mode == ALL_DEVICES
        if not is_all and request.mode != EXACT_COUNT:
            raise AllocationError(f", request {request.name}: unsupported count mode {request.mode}", position)
        selectors = expressions_of(device_class.spec.selectors)
        task = _Task(position, request, request.count, is_all, [], selectors, {})
        if is_all:
            task.all_devices = self._all_devices(task)
            task.count = len(task.all_devices)
        return task

    def _all_devices(self, task: _Task) -> list[tuple[DeviceEntry, DevicePool]]:
        found: list[tuple[DeviceEntry, DevicePool]] = []
        for pool in self._pools:
            if pool.is_incomplete or pool.is_invalid:
                state = "being updated" if pool.is_incomplete else "invalid"
                what = f"asks for all devices, but resource pool {pool.id} is currently {state}"
                raise AllocationError(f", request {task.request.name}: {what}", task.claim)
            found += [
                (entry, pool)
                for entry in pool.entries
                if self._is_selectable(task, entry) and self._may_be_of_all(task, entry)
            ]
        return found

    def _may_be_of_all(self, task: _Task, entry: DeviceEntry) -> bool:
        """Whether the device has what is asked for: by itself, or up to v1.36 beside what others take of it now."""
        if not self._release.all_means_all_with_room:
            return self._has_capacity(task, entry)
        asked, offered = task.request.capacity, entry.device.capacity
        if not self._gates.dra_consumable_capacity or (not offered and not asked):
            return True
        return self._compare(task, entry.id.device, lambda: has_capacity(asked, offered, None, None, self._gates))

    # ---------------------------------------------------------------- the search

    def _from_claim(self, claim: int) -> bool:
        return claim == len(self._tasks) or self._from_request(claim, 0)

    def _from_request(self, claim: int, request: int) -> bool:
        if request == len(self._tasks[claim]):
            try:
                return self._from_claim(claim + 1)
            except _TooManyError:
                return False  # an earlier claim with fewer devices may leave room for other alternatives
        alternatives = self._tasks[claim][request]
        if not alternatives[0].request.parent:
            return self._from_device(claim, request, alternatives[0], 0, 0)
        always_too_many = True
        for position, task in enumerate(alternatives):
            try:
                found = self._from_device(claim, request, task, 0, 0)
            except _TooManyError:
                continue
            always_too_many = False
            if found:
                self._selected[claim, request] = position
                return True
        if always_too_many:
            raise _TooManyError
        return False

    def _from_device(self, claim: int, request: int, task: _Task, device: int, start: int) -> bool:
        """From the device-th device of the request on; candidates before `start` have had their turn."""
        self._steps += 1
        if self._steps > STEPS_MAX:
            raise AllocationError(f"node {self._nodes.names[self._row]}: timed out trying to allocate devices")
        if task.is_all and not task.all_devices:
            return False
        if device >= task.count:
            return self._from_request(claim, request + 1)
        if len(self._results[claim]) + task.count - device > RESULTS_MAX:
            raise _TooManyError
        if task.is_all:
            entry, pool = task.all_devices[device]
            return self._try(task, entry, pool, lambda: self._from_device(claim, request, task, device + 1, 0))
        for place in range(start, len(self._places)):
            entry, pool = self._places[place]
            if (
                self._is_candidate(task, entry)
                and self._is_selectable(task, entry)
                and self._has_capacity(task, entry)
                and self._try(task, entry, pool, self._next_device(claim, request, task, device, place))
            ):
                return True
        return False

    def _next_device(self, claim: int, request: int, task: _Task, device: int, place: int) -> Callable[[], bool]:
        return lambda: self._from_device(claim, request, task, device + 1, place + 1)

    def _try(self, task: _Task, entry: DeviceEntry, pool: DevicePool, go_on: Callable[[], bool]) -> bool:
        """Take the device and see whether the rest works out; give it back if not."""
        undo = self._take(task, entry, pool)
        if undo is None:
            return False
        found = False
        try:
            found = go_on()
        finally:
            if not found:
                for step in reversed(undo):
                    step()
        return found

    # ---------------------------------------------------------------- one device

    def _is_candidate(self, task: _Task, entry: DeviceEntry) -> bool:
        if task.request.is_admin:
            return task.claim not in self._allocating.get(entry.id, ())
        return not self._is_in_use(entry.id)

    def _is_in_use(self, device_id: DeviceId) -> bool:
        return device_id in self._inventory.holders or bool(self._allocating.get(device_id))

    def _is_selectable(self, task: _Task, entry: DeviceEntry) -> bool:
        known = task.selectable.get(entry.id)
        if known is None:
            known = task.selectable[entry.id] = self._select(task, entry)
        return known

    def _select(self, task: _Task, entry: DeviceEntry) -> bool:
        if entry.device.binding_conditions and not self._gates.binds_devices_by_conditions:
            return False
        for place, expression in enumerate(task.class_selectors):
            assert expression is not None
            answer = self._inventory.answer(expression, entry.content_id)
            if isinstance(answer, SelectorFailure):
                raise AllocationError(f"class {task.request.class_name}: {self._failed(place, entry, answer)}")
            if not answer:
                return False
        for place, expression in enumerate(task.request.selectors):
            assert expression is not None
            answer = self._inventory.answer(expression, entry.content_id)
            if isinstance(answer, SelectorFailure):
                raise AllocationError(f": {self._failed(place, entry, answer)}", task.claim)
            if not answer:
                return False
        if not entry.slice.spec.per_device_node_selection:
            return True
        try:
            return node_matches(entry.device, self._nodes, self._row)
        except PoolError as problem:
            raise AllocationError(str(problem)) from problem

    def _failed(self, place: int, entry: DeviceEntry, failure: SelectorFailure) -> str:
        if not failure.ran or not self._release.names_device_in_errors:
            return f"selector #{place}: {failure.text}"
        return f"selector #{place} on device {entry.id}: {failure.text}{HINT_AT_KEYS if failure.lacks_key else ''}"

    def _has_capacity(self, task: _Task, entry: DeviceEntry) -> bool:
        asked, offered = task.request.capacity, entry.device.capacity
        if not self._gates.dra_consumable_capacity or (not offered and not asked):
            return True
        taken, taking = self._inventory.consumed(entry.id), _sum(self._taking.get(entry.id, ()))
        return self._compare(task, str(entry.id), lambda: has_capacity(asked, offered, taken, taking, self._gates))

    def _compare(self, task: _Task, device: str, compare: Callable[[], bool]) -> bool:
        try:
            return compare()
        except CapacityError as problem:
            text = f", request {task.request.name}: checking capacity for device {device}: {problem}"
            raise AllocationError(text, task.claim) from problem

    def _take(self, task: _Task, entry: DeviceEntry, pool: DevicePool) -> list[Callable[[], None]] | None:
        """Mark the device as taken: what undoes it, or None when it cannot be had."""
        undo: list[Callable[[], None]] = []
        if self._reserve(task, entry, pool, undo):
            return undo
        for step in reversed(undo):
            step()
        return None

    def _reserve(self, task: _Task, entry: DeviceEntry, pool: DevicePool, undo: list[Callable[[], None]]) -> bool:
        request, claim, device_id = task.request, task.claim, entry.id
        is_shared = bool(entry.device.allow_multiple_allocations)
        if request.is_admin:
            if not is_shared and claim in self._allocating.get(device_id, ()):
                return False
        elif self._is_in_use(device_id):
            return False
        if entry.device.consumes_counters and not self._gates.dra_partitionable_devices:
            return False
        counts_already = is_shared and (device_id in self._taking or self._is_shared_now(device_id))
        if entry.device.consumes_counters and not counts_already:
            self._use_counters(entry, pool, +1)
            undo.append(lambda: self._use_counters(entry, pool, -1))
            if not self._counters_suffice(pool):
                return False
        if hindered_by(entry.device.taints, request.tolerations):
            return False
        if not self._meets_constraints(task, entry, undo):
            return False
        if not is_shared:
            claims = self._allocating.setdefault(device_id, set())
            claims.add(claim)
            undo.append(lambda: claims.discard(claim))
        if not self._has_capacity(task, entry):
            return False
        consumed = consumption(request.capacity, entry.device.capacity, self._gates) if is_shared else None
        if consumed is not None:
            self._taking.setdefault(device_id, []).append(consumed)
            undo.append(lambda: self._give_back(device_id))
        results = self._results[claim]
        results.append(Chosen(request, entry, consumed))
        undo.append(lambda: results.__delitem__(-1))
        return True

    def _is_shared_now(self, device_id: DeviceId) -> bool:
        """Whether somebody has a share of the device, so that its counters are in use."""
        if self._release.counts_shares_without_capacity:
            return device_id in self._inventory.shares
        return self._inventory.consumed(device_id) is not None

    def _give_back(self, device_id: DeviceId) -> None:
        self._taking[device_id].pop()
        if not self._taking[device_id]:
            del self._taking[device_id]

    def _meets_constraints(self, task: _Task, entry: DeviceEntry, undo: list[Callable[[], None]]) -> bool:
        request = task.request
        for constraint in self._constraints[task.claim]:
            if not constraint.add(request, entry):
                if task.is_all:
                    what = f"cannot add device {entry.id} because a claim constraint would not be satisfied"
                    raise AllocationError(f", request {request.name}: {what}", task.claim)
                return False
            undo.append(lambda constraint=constraint: constraint.remove(request))  # type: ignore[misc]
        return True

    # ---------------------------------------------------------------- counters that devices of a pool share

    def _use_counters(self, entry: DeviceEntry, pool: DevicePool, sign: int) -> None:
        using = self._using.setdefault(pool.id, {})
        for consumption_of_set in entry.device.consumes_counters:
            amounts = using.setdefault(consumption_of_set.counter_set, {})
            for name, counter in consumption_of_set.counters.items():
                amounts[name] = amounts.get(name, 0) + sign * parse_quantity(counter.value)

    def _counters_suffice(self, pool: DevicePool) -> bool:
        available = self._available.get(pool.id)
        if available is None:
            available = self._available[pool.id] = counters_left(pool, self._inventory)
        using = self._using[pool.id]
        return all(
            amount >= using.get(set_name, {}).get(name, 0)
            for set_name, amounts in available.items()
            for name, amount in amounts.items()
        )


def counters_left(pool: DevicePool, inventory: Inventory) -> dict[str, Amounts]:
    """What the pool's devices that are in use leave of the counters that its devices share."""
    available = {name: dict(amounts) for name, amounts in pool.counter_sets.items()}
    for entry in (*pool.entries, *pool.elsewhere):
        if inventory.is_allocated(entry.id):
            for consumed in entry.device.consumes_counters:
                amounts = available[consumed.counter_set]
                for name, counter in consumed.counters.items():
                    amounts[name] -= parse_quantity(counter.value)
    return available


def hindered_by(taints: list[DeviceTaint], tolerations: tuple[DeviceToleration, ...]) -> bool:
    """Whether a taint keeps a request with these tolerations away. Other effects keep nobody away."""
    return any(
        taint.effect in HINDERING_EFFECTS and not any(tolerates_taint(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def tolerates_taint(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or (toleration.operator in ("", "Equal") and toleration.value == taint.value)


def _sum(shares: list[Amounts] | tuple[()]) -> Amounts | None:
    total: Amounts = {}
    for share in shares:
        for name, amount in share.items():
            total[name] = total.get(name, 0) + amount
    return total or None
