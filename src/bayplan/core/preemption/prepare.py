"""What is to be done for a chosen candidate, as actions."""

from __future__ import annotations

from bayplan.core.actions import ClearNomination, Evict, Nominate
from bayplan.core.columns import RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.snapshot import View

CONDITION_REASON = "PreemptionByScheduler"

Action = ClearNomination | Evict | Nominate


def prepare(pod: PodInfo, view: View, node_row: int, victim_rows: RowArray) -> list[Action]:
    """Nominations of lower priority on the node end first; then the victims go; the pod is nominated.

    Victims that are leaving already are left alone, and if none but those are there nothing else changes either.
    """
    node = view.nodes.names[node_row]
    evictions = [_evict(pod, view, node, int(row)) for row in victim_rows if not view.pods.terminating[row]]
    overtakes = [ClearNomination(key, node) for key in overtaken(pod, view, node)] if evictions else []
    return [*overtakes, *evictions, Nominate(pod.key, node)]


def overtaken(pod: PodInfo, view: View, node: str) -> list[str]:
    """Pods nominated to the node that are of lower priority."""
    return [view.pods.keys[row] for row in view.nominated.get(node, ()) if view.pods.priorities[row] < pod.priority]


def _evict(pod: PodInfo, view: View, node: str, victim_row: int) -> Evict:
    return Evict(
        pod=view.pods.keys[victim_row],
        uid=view.pods.uids[victim_row],
        node=node,
        condition_reason=CONDITION_REASON,
        condition_message=f"{pod.scheduler_name}: preempting to accommodate a higher priority pod",
        note=f"Preempted by pod {pod.uid} on node {node}",
    )
