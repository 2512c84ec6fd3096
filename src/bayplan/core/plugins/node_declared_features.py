"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes only where it is declared.

What a pod needs follows from its spec; two features can be needed at scheduling time. The check runs once for
each distinct set of declared features.
Upstream: plugins/nodedeclaredfeatures/nodedeclaredfeatures.go (v1.36).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import Status, unresolvable
from bayplan.core.plugins.requeue_rules import is_same_pod, on
from bayplan.core.snapshot import View
from bayplan.model.node import Node
from bayplan.model.pod import Pod, PodSpec

REASON = "node(s) didn't match Pod's required features"

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_ON_HOST_NETWORK = "UserNamespacesHostNetworkSupport"


NOTHING_NEEDED: frozenset[str] = frozenset()


class NodeDeclaredFeatures:
    """Filter: the node declares all that the pod needs."""

    name: ClassVar[str] = "NodeDeclaredFeatures"
    without_pre_filter: ClassVar[str] = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
    reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def __init__(self, gates: FeatureGates) -> None:
        self._is_on = gates.node_declared_features

    def concerns(self, pod: PodInfo) -> bool:
        return self._is_on and bool(needed_features(pod.spec))

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:  # noqa: ARG002
        return Ready(needed_features(pod.spec)) if self.concerns(pod) else SKIP

    def filter(self, state: frozenset[str], view: View, rows: Rows) -> IntArray:
        nodes = view.nodes
        codes = np.array([int(not state <= declared) for declared in nodes.feature_sets.values], dtype=np.int64)
        return codes[nodes.feature_set_ids[rows]]

    def explain_failure(self, state: object, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_DECLARED_FEATURE, after_node_change),
            on(EventResource.POD, ActionType.UPDATE, after_pod_update),
        )


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:  # noqa: ARG001
    """Hint: any new node, or one that declares something else than before."""
    return old is None or old.status.declared_features != new.status.declared_features


def after_pod_update(pod: PodInfo, old: Pod, new: Pod) -> bool:
    """Hint: the pod itself, which now needs something else."""
    return is_same_pod(pod, new) and needed_features(old.spec) != needed_features(new.spec)


def needed_features(spec: PodSpec) -> frozenset[str]:
    """The features without which the pod could not run as specified."""
    needed = NOTHING_NEEDED
    for containers in (spec.containers, spec.init_containers):
        for container in containers:
            for rule in container.restart_policy_rules or ():
                if rule.action == "RestartAllContainers":
                    needed |= {RESTART_ALL_CONTAINERS}
    if spec.host_network and spec.host_users is False:
        needed |= {USER_NAMESPACES_ON_HOST_NETWORK}
    return needed
