"""What kubelets say of containers, from the phase of their pod, and where the pod can be reached.

Takes pods whose phase and Ready condition were written; gives them the conditions that go with these, a status for
every container, and addresses. Containers are as their pod is: all of them run, or all have ended, unless an init
container has failed: then what comes after it waits. Restarts are left as they stand. Nothing listens at the addresses.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any, Final

from bayplan.apiserver.admitting.cluster import NODES, ClusterView
from bayplan.apiserver.storage.entries import Document
from bayplan.controllers.nodes.pod_admission import REJECTED
from bayplan.model.conditions import FALSE, TRUE
from bayplan.model.well_known import READY

#: The conditions that a kubelet keeps, in its order.
#: Upstream: pkg/kubelet/kubelet_pods.go generateAPIPodStatus (v1.36).
_KUBELETS: Final = ("PodReadyToStartContainers", "Initialized", READY, "ContainersReady", "PodScheduled")
_COMPLETED: Final = "PodCompleted"
_PHASES: Final = frozenset({"Running", "Succeeded", "Failed"})


#: Addresses of pods are of this network.
_POD_NETWORK: Final = IPv4Network("10.128.0.0/9")


def completed(old: Document, new: Document, time: str, cluster: ClusterView) -> Document:
    """The pod with what its kubelet says of its containers."""
    status = new.get("status") or {}
    phase, before = status.get("phase"), (old.get("status") or {}).get("phase")
    conditions = status.get("conditions") or []
    ready = next((condition for condition in conditions if condition.get("type") == READY), None)
    if ready is not None and phase in _PHASES:
        conditions = _with_companions(conditions, ready, phase, uninitialized(new), time)
        if (phase != before or "containerStatuses" not in status) and not _was_rejected(status):
            status = {**status, **_container_statuses(new, phase, time)}
        if "podIP" not in status and phase == "Running":
            status = {**status, **_addresses(old, new, cluster)}
        if "generation" in new["metadata"]:
            status = {**status, "observedGeneration": new["metadata"]["generation"]}
    probed = [condition if "lastProbeTime" in condition else _probed(condition) for condition in conditions]
    return {**new, "status": {**status, "conditions": probed}} if probed else {**new, "status": status}


def _was_rejected(status: Document) -> bool:
    """Whether the kubelet has refused the pod, so that none of its containers was ever made."""
    return str(status.get("message") or "").startswith(REJECTED)


def _addresses(old: Document, pod: Document, cluster: ClusterView) -> Document:
    host = _host_address(pod, cluster)
    # No two writes have the same version, so no two pods have the same address, until so many writes were made.
    written = int(old["metadata"].get("resourceVersion") or 0)
    own = str(_POD_NETWORK[1 + written % (_POD_NETWORK.num_addresses - 2)])
    address = host if host and pod["spec"].get("hostNetwork") else own
    made: Document = {"podIP": address, "podIPs": [{"ip": address}]}
    return {"hostIP": host, "hostIPs": [{"ip": host}], **made} if host else made


def _host_address(pod: Document, cluster: ClusterView) -> str:
    node = cluster.find(NODES, "", pod["spec"].get("nodeName") or "")
    addresses = (node or {}).get("status", {}).get("addresses") or ()
    return next((str(known["address"]) for known in addresses if known.get("type") == "InternalIP"), "")


def with_ephemeral_statuses(pod: Document, time: str) -> Document:
    """The pod with the statuses of the containers that were added to it since it started."""
    status = pod["status"]
    before = {known["name"]: known for known in status.get("ephemeralContainerStatuses") or []}
    made = [
        before.get(container["name"]) or _container_status(pod, container, {}, "Running", "ephemeralContainers", time)
        for container in pod["spec"].get("ephemeralContainers") or []
    ]
    return {**pod, "status": {**status, "ephemeralContainerStatuses": made}} if made else pod


def _probed(condition: Document) -> Document:
    return {**condition, "lastProbeTime": None}


def uninitialized(pod: Document) -> list[str]:
    """The init container that has failed, and those that come after it, by name; none if none has."""
    names = [container["name"] for container in pod["spec"].get("initContainers") or ()]
    failed = [known["name"] for known in pod["status"].get("initContainerStatuses") or () if _has_failed(known)]
    return names[names.index(failed[0]) :] if failed and failed[0] in names else []


def _has_failed(known: Document) -> bool:
    return bool(((known.get("state") or {}).get("terminated") or {}).get("exitCode"))


def initialized(waiting: list[str]) -> Document:
    """The condition Initialized of a pod, given the init containers that have not succeeded."""
    if not waiting:
        return {"type": "Initialized", "status": TRUE}
    message = f"containers with incomplete status: [{' '.join(waiting)}]"
    return {"type": "Initialized", "status": FALSE, "reason": "ContainersNotInitialized", "message": message}


def _with_companions(
    conditions: list[Document], ready: Document, phase: str, waiting: list[str], time: str
) -> list[Document]:
    """The conditions that follow from whether the pod is ready, in a kubelet's order, others behind them."""
    standing = {condition["type"]: condition for condition in conditions}
    is_over = phase != "Running"
    reason = {"reason": _COMPLETED} if phase == "Succeeded" else {}
    wanted = {
        "PodReadyToStartContainers": {"status": FALSE if is_over else TRUE},
        "Initialized": {**initialized(waiting), **reason},
        "ContainersReady": {field: ready[field] for field in ("status", "reason", "message") if ready.get(field)},
    }
    for kind, said in wanted.items():
        standing[kind] = dated({"type": kind, **said}, standing.get(kind), time)
    kept = [standing.pop(kind) for kind in _KUBELETS if kind in standing]
    return [*kept, *standing.values()]


