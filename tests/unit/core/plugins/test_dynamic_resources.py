"""Which nodes can give a pod the devices it claims, and what is said where they cannot."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.caches import cache_of, prepared, raw_and_normal_scores, verdicts
from tests.support.devices import (
    DRIVER,
    asks,
    asks_first_of,
    claim_of,
    device,
    device_class,
    held,
    owned,
    slice_of,
    with_claims,
)

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.core.actions import DeallocateClaim, ReleaseClaim
from bayplan.core.cache import Cache
from bayplan.core.columns import ALL_ROWS
from bayplan.core.framework.contract import (
    PreScorePlugin,
    Ready,
    Skip,
)
from bayplan.core.framework.verdict import Code, CycleError, Status
from bayplan.core.plugins.dynamic_resources import DynamicResources
from bayplan.core.plugins.dynamic_resources.post_filter import deallocate
from bayplan.core.release import V1_36
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import Condition
from bayplan.model.pod import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodResourceClaim,
    PodResourceClaimStatus,
)
from bayplan.model.resource_claims import (
    ALL_DEVICES,
    AllocatedDeviceStatus,
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterSet,
    Device,
    DeviceCapacity,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
    ResourcePool,
    ResourceSlice,
)
from bayplan.testing.builders import node, pod

MINE = f'device.attributes["{DRIVER}"]'
CANNOT = "cannot allocate all claims"
ELSEWHERE = "resourceclaim not available on the node"
NUMA = DeviceConstraint(match_attribute=f"{DRIVER}/numa")


def user(*names: str) -> Pod:
    return with_claims(pod("p").obj(), *names)


def words(found: dict[str, Status]) -> dict[str, str]:
    return {name: status.message for name, status in found.items()}


def verdict(*objects: Object, asking: Pod | None = None) -> str:
    """What is said of the only node, n1: "" when it fits."""
    cache = cache_of(node("n1").obj(), device_class(), *objects)
    found = verdicts(DynamicResources(gates=DEFAULT_GATES), cache, asking or user("c"))
    return found["n1" if "n1" in found else "*"].message


def devices_of(cache: Cache, asking: Pod, on: str = "n1") -> dict[str, list[str]]:
    """The devices that each claim would get on the node, as request=device."""
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, asking)
    changed = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, view.nodes.rows_by_name[on])
    return {
        claim.metadata.name: [f"{r.request}={r.device}" for r in claim.status.allocation.devices.results]
        for claim in changed
        if claim.status.allocation is not None
    }


# ---------------------------------------------------------------- pods without claims


def test_a_pod_without_claims_is_skipped() -> None:
    """There is nothing to filter."""
    _, _, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache_of(node("n").obj()), pod("p").obj())
    assert isinstance(outcome, Skip)


def test_a_pod_without_claims_scores_nothing_but_scores() -> None:
    """It has no preparing step that could skip, so its zeros are part of every total."""
    plugin = DynamicResources(gates=DEFAULT_GATES)
    cache = cache_of(node("a").obj(), node("b").obj())
    assert not isinstance(plugin, PreScorePlugin)
    assert raw_and_normal_scores(plugin, cache, pod("p").obj()) == ({"a": 0, "b": 0}, {"a": 0, "b": 0})


def test_without_its_preparing_step_every_attempt_fails() -> None:
    """As upstream, which does not find its own state then."""
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache_of(node("a").obj()), pod("p").obj())
    with pytest.raises(CycleError, match="not found"):
        DynamicResources(gates=DEFAULT_GATES).filter(info, view, ALL_ROWS)


# ---------------------------------------------------------------- claims that will not do


def from_template(*told: PodResourceClaimStatus) -> Pod:
    made = pod("p").obj()
    made.spec.resource_claims = [PodResourceClaim(name="gpu", resource_claim_template_name="t")]
    made.status.resource_claim_statuses = list(told)
    return made


def nameless() -> Pod:
    made = pod("p").obj()
    made.spec.resource_claims = [PodResourceClaim(name="gpu")]
    return made


def going() -> ResourceClaim:
    made = claim_of("c", asks("r"))
    made.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"
    return made


TOLD = PodResourceClaimStatus(name="gpu", resource_claim_name="c")


@pytest.mark.parametrize(
    ("claim", "asking", "fault"),
    [
        (None, user("c"), 'could not find ResourceClaim "default/c"'),
        (going(), user("c"), 'resourceclaim "c" is being deleted'),
        (None, from_template(), 'pod "default/p": ResourceClaim not created yet'),
        (None, nameless(), 'pod "default/p", spec.resourceClaim "gpu": none of the supported fields are set'),
        (
            claim_of("c", asks("r")),
            from_template(TOLD),
            "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)",
        ),
    ],
)
def test_keeps_a_pod_out_whose_claims_cannot_be_used(claim: ResourceClaim | None, asking: Pod, fault: str) -> None:
    """Out of the queue, and out of an attempt that takes place all the same."""
    cache = cache_of(node("n1").obj(), device_class(), *([claim] if claim is not None else []))
    info, _, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache, asking)
    refused = DynamicResources(gates=DEFAULT_GATES).pre_enqueue(info)
    assert isinstance(outcome, Status)
    assert outcome.code is refused.code is Code.UNRESOLVABLE
    assert outcome.message == refused.message == fault


def test_a_claim_made_for_the_pod_is_used() -> None:
    made = from_template(TOLD)
    assert verdict(owned(claim_of("c", asks("r")), made), slice_of("n1", device("d")), asking=made) == ""


def test_a_claim_that_nobody_had_to_make_is_passed_over() -> None:
    made = from_template(PodResourceClaimStatus(name="gpu"))
    _, _, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache_of(node("n1").obj()), made)
    assert isinstance(outcome, Skip)


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        (asks("r", of="none"), "request r: device class none does not exist"),
        (asks_first_of("r", asks("s", of="none")), "request r/s: device class none does not exist"),
        (DeviceRequest(name="r"), "resource claim default/c, request r: unknown request type"),
    ],
)
def test_a_request_that_cannot_be_understood_rejects_the_pod(request_: DeviceRequest, fault: str) -> None:
    assert verdict(claim_of("c", request_), slice_of("n1", device("d"))) == fault


def test_a_claim_on_its_way_to_devices_is_waited_for() -> None:
    cache = cache_of(node("n1").obj(), device_class(), claim_of("c", asks("r")), slice_of("n1", device("d")))
    cache.objects.claims_in_flight.add(("default", "c"))
    found = verdicts(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    assert words(found) == {"*": "resource claim default/c is in the process of being allocated"}


# ---------------------------------------------------------------- what devices there are


def pool(count: int = 1, generation: int = 1, name: str = "n1") -> ResourcePool:
    return ResourcePool(name=name, generation=generation, resource_slice_count=count)


def selecting(key: str, value: str) -> NodeSelector:
    requirement = NodeSelectorRequirement(key=key, operator="In", values=[value])
    return NodeSelector(node_selector_terms=[NodeSelectorTerm(match_expressions=[requirement])])


WANTS_ONE = claim_of("c", asks("r"))


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        ([], CANNOT),
        ([slice_of("n1", device("d"))], ""),
        ([slice_of("n2", device("d"))], CANNOT),
        ([slice_of("", device("d"), all_nodes=True)], ""),
        ([slice_of("", device("d"), node_selector=selecting("kubernetes.io/hostname", "n1"))], ""),
        ([slice_of("", device("d"), node_selector=selecting("kubernetes.io/hostname", "n2"))], CANNOT),
        ([slice_of("", device("d"))], CANNOT),  # for nobody that is known
    ],
)
def test_a_node_sees_its_own_slices_and_those_for_all(slices: list[Object], said: str) -> None:
    assert verdict(WANTS_ONE, *slices) == said


@pytest.mark.parametrize("first", ["n1", "n2"])
def test_devices_may_differ_in_who_sees_them(first: str) -> None:
    one, other = device("d1"), device("d2")
    one.node_name, other.node_selector = first, selecting("kubernetes.io/hostname", "n2")
    made = slice_of("", one, other, per_device_node_selection=True)
    assert verdict(WANTS_ONE, made) == ("" if first == "n1" else CANNOT)


def sliced(*slices: tuple[str, ResourcePool, list[Device]]) -> list[Object]:
    made = []
    for name, of, devices in slices:
        one = slice_of("n1", *devices, name=name)
        one.spec.pool = of
        made.append(one)
    return list(made)


@pytest.mark.parametrize(
    ("slices", "said"),
    [
        (sliced(("a", pool(2), [device("d")])), CANNOT),
        (sliced(("a", pool(2), [device("d")]), ("b", pool(2), [])), ""),
        (sliced(("a", pool(1, 1), [device("d")]), ("b", pool(1, 2), [])), CANNOT),
        (sliced(("a", pool(1, 2), [device("d")]), ("b", pool(1, 1), [])), ""),
        (
            sliced(("a", pool(2), [device("d")]), ("b", pool(2), [device("d")])),
            "invalid resource pools were encountered",
        ),
    ],
    ids=["incomplete", "complete", "outdated", "newest", "the same name twice"],
)
def test_a_pool_counts_as_a_whole(slices: list[Object], said: str) -> None:
    assert verdict(WANTS_ONE, *slices) == said


@pytest.mark.parametrize(
    ("taint", "toleration", "said"),
    [
        (DeviceTaint(key="k", effect="NoSchedule"), None, CANNOT),
        (DeviceTaint(key="k", effect="NoExecute"), None, CANNOT),
        (DeviceTaint(key="k", effect="None"), None, ""),
        (DeviceTaint(key="k", effect="NoSchedule"), DeviceToleration(key="k", operator="Exists"), ""),
        (DeviceTaint(key="k", effect="NoSchedule"), DeviceToleration(operator="Exists"), ""),
        (DeviceTaint(key="k", value="v", effect="NoSchedule"), DeviceToleration(key="k", value="v"), ""),
        (DeviceTaint(key="k", value="v", effect="NoSchedule"), DeviceToleration(key="k", value="w"), CANNOT),
        (DeviceTaint(key="k", effect="NoSchedule"), DeviceToleration(key="j", operator="Exists"), CANNOT),
        (
            DeviceTaint(key="k", effect="NoSchedule"),
            DeviceToleration(key="k", operator="Exists", effect="NoExecute"),
            CANNOT,
        ),
    ],
)
def test_tainted_devices_are_for_those_who_tolerate_it(
    taint: DeviceTaint, toleration: DeviceToleration | None, said: str
) -> None:
    claim = claim_of("c", asks("r", tolerations=[toleration] if toleration else []))
    assert verdict(claim, slice_of("n1", device("d", taints=[taint]))) == said


# ---------------------------------------------------------------- which devices a claim gets

FOUR = slice_of(
    "n1",
    device("d0", model="a", numa=0),
    device("d1", model="b", numa=0),
    device("d2", model="a", numa=1),
    device("d3", model="b", numa=1),
)
A, B = f'{MINE}.model == "a"', f'{MINE}.model == "b"'


@pytest.mark.parametrize(
    ("claim", "got"),
    [
        (claim_of("c", asks("r")), ["r=d0"]),
        (claim_of("c", asks("r", count=2)), ["r=d0", "r=d1"]),
        (claim_of("c", asks("r", B)), ["r=d1"]),
        (claim_of("c", asks("r", B, f"{MINE}.numa == 1")), ["r=d3"]),
        (claim_of("c", asks("r"), asks("s", A)), ["r=d0", "s=d2"]),
        (claim_of("c", asks("r", A, count=2), asks("s", count=2)), ["r=d0", "r=d2", "s=d1", "s=d3"]),
        (claim_of("c", asks("r", count=4, mode=ALL_DEVICES)), ["r=d0", "r=d1", "r=d2", "r=d3"]),
        (claim_of("c", asks("r", B, mode=ALL_DEVICES), asks("s")), ["r=d1", "r=d3", "s=d0"]),
        (claim_of("c", asks("r", A), asks("s", B), constraints=[NUMA]), ["r=d0", "s=d1"]),
        (claim_of("c", asks("r", f"{MINE}.numa == 1"), asks("s"), constraints=[NUMA]), ["r=d2", "s=d3"]),
        (
            claim_of("c", asks("r"), asks("s"), constraints=[DeviceConstraint(distinct_attribute=f"{DRIVER}/numa")]),
            ["r=d0", "s=d2"],
        ),
        (
            claim_of(
                "c",
                asks("r"),
                asks("s"),
                asks("t"),
                constraints=[DeviceConstraint(requests=["r", "t"], match_attribute=f"{DRIVER}/model")],
            ),
            ["r=d0", "s=d1", "t=d2"],
        ),
        (claim_of("c", asks_first_of("r", asks("big", count=5), asks("small", B))), ["r/small=d1"]),
        (claim_of("c", asks_first_of("r", asks("big", count=3), asks("small"))), ["r/big=d0", "r/big=d1", "r/big=d2"]),
        (claim_of("c", asks_first_of("r", asks("x", A, count=2), asks("y")), asks("s", A)), ["r/y=d0", "s=d2"]),
    ],
)
def test_takes_the_first_devices_that_suit_everybody(claim: ResourceClaim, got: list[str]) -> None:
    cache = cache_of(node("n1").obj(), device_class(), FOUR, claim)
    assert devices_of(cache, user("c")) == {"c": got}


@pytest.mark.parametrize(
    "claim",
    [
        claim_of("c", asks("r", count=5)),
        claim_of("c", asks("r", A, count=3)),
        claim_of("c", asks("r", A, count=2), asks("s", A)),
        claim_of("c", asks("r", count=3), constraints=[NUMA]),
        claim_of("c", asks("r"), constraints=[DeviceConstraint(match_attribute="else.com/numa")]),
        claim_of("c", asks("r", f'{MINE}.model == "z"', mode=ALL_DEVICES)),
        claim_of("c", asks_first_of("r", asks("x", count=5), asks("y", count=6))),
        claim_of("c", asks("r", capacity={"memory": 1})),
    ],
)
def test_what_a_node_does_not_have_it_cannot_give(claim: ResourceClaim) -> None:
    assert verdict(claim, FOUR) == CANNOT


def test_claims_of_one_pod_do_not_share_devices() -> None:
    first, second = claim_of("c", asks("r", A)), claim_of("e", asks("r", A))
    cache = cache_of(node("n1").obj(), device_class(), FOUR, first, second)
    assert devices_of(cache, user("c", "e")) == {"c": ["r=d0"], "e": ["r=d2"]}
    third = claim_of("f", asks("r", A))
    cache.add(third)
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), cache, user("c", "e", "f"))) == {"n1": CANNOT}


def test_pools_are_tried_by_name_and_those_to_be_prepared_last() -> None:
    slow = device("d")
    slow.binding_conditions = ["Ready"]
    slices = [
        slice_of("n1", slow, name="x", pool="a"),
        slice_of("n1", device("d"), name="y", pool="c"),
        slice_of("n1", device("d"), name="z", pool="b"),
    ]
    cache = cache_of(node("n1").obj(), device_class(), *slices, claim_of("c", asks("r", count=3)))
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
    assert claim.status.allocation is not None
    results = claim.status.allocation.devices.results
    assert [result.pool for result in results] == ["b", "c", "a"]
    assert [result.binding_conditions for result in results] == [[], [], ["Ready"]]


def test_devices_that_others_hold_are_not_given_away() -> None:
    others = held(claim_of("others", asks("r")), "n1", "d0", "d1")
    cache = cache_of(node("n1").obj(), device_class(), FOUR, others, claim_of("c", asks("r", count=2)))
    assert devices_of(cache, user("c")) == {"c": ["r=d2", "r=d3"]}
    cache.objects.remove(others)
    assert devices_of(cache, user("c")) == {"c": ["r=d0", "r=d1"]}


def test_admin_access_looks_at_devices_in_use() -> None:
    others = held(claim_of("others", asks("r")), "n1", "d0", "d1", "d2", "d3")
    cache = cache_of(node("n1").obj(), device_class(), FOUR, others, claim_of("c", asks("r", count=2, admin=True)))
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
    cache.add(claim)
    assert claim.status.allocation is not None
    assert [r.admin_access for r in claim.status.allocation.devices.results] == [True, True]
    assert {name for names in cache.objects.devices.holders.values() for name in names} == {"default/others"}


# ---------------------------------------------------------------- shared devices


def shared(policy: CapacityRequestPolicy | None = None) -> Device:
    made = device("d", capacity={"memory": DeviceCapacity(value="10", request_policy=policy)})
    made.allow_multiple_allocations = True
    return made


STEPS = CapacityRequestPolicy(default="2", valid_range=CapacityRequestPolicyRange(min="2", max="8", step="2"))
VALUES = CapacityRequestPolicy(default="1", valid_values=["1", "4", "8"])


@pytest.mark.parametrize(
    ("policy", "asked", "consumed"),
    [
        (None, {"memory": "3"}, ["3", "3", "3"]),
        (None, None, ["10"]),
        (STEPS, None, ["2"] * 5),
        (STEPS, {"memory": "3"}, ["4", "4"]),
        (STEPS, {"memory": "1"}, ["2"] * 5),
        (STEPS, {"memory": "9"}, []),
        (VALUES, {"memory": "2"}, ["4", "4"]),
        (VALUES, {"memory": "9"}, []),
        (VALUES, {"other": "1"}, []),
    ],
)
def test_a_shared_device_is_given_away_piece_by_piece(
    policy: CapacityRequestPolicy | None, asked: dict[str, Any] | None, consumed: list[str]
) -> None:
    cache = cache_of(node("n1").obj(), device_class(), slice_of("n1", shared(policy)))
    got: list[Any] = []
    for turn in range(7):
        cache.add(claim_of(f"c{turn}", asks("r", capacity=asked)))
        info, view, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user(f"c{turn}"))
        assert isinstance(outcome, Ready)
        if DynamicResources(gates=DEFAULT_GATES).filter(outcome.state, view, ALL_ROWS)[0]:
            break
        (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
        cache.objects.put(claim)
        assert claim.status.allocation is not None
        (result,) = claim.status.allocation.devices.results
        assert result.share_id
        got.append(result.consumed_capacity["memory"])
    assert got == consumed


def cores(amount: int) -> list[DeviceCounterConsumption]:
    return [DeviceCounterConsumption(counter_set="gpu", counters={"cores": Counter(value=amount)})]


def partitions(*amounts: int, total: int) -> list[ResourceSlice]:
    devices = []
    for place, amount in enumerate(amounts):
        made = device(f"d{place}")
        made.consumes_counters = cores(amount)
        devices.append(made)
    offering = slice_of("n1", *devices, name="devices")
    counters = CounterSet(name="gpu", counters={"cores": Counter(value=total)})
    counting = slice_of("n1", name="counters", shared_counters=[counters])
    offering.spec.pool = counting.spec.pool = pool(2)
    return [offering, counting]


@pytest.mark.parametrize(
    ("amounts", "total", "count", "said"),
    [((2, 2, 2), 4, 2, ""), ((2, 2, 2), 4, 3, CANNOT), ((4, 1, 1), 4, 2, ""), ((4, 4), 4, 2, CANNOT)],
)
def test_partitions_share_counters(amounts: tuple[int, ...], total: int, count: int, said: str) -> None:
    assert verdict(claim_of("c", asks("r", count=count)), *partitions(*amounts, total=total)) == said


def test_held_partitions_have_used_their_counters() -> None:
    others = held(claim_of("others", asks("r")), "n1", "d0")
    assert verdict(WANTS_ONE, *partitions(3, 2, total=4), others) == CANNOT
    assert verdict(WANTS_ONE, *partitions(2, 2, total=4), others) == ""


def test_a_counter_that_does_not_exist_makes_the_pool_invalid() -> None:
    objects = partitions(1, total=4)
    objects[0].spec.devices[0].consumes_counters = [DeviceCounterConsumption(counter_set="else", counters={})]
    assert verdict(WANTS_ONE, *objects) == "invalid resource pools were encountered"


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        (
            claim_of("c", asks("r", f"{MINE}.missing == 1")),
            "claim default/c: selector #0: CEL runtime error: no such key: missing",
        ),
        (
            claim_of("c", asks("r", A, "1")),
            "claim default/c: selector #1: CEL compile error: must evaluate to bool or the unknown type, not int",
        ),
        (
            claim_of("c", asks("r", of="odd")),
            "class odd: selector #0: CEL runtime error: no such key: missing",
        ),
        (claim_of("c", asks("r", mode="Some")), "claim default/c, request r: unsupported count mode Some"),
        (
            claim_of("c", asks("r", count=33)),
            "claim default/c: number of requested devices 33 exceeds the claim limit of 32",
        ),
        (
            claim_of("c", asks("r"), constraints=[DeviceConstraint()]),
            "claim default/c, constraint #0: empty constraint (unsupported constraint type?)",
        ),
        (
            claim_of("c", asks("r", mode=ALL_DEVICES), constraints=[NUMA]),
            f"claim default/c, request r: cannot add device {DRIVER}/n1/d2 "
            "because a claim constraint would not be satisfied",
        ),
    ],
)
def test_what_is_wrong_with_a_claim_ends_the_attempt(claim: ResourceClaim, fault: str) -> None:
    with pytest.raises(CycleError) as raised:
        verdict(claim, FOUR, device_class("odd", f"{MINE}.missing == 1"))
    assert raised.value.message == fault


def test_all_devices_of_a_pool_that_is_being_updated_are_not_known() -> None:
    made = slice_of("n1", device("d"))
    made.spec.pool = pool(2)
    with pytest.raises(CycleError, match=r"asks for all devices, but resource pool .* is currently being updated"):
        verdict(claim_of("c", asks("r", mode=ALL_DEVICES)), made)


def test_a_selector_that_fails_matters_only_where_it_is_asked() -> None:
    """The first device will do, so that nobody looks at the second, which has no model."""
    both = slice_of("n1", device("d0", model="a"), device("d1"))
    assert verdict(claim_of("c", asks("r", A)), both) == ""
    with pytest.raises(CycleError, match="no such key: model"):
        verdict(claim_of("c", asks("r", A, count=2)), both)


# ---------------------------------------------------------------- claims that have devices


def only_on(claim: ResourceClaim, name: str) -> ResourceClaim:
    assert claim.status.allocation is not None
    field = NodeSelectorRequirement(key="metadata.name", operator="In", values=[name])
    claim.status.allocation.node_selector = NodeSelector(node_selector_terms=[NodeSelectorTerm(match_fields=[field])])
    return claim


def test_a_claim_with_devices_is_used_where_they_are() -> None:
    claim = only_on(held(claim_of("c", asks("r")), "n1", "d0"), "n1")
    cache = cache_of(node("n1").obj(), node("n2").obj(), device_class(), FOUR, claim)
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))) == {"n1": "", "n2": ELSEWHERE}
    assert devices_of(cache, user("c")) == {"c": ["r=d0"]}


def test_what_cannot_be_allocated_is_said_first() -> None:
    claim = only_on(held(claim_of("c", asks("r")), "n1", "d0"), "n1")
    cache = cache_of(node("n1").obj(), node("n2").obj(), device_class(), FOUR, claim, claim_of("e", asks("r")))
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), cache, user("c", "e"))) == {"n1": "", "n2": CANNOT}


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([], ""),
        ([Condition(type="Ready", status="True")], ""),
        ([Condition(type="Broken", status="True")], ELSEWHERE),
        ([Condition(type="Broken", status="False")], ""),
    ],
)
def test_devices_that_failed_to_get_ready_are_of_no_use(conditions: list[Condition], said: str) -> None:
    claim = held(claim_of("c", asks("r")), "n1", "d0")
    assert claim.status.allocation is not None
    (result,) = claim.status.allocation.devices.results
    result.binding_conditions, result.binding_failure_conditions = ["Ready"], ["Broken"]
    claim.status.devices = [AllocatedDeviceStatus(driver=DRIVER, pool="n1", device="d0", conditions=conditions)]
    assert verdict(claim, FOUR) == said


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ([], "deallocation of ResourceClaim completed"),
        ([user("c")], "deallocation of ResourceClaim completed"),
        ([pod("else").obj()], "still not schedulable"),
        ([user("c"), pod("else").obj()], "still not schedulable"),
    ],
)
def test_devices_that_nobody_can_use_where_they_are_are_given_back(users: list[Pod], said: str) -> None:
    claim = only_on(held(claim_of("c", asks("r")), "n1", "d0", by=users), "gone")
    cache = cache_of(node("n1").obj(), device_class(), FOUR, claim)
    info, view, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    assert isinstance(outcome, Ready)
    codes = DynamicResources(gates=DEFAULT_GATES).filter(outcome.state, view, ALL_ROWS)
    given_back = deallocate(info, outcome.state, codes, V1_36)
    assert given_back.status.message == said
    is_given_back = said.startswith("deallocation")
    freed = DeallocateClaim(info.key, info.uid, "default/c")
    assert given_back.actions == ((freed,) if is_given_back else ())


# ---------------------------------------------------------------- scores and reservations


def test_earlier_alternatives_score_more() -> None:
    wanted = asks_first_of("r", asks("two", count=2), asks("one"))
    cache = cache_of(
        node("n1").obj(),
        node("n2").obj(),
        device_class(),
        slice_of("n1", device("d0")),
        slice_of("n2", device("d0"), device("d1")),
        claim_of("c", wanted),
    )
    assert raw_and_normal_scores(DynamicResources(gates=DEFAULT_GATES), cache, user("c")) == (
        {"n1": 7, "n2": 8},
        {"n1": 87, "n2": 100},
    )


def test_alternatives_of_claims_with_devices_count_as_well() -> None:
    before = held(claim_of("e", asks_first_of("r", asks("two", count=2), asks("one"))), "n1", "d0")
    assert before.status.allocation is not None
    before.status.allocation.devices.results[0].request = "r/one"
    cache = cache_of(node("n1").obj(), device_class(), FOUR, before, claim_of("c", asks("r")))
    scores = raw_and_normal_scores(DynamicResources(gates=DEFAULT_GATES), cache, user("c", "e"))
    assert scores is not None
    assert scores[0] == {"n1": 7}
    assert raw_and_normal_scores(DynamicResources(gates=DEFAULT_GATES), cache, user("e")) == ({"n1": 0}, {"n1": 0})


def test_a_reserved_claim_names_its_devices_its_user_and_where_it_can_be_used() -> None:
    cache = cache_of(node("n1").obj(), device_class(), FOUR, claim_of("c", asks("r")))
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
    assert claim.metadata.finalizers == ["resource.kubernetes.io/delete-protection"]
    assert [consumer.uid for consumer in claim.status.reserved_for] == [info.uid]
    assert claim.status.allocation is not None
    assert claim.status.allocation.node_selector == NodeSelector(
        node_selector_terms=[
            NodeSelectorTerm(match_fields=[NodeSelectorRequirement(key="metadata.name", operator="In", values=["n1"])])
        ]
    )
    cache.add(claim)
    assert DynamicResources(gates=DEFAULT_GATES).reserve(cache.info(user("c")), cache.view(), 0) == []


def test_devices_for_all_nodes_restrict_nothing() -> None:
    everywhere = slice_of("", device("d"), all_nodes=True)
    some = slice_of("", device("d"), name="some", pool="some", node_selector=selecting("rack", "x"))
    cache = cache_of(
        node("n1").label("rack", "x").obj(), device_class(), everywhere, some, claim_of("c", asks("r", count=2))
    )
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, user("c"))
    (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
    assert claim.status.allocation is not None
    assert claim.status.allocation.node_selector == selecting("rack", "x")


# ---------------------------------------------------------------- extended resources

GPU = "example.com/gpu"


def extended(*, own: bool = False) -> Cache:
    first = node("n1").capacity({GPU: 2}) if own else node("n1")
    return cache_of(first.obj(), node("n2").obj(), device_class(extended=GPU), FOUR)


@pytest.mark.parametrize(
    ("count", "said"), [(1, {"n1": "", "n2": CANNOT}), (4, {"n1": "", "n2": CANNOT}), (5, {"n1": CANNOT, "n2": CANNOT})]
)
def test_an_extended_resource_comes_as_devices(count: int, said: dict[str, str]) -> None:
    asking = pod("p").request({GPU: count}).obj()
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), extended(), asking)) == said


def test_a_node_that_has_the_resource_needs_no_devices() -> None:
    """NodeResourcesFit has judged it."""
    asking = pod("p").request({GPU: 5}).obj()
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), extended(own=True), asking)) == {
        "n1": "",
        "n2": CANNOT,
    }


def test_a_resource_without_a_class_must_be_named_by_the_node() -> None:
    """How much of it the node has is NodeResourcesFit's business, which may have been told to ignore it."""
    other = "example.com/other"
    nodes = [node("lacks"), node("none").capacity({other: 0}), node("some").capacity({other: 1})]
    slices = [slice_of(name, device("d0")) for name in ("lacks", "none", "some")]
    asking = pod("p").request({GPU: 1, other: 1}).obj()
    cache = cache_of(*(each.obj() for each in nodes), device_class(extended=GPU), *slices)
    assert words(verdicts(DynamicResources(gates=DEFAULT_GATES), cache, asking)) == {
        "lacks": "cannot fit resource",
        "none": "",
        "some": "",
    }


