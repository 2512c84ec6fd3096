"""NodeUnschedulable: keeps pods off cordoned nodes.

Reads the nodes' `unschedulable` flag. A pod that tolerates the taint which goes with a cordon is let through;
the taint itself is TaintToleration's affair.
Upstream: plugins/nodeunschedulable/node_unschedulable.go (v1.36).
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, Rows
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.contract import Reads
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import Status, unresolvable
from bayplan.core.plugins.requeue_rules import is_same_pod, on
from bayplan.core.snapshot import View
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Pod
from bayplan.model.tolerations import NO_SCHEDULE, any_tolerates
from bayplan.model.well_known import UNSCHEDULABLE

REASON = "node(s) were unschedulable"

CORDON = Taint(key=UNSCHEDULABLE, effect=NO_SCHEDULE)


class NodeUnschedulable:
    """Filter: the node takes new pods, or the pod does not mind."""

    name: ClassVar[str] = "NodeUnschedulable"
    reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def __init__(self, gates: FeatureGates) -> None:
        self._compares = gates.taint_toleration_comparison_operators

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        cordoned = view.nodes.unschedulable[rows]
        if any_tolerates(state.spec.tolerations, CORDON, compares=self._compares):
            return np.zeros(len(cordoned), dtype=np.int64)
        return cordoned.astype(np.int64)

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, after_node_change),
            on(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, partial(after_toleration, compares=self._compares)),
        )


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:  # noqa: ARG001
    """Hint: a new node that takes pods, or a cordon that ended."""
    return (old is None or old.spec.unschedulable) and not new.spec.unschedulable


def after_toleration(pod: PodInfo, old: Pod, new: Pod, *, compares: bool = False) -> bool:  # noqa: ARG001
    """Hint: the pod itself, which now does not mind a cordon."""
    return is_same_pod(pod, new) and any_tolerates(new.spec.tolerations, CORDON, compares=compares)
