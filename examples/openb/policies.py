"""Two policies to compare on the openb trace: the node that is left with the least, and any node.

`BestFit` adds up what CPU and GPU a node would have left, each as a share of the largest node there is. `RandomNode`
draws one of the feasible nodes; as plugins are pure, the draw follows from a seed and the pod's key.
"""

from __future__ import annotations

from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from bayplan.plugin import ABSENT, MAX_NODE_SCORE, IntArray, PodInfo, Reads, RowArray, View

CPU = "cpu"
GPU_MILLI = "alibabacloud.com/gpu-milli"
LARGEST_CPU_MILLI = 128_000
LARGEST_GPU_MILLI = 8_000


class BestFit:
    name: ClassVar[str] = "BestFit"
    score_reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        cpu_left = _left(state, view, rows, CPU)
        gpu_left = _left(state, view, rows, GPU_MILLI)
        # In whole numbers: 100 * (1 - cpu_left / LARGEST_CPU / 2 - gpu_left / LARGEST_GPU / 2), rounded down.
        left = cpu_left * LARGEST_GPU_MILLI + gpu_left * LARGEST_CPU_MILLI
        most = 2 * LARGEST_CPU_MILLI * LARGEST_GPU_MILLI
        scores: IntArray = np.clip(MAX_NODE_SCORE * (most - left) // most, 0, MAX_NODE_SCORE)
        return scores


class RandomNode:
    """Args: `seed`."""

    name: ClassVar[str] = "RandomNode"
    score_reads: ClassVar[Reads] = Reads.CLUSTER  # one draw among all feasible nodes

    def __init__(self, args: dict[str, Any] | None = None) -> None:
        self._seed = int((args or {}).get("seed", 0))

    def pre_score(self, pod: PodInfo, view: View, feasible_rows: RowArray) -> int:
        """The row of the node drawn; by name, so that the order of the rows plays no part."""
        if not len(feasible_rows):
            return ABSENT
        place = crc32(f"{self._seed}/{pod.key}".encode()) % len(feasible_rows)
        by_name = np.argsort(view.nodes.name_ranks()[feasible_rows], kind="stable")
        return int(feasible_rows[by_name[place]])

    def score(self, state: int, view: View, rows: RowArray) -> IntArray:
        return np.where(rows == state, MAX_NODE_SCORE, 0).astype(np.int64)


def _left(pod: PodInfo, view: View, rows: RowArray, resource: str) -> IntArray:
    column = view.nodes.resources.find(resource)
    if column < 0:
        return np.zeros(len(rows), dtype=np.int64)
    asked = pod.shape.requests.asked.get(resource, 0)
    left: IntArray = view.nodes.allocatable[rows, column] - view.usage.requested[rows, column] - asked
    return left
