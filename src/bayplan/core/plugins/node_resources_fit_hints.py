"""What may help a pod that NodeResourcesFit has rejected.

Takes the pod and a pod, node or device class that changed. What is free on a node is not known here: more than before
of what the pod asks for is worth a new attempt.
Upstream: plugins/noderesources/fit.go EventsToRegister (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from bayplan.core.columns.resources import RawItems, allocatable_amounts, pod_requests
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.plugins.requeue_rules import has_place, is_same_pod
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import DEVICE_CLASS_PREFIX, DeviceClass


def after_pod_change(pod: PodInfo, old: Pod, new: Pod | None, *, gates: FeatureGates) -> bool:
    """Hint: a pod with a place has gone, or one on a node, or this one, asks for less than before."""
    if new is None:
        return has_place(old)
    if is_same_pod(pod, new):
        return True
    return bool(new.spec.node_name) and _has_more(pod_requests(old, gates).used, pod_requests(new, gates).used, pod)


def after_node_change(
    pod: PodInfo, old: Node | None, new: Node, *, is_ignored: Callable[[str], bool] | None = None
) -> bool:
    """Hint: a node that would do if it were empty and, if it is not new, has more than before of what is asked for.

    As upstream, unless it is told which those are, resources that the profile ignores must be there as well.
    """
    amounts, allowed_pods = _allocatable(new)
    asked = pod.shape.requests.asked
    if is_ignored is not None:
        asked = {name: amount for name, amount in asked.items() if not is_ignored(name)}
    as_devices = {name for name in asked if not amounts.get(name, 0) and _may_be_devices(pod, name)}
    lacking = (amount > amounts.get(name, 0) and name not in as_devices for name, amount in asked.items() if amount)
    if not allowed_pods or any(lacking):
        return False
    if old is None or any(asked[name] for name in as_devices):
        return True
    amounts_before, allowed_pods_before = _allocatable(old)
    return allowed_pods > allowed_pods_before or _has_more(amounts, amounts_before, pod)


def after_nominated_pod_asks_for_less(pod: PodInfo, old: Pod, new: Pod, *, gates: FeatureGates) -> bool:
    """Hint upstream lacks: less has to be kept for a pod that has no node yet."""
    kept = bool(new.status.nominated_node_name and not new.spec.node_name)
    return kept and _has_more(pod_requests(old, gates).used, pod_requests(new, gates).used, pod)


def after_device_class(pod: PodInfo, old: DeviceClass | None, new: DeviceClass) -> bool:
    """Hint: a class that has come to stand for a resource the pod asks for."""
    asked, explicit = pod.shape.requests.asked, new.spec.extended_resource_name
    if old is not None:
        if (old.spec.extended_resource_name or "") == (explicit or ""):
            return False
    elif DEVICE_CLASS_PREFIX + new.metadata.name in asked:
        return True
    return explicit is not None and explicit in asked


def _may_be_devices(pod: PodInfo, name: str) -> bool:
    return pod.claims is not None and pod.claims.inventory.class_of_resource(name) is not None


def _has_more(new: Mapping[str, int], other: Mapping[str, int], pod: PodInfo) -> bool:
    """Whether the one has more than the other of something that the pod asks for."""
    asked = pod.shape.requests.asked
    return any(new.get(name, 0) > other.get(name, 0) for name, amount in asked.items() if amount)


def _allocatable(node: Node) -> tuple[Mapping[str, int], int]:
    return _amounts(tuple(node.status.allocatable.items()))


@lru_cache(maxsize=4096)
def _amounts(allocatable: RawItems) -> tuple[Mapping[str, int], int]:
    """A new node is shown to every waiting pod: its quantities are read once."""
    return allocatable_amounts(dict(allocatable))
