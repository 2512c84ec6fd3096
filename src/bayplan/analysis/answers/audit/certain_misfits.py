"""Pods that certainly find no place, found without trying them.

A pod that is no more important than any other evicts nobody. If each node that its constraints allow lacks cpu, memory
or a place for another pod, it fits nowhere, whatever other filters say. What this cannot be sure of has to be tried; it
never says that something fits, nor why it does not.
"""

from __future__ import annotations

from bayplan.analysis.answers.asking import Asking
from bayplan.core.cache import Cache
from bayplan.core.columns import BoolArray, RowArray
from bayplan.core.columns.resources import CPU, CPU_NAME, MEMORY, MEMORY_NAME
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.preemption.units import unit_priority
from bayplan.core.queue.pre_enqueue import run_pre_enqueue
from bayplan.core.reuse.node_board import NothingToReuse, node_board_for


class CertainMisfits:
    """Knows a cache at all times, as long as no pod comes that is less important than all that were there at first."""

    def __init__(self, asking: Asking, cache: Cache) -> None:
        self._profiles = asking.profiles
        self._cache = cache
        # Which filters there are is not known of other profiles; pods that are nominated may lose their node here.
        self._is_known = asking.has_default_profiles and not cache.nominated
        view = cache.view()
        self._lowest = min((unit_priority(view, row) for row in cache.pods.rows_by_key.values()), default=None)
        self._allowed: dict[int, BoolArray | None] = {}  # by constraints: (nodes,); None: not known
        #: By constraints and requests: when nodes were looked at, and rows.
        self._roomy: dict[tuple[int, int], tuple[tuple[int, int], RowArray]] = {}

    def is_sure(self, pod: PodInfo, without: str = "") -> bool:
        """Whether no node takes the pod, nor would if that one were gone. No claim is made for the pod."""
        if not self._is_known or self._lowest is None or pod.priority > self._lowest:
            return False
        if pod.group and self._cache.gates.generic_workload:
            return False  # it goes with its group
        if pod.claims is not None or not run_pre_enqueue(self._profiles[pod.scheduler_name].pre_enqueue, pod).ok:
            return False
        roomy = self._roomy_rows(pod)
        if roomy is None or len(roomy) > 1:
            return False
        return not len(roomy) or self._cache.nodes.names[roomy.item()] == without

    def _roomy_rows(self, pod: PodInfo) -> RowArray | None:
        """Nodes that its constraints allow and that have room, as they are now; None: nobody knows."""
        nodes, key = self._cache.nodes, (pod.shape.constraints_serial, pod.shape.requests_serial)
        now = nodes.usage_changes.position, nodes.spec_changes.position
        known = self._roomy.get(key)
        if known is not None and known[0] == now:
            return known[1]
        allowed = self._allowed_nodes(pod)
        if allowed is None:
            return None
        roomy = allowed & nodes.alive[: nodes.count]
        roomy &= nodes.pod_counts[: nodes.count] < nodes.allowed_pods[: nodes.count]
        for column, name in ((CPU, CPU_NAME), (MEMORY, MEMORY_NAME)):
            asked = pod.shape.requests.asked.get(name, 0)
            if asked > 0:
                roomy &= nodes.allocatable[:, column] - nodes.requested[:, column] >= asked
        rows = roomy.nonzero()[0]
        self._roomy[key] = now, rows
        return rows

    def _allowed_nodes(self, pod: PodInfo) -> BoolArray | None:
        """(nodes,) what node objects say to such pods; those that are gone for a while count as allowed."""
        serial = pod.shape.constraints_serial
        if serial not in self._allowed:
            view = self._cache.view()
            board = node_board_for(self._profiles[pod.scheduler_name], pod, view)
            self._allowed[serial] = None if isinstance(board, NothingToReuse) else ~board.settled | ~view.nodes.alive
        return self._allowed[serial]