def dated(condition: Document, before: Document | None, time: str) -> Document:
    is_same = before is not None and before.get("status") == condition["status"]
    since = before.get("lastTransitionTime") if before is not None and is_same else time
    return {**condition, "lastProbeTime": None, "lastTransitionTime": since}


def _container_statuses(pod: Document, phase: str, time: str) -> dict[str, list[Document]]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    waiting = uninitialized(pod)
    # A container that fails is known by its exit code; without one, all have failed that are not over yet.
    known_failures = [*filter(_has_failed, status.get("containerStatuses") or []), *waiting]
    otherwise = int(phase == "Failed" and not known_failures)
    made = {}
    for field, written in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        before = {known["name"]: known for known in status.get(written) or []}
        names = {container["name"] for container in spec.get(field) or []}
        waits = names.intersection(waiting[1:]) if field == "initContainers" else names if waiting else ()
        if names:
            made[written] = [
                waiting_status(container)
                if container["name"] in waits
                else _container_status(pod, container, before.get(container["name"], {}), phase, field, time, otherwise)
                for container in spec[field]
            ]
    return made


def waiting_status(container: Document) -> Document:
    """Of a container that comes after others."""
    return {
        "name": container["name"],
        "state": {"waiting": {"reason": "PodInitializing"}},
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        "image": container.get("image", ""),
        "imageID": "",
        "started": False,
    }


def _container_status(
    pod: Document, container: Document, before: Document, phase: str, field: str, time: str, code: int = 0
) -> Document:
    is_sidecar = container.get("restartPolicy") == "Always"
    has_ended = phase != "Running" or (field == "initContainers" and not is_sidecar)
    container_id = container_id_of(pod, container)
    state = _ended(before, code, container_id, time) if has_ended else {"running": {"startedAt": time}}
    has_succeeded = not has_ended or not state["terminated"]["exitCode"]
    made = {
        "name": container["name"],
        "state": state,
        "lastState": before.get("lastState", {}),
        "ready": field != "ephemeralContainers" and (not has_ended or (field == "initContainers" and has_succeeded)),
        "restartCount": before.get("restartCount", 0),
        "image": container.get("image", ""),
        "imageID": "",
        "containerID": before.get("containerID") or container_id,
        "started": not has_ended,
        **sizes_of(container),
    }
    return {**before, **made}


def sizes_of(container: Document) -> Document:
    """What a kubelet says that a container has: all that was asked for, as resizes are carried out at once."""
    resources = container.get("resources") or {}
    requests = resources.get("requests")
    return {"resources": resources, **({"allocatedResources": requests} if requests else {})}


def with_sizes(pod: Document) -> Document:
    """The pod with the present sizes of its containers in the statuses that they have."""
    made = dict(pod["status"])
    for field, written in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        sizes = {container["name"]: sizes_of(container) for container in pod["spec"].get(field) or ()}
        if made.get(written):
            made[written] = [{**known, **sizes.get(known["name"], {})} for known in made[written]]
    return {**pod, "status": made}


def container_id_of(pod: Document, container: Document) -> str:
    return f"bayplan://{pod['metadata']['uid']}/{container['name']}"


def _ended(before: Document, otherwise: int, container_id: str, time: str) -> dict[str, Any]:
    """How a container ended, with that exit code if none is known."""
    state = before.get("state") or {}
    ended = state.get("terminated") or {}
    if "finishedAt" in ended:
        return {"terminated": ended}
    started = (state.get("running") or {}).get("startedAt", time)
    return {"terminated": terminated(ended.get("exitCode", otherwise), started, time, container_id)}


def terminated(code: int, started: str, time: str, container_id: str) -> Document:
    """The state of a container that has ended."""
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": started,
        "finishedAt": time,
        "containerID": container_id,
    }
