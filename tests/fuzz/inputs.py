"""What a user may hand to the command line, all of it valid: a small cluster with an object of every kind, a scheduler
configuration, a timeline and traces. `mutations` spoils them.

Gives plain data and text; names refer to each other, so that a value that is spoilt is one that somebody looks up.
"""

from __future__ import annotations

from typing import Any

from bayplan.testing import builders as make

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU, DRIVER = "example.com/gpu", "disk.example.com"
GPU_DRIVER = "gpu.example.com"
IMAGE = "registry.example.com/app:1"

Plain = dict[str, Any]


def cluster() -> list[Plain]:
    """Nodes that are nearly full, pods that run and wait, workloads, budgets, storage and devices."""
    return [*_nodes(), *_pods(), *_workloads(), *_others(), *_storage(), *_devices()]


def _nodes() -> list[Plain]:
    return [
        make.node("n1").zone("a").label("disk", "ssd").capacity(cpu="4", memory="8Gi", pods=20).dict(),
        make.node("n2")
        .zone("b")
        .capacity({"cpu": "4", "memory": "8Gi", "pods": 20, GPU: 2})
        .taint("gpu", "yes")
        .dict(),
        make.node("n3").zone("b").image(IMAGE, size_bytes=300 << 20).unschedulable().declares("Feature").dict(),
    ]


def _pods() -> list[Plain]:
    near = make.pod("near").cpu("500m").labels(app="web").pod_affinity(ZONE, "app=web").claim("data")
    wide = make.pod("wide").cpu("250m").memory("64Mi").labels(app="wide").spread(HOST, "app=wide", min_domains=2)
    wide.spread(ZONE, "app in (wide, web)", when="ScheduleAnyway").pod_anti_affinity(HOST, "app=wide", weight=5)
    picky = make.pod("picky").node_affinity("disk in (ssd)", "cores > 4").node_affinity("disk", weight=3)
    picky.tolerates("gpu", "yes", seconds=60).request({GPU: 1}).limit({GPU: 1}).port(8080, ip="10.0.0.1").init(cpu="1")
    big = make.pod("big").cpu("3").priority(None, class_name="high").manifest().ephemeral("scratch")
    return [
        make.pod("low").cpu("3").memory("1Gi").labels(app="low").running("n1", since=1_767_000_000).dict(),
        make.pod("old").cpu("3500m").running("n2").terminating(grace_seconds=30).nominated("n1").image(IMAGE).dict(),
        make.pod("gated").gate("example.com/wait").overhead(cpu="10m").pod_request(cpu="1").host_network().dict(),
        near.dict(),
        wide.dict(),
        picky.dict(),
        big.dict(),
        make.pod("drawing").cpu("100m").resource_claim("gpu", "gpus").resource_claim("own", template="gpu").dict(),
    ]


def _workloads() -> list[Plain]:
    pattern = make.pod("x").cpu("100m").memory("16Mi").labels(app="web").annotations({"bayplan/run-seconds": "60"})
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}
    web = make.deployment("web").manifest().replicas(2).template(pattern).dict()
    web["spec"] |= {"strategy": rolling, "minReadySeconds": 5, "revisionHistoryLimit": 2}
    stateful = make.stateful_set("db").manifest().replicas(2).template(pattern).claim_template(make.claim("data"))
    schedule = {"schedule": "*/2 * * * *", "timeZone": "Europe/Berlin", "concurrencyPolicy": "Forbid"}
    cron = make.cron_job("tick").manifest().dict()
    cron["spec"] = schedule | {"jobTemplate": {"spec": make.job("x").template(pattern).dict()["spec"]}}
    return [
        web,
        make.replica_set("rs").replicas(1).template(pattern).dict(),
        make.replication_controller("rc").replicas(1).template(pattern).selects(app="web").dict()
        | {"spec": {"replicas": 1, "selector": {"app": "rc"}, "template": _template("rc")}},
        stateful.dict(),
        make.daemon_set("agent").manifest().template(pattern).dict(),
        make.job("batch").manifest().set(parallelism=1, completions=2, backoff_limit=1).template(pattern).dict(),
        cron,
    ]


