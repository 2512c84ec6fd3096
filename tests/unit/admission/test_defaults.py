"""Defaults, each on an object that lacks it, on one that has it, and twice over."""

from __future__ import annotations

import copy
import json
import lzma
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.admission import admit
from bayplan.admission.stored import is_complete
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import KINDS, Object
from bayplan.model.meta import RawQuantity
from bayplan.model.pod import ContainerPort, Pod
from bayplan.testing.builders import (
    claim,
    cron_job,
    daemon_set,
    deployment,
    job,
    namespace,
    node,
    pod,
    priority_class,
    replica_set,
    replication_controller,
    stateful_set,
    storage_class,
    volume,
)
from bayplan.testing.pods import PodBuilder

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def admitted(builder: PodBuilder) -> Pod:
    made = builder.obj()
    admit([made])
    return made


def new(name: str = "a") -> PodBuilder:
    return pod(name).manifest()


def test_a_bare_manifest_becomes_a_whole_pod() -> None:
    made = msgspec.convert({"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{}]}}, Pod)
    admit([made])
    assert msgspec.to_builtins(made) == {
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {
            "containers": [{"resources": {}}],
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{why}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for why in ("not-ready", "unreachable")
            ],
        },
        "status": {"phase": "Pending"},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(new().limit(cpu="2", memory="1Gi"), {"cpu": "2", "memory": "1Gi"}, id="limits alone"),
        pytest.param(new().cpu("1").limit(cpu="2", memory="1Gi"), {"cpu": "1", "memory": "1Gi"}, id="request stays"),
        pytest.param(new().cpu("1"), {"cpu": "1"}, id="no limits"),
        pytest.param(new().cpu(0).limit(cpu="2"), {"cpu": 0}, id="a request of zero is a request"),
        pytest.param(new().node("n1").limit(cpu="2"), {"cpu": "2"}, id="running too"),
    ],
)
def test_limits_are_requests_where_there_are_none(given: PodBuilder, expected: dict[str, RawQuantity]) -> None:
    assert admitted(given).spec.containers[0].resources.requests == expected


def test_init_containers_get_requests_from_limits_too() -> None:
    made = new().init(cpu="1").obj()
    made.spec.init_containers[0].resources.limits = {"cpu": "3", "memory": "1Gi"}
    admit([made])
    assert made.spec.init_containers[0].resources.requests == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(new().pod_limit(cpu="4", memory="2Gi"), {"cpu": "4", "memory": "2Gi"}, id="from pod limits"),
        pytest.param(
            new().cpu("1500m").container(cpu="250m").pod_limit(cpu="4", memory="2Gi"),
            {"cpu": "1750m", "memory": "2Gi"},
            id="from containers first",
        ),
        pytest.param(
            new().cpu("1").init(cpu="500m", sidecar=True).init(cpu="3").pod_limit(cpu="4"),
            {"cpu": "3500m"},
            id="the neediest moment of starting up",
        ),
        pytest.param(
            new().cpu("3").init(cpu="1").init(cpu="500m", sidecar=True).pod_limit(cpu="4"),
            {"cpu": "3500m"},
            id="running is needier",
        ),
        pytest.param(new().cpu("1").pod_request(cpu="3").pod_limit(cpu="4"), {"cpu": "3"}, id="as written"),
        pytest.param(new().cpu("1").memory("1Gi").pod_request(cpu="3"), {"cpu": "3"}, id="no limits, no default"),
        pytest.param(new().cpu("100n").pod_limit(cpu="4"), {"cpu": "100n"}, id="finest unit"),
        pytest.param(new().memory("1Gi").pod_limit(cpu="4"), {"memory": 2**30, "cpu": "4"}, id="whole units"),
        pytest.param(
            new().request({"example.com/gpu": 1}).pod_limit(cpu="4"), {"cpu": "4"}, id="no extended resources"
        ),
        pytest.param(
            new().limit({"hugepages-2Mi": "64Mi"}).pod_request(cpu="1"),
            {"cpu": "1", "hugepages-2Mi": 64 * 2**20},
            id="hugepages follow the containers' limits",
        ),
    ],
)
def test_pod_level_requests(given: PodBuilder, expected: dict[str, RawQuantity]) -> None:
    resources = admitted(given).spec.resources
    assert resources is not None
    assert resources.requests == expected


