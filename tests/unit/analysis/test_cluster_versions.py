"""What the scheduler of v1.37 decides otherwise than that of v1.36, a change at a time, through the public calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import bayplan
from bayplan.config.releases import RELEASES, UnknownReleaseError
from bayplan.model.reading import ReadResult
from bayplan.testing import would_wake
from bayplan.testing.builders import budget, node, pod

Plain = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """The objects, a question about the pod `p` among them, and the answer in each version."""

    objects: list[Any]
    ask: Callable[[Plain], Any]
    before: Any
    since_1_37: Any


def by_version(before: Any, since_1_37: Any) -> dict[str, Any]:
    """A later version does as the one before it, unless a table of its own says otherwise."""
    return {version: before if version == "1.36" else since_1_37 for version in RELEASES}


def message(answer: Plain) -> Any:
    return answer["message"]


def feasible(answer: Plain) -> Any:
    return answer["feasible"]


def violations(answer: Plain) -> Any:
    return {name: found["numPDBViolations"] for name, found in answer["preemption"]["candidates"].items()}


def image_scores(answer: Plain) -> Any:
    return {name: scores["ImageLocality"] for name, scores in answer["scores"].items()}


def resized(name: str) -> Plain:
    """Two containers on a node that trade a cpu and more: one grows from 1 to 3, the other shrinks from 3 to 1."""
    grows = {"name": "grows", "image": "i", "resources": {"requests": {"cpu": "3"}}}
    shrinks = {"name": "shrinks", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    held = [
        {"name": name, "resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}}
        for name, cpu in (("grows", "1"), ("shrinks", "3"))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": "a", "containers": [grows, shrinks]},
        "status": {"phase": "Running", "containerStatuses": held},
    }


def with_image_volume() -> Plain:
    """A pod that mounts an image of 500 MiB beside the one it runs."""
    plain: Plain = pod("p").cpu("1").dict()
    plain["spec"]["containers"][0]["image"] = "app:1"
    plain["spec"]["volumes"] = [{"name": "model", "image": {"reference": "model:1"}}]
    return plain


def holding_images(name: str) -> Plain:
    plain: Plain = node(name).capacity(cpu="4").dict()
    plain["status"]["images"] = [
        {"names": [image], "sizeBytes": 500 * 2**20} for image in (("app:1", "model:1") if name == "a" else ("app:1",))
    ]
    return plain


def near_other_namespaces() -> Plain:
    """A pod apart from all pods in namespaces that do not belong to a team."""
    plain: Plain = pod("p").cpu("1").dict()
    selector = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": selector}
    plain["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return plain


def namespace(name: str, **labels: str) -> Plain:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


TOO_BIG = "0/1 nodes are available: 1 Insufficient cpu."
NO_VICTIMS = "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."
FULL = [node("a").capacity(cpu="4"), pod("small").cpu("4").node("a"), pod("p").cpu("4").priority(10)]
CHANGES = {
    "a pod without claims hears nothing of claims": Change(
        [
            node("a").capacity(cpu="1"),
            pod("small").node("a").priority(10),
            pod("p").cpu("1").priority(5),
            pod("big").cpu("1").node("a").priority(9),
        ],
        message,
        f"{TOO_BIG} no new claims to deallocate, {NO_VICTIMS}",
        f"{TOO_BIG} {NO_VICTIMS}",
    ),
    "a preemption says what it found": Change(
        FULL,
        message,
        TOO_BIG,
        f"{TOO_BIG} preemption: found a potential placement for pod on node a, preempting 1 victims",
    ),
    "a pod that breaks one budget spends nothing of the next": Change(
        [
            node("a").capacity(cpu="2"),
            pod("important").cpu("1").node("a").priority(2).labels(app="x", tier="db"),
            pod("other").cpu("1").node("a").priority(1).labels(app="x"),
            budget("db").selects(tier="db").allows(0),
            budget("x").selects(app="x").allows(1),
            pod("p").cpu("2").priority(10),
        ],
        violations,
        {"a": 2},
        {"a": 1},
    ),
    "a pod in resize holds the most of one moment": Change(
        [node("a").capacity(cpu="8"), resized("trading"), pod("p").cpu("3")], feasible, [], ["a"]
    ),
    "image volumes raise what there is to earn": Change(
        [holding_images("a"), holding_images("b"), with_image_volume()],
        image_scores,
        {"a": 74, "b": 48},
        {"a": 36, "b": 24},
    ),
    "a namespace selector means the namespaces it selects": Change(
        [
            namespace("default", team="core"),
            node("a").capacity(cpu="4").labels(**{"kubernetes.io/hostname": "a"}),
            pod("running").node("a"),
            near_other_namespaces(),
        ],
        feasible,
        [],
        ["a"],
    ),
    "a gated pod keeps the node that is meant for it": Change(
        [node("a").capacity(cpu="4"), pod("gated").cpu("4").priority(9).gate("wait").nominated("a"), pod("p").cpu("1")],
        feasible,
        ["a"],
        [],
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_version_decides_as_its_scheduler(change: Change) -> None:
    objects = [thing if isinstance(thing, dict) else thing.dict() for thing in change.objects]
    answers = {
        version: change.ask(bayplan.Cluster.from_objects(objects, kubernetes_version=version).explain("p").to_dict())
        for version in RELEASES
    }
    assert answers == by_version(change.before, change.since_1_37)


TAINT = {"key": "t", "effect": "NoSchedule"}
APART = ({"app": "x"}, {"tier": "db"})


def tainted(*taints: Plain) -> Plain:
    plain: Plain = node("a").capacity(cpu="1").dict()
    plain["spec"] = {"taints": list(taints)}
    return plain


def kept_apart() -> Plain:
    """A pod apart from pods of either kind."""
    plain: Plain = pod("p").cpu("1").dict()
    terms = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}} for labels in APART]
    plain["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return plain


def allocated_claim() -> Plain:
    device = {"request": "r", "driver": "d", "pool": "p", "device": "d0"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default", "uid": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "k"}}]}},
        "status": {"allocation": {"devices": {"results": [device]}}},
    }


WAKING = {
    "a taint goes, and the pod waits for room": (
        [tainted(TAINT), pod("p").cpu("4").dict()],
        "NodeResourcesFit",
        {"kind": "Node", "action": "Update", "old": tainted(TAINT), "new": tainted()},
        (True, False),
    ),
    "a pod goes that meets one term of two": (
        [tainted(), kept_apart(), pod("x").labels(app="x").node("a").dict()],
        "InterPodAffinity",
        {"kind": "Pod", "action": "Delete", "old": pod("x").labels(app="x").node("a").dict(), "new": None},
        (False, True),
    ),
    "a claim goes with its devices": (
        [tainted(), allocated_claim(), pod("p").cpu("1").dict()],
        "DynamicResources",
        {"kind": "ResourceClaim", "action": "Delete", "old": allocated_claim(), "new": None},
        (False, True),
    ),
    "a claim goes that had no devices": (
        [tainted(), {**allocated_claim(), "status": {}}, pod("p").cpu("1").dict()],
        "DynamicResources",
        {"kind": "ResourceClaim", "action": "Delete", "old": {**allocated_claim(), "status": {}}, "new": None},
        (False, False),
    ),
}


@pytest.mark.parametrize(("objects", "rejector", "event", "wakes"), WAKING.values(), ids=WAKING)
def test_a_version_wakes_as_its_scheduler(
    objects: list[Plain], rejector: str, event: Plain, wakes: tuple[bool, bool]
) -> None:
    woken = tuple(
        would_wake(objects, "default/p", [rejector], event, kubernetes_version=version) for version in RELEASES
    )
    assert woken == tuple(by_version(*wakes).values())


@pytest.mark.parametrize(
    "version", ["1.37", "v1.37", "v1.37.0-rc.1", "1.37.12", "1.37+", "v1.37.2-gke.1200", "1.37.1+k3s1"]
)
def test_a_patch_version_is_that_of_its_minor(version: str) -> None:
    assert bayplan.Cluster.from_objects([], kubernetes_version=version).kubernetes_version == "1.37"


@pytest.mark.parametrize(
    ("version", "what"),
    [
        ("1.35", "Kubernetes 1.35 is not known"),
        ("2.0", "Kubernetes 2.0 is not known"),
        ("137", "'137' is not a version of Kubernetes"),
        ("latest", "'latest' is not a version of Kubernetes"),
        ("", "'' is not a version of Kubernetes"),
    ],
)
def test_an_unknown_version_is_refused_with_the_known_ones(version: str, what: str) -> None:
    with pytest.raises(UnknownReleaseError, match=re.escape(f"{what}; bayplan knows 1.36 and 1.37")):
        bayplan.Cluster.from_objects([], kubernetes_version=version)


@pytest.mark.parametrize("asked", [None, "nearest"])
def test_a_dump_that_names_no_version_of_kubernetes_is_refused(asked: str | None) -> None:
    dump = ReadResult(kubernetes_version="banana")
    with pytest.raises(UnknownReleaseError) as refused:
        bayplan.Cluster.of(dump, asked)
    assert str(refused.value) == "'banana' is not a version of Kubernetes; bayplan knows 1.36 and 1.37"


# Devices. One node, one slice; the pod uses the claim `c`.

OPTIONAL = "DRAOptionalNodeOperations"
ONE_SLOT = {"counterSet": "slots", "counters": {"slots": {"value": "1"}}}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}
SHARED = {"allowMultipleAllocations": True}


def devices(*each: Plain, **more: Any) -> Plain:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "nodeName": "a",
            "pool": POOL,
            "devices": list(each),
            **more,
        },
    }


def device(name: str, *, room: str = "", taken: Plain | None = None, **attributes: str) -> Plain:
    plain: Plain = {"name": name, "attributes": {key: {"string": value} for key, value in attributes.items()}}
    if room:
        plain |= {**SHARED, "capacity": {"room": {"value": room, **(taken or {})}}}
    return plain


def using(claim: Plain, *others: Plain) -> list[Plain]:
    """The pod, its claim, and the class it asks for."""
    plain: Plain = pod("p").cpu("1").resource_claim("c", claim="c").dict()
    known = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "k"}, "spec": {}}
    return [node("a").capacity(cpu="4").dict(), known, claim, *others, plain]


def asking(*, constraints: list[Plain] | None = None, name: str = "c", **exactly: Any) -> Plain:
    request = {"name": "r", "exactly": {"deviceClassName": "k", **exactly}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"devices": {"requests": [request], "constraints": constraints or []}},
    }


def slots(node_name: str, count: str) -> Plain:
    """Another slice of the pool, with the counters that its devices share."""
    counters = {"name": "slots", "counters": {"slots": {"value": count}}}
    slice_of_counters = devices(sharedCounters=[counters], nodeName=node_name, pool={**POOL, "resourceSliceCount": 2})
    del slice_of_counters["spec"]["devices"]
    return {**slice_of_counters, "metadata": {"name": "counters"}}


def holding(amount: str | None) -> Plain:
    """Another claim, which has so much of the first device's room."""
    claim = asking(name="other")
    share = {"driver": "d", "pool": "p", "device": "d0", "request": "r", "shareID": "x"}
    results = [share if amount is None else {**share, "consumedCapacity": {"room": amount}}]
    claim["status"] = {"allocation": {"devices": {"results": results}}}
    return claim


