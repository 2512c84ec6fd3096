"""What may help a pod that PodTopologySpread has rejected.

Takes the pod and a pod or node that changed. Services and owners, which give default constraints their selector, are
not known here: under default constraints every pod of the namespace is taken to count. Counts are not known either,
so that any change of a domain is worth a new attempt. The last three are about what upstream sleeps through.
Upstream: plugins/podtopologyspread/plugin.go isSchedulableAfterPodChange and its like (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from bayplan.core.columns.node_selectors import required_nodes
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.args import PodTopologySpreadArgs
from bayplan.core.framework.requeue import EventResource
from bayplan.core.plugins.pod_topology_spread.constraints import HARD, SpreadConstraint, visible_constraints
from bayplan.core.plugins.requeue_rules import has_place, is_same_pod
from bayplan.model.cluster import Service
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.selectors import SelectorError
from bayplan.model.workloads import ReplicaSet, ReplicationController, StatefulSet

#: What may give default constraints their selector.
SELECTING_RESOURCES = (
    EventResource.SERVICE,
    EventResource.REPLICATION_CONTROLLER,
    EventResource.REPLICA_SET,
    EventResource.STATEFUL_SET,
)
_Selecting: TypeAlias = Service | ReplicationController | ReplicaSet | StatefulSet


def after_pod_change(
    pod: PodInfo, old: Pod | None, new: Pod | None, *, args: PodTopologySpreadArgs, gates: FeatureGates
) -> bool:
    """A pod that counts has come, gone, or begun or ceased to count; or the pod itself has changed."""
    if any(moved is not None and not _is_involved(pod, moved) for moved in (old, new)):
        return False
    try:
        constraints = visible_constraints(pod.shape, args, gates, HARD)
    except SelectorError:
        return True  # As upstream: a hint that fails means that an attempt is worth it.
    if old is not None and new is not None:
        return _after_update(pod, old, new, constraints)
    moved = old or new
    assert moved is not None
    return any(constraint.selector.matches(moved.metadata.labels) for constraint in constraints)


def after_node_change(
    pod: PodInfo, old: Node | None, new: Node | None, *, args: PodTopologySpreadArgs, gates: FeatureGates
) -> bool:
    """A node that has all topology keys has come or gone, got or lost one, or changed its domain or its taints."""
    try:
        keys = [constraint.topology_key for constraint in visible_constraints(pod.shape, args, gates, HARD)]
    except SelectorError:
        return True
    counted, counts = _has_all(old, keys), _has_all(new, keys)
    if old is None or new is None or counted != counts:
        return counted or counts
    before, after = old.metadata.labels, new.metadata.labels
    return counts and (any(before[key] != after[key] for key in keys) or old.spec.taints != new.spec.taints)


def after_pod_ends_to_count(
    pod: PodInfo, old: Pod, new: Pod, *, args: PodTopologySpreadArgs, gates: FeatureGates
) -> bool:
    """A pod that counts begins to terminate; or the pod's own labels changed, and with them whom it is counted with."""
    if is_same_pod(pod, new):
        return old.metadata.labels != new.metadata.labels
    ends = new.metadata.deletion_timestamp is not None and old.metadata.deletion_timestamp is None
    return ends and after_pod_change(pod, old, None, args=args, gates=gates)


def after_node_left_out(
    pod: PodInfo, old: Node, new: Node, *, args: PodTopologySpreadArgs, gates: FeatureGates
) -> bool:
    """The pod's own demands on nodes now leave the node, and the pods on it, out of the count, or take them in."""
    required = required_nodes(pod.spec)
    if not required.restricts or required.allow(old) == required.allow(new):
        return False
    return _has_constraints(pod, args, gates)


def after_selecting_change(
    pod: PodInfo, old: _Selecting | None, new: _Selecting | None, *, args: PodTopologySpreadArgs, gates: FeatureGates
) -> bool:
    """A service or controller changed that may give the default constraints their selector."""
    selecting = new if new is not None else old
    assert selecting is not None
    return (
        not pod.spec.topology_spread_constraints
        and selecting.metadata.namespace == pod.namespace
        and (old is None or new is None or old.spec.selector != new.spec.selector)
        and _has_constraints(pod, args, gates)
    )


def _has_constraints(pod: PodInfo, args: PodTopologySpreadArgs, gates: FeatureGates) -> bool:
    try:
        return bool(visible_constraints(pod.shape, args, gates, HARD))
    except SelectorError:
        return True


def _is_involved(pod: PodInfo, other: Pod) -> bool:
    return is_same_pod(pod, other) or (has_place(other) and other.metadata.namespace == pod.namespace)


def _after_update(pod: PodInfo, old: Pod, new: Pod, constraints: list[SpreadConstraint]) -> bool:
    # With a new toleration the pods of more nodes may count.
    tolerates_more = is_same_pod(pod, new) and old.spec.tolerations != new.spec.tolerations
    if tolerates_more and any(constraint.honors_taints for constraint in constraints):
        return True
    before, after = old.metadata.labels, new.metadata.labels
    if before == after:
        return False
    if not pod.spec.topology_spread_constraints:
        return bool(constraints)  # which labels matter to default constraints is not known here
    return any(it.selector.matches(before) != it.selector.matches(after) for it in constraints)


def _has_all(node: Node | None, keys: Iterable[str]) -> bool:
    return node is not None and all(key in node.metadata.labels for key in keys)
