"""What every pod of the cluster asks for and is limited to, in Prometheus' format: `/metrics/resources`.

Takes pods as the API server last showed them, of whatever scheduler; those that are over do not count. There is a line
for each pod and resource, which is why this is a page of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from prometheus_client.utils import floatToGoString

from bayplan.core.columns.resources import CPU_NAME, pod_requests
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.pod import FINISHED_PHASES, Container, Pod, ResourceRequirements

_ABOUT = (
    "broken down by pod. This shows the resource usage the scheduler and kubelet expect per pod for resources along"
)
_FAMILIES = (
    (
        "kube_pod_resource_limit",
        f"Resources limit for workloads on the cluster, {_ABOUT} with the unit for the resource if any.",
    ),
    (
        "kube_pod_resource_request",
        f"Resources requested by workloads on the cluster, {_ABOUT} with the unit for the resource if any.",
    ),
)
_BYTES = frozenset({"memory", "storage", "ephemeral-storage"})
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def pod_resource_metrics(pods: Iterable[Pod], gates: FeatureGates) -> str:
    """The page; empty without pods."""
    counted = sorted(
        (pod for pod in pods if not (pod.spec.node_name and pod.status.phase in FINISHED_PHASES)), key=_order
    )
    amounts: dict[str, Callable[[Pod, FeatureGates], Mapping[str, int]]] = {
        "kube_pod_resource_limit": _limits,
        "kube_pod_resource_request": _requests,
    }
    lines: list[str] = []
    for family, about in _FAMILIES:
        found = [line for pod in counted for line in _lines(family, pod, amounts[family](pod, gates))]
        if found:
            lines += [f"# HELP {family} [STABLE] {about}", f"# TYPE {family} gauge", *found]
    return "".join(f"{line}\n" for line in lines)


def _order(pod: Pod) -> tuple[str, str, str]:
    return pod.metadata.namespace, pod.spec.node_name, pod.metadata.name


def _lines(family: str, pod: Pod, amounts: Mapping[str, int]) -> Iterator[str]:
    spec = pod.spec
    labels = {
        "namespace": pod.metadata.namespace,
        "node": spec.node_name,
        "pod": pod.metadata.name,
        "priority": "" if spec.priority is None else str(spec.priority),
    }
    for resource, amount in sorted(amounts.items()):
        if amount:
            named = {**labels, "resource": resource, "scheduler": spec.scheduler_name, "unit": _unit(resource)}
            text = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in named.items())
            value = amount / 1000 if resource == CPU_NAME else amount
            yield f"{family}{{{text}}} {_go_float(value)}"


def _go_float(value: float) -> str:
    text: str = floatToGoString(value)  # type: ignore[no-untyped-call]
    return text.removesuffix(".0")


def _unit(resource: str) -> str:
    if resource == CPU_NAME:
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""


def _requests(pod: Pod, gates: FeatureGates) -> Mapping[str, int]:
    return pod_requests(pod, gates).asked


def _limits(pod: Pod, gates: FeatureGates) -> Mapping[str, int]:
    """Limits add up as requests do; overhead counts only where there is a limit."""
    spec = pod.spec
    as_requests = msgspec.structs.replace(
        spec,
        containers=[_limited(container) for container in spec.containers],
        init_containers=[_limited(container) for container in spec.init_containers],
        resources=None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits),
        overhead={},
    )
    limits = pod_requests(msgspec.structs.replace(pod, spec=as_requests), gates).asked
    if not limits or not spec.overhead:
        return limits
    bare = Pod(spec=msgspec.structs.replace(spec, containers=[], init_containers=[], resources=None))
    overhead = pod_requests(bare, gates)
    return {name: amount + overhead.asked.get(name, 0) for name, amount in limits.items() if amount}


def _limited(container: Container) -> Container:
    return msgspec.structs.replace(container, resources=ResourceRequirements(requests=container.resources.limits))