def several(*choices: list[str]) -> Plain:
    """A claim with a request for each list of devices that would do, and all of them of different kinds."""
    claim = asking(constraints=[{"distinctAttribute": "d/kind"}])
    claim["spec"]["devices"]["requests"] = [
        {"name": f"r{place}", "exactly": {"deviceClassName": "k", "selectors": [one_of(names)]}}
        for place, names in enumerate(choices)
    ]
    return claim


def one_of(kinds: list[str]) -> Plain:
    named = {"d0": "x", "d1": "y", "d2": "z", "d3": "w"}
    return {"cel": {"expression": f"device.attributes['d'].kind in {[named[each] for each in kinds]}"}}


def skipping(*operations: str) -> Plain:
    """The pod's claim, allocated and usable on every node."""
    claim = asking()
    result = {"driver": "d", "pool": "p", "device": "d0", "request": "r", "skipNodeOperations": [*operations]}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}}
    return claim


def why(answer: Plain) -> Any:
    error = answer.get("error", "").removeprefix('running "DynamicResources" filter plugin: ')
    return error or answer["filter"].get("a", {}).get("reasons", [])


DISTINCT = [{"requests": ["r"], "distinctAttribute": "d/kind"}]
STEPS = {"requestPolicy": {"default": "1", "validRange": {"min": "500m", "step": "500m"}}}
CANNOT = ["cannot allocate all claims"]
DEVICE_CHANGES = {
    "all devices of one request differ": (
        using(
            asking(count=3, constraints=DISTINCT),
            devices(device("d0", kind="x"), device("d1", kind="y"), device("d2", kind="x")),
        ),
        feasible,
        ["a"],
        [],
    ),
    "a device that is nearly full is one of all": (
        using(
            asking(allocationMode="All", capacity={"requests": {"room": "6"}}),
            devices(device("d0", room="10"), device("d1", room="10")),
            holding("5"),
        ),
        feasible,
        ["a"],
        [],
    ),
    "a claim whose devices skip operations on nodes that do not know of it": (
        using(skipping("NodePrepareResources"), devices(device("d0")), node("b").declares(OPTIONAL).dict()),
        feasible,
        ["a", "b"],
        ["b"],
    ),
    "a claim whose devices skip nothing": (
        using(skipping(), devices(device("d0")), node("b").declares(OPTIONAL).dict()),
        feasible,
        ["a", "b"],
        ["a", "b"],
    ),
    "ranges in thousandths": (
        using(asking(capacity={"requests": {"room": "1200m"}}), devices(device("d0", room="1500m", taken=STEPS))),
        feasible,
        [],
        ["a"],
    ),
    "a selector that fails is reported with the device": (
        using(asking(selectors=[{"cel": {"expression": "device.attributes['d'].size == 'x'"}}]), devices(device("d0"))),
        why,
        "claim default/c: selector #0: CEL runtime error: no such key: size",
        "claim default/c: selector #0 on device d/p/d0: CEL runtime error: no such key: size. consider using "
        "CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields",
    ),
    "devices that were given back do not count when others are compared": (
        using(
            several(["d0", "d1", "d2"], ["d0", "d1", "d2"], ["d1"]),
            devices(device("d0", kind="x"), device("d1", kind="y"), device("d2", kind="z")),
        ),
        feasible,
        ["a"],
        ["a"],
    ),
    "a device that was chosen before still counts when a later one was given back": (
        using(
            several(["d0"], ["d0", "d1"], ["d3"]),
            devices(
                device("d0", kind="x"),
                {**device("d1", kind="y"), "consumesCounters": [ONE_SLOT]},
                device("d2", kind="x"),
                {**device("d3", kind="w"), "consumesCounters": [ONE_SLOT]},
                pool={**POOL, "resourceSliceCount": 2},
            ),
            slots("a", "1"),
        ),
        feasible,
        [],
        [],
    ),
    "a share without capacity is not taken from counters twice": (
        using(
            asking(),
            devices({"name": "d0", **SHARED, "consumesCounters": [ONE_SLOT]}, pool={**POOL, "resourceSliceCount": 2}),
            slots("a", "1"),
            holding(None),
        ),
        feasible,
        [],
        ["a"],
    ),
    "counters that another node's slice has": (
        using(
            asking(),
            devices({"name": "d0", "consumesCounters": [ONE_SLOT]}, pool={**POOL, "resourceSliceCount": 2}),
            slots("b", "1"),
        ),
        feasible,
        ["a"],
        ["a"],
    ),
    "a capacity below nothing": (
        using(asking(capacity={"requests": {"room": "-1"}}), devices(device("d0", room="10"))),
        why,
        [],
        'claim default/c, request r: checking capacity for device d/p/d0: capacity "room": capacity value is negative',
    ),
    "a capacity that passes what can be counted when it is rounded up": (
        using(
            asking(capacity={"requests": {"room": "9223372036854775807m"}}),
            devices(device("d0", room="1", taken=STEPS)),
        ),
        why,
        CANNOT,
        'claim default/c, request r: checking capacity for device d/p/d0: capacity "room": capacity request cannot be '
        "represented in the device's range arithmetic: rounding request 9223372036854775807000000n up to the next step "
        "passes the milli-value range",
    ),
    "a capacity that is too large to compute with": (
        using(asking(capacity={"requests": {"room": "10E"}}), devices(device("d0", room="1", taken=STEPS))),
        why,
        CANNOT,
        'claim default/c, request r: checking capacity for device d/p/d0: capacity "room": capacity request cannot be '
        "represented in the device's range arithmetic: request 10000000000000000000 is not a representable milli value",
    ),
}