def test_the_claim_for_extended_resources_is_made_for_the_pod() -> None:
    cache = extended()
    asking = pod("p").request({GPU: 2}).obj()
    info, view, _ = prepared(DynamicResources(gates=DEFAULT_GATES), cache, asking)
    (claim,) = DynamicResources(gates=DEFAULT_GATES).reserve(info, view, 0)
    assert claim.metadata.name.startswith("p-extended-resources-")
    assert claim.metadata.annotations == {"resource.kubernetes.io/extended-resource-claim": "true"}
    assert claim.status.allocation is not None
    assert [f"{r.request}={r.device}" for r in claim.status.allocation.devices.results] == [
        "container-0-request-0=d0",
        "container-0-request-0=d1",
    ]
    cache.add(claim)
    again = verdicts(DynamicResources(gates=DEFAULT_GATES), cache, asking)
    assert words(again) == dict.fromkeys(["n1", "n2"], "cannot schedule extended resource claim")
    info, view, outcome = prepared(DynamicResources(gates=DEFAULT_GATES), cache, asking)
    assert isinstance(outcome, Ready)
    said = deallocate(
        info, outcome.state, DynamicResources(gates=DEFAULT_GATES).filter(outcome.state, view, ALL_ROWS), V1_36
    )
    assert said.status.message == "deletion of ResourceClaim completed"
    assert said.actions == (ReleaseClaim(info.key, info.uid, object_key(claim), delete=True),)


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [
        (("a", None), ("b", None), "a"),
        (("b", None), ("a", None), "a"),
        (("a", "2026-01-01T00:00:00Z"), ("b", "2026-01-02T00:00:00Z"), "b"),
        (("a", "2026-01-02T00:00:00Z"), ("b", "2026-01-01T00:00:00Z"), "a"),
    ],
)
def test_of_two_classes_for_one_resource_the_newer_stands_for_it(
    first: tuple[str, str | None], second: tuple[str, str | None], winner: str
) -> None:
    cache = cache_of()
    for name, created in (first, second):
        made = device_class(name, extended=GPU)
        made.metadata.creation_timestamp = created
        cache.add(made)
    found = cache.objects.devices.class_of_resource(GPU)
    assert found is not None
    assert found.metadata.name == winner
