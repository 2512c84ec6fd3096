"""The answer about a pod or a workload that a user named."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.exposure.answer import Exposure, GroupExposure
from bayplan.analysis.answers.exposure.exposing import Exposing, most_exposed_first
from bayplan.analysis.answers.exposure.preemptors import preemptors_among
from bayplan.analysis.answers.owners import short_name, workload_of
from bayplan.analysis.references import POD, Reference, group_named, parse_reference
from bayplan.controllers.ownership import Ownership, controller_reference, is_terminal
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import object_key
from bayplan.model.pod import Pod, group_key
from bayplan.model.reading import ReadResult
from bayplan.model.well_known import DEFAULT_NAMESPACE

#: Pods of a workload that are looked at: the most exposed ones.
PODS_MAX = 20


def exposure_of(
    asking: Asking, text: str, namespace: str = DEFAULT_NAMESPACE, against: ReadResult | None = None
) -> Exposure:
    """Of the pod or the pods of the workload that the text names. Raises InvalidObject."""
    exposing = Exposing(asking)
    if named := group_named(text, namespace):
        reference, pods = _group_named(asking, named)
    else:
        reference, pods = _named(asking, text, namespace, exposing.ownership)
    running = exposing.ranked([pod for pod in pods if pod.spec.node_name])[:PODS_MAX]
    found = most_exposed_first([exposing.look_at(pod) for pod in running])
    if found:
        found[0] = exposing.look_at(asking.cluster.pods[found[0].pod], by_class=True)
    return Exposure(
        subject=short_name(reference),
        pods=tuple(found),
        pod_count=sum(bool(pod.spec.node_name) for pod in pods),
        waiting=tuple(object_key(pod) for pod in pods if not pod.spec.node_name),
        against=tuple(preemptors_among(asking, against, running)) if against is not None else (),
        group=_common_group(exposing, pods) if asking.configuration.gates.generic_workload else None,
    )


def _common_group(exposing: Exposing, pods: Sequence[Pod]) -> GroupExposure | None:
    """The pod group that all of them belong to."""
    keys = {group_key(pod) for pod in pods}
    return exposing.group_of(keys.pop()) if len(keys) == 1 else None


def _group_named(asking: Asking, key: str) -> tuple[Reference, list[Pod]]:
    """The pods of a pod group that are not over. Raises InvalidObject for one that neither exists nor has pods."""
    asking.cluster.group_members(key, asking.profiles, asking.cache())
    pods = [pod for pod in asking.cluster.pods.values() if group_key(pod) == key and not is_terminal(pod)]
    namespace, _, name = key.partition("/")
    return Reference("podgroup", namespace, name), pods


def _named(asking: Asking, text: str, namespace: str, ownership: Ownership) -> tuple[Reference, list[Pod]]:
    """What the text names, and its pods that are not over."""
    reference = parse_reference(text, namespace)
    if reference.kind == POD:
        pod = asking.cluster.find_pod(reference.key)
        if is_terminal(pod):
            message = f"{pod.status.phase}: the pod has finished"
            raise InvalidObject([Fault("", f"Pod {object_key(pod)}", "status.phase", message)])
        return reference, [pod]
    pods = [pod for pod in asking.cluster.pods.values() if not is_terminal(pod) and _is_of(pod, reference, ownership)]
    if not pods:
        asking.pending(text, asking.cache(), namespace)  # raises if there is no such workload
    return reference, pods


def _is_of(pod: Pod, reference: Reference, ownership: Ownership) -> bool:
    """Whether the workload controls the pod, itself or through another."""
    controller = controller_reference(pod.metadata)
    if controller is None or pod.metadata.namespace != reference.namespace:
        return False
    if (controller.kind, controller.name) == (reference.kind, reference.name):
        return True
    return workload_of(pod, ownership) == reference
