"""The search for devices against one that tries every assignment, and counting against the search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.caches import cache_of
from tests.support.devices import DRIVER, asks, asks_first_of, claim_of, device, device_class, held, slice_of

from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS
from bayplan.core.plugins.dynamic_resources.allocation import Search
from bayplan.core.plugins.dynamic_resources.counting import count_nodes
from bayplan.core.plugins.dynamic_resources.findings import FITS, findings_of, score_of
from bayplan.core.plugins.dynamic_resources.requests import plan_of
from bayplan.model.kinds import Object
from bayplan.model.quantity import parse_quantity
from bayplan.model.resource_claims import (
    ALL_DEVICES,
    EXACT_COUNT,
    CapacityRequestPolicy,
    Counter,
    CounterSet,
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourcePool,
    ResourceSlice,
)
from bayplan.testing.builders import node

NODE = "n0"
MODELS = ("a", "b")
NUMA = f"{DRIVER}/numa"
SELECTORS = tuple(f'device.attributes["{DRIVER}"].model == "{model}"' for model in MODELS)
TAINT = DeviceTaint(key="broken", effect="NoSchedule")
TOLERATION = DeviceToleration(key="broken", operator="Exists")

# ---------------------------------------------------------------- what is drawn


@st.composite
def devices(draw: st.DrawFn, prefix: str = "d") -> list[Device]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        made = device(
            f"{prefix}{number}",
            model=draw(st.sampled_from(MODELS)),
            taints=[TAINT] if draw(st.integers(0, 4)) == 0 else [],
        )
        if draw(st.integers(0, 4)):
            made.attributes["numa"] = device("x", numa=draw(st.integers(0, 1))).attributes["numa"]
        found.append(made)
    return found


#: Amounts that a device with a policy gives, of which the first is given to those who do not ask for any.
GIVEN = (1, 3)


def share(made: Device, *, policy: bool) -> Device:
    made.allow_multiple_allocations = True
    values = [str(amount) for amount in GIVEN]
    rule = CapacityRequestPolicy(default=values[0], valid_values=list(values)) if policy else None
    made.capacity = {"memory": DeviceCapacity(value="4", request_policy=rule)}
    return made


def partition(made: Device, amount: int) -> Device:
    made.consumes_counters = [DeviceCounterConsumption(counter_set="cores", counters={"cores": Counter(value=amount)})]
    return made


@st.composite
def plain_requests(draw: st.DrawFn, name: str) -> DeviceRequest:
    chosen = draw(st.sampled_from([(), SELECTORS[:1], SELECTORS[1:]]))
    tolerations = [TOLERATION] if draw(st.booleans()) else []
    return asks(name, *chosen, count=draw(st.integers(1, 2)), tolerations=tolerations)


@st.composite
def requests(draw: st.DrawFn, name: str, *, simple: bool = False, theme: str = "") -> DeviceRequest:
    kind = draw(st.integers(0, 2 if simple else 6) if theme != "capacity" else st.sampled_from([0, 5, 5]))
    if kind == 2:
        return asks_first_of(name, draw(plain_requests("first")), draw(plain_requests("second")))
    made = draw(plain_requests(name))
    assert made.exactly is not None
    if kind == 3:
        made.exactly.allocation_mode, made.exactly.count = ALL_DEVICES, 0
    elif kind == 4:
        made.exactly.admin_access = True
    elif kind == 5:
        made.exactly.capacity = asks("x", capacity={"memory": draw(st.integers(1, 3))}).exactly.capacity  # type: ignore[union-attr]
    return made


@st.composite
def claims(draw: st.DrawFn, *, simple: bool = False, theme: str = "") -> list[ResourceClaim]:
    made = []
    for number in range(draw(st.integers(1, 2))):
        count = draw(st.integers(1, 2)) if theme != "distinct" else 2
        wanted = [draw(requests(f"r{place}", simple=simple, theme=theme)) for place in range(count)]
        constraints = []
        kind = "none" if simple else draw(st.sampled_from(["none", "none", "match", "distinct"]))
        names = draw(st.sampled_from([[], ["r0", "r1"], ["r0"]]))
        if theme == "match" or (kind == "match" and theme != "distinct"):
            constraints.append(DeviceConstraint(match_attribute=NUMA, requests=names))
        elif "distinct" in (kind, theme):
            constraints.append(DeviceConstraint(distinct_attribute=NUMA, requests=names))
            wanted = [single(request) for request in wanted]
        made.append(claim_of(f"c{number}", *wanted, constraints=constraints))
    return made


def single(request: DeviceRequest) -> DeviceRequest:
    """The request for one device: upstream remembers only one value for each request, and forgets it too easily."""
    for asked in (request.exactly, *request.first_available):
        if asked is not None:
            asked.allocation_mode, asked.count = EXACT_COUNT, 1
    return request


@st.composite
def one_node(draw: st.DrawFn, theme: str) -> tuple[list[Device], list[Object]]:
    """The devices of a node with a pool of its own, and all objects."""
    found = draw(devices())
    slices: list[ResourceSlice] = []
    for made in found:
        if draw(st.integers(0, 3)) == 0 or theme == "capacity":
            share(made, policy=draw(st.booleans()))
        if draw(st.integers(0, 2)) == 0 or theme == "counters":
            partition(made, draw(st.integers(1, 3)))
    pool = ResourcePool(name=NODE, generation=1, resource_slice_count=2)
    counters = [CounterSet(name="cores", counters={"cores": Counter(value=draw(st.integers(1, 5)))})]
    slices.append(slice_of(NODE, *found))
    slices[0].spec.pool = pool
    slices.append(slice_of(NODE, name="counters", shared_counters=counters))
    slices[1].spec.pool = pool
    taken = [made.name for made in found if not made.allow_multiple_allocations and draw(st.integers(0, 3)) == 0]
    others: list[Object] = [held(claim_of("others", asks("r")), NODE, *taken)] if taken else []
    shared = {
        made.name: draw(st.integers(1, 4))
        for made in found
        if made.allow_multiple_allocations and draw(st.integers(0, 2)) == 0
    }
    others += [sharing(NODE, name, amount) for name, amount in shared.items()]
    return found, [node(NODE).obj(), device_class(), *slices, *others]


def sharing(pool: str, name: str, amount: int) -> ResourceClaim:
    """A claim of somebody who has so much of a shared device's memory."""
    claim = held(claim_of(f"sharing-{name}", asks("r")), pool, name)
    assert claim.status.allocation is not None
    (result,) = claim.status.allocation.devices.results
    result.share_id, result.consumed_capacity = f"share-{name}", {"memory": amount}
    return claim


