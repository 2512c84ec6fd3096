"""Keep nodes with GPUs for pods that use them, and fill them one after another.

The same policy twice: `PerNodeGpuPacking` is written for one node at a time, `GpuPacking` for all nodes at once. The
guide docs/guide/plugins.md walks through both; scheduler.yaml names the second one.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bayplan.plugin import (
    SKIP,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    IntArray,
    NodeView,
    PerNodePlugin,
    PodInfo,
    PreFiltered,
    Reads,
    Ready,
    RowArray,
    Rows,
    Skip,
    Status,
    View,
    unresolvable,
)

KEPT = "node(s) were kept for pods that use GPUs"


class PerNodeGpuPacking(PerNodePlugin):
    name: ClassVar[str] = "PerNodeGpuPacking"

    def __init__(self, args: dict[str, Any] | None = None) -> None:
        self.resource = (args or {}).get("resource", "nvidia.com/gpu")

    def fits(self, pod: PodInfo, node: NodeView) -> str:
        asked = pod.shape.requests.asked.get(self.resource, 0)
        return KEPT if not asked and node.allocatable(self.resource) else ""

    def rate(self, pod: PodInfo, node: NodeView) -> int:
        asked = pod.shape.requests.asked.get(self.resource, 0)
        if not asked:
            return 0
        there = node.allocatable(self.resource)
        return 100 * (node.requested(self.resource) + asked) // there


class GpuPacking:
    name: ClassVar[str] = "GpuPacking"
    reads: ClassVar[Reads] = Reads.NODE
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE

    def __init__(self, args: dict[str, Any] | None = None) -> None:
        self.resource = (args or {}).get("resource", "nvidia.com/gpu")

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        return SKIP if self._asked(pod) else Ready(pod)

    def filter(self, state: PodInfo, view: View, rows: Rows) -> IntArray:
        column = view.nodes.resources.find(self.resource)
        if column < 0:  # nobody has ever named it
            return np.zeros(view.nodes.count, dtype=np.int64)[rows]
        return (view.nodes.allocatable[rows, column] > 0).astype(np.int64)

    def explain_failure(self, state: PodInfo, view: View, code: int) -> Status:
        return unresolvable(KEPT)

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> tuple[int, int] | Skip:
        asked = self._asked(pod)
        return (view.nodes.resources.find(self.resource), asked) if asked else SKIP

    def score(self, state: tuple[int, int], view: View, rows: RowArray) -> IntArray:
        column, asked = state
        there, taken = view.nodes.allocatable[rows, column], view.usage.requested[rows, column]
        scores: IntArray = 100 * (taken + asked) // np.maximum(there, 1)
        return scores

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)),
        )

    def _asked(self, pod: PodInfo) -> int:
        return pod.shape.requests.asked.get(self.resource, 0)