def _template(app: str) -> Plain:
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "main", "image": IMAGE}]}}


def _others() -> list[Plain]:
    return [
        make.namespace("default").labels(team="a").dict(),
        make.priority_class("high", 1000).dict(),
        make.priority_class("usual", 10, default=True).dict(),
        make.service("web", app="web").dict(),
        make.budget("web").min_available("50%").selects(app="web").dict(),
        make.pod_group("gang").gang(2).dict(),
        _workload(),
        make.budget("low").max_unavailable(1).selects("app in (low)").allows(1, disrupted=["old"]).dict(),
    ]


def _workload() -> Plain:
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 2}}}
    return {
        **{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "Workload", "metadata": {"name": "training"}},
        "spec": {"podGroupTemplates": [template]},
    }


def _storage() -> list[Plain]:
    return [
        make.storage_class("late", mode="WaitForFirstConsumer").dict()
        | {"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]},
        make.storage_class("soon", default=True).dict(),
        make.claim("data").storage_class("late").dict(),
        make.claim("taken").storage_class("soon").bound("disk").dict(),
        make.volume("disk").storage_class("soon").node_affinity(f"{ZONE} in (a)").dict(),
        make.csi_node("n1").driver(DRIVER, count=4, topology_keys=[ZONE]).dict(),
        _storage_object("CSIDriver", DRIVER, {"spec": {"storageCapacity": True, "attachRequired": True}}),
        _storage_object(
            "CSIStorageCapacity",
            "room",
            {"storageClassName": "late", "capacity": "10Gi", "nodeTopology": {"matchLabels": {ZONE: "a"}}},
        ),
        _storage_object(
            "VolumeAttachment",
            "held",
            {"spec": {"attacher": DRIVER, "nodeName": "n1", "source": {"persistentVolumeName": "disk"}}},
        ),
    ]


def catalog() -> list[Plain]:
    """Nodes to buy."""
    plain = {"name": "plain", "capacity": {"cpu": 8, "memory": "32Gi", "pods": 20}, "price": 1.5, "zones": ["a", "b"]}
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    gpu = {"name": "gpu", "capacity": {"cpu": "4", GPU: 2}, "price": 9, "labels": {"disk": "ssd"}, "taints": [taint]}
    return [plain, {**gpu, "zones": ["b"], "max": 3}]


def _storage_object(kind: str, name: str, fields: Plain) -> Plain:
    return {"apiVersion": "storage.k8s.io/v1", "kind": kind, "metadata": {"name": name}} | fields


def _devices() -> list[Plain]:
    """Two devices of a node, one of which is tainted, and claims for them."""
    large = {"cel": {"expression": f'device.attributes["{GPU_DRIVER}"].model == "large" && device.driver != ""'}}
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "selectors": [large]}
    either = [
        {"name": "large", "deviceClassName": "gpu", "selectors": [large]},
        {"name": "a", "deviceClassName": "gpu"},
    ]
    taint = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
    attributes = {"model": {"string": "large"}, "numa": {"int": 1}, "version": {"version": "1.2.3"}}
    devices = [
        {"name": "gpu-0", "attributes": attributes, "capacity": {"memory": {"value": "40Gi"}}},
        {"name": "gpu-1", "attributes": attributes, "taints": [taint]},
    ]
    slice_spec = {"driver": GPU_DRIVER, "nodeName": "n1", "devices": devices}
    same = {"requests": ["either"], "matchAttribute": f"{GPU_DRIVER}/numa"}
    claim = {"devices": {"requests": [{"name": "either", "firstAvailable": either}], "constraints": [same]}}
    template = {"spec": {"devices": {"requests": [{"name": "one", "exactly": exactly}]}}}
    return [
        _device_object("DeviceClass", "gpu", {"selectors": [large], "extendedResourceName": "example.com/device"}),
        _device_object(
            "ResourceSlice",
            "n1-gpus",
            slice_spec | {"pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}},
        ),
        _device_object("ResourceClaim", "gpus", claim, namespace="default"),
        _device_object("ResourceClaimTemplate", "gpu", template, namespace="default"),
        _device_object("DeviceTaintRule", "rule", {"deviceSelector": {"pool": "n1"}, "taint": taint}),
    ]


def _device_object(kind: str, name: str, spec: Plain, **meta: str) -> Plain:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name, **meta}, "spec": spec}


