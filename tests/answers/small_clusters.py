"""Small clusters in which something is pending, one for each reason, as an engineer would write them down.

The workload in question is called `web` (or what its kind is usually for: `db`, `agent`, `import`, `report`, `once`).
"""

from __future__ import annotations

from tests.answers.manifests import (
    ZONE,
    Document,
    apart,
    budget,
    claim,
    cron_job,
    daemon_set,
    deployment,
    device_claim_template,
    device_class,
    devices,
    job,
    mounted,
    node,
    pod,
    pod_spec,
    preferably_apart,
    priority_class,
    required_nodes,
    spread,
    stateful_set,
    storage_class,
    tolerating,
    volume,
    with_devices,
    workload,
)

Objects = list[Document]

TWO = [node("n1"), node("n2")]
THREE = [node("n1"), node("n2"), node("n3")]
POOLS = [node("a1", labels={"pool": "general"}), node("a2", labels={"pool": "general"})]
ZONES = [node("a", labels={ZONE: "a"}), node("b", labels={ZONE: "b"})]
CLASSES = [priority_class("low", 10), priority_class("high", 1000)]
LATE_BINDING = storage_class("local", "WaitForFirstConsumer")

#: Name -> objects.
CLUSTERS: dict[str, Objects] = {
    # A request that is too large.
    "cpu-for-one": [*TWO, deployment("web", 3, pod_spec("3"))],
    "cpu-for-all": [*TWO, deployment("web", 4, pod_spec("3"))],
    "cpu-unequal-nodes": [node("large", "3"), node("small", "1"), deployment("web", 2, pod_spec("4"))],
    "cpu-larger-than-any-node": [*TWO, deployment("web", 2, pod_spec("6"))],
    "memory": [*TWO, deployment("web", 3, pod_spec("1", {"memory": "10Gi"}))],
    "cpu-statefulset": [*TWO, stateful_set("db", 3, pod_spec("3"))],
    "cpu-job": [*TWO, job("import", 3, pod_spec("3"))],
    "cpu-pod": [node("n1"), pod("once", pod_spec("5"))],
    "cpu-daemonset": [
        node("n1"),
        node("n2", "1"),
        deployment("other", 1, pod_spec("1", nodeSelector={"kubernetes.io/hostname": "n2"})),
        daemon_set("agent", pod_spec("500m")),
    ],
    # Taints.
    "taint-of-all": [
        node("n1", taint="dedicated=web"),
        node("n2", taint="dedicated=web"),
        deployment("web", 2, pod_spec()),
    ],
    "taint-of-gpus": [
        node("n1"),
        node("g1", taint="nvidia.com/gpu=present", nvidia_com__gpu="4"),
        deployment("web", 2, pod_spec("1", {"nvidia.com/gpu": "1"})),
    ],
    "taint-misspelled": [
        node("n1", taint="dedicated=web"),
        deployment("web", 2, pod_spec(tolerations=tolerating("dedicated", "wbe"))),
    ],
    "taint-pod": [node("n1", taint="dedicated=batch"), pod("once", pod_spec())],
    "taint-daemonset": [node("n1"), node("n2", taint="dedicated=batch"), daemon_set("agent", pod_spec("100m"))],
    # Where a pod may go.
    "selector-misspelled": [*POOLS, deployment("web", 3, pod_spec(nodeSelector={"pool": "generall"}))],
    "selector-misspelled-statefulset": [*POOLS, stateful_set("db", 2, pod_spec(nodeSelector={"pool": "generall"}))],
    "selector-misspelled-job": [*POOLS, job("import", 2, pod_spec(nodeSelector={"pool": "generall"}))],
    "selector-misspelled-daemonset": [*POOLS, daemon_set("agent", pod_spec("100m", nodeSelector={"pool": "generall"}))],
    "selector-misspelled-pod": [*POOLS, pod("once", pod_spec(nodeSelector={"pool": "generall"}))],
    "selector-misspelled-replicaset": [
        *POOLS,
        workload("ReplicaSet", "web", pod_spec(nodeSelector={"pool": "generall"}), replicas=2),
    ],
    "selector-of-another-pool": [*POOLS, deployment("web", 2, pod_spec(nodeSelector={"pool": "spot"}))],
    "affinity": [*POOLS, deployment("web", 2, pod_spec(affinity=required_nodes("pool", "spot", "gpu")))],
    "affinity-misspelled": [*POOLS, deployment("web", 2, pod_spec(affinity=required_nodes("pool", "generel")))],
    "resource-misspelled": [
        node("g1", nvidia_com__gpu="4"),
        deployment("web", 2, pod_spec("1", {"nvidia.com/gpus": "1"})),
    ],
    # Other pods.
    "anti-affinity": [*TWO, deployment("web", 3, pod_spec(affinity=apart("web")))],
    "anti-affinity-of-one-node": [node("n1"), *CLASSES, deployment("web", 2, pod_spec(affinity=apart("web")))],
    "spread": [
        *ZONES,
        node("c", labels={ZONE: "c"}, cordoned=True),
        deployment("filler", 1, pod_spec("3", nodeSelector={ZONE: "b"})),
        deployment("web", 4, pod_spec(topologySpreadConstraints=spread("web"))),
    ],
    "host-port": [*TWO, deployment("web", 3, pod_spec(ports=[{"containerPort": 80, "hostPort": 8080}]))],
    "pods-per-node": [node("n1", pods=2), node("n2", pods=2, cordoned=True), deployment("web", 4, pod_spec("100m"))],
    # The state of nodes.
    "cordoned": [node("n1"), node("n2", cordoned=True), deployment("web", 3, pod_spec("2"))],
    "cordoned-statefulset": [
        ZONES[0],
        node("b", labels={ZONE: "b"}, cordoned=True),
        storage_class("disk", "WaitForFirstConsumer"),
        volume("disk-b", "disk", "b"),
        claim("data-db-0", "disk", "disk-b"),
        stateful_set(
            "db",
            1,
            pod_spec(),
            volumeClaimTemplates=[
                {
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "storageClassName": "disk",
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }
            ],
        ),
    ],
    # Volumes.
    "claim-misspelled": [
        *TWO,
        LATE_BINDING,
        volume("disk", "local"),
        claim("data-web", "local"),
        deployment("web", 1, pod_spec(**mounted("data-wbe"))),
    ],
    "claim-missing": [*TWO, LATE_BINDING, volume("disk", "local"), pod("once", pod_spec(**mounted("data")))],
    "class-missing": [*TWO, claim("data", "fast"), pod("once", pod_spec(**mounted("data")))],
    "no-volume": [*TWO, LATE_BINDING, claim("data", "local"), pod("once", pod_spec(**mounted("data")))],
    "volume-in-a-full-zone": [
        *ZONES,
        storage_class("disk", "WaitForFirstConsumer"),
        volume("disk-b", "disk", "b"),
        claim("data", "disk", "disk-b"),
        deployment("filler", 1, pod_spec("4", nodeSelector={ZONE: "b"})),
        deployment("web", 1, pod_spec("2", **mounted("data"))),
    ],
    # Devices.
    "devices-that-do-not-match": [
        *TWO,
        devices("n1", "gpu-0"),
        device_class("gpu"),
        device_claim_template("gpus", 'device.attributes["gpu.example"].model == "h100"'),
        deployment("web", 1, pod_spec(**with_devices("gpus"))),
    ],
    "devices-taken": [
        *TWO,
        devices("n1", "gpu-0"),
        device_class("gpu"),
        device_claim_template("gpus"),
        deployment("web", 2, pod_spec(**with_devices("gpus"))),
    ],
    "device-template-missing": [
        *TWO,
        devices("n1", "gpu-0"),
        device_class("gpu"),
        pod("once", pod_spec(**with_devices("gpus"))),
    ],
    # Not tried yet, or not important enough.
    "gate": [*TWO, pod("once", pod_spec(schedulingGates=[{"name": "example.com/quota"}]))],
    "gate-deployment": [*TWO, deployment("web", 2, pod_spec(schedulingGates=[{"name": "example.com/quota"}]))],
    "priority": [
        node("n1"),
        *CLASSES,
        deployment("other", 1, pod_spec("3", priorityClassName="low")),
        deployment("web", 1, pod_spec("3")),
    ],
    "never-preempts": [
        node("n1"),
        *CLASSES,
        priority_class("polite", 1000, preemptionPolicy="Never"),
        deployment("other", 1, pod_spec("3", priorityClassName="low")),
    ],
    "two-reasons": [
        node("n1", labels={"pool": "general"}),
        deployment("web", 1, pod_spec("6", nodeSelector={"pool": "spot"})),
    ],
    # Nothing pending, or nothing yet.
    "cronjob-not-due": [*POOLS, cron_job("report", "0 0 1 1 *", pod_spec(nodeSelector={"pool": "generall"}))],
    "cronjob-due": [
        *POOLS,
        cron_job("report", "0 0 1 1 *", pod_spec(nodeSelector={"pool": "generall"})),
    ],
    "suspended-job-that-fits": [*TWO, job("import", 2, pod_spec(), suspend=True)],
    "suspended-job": [*POOLS, job("import", 2, pod_spec(nodeSelector={"pool": "generall"}), suspend=True)],
    "runs": [*TWO, deployment("web", 2, pod_spec())],
    # For questions about changes.
    "tight": [
        *THREE,
        *CLASSES,
        deployment("web", 3, pod_spec("2")),
        deployment("api", 2, pod_spec("1", priorityClassName="low")),
        budget("web", minAvailable=2),
    ],
    "full": [*THREE, deployment("web", 3, pod_spec("3")), budget("web", minAvailable=2)],
    "roomy": [*THREE, deployment("web", 3, pod_spec()), budget("web", minAvailable=2)],
    "roomy-daemonset": [*THREE, daemon_set("agent", pod_spec("100m")), deployment("web", 3, pod_spec())],
    "roomy-statefulset": [*THREE, stateful_set("db", 3, pod_spec()), budget("db", maxUnavailable=1)],
    "protected": [*THREE, deployment("web", 3, pod_spec()), budget("web", minAvailable=3)],
    "important-and-unimportant": [
        *TWO,
        *CLASSES,
        deployment("web", 2, pod_spec("2", priorityClassName="high", affinity=apart("web"))),
        deployment("batch", 2, pod_spec("2", priorityClassName="low", affinity=apart("batch"))),
        node("n3"),
    ],
    "fragmented": [
        *THREE,
        deployment("web", 3, pod_spec("1", affinity=apart("web"))),
        deployment("api", 3, pod_spec("1", affinity=preferably_apart("api"))),
        budget("web", maxUnavailable=1),
    ],
    "probe": [node("n1"), node("n2", "3"), node("n3", taint="dedicated=db"), deployment("web", 0, pod_spec())],
    "probe-spread": [
        *ZONES,
        node("b2", labels={ZONE: "b"}),
        deployment("web", 0, pod_spec(topologySpreadConstraints=spread("web"))),
    ],
    "probe-host-port": [*THREE, deployment("web", 0, pod_spec(ports=[{"containerPort": 80, "hostPort": 80}]))],
}