# ---------------------------------------------------------------- the slow way


class Taken(NamedTuple):
    """What others hold."""

    names: set[str]  # of whole devices
    memory: dict[str, int]  # of shared devices
    cores: int


class Part(NamedTuple):
    """Some devices for one request."""

    claim: int
    request: str  # as an allocation names it
    asked: ExactDeviceRequest | DeviceSubRequest
    devices: tuple[Device, ...]


def options(claim: int, request: DeviceRequest, suited: Sequence[Device], others: Taken) -> Iterator[Part]:
    """All ways to serve a request alone, in the order in which they are to be tried."""
    alternatives: list[tuple[str, ExactDeviceRequest | DeviceSubRequest]] = (
        [(request.name, request.exactly)]
        if request.exactly is not None
        else [(f"{request.name}/{sub.name}", sub) for sub in request.first_available]
    )
    for name, asked in alternatives:
        fitting = [made for made in suited if _is_selected(made, asked)]
        if asked.allocation_mode == ALL_DEVICES:
            # A device without room for the request is not one of "all".
            usable = [made for made in fitting if _has_room(asked, made, others)]
            if usable:
                yield Part(claim, name, asked, tuple(usable))
        else:
            for chosen in combinations(fitting, asked.count):
                yield Part(claim, name, asked, chosen)


def _is_selected(made: Device, asked: ExactDeviceRequest | DeviceSubRequest) -> bool:
    model = made.attributes["model"].string_value
    return all(f'"{model}"' in selector.cel.expression for selector in asked.selectors if selector.cel is not None)