def configuration() -> Plain:
    """Two profiles, with the arguments of every plugin that takes some."""
    ratio = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
    resources = [{"name": "cpu", "weight": 2}, {"name": "memory", "weight": 1}]
    fit = {"type": "RequestedToCapacityRatio", "resources": resources, "requestedToCapacityRatio": ratio}
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"}
    wanted = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}
    arguments: dict[str, Plain] = {
        "NodeResourcesFit": {"ignoredResources": ["example.com/x"], "scoringStrategy": fit},
        "NodeResourcesBalancedAllocation": {"resources": [{"name": "cpu", "weight": 1}]},
        "InterPodAffinity": {"hardPodAffinityWeight": 5},
        "NodeAffinity": {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": wanted}},
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [spread]},
        "VolumeBinding": {"bindTimeoutSeconds": 300},
        "DynamicResources": {"filterTimeout": "5s"},
        "DefaultPreemption": {"minCandidateNodesPercentage": 20, "minCandidateNodesAbsolute": 2},
    }
    profile = {
        "schedulerName": "default-scheduler",
        "percentageOfNodesToScore": 80,
        "plugins": {
            "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 10}], "disabled": [{"name": "ImageLocality"}]},
            "multiPoint": {"enabled": [{"name": "NodeName"}]},
        },
        "pluginConfig": [{"name": name, "args": given} for name, given in arguments.items()],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "parallelism": 4,
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 5,
        "leaderElection": {"leaderElect": False, "leaseDuration": "15s"},
        "clientConnection": {"qps": 50, "burst": 100},
        "profiles": [profile, {"schedulerName": "second"}],
    }


def timeline() -> list[Plain]:
    """A step of every kind, within the minutes that are simulated."""
    return [
        {"at": "10s", "apply": [make.pod("late").manifest().cpu("1").dict()]},
        {"at": "20s", "scale": "default/deployment/web", "replicas": 3},
        {"at": "30s", "delete": ["default/job/batch", "default/near"]},
        {"at": "40s", "cordon": "n1"},
        {"at": "1m", "drain": ["n2"]},
        {"at": "70s", "uncordon": "n1"},
        {"at": "80s", "fail": "n1"},
        {"at": "1m30s", "recover": "n1"},
        {"at": "100s", "taint": "n1", "with": "gpu=yes:NoSchedule"},
        {"at": "110s", "taint": "n1", "with": "gpu-"},
        {"at": "2m", "label": "n1", "with": {"zone": "b", "disk": None}},
    ]


#: Trace format -> file name -> its text.
TRACES: dict[str, dict[str, str]] = {
    "csv": {
        "trace.csv": (
            "arrival,duration,cpu,memory,resource:example.com/gpu,priority,class,label:app,count\n"
            "0,30s,500m,64Mi,,5,mine,web,2\n"
            "1m,,1,1Gi,1,,high,,1\n"
            "90.5,10,0.1,1e6,,,,x,\n"
        )
    },
    "azure": {
        "azure.csv": (
            "arrival_s,cores,memory_gib,duration_min_s,duration_max_s,censored\n0,2,4,10,60,0\n30.5,0.5,1.75,0,300,1\n"
        )
    },
    "openb": {
        "openb_node_list_gpu_node.csv": (
            "sn,cpu_milli,memory_mib,gpu,model\nnode-a,64000,262144,2,P100\nnode-b,96000,393216,0,\n"
        ),
        "openb_pod_list_default.csv": (
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time\n"
            "p-1,6000,2048,2,1000,P100|G2,BE,0,50,0\n"
            "p-2,1000,512,1,460,,LS,60,200,90\n"
        ),
    },
}
