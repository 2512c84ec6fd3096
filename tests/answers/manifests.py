"""Manifests in a line each, as plain documents: what users write, with every field that an API server wants.

`bayplan.testing.builders` makes structs, which have only what a scheduler reads; these go to kubectl and an API server.
"""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_API_VERSIONS = {
    **dict.fromkeys(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"), "apps/v1"),
    **dict.fromkeys(("Job", "CronJob"), "batch/v1"),
    **dict.fromkeys(("ResourceSlice", "DeviceClass", "ResourceClaim", "ResourceClaimTemplate"), "resource.k8s.io/v1"),
    "PriorityClass": "scheduling.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "PodGroup": "scheduling.k8s.io/v1beta1",
}
_GLOBAL = frozenset({"Node", "PriorityClass", "StorageClass", "PersistentVolume", "ResourceSlice", "DeviceClass"})


def manifest(kind: str, name: str, namespace: str = "default", **fields: Any) -> Document:
    metadata = {"name": name} if kind in _GLOBAL else {"name": name, "namespace": namespace}
    return {"apiVersion": _API_VERSIONS.get(kind, "v1"), "kind": kind, "metadata": metadata, **fields}


def node(
    name: str,
    cpu: str = "4",
    *,
    pods: int = 110,
    taint: str = "",
    cordoned: bool = False,
    labels: dict[str, str] | None = None,
    **amounts: str,
) -> Document:
    """`taint` is KEY=VALUE, for NoSchedule; `amounts` are other resources, with __ for a slash and _ for a dot."""
    written = {key.replace("__", "/").replace("_", "."): value for key, value in amounts.items()}
    offers = {"cpu": cpu, "memory": "16Gi", "pods": str(pods), **written}
    made = manifest("Node", name, spec={}, status={"capacity": offers, "allocatable": offers})
    made["metadata"]["labels"] = {HOST: name, **(labels or {})}
    if taint:
        key, _, value = taint.partition("=")
        made["spec"]["taints"] = [{"key": key, "value": value, "effect": "NoSchedule"}]
    if cordoned:
        made["spec"]["unschedulable"] = True
    return made


def pod_spec(cpu: str = "1", /, requests: dict[str, str] | None = None, **fields: Any) -> Document:
    """`fields` are those of the pod's spec, but `ports`, which are the container's."""
    container = {"name": "main", "image": "registry.example/app:1", "resources": {"requests": {"cpu": cpu}}}
    container["resources"]["requests"] |= requests or {}  # type: ignore[index]
    scarce = {name: amount for name, amount in (requests or {}).items() if "/" in name}
    if scarce:
        container["resources"]["limits"] = scarce  # type: ignore[index]
    if "ports" in fields:
        container["ports"] = fields.pop("ports")
    return {"containers": [container], **fields}


def template(name: str, spec: Document) -> Document:
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def workload(kind: str, name: str, spec: Document, namespace: str = "default", **fields: Any) -> Document:
    """A Deployment, StatefulSet, DaemonSet or ReplicaSet."""
    own = {"selector": {"matchLabels": {"app": name}}, "template": template(name, spec), **fields}
    if kind == "StatefulSet":
        own["serviceName"] = name
    return manifest(kind, name, namespace, spec=own)


def deployment(name: str, replicas: int, spec: Document, namespace: str = "default", **fields: Any) -> Document:
    return workload("Deployment", name, spec, namespace, replicas=replicas, **fields)


def stateful_set(name: str, replicas: int, spec: Document, namespace: str = "default", **fields: Any) -> Document:
    return workload("StatefulSet", name, spec, namespace, replicas=replicas, **fields)


def daemon_set(name: str, spec: Document, namespace: str = "default") -> Document:
    return workload("DaemonSet", name, spec, namespace)


def job(name: str, parallelism: int, spec: Document, namespace: str = "default", **fields: Any) -> Document:
    return manifest("Job", name, namespace, spec=_job_spec(name, parallelism, spec, **fields))


def cron_job(name: str, schedule: str, spec: Document, namespace: str = "default") -> Document:
    made = {"schedule": schedule, "jobTemplate": {"spec": _job_spec(name, 1, spec)}}
    return manifest("CronJob", name, namespace, spec=made)


def _job_spec(name: str, parallelism: int, spec: Document, **fields: Any) -> Document:
    made = template(name, {**spec, "restartPolicy": "Never"})
    return {"parallelism": parallelism, "completions": parallelism, "template": made, **fields}


def pod(name: str, spec: Document, namespace: str = "default") -> Document:
    made = manifest("Pod", name, namespace, spec=spec)
    made["metadata"]["labels"] = {"app": name}
    return made


def priority_class(name: str, value: int, **fields: Any) -> Document:
    return manifest("PriorityClass", name, value=value, **fields)


def budget(name: str, namespace: str = "default", **fields: Any) -> Document:
    """For the pods of the workload of the same name."""
    return manifest("PodDisruptionBudget", name, namespace, spec={"selector": {"matchLabels": {"app": name}}, **fields})


def claim(name: str, storage_class: str | None, volume: str = "") -> Document:
    spec: Document = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    if volume:
        spec["volumeName"] = volume
    return manifest("PersistentVolumeClaim", name, spec=spec)


def volume(name: str, storage_class: str, zone: str = "") -> Document:
    spec: Document = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "storageClassName": storage_class,
        "csi": {"driver": "disk.example", "volumeHandle": name},
    }
    if zone:
        expression = {"key": ZONE, "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return manifest("PersistentVolume", name, spec=spec)


def storage_class(name: str, mode: str, provisioner: str = "kubernetes.io/no-provisioner") -> Document:
    return manifest("StorageClass", name, provisioner=provisioner, volumeBindingMode=mode)


def mounted(claim_name: str) -> Document:
    """Fields of a pod's spec."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}]}


def devices(node_name: str, *names: str) -> Document:
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": name, "attributes": {"model": {"string": "a100"}}} for name in names]
    spec = {"driver": "gpu.example", "nodeName": node_name, "pool": pool, "devices": listed}
    return manifest("ResourceSlice", f"{node_name}-gpus", spec=spec)


def device_class(name: str) -> Document:
    return manifest("DeviceClass", name, spec={})


def device_claim_template(name: str, expression: str = "", count: int = 1) -> Document:
    exactly: Document = {"deviceClassName": "gpu", "count": count}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    requests = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
    return manifest("ResourceClaimTemplate", name, spec={"spec": requests})


def with_devices(template_name: str) -> Document:
    """Fields of a pod's spec."""
    return {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template_name}]}


def required_nodes(key: str, *values: str) -> Document:
    """An affinity."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def apart(name: str, key: str = HOST) -> Document:
    """An affinity: no two pods of the workload in the same place."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def preferably_apart(name: str) -> Document:
    """An affinity: pods of the workload in different places, where that is possible."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": name}}}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def spread(name: str, key: str = ZONE) -> list[Document]:
    selector = {"matchLabels": {"app": name}}
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


def tolerating(key: str, value: str) -> list[Document]:
    return [{"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}]