def test_a_malformed_quantity_that_must_be_summed_up_is_a_fault() -> None:
    with pytest.raises(InvalidObject, match=r"^Pod default/a: spec\.resources: quantities must match"):
        admit([new().cpu("much").pod_limit(cpu="4").obj()])


@pytest.mark.parametrize(
    ("on_host", "given", "expected"),
    [
        pytest.param(True, ContainerPort(container_port=80), (80, 80, "TCP"), id="host network opens ports"),
        pytest.param(True, ContainerPort(container_port=80, host_port=8080), (80, 8080, "TCP"), id="other port"),
        pytest.param(False, ContainerPort(container_port=80), (80, 0, "TCP"), id="pod network"),
        pytest.param(False, ContainerPort(container_port=80, protocol="UDP"), (80, 0, "UDP"), id="protocol stays"),
    ],
)
@pytest.mark.parametrize("where", ["containers", "init_containers"])
def test_ports(on_host: bool, given: ContainerPort, expected: tuple[int, int, str], where: str) -> None:
    made = new().init().obj()
    made.spec.host_network = on_host
    containers = getattr(made.spec, where)
    containers[0].ports = [copy.copy(given)]
    admit([made])
    port = containers[0].ports[0]
    assert (port.container_port, port.host_port, port.protocol) == expected


@pytest.mark.parametrize(
    ("given", "added"),
    [
        pytest.param(new(), ["not-ready", "unreachable"], id="none"),
        pytest.param(new().tolerates("gpu"), ["not-ready", "unreachable"], id="others"),
        pytest.param(
            new().tolerates("node.kubernetes.io/not-ready", effect="NoExecute"), ["unreachable"], id="one of them"
        ),
        pytest.param(
            new().tolerates("node.kubernetes.io/not-ready", effect="NoSchedule"),
            ["not-ready", "unreachable"],
            id="other effect",
        ),
        pytest.param(new().tolerates(), [], id="everything"),
        pytest.param(new().tolerates(effect="NoExecute"), [], id="every NoExecute"),
        pytest.param(new().node("n1"), [], id="running"),
        pytest.param(pod("a").priority(None), [], id="stored"),
    ],
)
def test_new_pods_tolerate_a_failing_node_for_a_while(given: PodBuilder, added: list[str]) -> None:
    before = len(given.obj().spec.tolerations)
    tolerations = admitted(given).spec.tolerations[before:]
    assert [t.key for t in tolerations] == [f"node.kubernetes.io/{why}" for why in added]
    assert all((t.effect, t.toleration_seconds) == ("NoExecute", 300) for t in tolerations)


def written(expressions: list[Any]) -> list[tuple[str, str, list[str]]]:
    return [(one.key, one.operator, one.values) for one in expressions]


def test_label_keys_are_merged_once_into_affinity_and_spreading() -> None:
    keys: dict[str, Any] = {"match_label_keys": ["hash", "absent"], "mismatch_label_keys": ["tenant"]}
    made = (
        new()
        .labels(hash="h1", tenant="t1")
        .pod_affinity(ZONE, "app=x", **keys)
        .pod_affinity(ZONE, {"app": "x"}, weight=3, **keys)
        .pod_anti_affinity(HOST, "", **keys)
        .pod_anti_affinity(HOST, None, weight=1, **keys)
        .spread(ZONE, {"app": "x"}, match_label_keys=["hash"])
        .spread(HOST, None, match_label_keys=["hash"])
        .obj()
    )
    merged = [("hash", "In", ["h1"]), ("tenant", "NotIn", ["t1"])]
    for _ in range(2):
        admit([made])
        assert made.spec.affinity is not None
        near, away = made.spec.affinity.pod_affinity, made.spec.affinity.pod_anti_affinity
        assert near is not None
        assert away is not None
        terms = [near.required[0], near.preferred[0].pod_affinity_term, away.required[0]]
        selectors = [term.label_selector for term in terms]
        assert [written(one.match_expressions) for one in selectors if one] == [
            [("app", "In", ["x"]), *merged],
            merged,
            merged,
        ]
        assert away.preferred[0].pod_affinity_term.label_selector is None
        first, second = made.spec.topology_spread_constraints
        assert first.label_selector is not None
        assert written(first.label_selector.match_expressions) == merged[:1]
        assert second.label_selector is None
        assert first.node_affinity_policy is None


