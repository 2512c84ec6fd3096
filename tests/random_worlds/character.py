"""What a seed's world is like, and the words that its objects share.

Drawn once, before anything else: the size of the cluster, how full it is, the scheduler's configuration, whether the
API fails, and how often each constraint is met with. So worlds differ from each other as clusters do, and are not all
the same average.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.random_worlds.draw import Draw

from bayplan.core.framework.requeue import Wakeups
from bayplan.core.plugins.node_declared_features import RESTART_ALL_CONTAINERS, USER_NAMESPACES_ON_HOST_NETWORK
from bayplan.model.time_units import MICROSECOND, MILLISECOND
from bayplan.model.well_known import ZONE
from bayplan.worlds.delays import Latencies

RACK = "rack"
ZONES, RACKS, DISKS, CORES = ("a", "b", "c"), ("r1", "r2"), ("ssd", "hdd"), ("2", "4", "8")
NAMESPACES: Mapping[str, Mapping[str, str]] = {"default": {}, "red": {"team": "x"}, "blue": {"team": "x", "env": "dev"}}
#: One that is not there at the start, and whose labels only terms about namespaces look at.
LATE_NAMESPACE = "green"
APPS, TIERS = ("web", "db", "batch"), ("front", "back")
PRIORITIES: Mapping[str, int] = {
    **{"low": 10, "mid": 100, "high": 1_000, "polite": 500},
    **{"least": -(2**31), "most": 1_000_000_000},  # a user may give no more
}
TAINT_KEYS = ("odd", "old")
IMAGE_SIZES = {"registry/app:1": 80 << 20, "registry/app:2": 300 << 20, "registry/large:1": 900 << 20}
IMAGES = tuple(IMAGE_SIZES)
#: A key that no node has.
NOWHERE = "example.com/nowhere"
HOLD = "example.com/hold"
GATES = ("example.com/first", "example.com/second")
SMALL_PAGES = "hugepages-2Mi"
STORAGE_CLASSES = ("at-once", "waits", "local", "absent")
PACKING = "packing"
#: What devices of a class may be known as to pods that ask for an amount.
DEVICE_RESOURCE = "example.com/device"
#: Resources that no node has and few pods name; an amount of 0 can be had anywhere.
STRANGE_RESOURCES = tuple(f"example.com/strange-{number}" for number in range(6))
#: What kubelets may declare.
FEATURES = (USER_NAMESPACES_ON_HOST_NETWORK, RESTART_ALL_CONTAINERS)
DEVICE_CONSTRAINTS = ("uses_resource_claim", "has_own_resource_claim", "asks_devices_as_resource")


def _configuration(*profiles: dict[str, Any]) -> dict[str, Any]:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**head, "profiles": [*profiles]}


def _with_arguments(scheduler_name: str, plugin: str, **arguments: Any) -> dict[str, Any]:
    return {"schedulerName": scheduler_name, "pluginConfig": [{"name": plugin, "args": arguments}]}


MOST_ALLOCATED = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
CONFIGURATIONS: Mapping[str, dict[str, Any] | None] = {
    "default": None,
    "two profiles": _configuration(
        {"schedulerName": "default-scheduler"},
        _with_arguments(PACKING, "NodeResourcesFit", scoringStrategy=MOST_ALLOCATED),
    ),
    "scored devices": _configuration(
        _with_arguments(
            "default-scheduler",
            "NodeResourcesFit",
            scoringStrategy={
                "type": "LeastAllocated",
                "resources": [{"name": "cpu", "weight": 1}, {"name": DEVICE_RESOURCE, "weight": 3}],
            },
        )
    ),
    "spread by zone": _configuration(
        _with_arguments(
            "default-scheduler",
            "PodTopologySpread",
            defaultingType="List",
            defaultConstraints=[{"topologyKey": ZONE, "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}],
        )
    ),
    "few candidates": _configuration(
        _with_arguments(
            "default-scheduler", "DefaultPreemption", minCandidateNodesPercentage=10, minCandidateNodesAbsolute=1
        )
    ),
}


#: Gates that are not as by default.
FEATURE_GATES: Mapping[str, str] = {
    "as by default": "",
    "alpha": (
        "DRADeviceTaintRules=true,DRAListTypeAttributes=true,StorageCapacityScoring=true,"
        "TaintTolerationComparisonOperators=true,VolumeLimitScaling=true"
    ),
    "no queue features": "NominatedNodeNameForExpectation=false,SchedulerPopFromBackoffQ=false",
    "few device features": "DRADeviceTaints=false,DRAExtendedResource=false,DRAPartitionableDevices=false",
    "other device features": "DRAConsumableCapacity=false,DRADeviceBindingConditions=false,DRAPrioritizedList=false",
    "no pod-level resources": "PodLevelResources=false,InPlacePodLevelResourcesVerticalScaling=false",
    "no beta": "AllBeta=false,SchedulerAsyncPreemption=true",
}


#: How long things take.
LATENCIES: Mapping[str, Latencies] = {
    "as usual": Latencies(),
    "no time at all": Latencies(
        api_ns=0, eviction_ns=0, watch_ns=0, pod_start_ns=0, pod_stop_ns=0, provision_ns=0, jitter=0.0
    ),
    "slow watch": Latencies(watch_ns=300 * MILLISECOND, jitter=0.9),
    "slow API": Latencies(api_ns=200 * MILLISECOND, eviction_ns=500 * MILLISECOND, decision_ns=10 * MICROSECOND),
    "slow decisions": Latencies(decision_ns=40 * MILLISECOND),
    "slow nodes": Latencies(
        pod_start_ns=9000 * MILLISECOND, pod_stop_ns=5000 * MILLISECOND, provision_ns=15_000 * MILLISECOND
    ),
}


@dataclass(slots=True)
class Character:
    """What a seed's world is like."""

    nodes: int
    crowd: int  # pods of the largest ReplicaSets
    workloads: int  # at the start
    changes: int
    seconds: int
    cpus: Sequence[str]  # what pods may ask for: a large share of a node, or a small one
    namespaces: Sequence[str]
    has_faults: bool
    wakeups: Wakeups
    configuration: dict[str, Any] | None  # a KubeSchedulerConfiguration; None for the default
    feature_gates: str
    latencies: Latencies
    emphasis: str  # what most changes are of, "" for no emphasis
    priorities: Sequence[str] = ("", "low")  # classes of pods to come; at the start those that others can preempt
    shares: dict[str, float] = field(default_factory=dict)  # how often each constraint is drawn