@pytest.mark.parametrize(("objects", "ask", "before", "since_1_37"), DEVICE_CHANGES.values(), ids=DEVICE_CHANGES)
def test_a_version_allocates_as_its_scheduler(
    objects: list[Plain], ask: Callable[[Plain], Any], before: Any, since_1_37: Any
) -> None:
    answers = {
        version: ask(bayplan.Cluster.from_objects(objects, kubernetes_version=version).explain("p").to_dict())
        for version in RELEASES
    }
    assert answers == by_version(before, since_1_37)


@pytest.mark.parametrize(
    ("version", "wakeups", "wakes"),
    [("1.36", "complete", False), ("1.37", "upstream", False), ("1.37", "complete", True)],
)
def test_a_node_that_begins_to_skip_operations_wakes_where_nothing_is_missed(
    version: str, wakeups: str, *, wakes: bool
) -> None:
    before, after = node("b").dict(), node("b").declares(OPTIONAL).dict()
    after["metadata"]["resourceVersion"] = "2"
    event = {"kind": "Node", "action": "Update", "old": before, "new": after}
    objects = [*using(skipping("*"), devices(device("d0"))), before]
    woken = would_wake(objects, "default/p", ["DynamicResources"], event, wakeups=wakeups, kubernetes_version=version)
    assert woken is wakes