def test_label_keys_of_a_stored_pod_are_left_alone() -> None:
    made = admitted(pod("a").priority(None).labels(hash="h").spread(ZONE, {"app": "x"}, match_label_keys=["hash"]))
    selector = made.spec.topology_spread_constraints[0].label_selector
    assert selector is not None
    assert selector.match_expressions == []


def plain(one: Object) -> dict[str, Any]:
    result: dict[str, Any] = msgspec.to_builtins(one)
    return result


def dig(data: dict[str, Any], path: str) -> Any:
    found: Any = data
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


WORK_QUEUE = job("j").set(parallelism=5).obj()


@pytest.mark.parametrize(
    ("given", "path", "expected"),
    [
        pytest.param(deployment("d").obj(), "spec.replicas", 1, id="deployment"),
        pytest.param(deployment("d").replicas(0).obj(), "spec.replicas", 0, id="deployment of none"),
        pytest.param(replica_set("r").obj(), "spec.replicas", 1, id="replica set"),
        pytest.param(stateful_set("s").obj(), "spec.replicas", 1, id="stateful set"),
        pytest.param(stateful_set("s").obj(), "spec.podManagementPolicy", "OrderedReady", id="policy"),
        pytest.param(replication_controller("r").obj(), "spec.replicas", 1, id="replication controller"),
        pytest.param(
            replication_controller("r").template(pod("t").labels(app="x")).set(selector={}).obj(),
            "spec.selector",
            {"app": "x"},
            id="its selector",
        ),
        pytest.param(daemon_set("d").obj(), "spec.template.spec.schedulerName", "default-scheduler", id="template"),
        pytest.param(deployment("d").obj(), "spec.template.spec.terminationGracePeriodSeconds", 30, id="its grace"),
        pytest.param(
            deployment("d").template(pod("t").limit(cpu=1)).obj(),
            "spec.template.spec.priority",
            None,
            id="no priority in a template",
        ),
        pytest.param(job("j").obj(), "spec.parallelism", 1, id="job"),
        pytest.param(job("j").obj(), "spec.completions", 1, id="its completions"),
        pytest.param(job("j").set(completions=4).obj(), "spec.parallelism", 1, id="parallelism beside completions"),
        pytest.param(WORK_QUEUE, "spec.completions", None, id="work queue"),
        pytest.param(cron_job("c").obj(), "spec.jobTemplate.spec.parallelism", 1, id="cron job"),
        pytest.param(
            namespace("n").manifest().obj(), "metadata.labels", {"kubernetes.io/metadata.name": "n"}, id="namespace"
        ),
        pytest.param(claim("c").manifest().obj(), "spec.volumeMode", "Filesystem", id="claim"),
        pytest.param(claim("c").manifest().namespace("").obj(), "metadata.namespace", "default", id="its namespace"),
        pytest.param(claim("c").obj(), "spec.storageClassName", None, id="claim without any class"),
        pytest.param(volume("v").set(volume_mode=None).obj(), "spec.volumeMode", "Filesystem", id="volume"),
        pytest.param(node("n").obj(), "metadata.namespace", None, id="nodes have no namespace"),
        pytest.param(storage_class("s", mode=None).obj(), "volumeBindingMode", "Immediate", id="storage class"),
        pytest.param(
            storage_class("s", mode="WaitForFirstConsumer").obj(),
            "volumeBindingMode",
            "WaitForFirstConsumer",
            id="its mode stays",
        ),
        pytest.param(
            priority_class("p", 1, policy=None).obj(), "preemptionPolicy", "PreemptLowerPriority", id="priority class"
        ),
    ],
)
def test_other_kinds(given: Object, path: str, expected: Any) -> None:
    made = copy.deepcopy(given)
    admit([made])
    assert dig(plain(made), path) == expected


def test_templates_keep_limits_as_limits() -> None:
    made = deployment("d").template(pod("t").limit(cpu="2")).obj()
    admit([made])
    assert made.spec.template.spec.containers[0].resources.requests == {}