def _has_room(asked: ExactDeviceRequest | DeviceSubRequest, made: Device, others: Taken) -> bool:
    amount, held_by_others = _asked_memory(asked, made), others.memory.get(made.name, 0)
    if amount is None:
        return False
    return not held_by_others or amount + held_by_others <= parse_quantity(made.capacity["memory"].value)


def _asked_memory(asked: ExactDeviceRequest | DeviceSubRequest, made: Device) -> int | None:
    """What the request takes of the device's memory; None when it cannot be had from this device at all."""
    wanted = asked.capacity.requests["memory"] if asked.capacity is not None else None
    if "memory" not in made.capacity:
        return None if wanted is not None else 0
    offered = parse_quantity(made.capacity["memory"].value)
    if made.capacity["memory"].request_policy is not None:
        fitting = [parse_quantity(given) for given in GIVEN if wanted is None or given >= int(wanted)]
        return fitting[0] if fitting else None
    amount = offered if wanted is None else parse_quantity(wanted)
    return amount if amount <= offered else None


def is_valid(parts: Sequence[Part], others: Taken, cores: int, wanted: Sequence[ResourceClaim]) -> bool:
    taken: dict[str, list[Part]] = {}
    memory = dict(others.memory)
    used_cores = others.cores
    for part in parts:
        is_admin = isinstance(part.asked, ExactDeviceRequest) and bool(part.asked.admin_access)
        for made in part.devices:
            before = taken.setdefault(made.name, [])
            is_shared = bool(made.allow_multiple_allocations)
            if not is_admin and made.name in others.names:
                return False
            if not is_shared and before and not is_admin:
                return False
            if not is_shared and is_admin and any(other.claim == part.claim for other in before):
                return False
            if made.taints and not part.asked.tolerations:
                return False
            amount = _asked_memory(part.asked, made)
            if amount is None:
                return False
            if not (is_shared and (before or made.name in others.memory)):
                used_cores += _cores(made)
            if is_shared:
                memory[made.name] = memory.get(made.name, 0) + amount
                if memory[made.name] > parse_quantity(made.capacity["memory"].value):
                    return False
            before.append(part)
    # Counters are looked at only for devices that have some: others may be had though the counters are overdrawn.
    return used_cores <= max(cores, others.cores) and all(
        _keeps_constraints(parts, *each) for each in enumerate(wanted)
    )


def _cores(made: Device) -> int:
    return sum(int(consumed.counters["cores"].value) for consumed in made.consumes_counters)


def _keeps_constraints(parts: Sequence[Part], place: int, claim: ResourceClaim) -> bool:
    for constraint in claim.spec.devices.constraints:
        values = [
            made.attributes["numa"].int_value if "numa" in made.attributes else None
            for part in parts
            if part.claim == place and (not constraint.requests or part.request.split("/")[0] in constraint.requests)
            for made in part.devices
        ]
        if None in values:
            return False
        if len(set(values)) > 1 if constraint.match_attribute else len(set(values)) < len(values):
            return False
    return True


def first_assignment(
    found: Sequence[Device], wanted: Sequence[ResourceClaim], others: Taken, cores: int
) -> list[list[tuple[str, str]]] | None:
    choices = [
        list(options(place, request, found, others))
        for place, claim in enumerate(wanted)
        for request in claim.spec.devices.requests
    ]
    for parts in product(*choices):
        if is_valid(parts, others, cores, wanted):
            return [
                [(part.request, made.name) for part in parts if part.claim == place for made in part.devices]
                for place in range(len(wanted))
            ]
    return None


def taken_by_others(found: Sequence[Device], objects: Sequence[Object]) -> Taken:
    names: set[str] = set()
    memory: dict[str, int] = {}
    for claim in objects:
        allocation = claim.status.allocation if isinstance(claim, ResourceClaim) else None
        for result in allocation.devices.results if allocation is not None else ():
            if result.share_id is None:
                names.add(result.device)
            else:
                memory[result.device] = parse_quantity(result.consumed_capacity["memory"])
    return Taken(names, memory, sum(_cores(made) for made in found if made.name in names | memory.keys()))


# ---------------------------------------------------------------- the comparison


def _search(cache: Cache, wanted: Sequence[ResourceClaim], row: int = 0) -> Search:
    view = cache.view()
    return Search(view.objects.devices, view.nodes, row, plan_of(wanted))