def draw_character(draw: Draw, constraints: Iterable[str]) -> Character:
    """The constraints are named by the functions that make them."""
    full = draw.pick("cluster", "full", "roomy") == "full"
    character = Character(
        nodes=draw.pick("nodes", *[1, 3, 5, 8] * 4, 70),
        crowd=draw.pick("crowd", *[5] * 9, 50),
        workloads=draw.number(5, 20) if full else draw.number(0, 5),
        changes=draw.any_of((30, 60, 120)),
        seconds=draw.any_of((40, 60, 60, 150)),
        cpus=("250m", "500m", "1", "2") if full else ("50m", "100m", "250m", "1"),
        namespaces=list(NAMESPACES)[: draw.number(1, len(NAMESPACES))],
        has_faults=draw.pick("faults", True, False),
        wakeups=Wakeups(draw.pick("wakeups", *(wakeups.value for wakeups in Wakeups))),
        configuration=CONFIGURATIONS[draw.pick("configuration", "default", "default", *CONFIGURATIONS)],
        feature_gates=FEATURE_GATES[draw.pick("feature gates", *["as by default"] * 6, *FEATURE_GATES)],
        emphasis=draw.pick("emphasis", *["", "workloads"] * 2, "pods", "nodes", "objects", "objects"),
        latencies=LATENCIES[draw.pick("latencies", *["as usual"] * 4, *LATENCIES)],
    )
    richness = {"plain": 0.2, "mixed": 0.6, "rich": 1.0}[draw.pick("pods", "plain", "plain", "mixed", "rich")]
    has_devices = draw.pick("uses devices", True, False, False)
    for constraint in constraints:
        character.shares[constraint] = richness * draw.any_of((0.0, 0.02, 0.05, 0.1, 0.3))
        if has_devices and constraint in DEVICE_CONSTRAINTS:
            character.shares[constraint] = draw.any_of((0.0, 0.2, 0.5))
    return character
