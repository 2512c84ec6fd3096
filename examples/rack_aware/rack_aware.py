"""A placement score for racks of GPU nodes: a gang goes to the rack that it fills best, so that others stay whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from bayplan.plugin import IntArray, PodGroupAssignments, PodGroupInfo, View


class FullestRack:
    name: ClassVar[str] = "FullestRack"
    looks_up: ClassVar[frozenset[str]] = frozenset()
    sees_counts_only: ClassVar[bool] = True

    def __init__(self, args: dict[str, Any] | None = None) -> None:
        self.resource = (args or {}).get("resource", "nvidia.com/gpu")

    def score_placements(self, group: PodGroupInfo, view: View, assignments: Sequence[PodGroupAssignments]) -> IntArray:
        return np.array([self._score(view, each) for each in assignments], dtype=np.int64)

    def _score(self, view: View, assigned: PodGroupAssignments) -> int:
        column, rows = view.nodes.resources.find(self.resource), assigned.placement.rows
        there = int(view.nodes.allocatable[rows, column].sum()) if column >= 0 else 0
        if not there:
            return 0
        asked = sum(pod.shape.requests.asked.get(self.resource, 0) for pod in assigned.pods)
        taken = int(view.usage.requested[rows, column].sum())
        return min(100, 100 * (taken + asked) // there)
