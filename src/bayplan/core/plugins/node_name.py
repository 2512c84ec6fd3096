"""NodeName: a pod that names its node fits nowhere else.

Looks at nothing but the name. A node that is not in the table lets the pod fail everywhere.
Upstream: plugins/nodename/node_name.go (v1.36, v1.37).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import (
    SKIP,
    PreFiltered,
    Reads,
    Ready,
)
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import Status, unresolvable
from bayplan.core.plugins.requeue_rules import on
from bayplan.core.snapshot import View

REASON = "node(s) didn't match the requested node name"


class NodeName:
    """Filter: the pod names no node, or this one."""

    name: ClassVar[str] = "NodeName"
    reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        nodes = view.nodes
        if not state.node_name:
            return np.zeros(nodes.count, dtype=np.int64)[rows]
        return (~nodes.named((state.node_name,))[rows]).astype(np.int64)

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (on(EventResource.NODE, ActionType.ADD),)


class NarrowingNodeName(NodeName):
    """Since v1.37: other nodes are not even looked at."""

    def concerns(self, pod: PodInfo) -> bool:
        return bool(pod.node_name)

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:  # noqa: ARG002
        return Ready(pod, (pod.node_name,)) if pod.node_name else SKIP

    def unprepared(self, pod: PodInfo, view: View) -> PodInfo:  # noqa: ARG002
        return pod