@pytest.mark.parametrize("theme", ["anything", "match", "distinct", "capacity", "counters"])
@given(st.data())
def test_the_first_of_all_assignments_is_found(theme: str, data: st.DataObject) -> None:
    """Of each theme, so that what is rare in a mixture is tried as well."""
    found, objects = data.draw(one_node(theme))
    wanted = data.draw(claims(theme=theme))
    cache = cache_of(*objects)
    counters = next(o for o in objects if isinstance(o, ResourceSlice) and o.spec.shared_counters)
    cores = int(counters.spec.shared_counters[0].counters["cores"].value)
    if _constraint_hinders_all(wanted):
        return
    allocation = _search(cache, wanted).run()
    got = None
    if allocation is not None:
        got = [[(chosen.request.full_name, chosen.entry.id.device) for chosen in part] for part in allocation.devices]
    assert got == first_assignment(found, wanted, taken_by_others(found, objects), cores)


def _constraint_hinders_all(wanted: Sequence[ResourceClaim]) -> bool:
    """All devices under a constraint that one of them breaks is an error and no answer; see the unit tests."""
    return any(
        claim.spec.devices.constraints
        and any(r.exactly is not None and r.exactly.allocation_mode == ALL_DEVICES for r in claim.spec.devices.requests)
        for claim in wanted
    )


@st.composite
def several_nodes(draw: st.DrawFn) -> list[Object]:
    """Nodes with devices of their own, and perhaps a pool that some of them share."""
    objects: list[Object] = [device_class()]
    names = [f"n{number}" for number in range(draw(st.integers(1, 4)))]
    for name in names:
        objects.append(node(name).label("rack", draw(st.sampled_from("xy"))).obj())
        own = draw(devices())
        objects.append(slice_of(name, *own))
        taken = [made.name for made in own if draw(st.integers(0, 2)) == 0]
        if taken:
            objects.append(held(claim_of(f"held-{name}", asks("r")), name, *taken))
    if draw(st.booleans()):
        shared = slice_of("", *draw(devices("s")), name="shared", pool="shared")
        shared.spec.all_nodes = True
        objects.append(shared)
    return objects


@given(several_nodes(), claims(simple=True))
def test_counting_says_what_a_search_would(objects: list[Object], wanted: list[ResourceClaim]) -> None:
    cache = cache_of(*objects)
    view = cache.view()
    inventory, plan = view.objects.devices, plan_of(wanted)
    counted = count_nodes(inventory, view.nodes, plan)
    assert counted is not None
    later = [r for claim in wanted for r in claim.spec.devices.requests][1:]
    assert (counted.decided | counted.fits).all()
    assert counted.decided.all() or any(request.first_available for request in later)
    for row in range(view.nodes.count):
        found = _search(cache, wanted, row).run()
        assert counted.fits[row] == (found is not None)
        if found is not None and counted.decided[row]:
            assert counted.scores[row] == score_of(found)


@given(several_nodes(), claims(), st.data())
def test_what_is_kept_equals_what_is_worked_out_anew(
    objects: list[Object], wanted: list[ResourceClaim], data: st.DataObject
) -> None:
    """Devices change hands between two looks."""
    cache = cache_of(*objects)
    view = cache.view()
    inventory, plan = view.objects.devices, plan_of(wanted)
    for turn in range(3):
        found = findings_of(inventory, view.nodes, plan)
        found.look(inventory, view.nodes, plan, ALL_ROWS)
        fresh = cache_of(*objects).view()
        anew = findings_of(fresh.objects.devices, fresh.nodes, plan)
        anew.look(fresh.objects.devices, fresh.nodes, plan, ALL_ROWS)
        assert (found.codes == anew.codes).all()
        assert (found.scores[found.codes == FITS] == anew.scores[anew.codes == FITS]).all()
        slices = [o for o in objects if isinstance(o, ResourceSlice) and o.spec.devices]
        if not slices:
            return
        of = data.draw(st.sampled_from(slices))
        taken = claim_of(f"turn-{turn}", asks("r"))
        held(taken, of.spec.pool.name, data.draw(st.sampled_from(of.spec.devices)).name)
        objects = [*objects, taken]
        cache.add(taken)
