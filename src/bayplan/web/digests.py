"""What the page shows of each object: a few fields under short names, with amounts as numbers.

Takes stored structs, and for Events documents; leaves out whatever is empty, because a large cluster has thousands of
these. Nothing here knows how it is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from bayplan.apiserver.storage.entries import Document
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.controllers.ownership import controller_reference
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, allocatable_amounts, pod_requests
from bayplan.core.groups.cycle import INITIALLY_SCHEDULED
from bayplan.core.lifecycle import PodState
from bayplan.core.queue import PARKED_MAX_NS
from bayplan.core.queue.queued_pod import QueuedPod
from bayplan.model.cluster import Namespace
from bayplan.model.conditions import TRUE, find_condition, is_ready
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod, group_key
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.time_units import MILLISECOND, SECOND
from bayplan.model.well_known import DISRUPTION_TARGET, INSTANCE_TYPE, POD_SCHEDULED, READY, ZONE
from bayplan.report.hidden_characters import visible

Digest = dict[str, Any]

#: Resources that are shown, and the table of the page in which they are.
TABLES: Final = {
    "nodes": "nodes",
    "pods": "pods",
    "namespaces": "namespaces",
    "events": "events",
    "priorityclasses.scheduling.k8s.io": "classes",
    "poddisruptionbudgets.policy": "budgets",
    "deployments.apps": "workloads",
    "statefulsets.apps": "workloads",
    "replicasets.apps": "workloads",
    "podgroups.scheduling.k8s.io": "podGroups",
}


#: Labels that say to which pool of equal nodes a node belongs, by those who make nodes.
_POOL_LABELS: Final = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "doks.digitalocean.com/node-pool",
    "oke.oraclecloud.com/pool.name",
    "node.cluster.x-k8s.io/machine-pool",
    "node-pool",
    "nodepool",
    "pool",
    INSTANCE_TYPE,
)
#: The message of a victim's Event names its preemptor.
_PREEMPTED: Final = re.compile(r"Preempted by pod (\S+) on node (\S+)")


def row_key(resource: str, namespace: str, name: str) -> str:
    """Under which key a table has an object: the one of the workloads has several kinds."""
    return f"{resource}/{namespace}/{name}" if TABLES[resource] == "workloads" else f"{namespace}/{name}"


def _filled(**fields: Any) -> Digest:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value not in ("", None, False, [], 0)}


def node_digest(node: Node) -> Digest:
    amounts, pods = allocatable_amounts(node.status.allocatable)
    ready = find_condition(node.status.conditions, READY)
    return _filled(
        name=node.metadata.name,
        zone=node.metadata.labels.get(ZONE, ""),
        pool=next((node.metadata.labels[key] for key in _POOL_LABELS if node.metadata.labels.get(key)), ""),
        cpu=amounts.get(CPU_NAME, 0),
        memory=amounts.get(MEMORY_NAME, 0),
        pods=pods,
        cordoned=node.spec.unschedulable,
        notReady="" if ready is None or ready.status == TRUE else ready.status,
        taints=[f"{taint.key}:{taint.effect}" for taint in node.spec.taints],
    )


def pod_digest(pod: Pod) -> Digest:
    meta, spec, status = pod.metadata, pod.spec, pod.status
    requests = pod_requests(pod, DEFAULT_GATES).used
    scheduled = find_condition(status.conditions, POD_SCHEDULED)
    target = find_condition(status.conditions, DISRUPTION_TARGET)
    owner = controller_reference(meta)
    return _filled(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        node=spec.node_name,
        nominated=status.nominated_node_name,
        cpu=requests.get(CPU_NAME, 0),
        memory=requests.get(MEMORY_NAME, 0),
        priority=spec.priority,
        priorityClass=spec.priority_class_name,
        phase=status.phase,
        ready=is_ready(pod),
        waitsFor="" if scheduled is None or scheduled.status == TRUE else visible(scheduled.message),
        gates=[gate.name for gate in spec.scheduling_gates],
        endsAt=meta.deletion_timestamp,
        target=target.reason if target is not None and target.status == TRUE else "",
        owner="" if owner is None else f"{owner.kind}/{owner.name}",
        group=group_key(pod),
        created=meta.creation_timestamp,
    )


def budget_digest(budget: PodDisruptionBudget) -> Digest:
    status = budget.status
    known = (
        {}
        if status is None
        else {
            "allowed": status.disruptions_allowed,
            "healthy": status.current_healthy,
            "desired": status.desired_healthy,
            "expected": status.expected_pods,
        }
    )
    return {"namespace": budget.metadata.namespace, "name": budget.metadata.name, **known}


def workload_digest(workload: Any) -> Digest | None:
    """None for what another workload makes: one scales its maker."""
    if controller_reference(workload.metadata) is not None:
        return None
    return {
        "kind": type(workload).__name__,
        "namespace": workload.metadata.namespace,
        "name": workload.metadata.name,
        "replicas": 1 if workload.spec.replicas is None else workload.spec.replicas,
        "ready": workload.status.ready_replicas,
    }


def pod_group_digest(group: PodGroup) -> Digest:
    """A group without `minCount` is not a gang."""
    meta, spec = group.metadata, group.spec
    gang, mode = spec.scheduling_policy.gang, spec.disruption_mode
    found = find_condition(group.status.conditions, INITIALLY_SCHEDULED)
    return _filled(
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        minCount=0 if gang is None else gang.min_count,
        goesAsAWhole=mode is not None and mode.all is not None,
        placed=found is not None and found.status == TRUE,
        waitsFor="" if found is None or found.status == TRUE else visible(found.message),
    )


def class_digest(priority_class: Any) -> Digest:
    meta = priority_class.metadata
    return _filled(name=meta.name, created=meta.creation_timestamp) | {"value": priority_class.value}


def namespace_digest(namespace: Namespace) -> Digest:
    return _filled(name=namespace.metadata.name, created=namespace.metadata.creation_timestamp)


def event_digest(document: Document) -> Digest:
    about: Mapping[str, Any] = document.get("involvedObject") or {}
    series: Mapping[str, Any] = document.get("series") or {}
    preempted = _PREEMPTED.match(document.get("message") or "") if document.get("reason") == "Preempted" else None
    at = series.get("lastObservedTime") or document.get("lastTimestamp") or document.get("eventTime")
    return _filled(
        namespace=document["metadata"]["namespace"],
        name=document["metadata"]["name"],
        type=document.get("type", ""),
        reason=document.get("reason", ""),
        message=visible(document.get("message") or ""),
        about=f"{about.get('kind', '')} {about.get('name', '')}".strip(),
        aboutUid=about.get("uid", ""),
        by="" if preempted is None else preempted[1],
        node="" if preempted is None else preempted[2],
        count=series.get("count") or document.get("count") or 1,
        at=at or document["metadata"].get("creationTimestamp"),
    )


def queued_digest(queued: QueuedPod) -> Digest:
    """Where a pending pod waits and, as milliseconds, until when at most."""
    until = None
    if queued.state is PodState.BACKOFF and queued.backoff_second is not None:
        until = (queued.backoff_second + SECOND) // MILLISECOND  # the whole of that second is waited for
    elif queued.state is PodState.UNSCHEDULABLE:
        until = (queued.idle_since + PARKED_MAX_NS) // MILLISECOND
    return _filled(state=queued.state.value, until=until, attempts=queued.attempts)


_BY_TABLE: Final[dict[str, Callable[[Any], Digest | None]]] = {
    "nodes": node_digest,
    "pods": pod_digest,
    "namespaces": namespace_digest,
    "classes": class_digest,
    "budgets": budget_digest,
    "workloads": workload_digest,
    "podGroups": pod_group_digest,
}


def digest(table: str, obj: Object) -> Digest | None:
    """What the page shows of an object; None if nothing."""
    return _BY_TABLE[table](obj)
