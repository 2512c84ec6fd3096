"""What a kubelet refuses: pods that do not fit the node they were given.

Takes a pod, its node and the pods that run there; gives the reason and message of the refusal, or None. The scheduler
has looked at all of this before; it matters for pods that were given a node by somebody else. Devices and volumes are
not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces
from bayplan.core.columns.resources import PODS_NAME, allocatable_amounts, pod_requests
from bayplan.core.plugins.node_affinity import REASON_POD
from bayplan.core.plugins.node_ports import NO_FREE_PORTS
from bayplan.core.plugins.taint_toleration import REASON
from bayplan.model.node import Node
from bayplan.model.pod import ContainerPort, Pod
from bayplan.model.tolerations import NO_EXECUTE, any_tolerates

#: What the message in the status of a refused pod begins with.
REJECTED: Final = "Pod was rejected: "
_EVERY_ADDRESS = ("", "0.0.0.0")


class PodRejection(NamedTuple):
    """Why a pod does not start, in a kubelet's words."""

    reason: str
    message: str


def refusal_of(pod: Pod, node: Node, others: Sequence[Pod]) -> PodRejection | None:
    """The first reason not to run the pod on its node beside those others."""
    return next(_refusals(pod, node, others), None)


def _refusals(pod: Pod, node: Node, others: Sequence[Pod]) -> Iterator[PodRejection]:
    # Upstream: pkg/kubelet/lifecycle/predicate.go and scheduler.AdmissionCheck (v1.36).
    yield from _lacking(pod, node, others)
    if not DaemonPlaces(pod.spec).suits(node):
        yield _failed("NodeAffinity", REASON_POD)
    taken = [port for other in others for port in _host_ports(other)]
    if any(_conflict(wanted, known) for wanted in _host_ports(pod) for known in taken):
        yield _failed("NodePorts", NO_FREE_PORTS)
    taints = (taint for taint in node.spec.taints if taint.effect == NO_EXECUTE)
    if not all(any_tolerates(pod.spec.tolerations, taint) for taint in taints):
        yield _failed("TaintToleration", REASON)


def _failed(plugin: str, why: str) -> PodRejection:
    return PodRejection(plugin, f"{REJECTED}Predicate {plugin} failed: {why}")


def _lacking(pod: Pod, node: Node, others: Sequence[Pod]) -> Iterator[PodRejection]:
    amounts, pods_max = allocatable_amounts(node.status.allocatable)
    if len(others) + 1 > pods_max:
        yield _insufficient(PODS_NAME, 1, len(others), pods_max)
    for resource, asked in pod_requests(pod, DEFAULT_GATES).asked.items():
        # Resources that a node does not know are somebody else's to count.
        known = resource in amounts or "/" not in resource
        used = sum(pod_requests(other, DEFAULT_GATES).asked.get(resource, 0) for other in others)
        if asked and known and used + asked > amounts.get(resource, 0):
            yield _insufficient(resource, asked, used, amounts.get(resource, 0))


def _insufficient(resource: str, asked: int, used: int, capacity: int) -> PodRejection:
    message = f"Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {capacity}"
    return PodRejection(f"OutOf{resource}", f"{REJECTED}{message}")


def _host_ports(pod: Pod) -> Iterable[ContainerPort]:
    sidecars = (container for container in pod.spec.init_containers if container.restart_policy == "Always")
    return [port for container in (*pod.spec.containers, *sidecars) for port in container.ports if port.host_port]


def _conflict(one: ContainerPort, other: ContainerPort) -> bool:
    if one.host_port != other.host_port or (one.protocol or "TCP") != (other.protocol or "TCP"):
        return False
    return one.host_ip == other.host_ip or one.host_ip in _EVERY_ADDRESS or other.host_ip in _EVERY_ADDRESS