def test_node_allocatable_is_the_capacity_where_unset() -> None:
    bare, full = node("bare").obj(), node("full").allocatable(cpu="3").obj()
    bare.status.allocatable = {}
    admit([bare, full])
    assert bare.status.allocatable == bare.status.capacity
    assert bare.status.allocatable is not bare.status.capacity
    assert full.status.allocatable["cpu"] == "3"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(claim("c").manifest(), "new", id="newest default"),
        pytest.param(claim("c"), "new", id="stored and unbound: afterwards"),
        pytest.param(claim("c").storage_class("plain"), "plain", id="named"),
        pytest.param(claim("c").storage_class(""), "", id="none wanted"),
        pytest.param(claim("c").bound("v"), None, id="bound"),
        pytest.param(
            claim("c").annotations({"volume.beta.kubernetes.io/storage-class": "plain"}), None, id="old annotation"
        ),
    ],
)
def test_default_storage_class(given: Any, expected: str | None) -> None:
    classes = [
        storage_class("plain").created(9_000).obj(),
        storage_class("old", default=True).created(1_000).obj(),
        storage_class("same-age", default=True).created(5_000).obj(),
        storage_class("new", default=True).created(5_000).obj(),
        storage_class("undated", default=True).manifest().obj(),
    ]
    made = given.obj()
    admit([made, *classes])
    assert made.spec.storage_class_name == expected


def test_admitting_twice_changes_nothing_more() -> None:
    objects: list[Object] = [
        new().limit(cpu=1).pod_limit(cpu=2).host_network().port(0, container=80).obj(),
        new("b").node("n").obj(),
        deployment("d").template(new("t").labels(app="x")).obj(),
        job("j").obj(),
        node("n").obj(),
        claim("c").manifest().obj(),
        storage_class("s", default=True).obj(),
    ]
    admit(objects)
    once = [plain(one) for one in objects]
    assert [plain(one) for one in admit(objects)] == once


def test_a_complete_pod_is_left_untouched_and_costs_next_to_nothing() -> None:
    made = pod("a").limit(cpu="2").obj()
    before = plain(made)
    assert is_complete(made)
    many: list[Object] = [made] * 50_000
    started = time.process_time()
    assert admit(many) is many
    elapsed = time.process_time() - started
    assert plain(made) == before
    # Two microseconds each are the aim; the bound leaves room for a slow machine.
    assert elapsed < 50_000 * 10e-6


@pytest.mark.parametrize(
    ("lacking", "expected"),
    [("scheduler_name", "default-scheduler"), ("termination_grace_period_seconds", 30), ("priority", 0)],
)
def test_a_stored_pod_that_lacks_a_mark_is_completed(lacking: str, expected: object) -> None:
    made = pod("a").obj()
    setattr(made.spec, lacking, "" if lacking == "scheduler_name" else None)
    assert not is_complete(made)
    admit([made])
    assert getattr(made.spec, lacking) == expected


def test_recorded_clusters_stay_as_they_are(conformance_cases: Path) -> None:
    """Objects that a real API server stored gain at most fields that say what their absence said."""
    harmless = {
        "Pod": {"spec.terminationGracePeriodSeconds", "spec.restartPolicy"},
        "Namespace": set[str](),
        "Node": set[str](),
        "PersistentVolumeClaim": {"spec.volumeMode", "status.phase"},
        "PersistentVolume": {"spec.volumeMode", "status.phase"},
        "StorageClass": {"reclaimPolicy"},
        "ReplicaSet": {"spec.template"},
    }
    for family in ("volumes", "pod_affinity", "default_spread", "mix"):
        with lzma.open(conformance_cases / f"{family}.jsonl.xz") as lines:
            for line in lines:
                objects = [
                    msgspec.convert(one, KINDS[one["kind"]].struct) for one in json.loads(line)["scenario"]["objects"]
                ]
                before = [plain(one) for one in objects]
                for was, one in zip(before, admit(objects), strict=True):
                    now = plain(one)
                    changed = set(differences(was, now))
                    assert changed <= harmless.get(was["kind"], set()), (family, was["metadata"])


def differences(was: Any, now: Any, path: str = "") -> list[str]:
    if path.count(".") == 2 or not (isinstance(was, dict) and isinstance(now, dict)):
        return [] if was == now else [path.removeprefix(".")]
    return [found for key in {**was, **now} for found in differences(was.get(key), now.get(key), f"{path}.{key}")]
