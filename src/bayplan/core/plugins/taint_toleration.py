"""TaintToleration: taints that a pod does not tolerate keep it away, or make a node less welcome.

NoSchedule and NoExecute taints filter, PreferNoSchedule taints count in the score. Tolerations are evaluated once for
each distinct set of taints and looked up by its id, never for each node. `tolerationSeconds` plays no part.
Upstream: plugins/tainttoleration/taint_toleration.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, RowArray, Rows
from bayplan.core.columns.nodes import NodeTable, TaintSet
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.framework.contract import Reads, default_normalize
from bayplan.core.framework.requeue import ActionType, ClusterEventWithHint, EventResource
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.framework.verdict import Status, unresolvable
from bayplan.core.plugins.requeue_rules import after_own_update, on
from bayplan.core.snapshot import View
from bayplan.model.node import Node, Taint
from bayplan.model.pod import Toleration
from bayplan.model.tolerations import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, any_tolerates

REASON = "node(s) had untolerated taint(s)"

FORBIDDING = frozenset((NO_SCHEDULE, NO_EXECUTE))
DISCOURAGING = frozenset((PREFER_NO_SCHEDULE,))


class TaintToleration:
    """Filter and score."""

    name: ClassVar[str] = "TaintToleration"
    without_pre_score: ClassVar[str] = 'failed to read "PreScoreTaintToleration" from cycleState: not found'
    reads: ClassVar[Reads] = Reads.NODE
    score_reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.NOTHING

    def __init__(self, gates: FeatureGates) -> None:
        self._compares = gates.taint_toleration_comparison_operators

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        tolerations = state.spec.tolerations
        return for_each_taint_set(
            view.nodes,
            rows,
            lambda taints: int(count_untolerated(taints, tolerations, FORBIDDING, compares=self._compares) > 0),
        )

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:  # noqa: ARG002
        return unresolvable(REASON)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> tuple[Toleration, ...]:  # noqa: ARG002
        """The tolerations that can speak to PreferNoSchedule taints."""
        return tuple(item for item in pod.spec.tolerations if item.effect in ("", PREFER_NO_SCHEDULE))

    def score(self, state: tuple[Toleration, ...], view: View, rows: RowArray) -> IntArray:
        return for_each_taint_set(
            view.nodes, rows, lambda taints: count_untolerated(taints, state, DISCOURAGING, compares=self._compares)
        )

    def normalize(self, state: object, scores: IntArray, rows: RowArray) -> IntArray:  # noqa: ARG002
        return default_normalize(scores, reverse=True)

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        hint = partial(after_node_change, compares=self._compares)
        return (
            on(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT, hint),
            on(EventResource.POD, ActionType.UPDATE_POD_TOLERATION, after_own_update),
        )


def after_node_change(pod: PodInfo, old: Node | None, new: Node, *, compares: bool = False) -> bool:
    """Hint: the node, if not new, was closed to the pod by a taint and is not any more."""
    tolerations = pod.spec.tolerations
    return not _is_closed(new, tolerations, compares) and (old is None or _is_closed(old, tolerations, compares))


def _is_closed(node: Node, tolerations: Collection[Toleration], compares: bool) -> bool:
    return any(
        taint.effect in FORBIDDING and not any_tolerates(tolerations, taint, compares=compares)
        for taint in node.spec.taints
    )


def for_each_taint_set(nodes: NodeTable, rows: Rows, judge: Callable[[TaintSet], int]) -> IntArray:
    """(rows,) what `judge` says of each node's taints; it is asked once for each distinct set."""
    sets, ids = nodes.taint_sets.values, nodes.taint_set_ids[rows]
    if len(ids) < len(sets):
        return np.array([judge(sets[taint_set]) for taint_set in ids.tolist()], dtype=np.int64)
    judgements = np.array([judge(taints) for taints in sets], dtype=np.int64)
    return judgements[ids]


def taints_of(nodes: NodeTable, row: int) -> TaintSet:
    return nodes.taint_sets.values[nodes.taint_set_ids.item(row)]


def count_untolerated(
    taints: TaintSet, tolerations: Collection[Toleration], effects: frozenset[str], *, compares: bool = False
) -> int:
    """How many of the taints with one of these effects no toleration tolerates."""
    return sum(
        not any_tolerates(tolerations, Taint(key=key, value=value, effect=effect), compares=compares)
        for key, value, effect in taints
        if effect in effects
    )
