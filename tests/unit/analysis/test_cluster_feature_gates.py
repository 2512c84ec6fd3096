"""Each feature gate that works: the same cluster with the gate on and off, and different answers."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from tests.support.devices import DRIVER as GPU_DRIVER
from tests.support.devices import (
    asks,
    asks_first_of,
    claim_of,
    device,
    device_class,
    held,
    slice_of,
    taint_rule,
    with_claims,
)

from bayplan import Cluster
from bayplan.model.kinds import Object
from bayplan.model.meta import LabelSelector, ObjectMeta
from bayplan.model.pod import Pod, ReportedResources
from bayplan.model.resource_claims import (
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceTaint,
    ResourceClaim,
    ResourceSlice,
)
from bayplan.model.storage import CSIDriver, CSIDriverSpec, CSIStorageCapacity
from bayplan.model.structs import replace
from bayplan.testing.builders import claim, csi_node, node, pod, storage_class, volume

FITS = "fits"
SHARE_OR_NOT = {True: asks("gpu", capacity={"memory": "1Gi"}), False: asks("gpu")}


def of_1_36(objects: list[Object]) -> Cluster:
    """Most gates here have other defaults, or none to change, in later versions."""
    return Cluster(objects, kubernetes_version="1.36")


def answers(cluster: Cluster, gates: str) -> dict[str, Any]:
    """Node -> FITS or the reasons against it."""
    plain = cluster.explain("p", feature_gates=gates).to_dict()
    return dict.fromkeys(plain["feasible"], FITS) | {
        name: ", ".join(status["reasons"]) for name, status in plain["filter"].items()
    }


class Case(NamedTuple):
    objects: list[Object]
    gates: str
    by_default: dict[str, str]
    otherwise: dict[str, str]


COSTLY = node("costly").taint("price", "90").obj()
CHEAP = node("cheap").taint("price", "10").obj()
UNTOLERATED = "node(s) had untolerated taint(s)"
SKEWED = "node(s) didn't match pod topology spread constraints"
DRIVER = "disk.example.com"
MADE = storage_class("made", mode="WaitForFirstConsumer", provisioner=DRIVER).obj()
WANTS_DISK: list[Object] = [
    MADE,
    claim("data").storage_class("made").storage("1Gi").obj(),
    pod("p").claim("data").obj(),
]
INSISTING = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(prevent_pod_scheduling_if_missing=True))
NO_DRIVER = f"{DRIVER} CSI driver is not installed on the node"


def spread_by_version(*versions: str) -> list[Object]:
    """A pod of version 2 that shares no node with its own version, and pods of these versions on `a`, `b`, …"""
    asks = pod("p").labels(app="web", version="2")
    asks.spread("kubernetes.io/hostname", "app=web", match_label_keys=["version"])
    names = "abcdef"[: len(versions)]
    running = [
        pod(f"on-{name}").labels(app="web", version=version).running(name).obj()
        for name, version in zip(names, versions, strict=True)
    ]
    return [*(node(name).obj() for name in names), node("z").obj(), *running, asks.obj()]


def resized(name: str, *, asked: str, held: str) -> Pod:
    """A running pod that has more than its pod-level request, until it has been resized."""
    running = pod(name).pod_request(cpu=asked).running("a").obj()
    running.status.resources = ReportedResources(requests={"cpu": held})
    return running


def tainted(name: str) -> Device:
    return device(name, taints=[DeviceTaint(key="broken", effect="NoSchedule")])


def devices(*offered: Device, ask: DeviceRequest) -> list[Object]:
    """Node `a` with these devices, and a pod that asks for one."""
    asked = claim_of("c", ask)
    wants = with_claims(pod("p").obj(), "c")
    return [node("a").obj(), slice_of("a", *offered), device_class(), asked, wants]


def shared(name: str, memory: str) -> Device:
    several = device(name, capacity={"memory": memory})
    several.allow_multiple_allocations = True
    return several


def prepared_first(name: str) -> Device:
    waiting = device(name)
    waiting.binding_conditions = ["ready"]
    return waiting


def of_counters(name: str) -> Device:
    part = device(name)
    part.consumes_counters = [DeviceCounterConsumption(counter_set="memory", counters={"slots": Counter(value="1")})]
    return part


def partitions() -> list[Object]:
    """A part of a device, and the counters of the pool in a slice of their own."""
    counters = CounterSet(name="memory", counters={"slots": Counter(value="4")})
    objects = [
        *devices(of_counters("part-0"), ask=ONE),
        slice_of("", name="counters", pool="a", shared_counters=[counters], all_nodes=True),
    ]
    for obj in objects:
        if isinstance(obj, ResourceSlice):
            obj.spec.pool.resource_slice_count = 2
    return objects


def listing(name: str, **values: list[str]) -> Device:
    several = device(name)
    several.attributes = {key: DeviceAttribute(string_values=listed) for key, listed in values.items()}
    return several


RULED_OUT = [taint_rule("one", driver=GPU_DRIVER, pool="a", device="gpu-0"), taint_rule("all", driver="other")]
CANNOT_ALLOCATE = "cannot allocate all claims"
ONE = asks("gpu")
SHARE = asks("gpu", capacity={"memory": "1Gi"})
NO_CONDITIONS = "DRADeviceBindingConditions=false"
IN_EAST = asks("gpu", f'device.attributes["{GPU_DRIVER}"].regions.includes("east")')
SHARES_SELECTED = asks("gpu", "device.allowMultipleAllocations")
DEVICE_CASES = {
    "DRADeviceTaints": Case(
        devices(tainted("gpu-0"), ask=ONE), "DRADeviceTaints=false", {"a": CANNOT_ALLOCATE}, {"a": FITS}
    ),
    "DRADeviceTaintRules": Case(
        [*devices(device("gpu-0"), ask=ONE), *RULED_OUT],
        "DRADeviceTaintRules=true",
        {"a": FITS},
        {"a": CANNOT_ALLOCATE},
    ),
    "DRADeviceTaintRules, of another device": Case(
        [*devices(device("gpu-1"), ask=ONE), *RULED_OUT],
        "DRADeviceTaintRules=true",
        {"a": FITS},
        {"a": FITS},
    ),
    "DRADeviceBindingConditions": Case(
        devices(prepared_first("gpu-0"), ask=ONE), NO_CONDITIONS, {"a": FITS}, {"a": CANNOT_ALLOCATE}
    ),
    "DRAResourceClaimDeviceStatus": Case(
        devices(prepared_first("gpu-0"), ask=ONE),
        f"{NO_CONDITIONS},DRAResourceClaimDeviceStatus=false,DRAResourceClaimGranularStatusAuthorization=false",
        {"a": FITS},
        {"a": CANNOT_ALLOCATE},
    ),
    "DRAPartitionableDevices": Case(
        partitions(),
        "DRAPartitionableDevices=false",
        {"a": FITS},
        {"a": CANNOT_ALLOCATE},
    ),
    "DRAExtendedResource": Case(
        [
            node("a").obj(),
            slice_of("a", device("gpu-0")),
            device_class(extended="example.com/gpu"),
            pod("p").request({"example.com/gpu": "1"}).obj(),
        ],
        "DRAExtendedResource=false",
        {"a": FITS},
        {"a": "Insufficient example.com/gpu"},
    ),
}


@pytest.mark.parametrize(
    ("gates", "ask", "message"),
    [
        pytest.param(
            "DRAPrioritizedList=false",
            asks_first_of("any", asks("gpu")),
            "resource claim default/c, request any: has subrequests, but the DRAPrioritizedList feature is disabled",
            id="DRAPrioritizedList",
        ),
        pytest.param(
            "DRAConsumableCapacity=false",
            SHARE,
            "claim default/c, request gpu: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="DRAConsumableCapacity",
        ),
        pytest.param(
            "DRAConsumableCapacity=false",
            asks_first_of("any", SHARE),
            "claim default/c, subrequest gpu: has capacity requests, but the DRAConsumableCapacity feature is disabled",
            id="DRAConsumableCapacity, in a list",
        ),
        pytest.param(
            "DRAConsumableCapacity=false",
            SHARES_SELECTED,
            "undefined field 'allowMultipleAllocations'",
            id="DRAConsumableCapacity, in a selector",
        ),
        pytest.param(f"DRAConsumableCapacity=false,{NO_CONDITIONS}", SHARE, "", id="the older allocator looks on"),
    ],
)
def test_requests_that_a_gate_forbids(gates: str, ask: DeviceRequest, message: str) -> None:
    cluster = of_1_36(devices(shared("gpu-0", "4Gi"), ask=ask))
    assert cluster.explain("p").fits
    refused = cluster.explain("p", feature_gates=gates).to_dict()
    assert message in refused.get("error", "") or message in refused["message"]
    assert bool(message) is not bool(refused["feasible"])


def test_the_older_allocator_knows_no_distinct_attribute() -> None:
    objects = devices(device("gpu-0", model="x"), ask=ONE)
    asked = next(obj for obj in objects if isinstance(obj, ResourceClaim))
    asked.spec.devices.constraints = [DeviceConstraint(distinct_attribute=f"{GPU_DRIVER}/model")]
    cluster = of_1_36(objects)
    assert cluster.explain("p", feature_gates="DRAConsumableCapacity=false").fits
    error = cluster.explain("p", feature_gates=f"DRAConsumableCapacity=false,{NO_CONDITIONS}").to_dict()["error"]
    assert "constraint #0: empty constraint (unsupported constraint type?)" in error


def test_a_shared_device_is_taken_as_a_whole_without_consumable_capacity() -> None:
    """Also by a claim that was given a share before the gate was switched off."""
    cluster = of_1_36(devices(shared("gpu-0", "4Gi"), ask=asks("gpu")))
    for gates, fits in (("", True), ("DRAConsumableCapacity=false", False)):
        taken = held(claim_of("other", SHARE), "a", "gpu-0")
        assert taken.status.allocation is not None
        (result,) = taken.status.allocation.devices.results
        result.share_id, result.consumed_capacity = "some-share", {"memory": "1Gi"}
        crowded = of_1_36([*devices(shared("gpu-0", "4Gi"), ask=SHARE_OR_NOT[fits]), taken])
        assert crowded.explain("p", feature_gates=gates).fits is fits
        assert cluster.explain("p", feature_gates=gates).fits


def test_lists_are_values_of_attributes() -> None:
    cluster = of_1_36(devices(listing("gpu-0", regions=["west", "east"]), ask=IN_EAST))
    assert "undeclared reference" in cluster.explain("p").to_dict()["error"]
    assert cluster.explain("p", feature_gates="DRAListTypeAttributes=true").fits
    elsewhere = of_1_36(devices(listing("gpu-0", regions=["west"]), ask=IN_EAST))
    assert not elsewhere.explain("p", feature_gates="DRAListTypeAttributes=true").fits


CASES = {
    "TaintTolerationComparisonOperators": Case(
        [COSTLY, CHEAP, pod("p").tolerates("price", "50", operator="Lt").obj()],
        "TaintTolerationComparisonOperators=true",
        {"costly": UNTOLERATED, "cheap": UNTOLERATED},
        {"costly": UNTOLERATED, "cheap": FITS},
    ),
    "TaintTolerationComparisonOperators, the other way round": Case(
        [COSTLY, CHEAP, pod("p").tolerates("price", "50", operator="Gt").obj()],
        "TaintTolerationComparisonOperators=true",
        {"costly": UNTOLERATED, "cheap": UNTOLERATED},
        {"costly": FITS, "cheap": UNTOLERATED},
    ),
    "MatchLabelKeysInPodTopologySpread": Case(
        spread_by_version("1", "2"),
        "MatchLabelKeysInPodTopologySpread=false,MatchLabelKeysInPodTopologySpreadSelectorMerge=false",
        {"a": FITS, "b": SKEWED, "z": FITS},
        {"a": SKEWED, "b": SKEWED, "z": FITS},
    ),
    "NodeDeclaredFeatures": Case(
        [node("a").obj(), node("b").declares("UserNamespacesHostNetworkSupport").obj(), pod("p").host_network().obj()],
        "NodeDeclaredFeatures=false,ExtendWebSocketsToKubelet=false,InPlacePodLevelResourcesVerticalScaling=false,"
        "InPlacePodVerticalScalingInitContainers=false,RestartAllContainersOnContainerExits=false",
        {"a": "node(s) didn't match Pod's required features", "b": FITS},
        {"a": FITS, "b": FITS},
    ),
    "VolumeLimitScaling": Case(
        [
            *(node(name).obj() for name in ("bare", "other", "ready")),
            csi_node("other").driver("nfs.example.com").obj(),
            csi_node("ready").driver(DRIVER).obj(),
            INSISTING,
            *WANTS_DISK,
        ],
        "VolumeLimitScaling=true",
        {"bare": FITS, "other": FITS, "ready": FITS},
        {"bare": NO_DRIVER, "other": NO_DRIVER, "ready": FITS},
    ),
    "VolumeLimitScaling, for a driver that does not insist": Case(
        [node("bare").obj(), CSIDriver(metadata=ObjectMeta(name=DRIVER)), *WANTS_DISK],
        "VolumeLimitScaling=true",
        {"bare": FITS},
        {"bare": FITS},
    ),
    "PodLevelResources": Case(
        [node("a").capacity(cpu="2").obj(), pod("p").cpu("1").pod_request(cpu="3").obj()],
        "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false",
        {"a": "Insufficient cpu"},
        {"a": FITS},
    ),
    "PodLevelResources, of running pods": Case(
        [
            node("a").capacity(cpu="4").obj(),
            pod("old").cpu("1").pod_request(cpu="3").running("a").obj(),
            pod("p").cpu("2").obj(),
        ],
        "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false",
        {"a": "Insufficient cpu"},
        {"a": FITS},
    ),
    "InPlacePodLevelResourcesVerticalScaling": Case(
        [node("a").capacity(cpu="4").obj(), resized("old", asked="1", held="3"), pod("p").cpu("2").obj()],
        "InPlacePodLevelResourcesVerticalScaling=false",
        {"a": "Insufficient cpu"},
        {"a": FITS},
    ),
    **DEVICE_CASES,
}
for_host_network = CASES["NodeDeclaredFeatures"].objects[-1]
for_host_network.spec.host_users = False  # type: ignore[union-attr]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_a_gate_changes(case: Case) -> None:
    cluster = of_1_36(case.objects)
    assert answers(cluster, "") == case.by_default
    assert answers(cluster, case.gates) == case.otherwise


def capacity(name: str, zone: str, size: str | None) -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="default"),
        node_topology=LabelSelector(match_labels={"topology.kubernetes.io/zone": zone}),
        storage_class_name="made",
        capacity=size,
    )


REPORTING = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=True))
ZONES = [node("a").zone("x").obj(), node("b").zone("y").obj()]
MADE_FROM = [*ZONES, REPORTING, capacity("in-x", "x", "10Gi"), capacity("in-y", "y", "2Gi"), *WANTS_DISK]
LOCAL = [
    *ZONES,
    storage_class("made", mode="WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner").obj(),
    volume("large").storage_class("made").storage("4Gi").node_affinity("topology.kubernetes.io/zone=x").obj(),
    volume("close").storage_class("made").storage("1Gi").node_affinity("topology.kubernetes.io/zone=y").obj(),
    *WANTS_DISK[1:],
]
TWO_DISKS = [
    *MADE_FROM[:-1],
    claim("more").storage_class("made").storage("2Gi").obj(),
    pod("p").claim("data").claim("more").obj(),
]
ONLY_MAXIMUM = [
    *ZONES,
    REPORTING,
    capacity("in-x", "x", "10Gi"),
    replace(capacity("in-y", "y", None), maximum_volume_size="2Gi"),
    *WANTS_DISK,
]
FULLER_FIRST = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


@pytest.mark.parametrize(
    ("objects", "shape", "expected"),
    [
        pytest.param(MADE_FROM, None, {"a": 90, "b": 50}, id="new volumes, the emptier the better"),
        pytest.param(TWO_DISKS, None, {"a": 70, "b": 0}, id="two new volumes share a capacity"),
        pytest.param(MADE_FROM, FULLER_FIRST, {"a": 10, "b": 50}, id="new volumes, the fuller the better"),
        pytest.param(LOCAL, None, {"a": 75, "b": 0}, id="existing volumes, by default the larger one"),
        pytest.param(LOCAL, FULLER_FIRST, {"a": 25, "b": 100}, id="existing volumes, the closest fit"),
        pytest.param([*ZONES, pod("p").obj()], None, {"a": 0, "b": 0}, id="no claims"),
        pytest.param(ONLY_MAXIMUM, None, {"a": 90, "b": 0}, id="only maximumVolumeSize, where upstream panics"),
    ],
)
def test_storage_capacity_counts_in_the_score(
    objects: list[Object], shape: list[dict[str, int]] | None, expected: dict[str, int]
) -> None:
    args = {} if shape is None else {"shape": shape}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": "VolumeBinding", "args": args}]}],
    }
    found = of_1_36(objects).explain("p", config, feature_gates={"StorageCapacityScoring": True}).to_dict()
    assert {name: scores["VolumeBinding"] for name, scores in found["scores"].items()} == expected
    plain = of_1_36(objects).explain("p").to_dict()
    assert all("VolumeBinding" not in scores for scores in plain["scores"].values())
