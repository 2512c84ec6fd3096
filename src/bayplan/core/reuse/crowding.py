"""Nodes that a pod must share with pods that are nominated to them: where it would fit but for those.

A node with nominated pods must pass the filters with them as well as without. While preemptors wait for their victims
to go, hundreds of pods may be nominated, and every decision has to respect them. Here is the usage of all nodes with
those pods there (`CrowdedUsage`, for pods of one priority, who must make room for the same ones), and for the pods of
one board which nodes fail for that reason (`CrowdedOut`). Nominations stand in the log of changes, too. Good only for
filters that see nothing but usage, and for pods that are not nominated themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from bayplan.core.columns import BoolArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import nominated_pods
from bayplan.core.following import Follower
from bayplan.core.snapshot import View

#: With more changed rows than this all of them are looked at again.
FEW_ROWS = 32
#: When rows have changed more often than this without anybody asking, what is known of them is given up.
PUT_OFF_MAX = 32


class CrowdedUsage(Follower):
    """The nodes that are crowded: with nominated pods there that a pod of some priority must make room for."""

    def __init__(self, pod: PodInfo, view: View) -> None:
        super().__init__(view, view.nodes.usage_changes)
        self._priority = pod.priority
        self.world = view.what_if()
        pod_rows, node_rows = nominated_pods(pod, view)
        self.world.usage.shift(view.pods, pod_rows, node_rows, +1)
        self.crowded: BoolArray = np.zeros(view.nodes.count, dtype=np.bool_)  # (nodes,)
        self.crowded[node_rows] = True

    def epoch(self, view: View) -> Hashable:
        """Another one if the table got longer, shorter or wider. Node objects that changed are in the log of usage."""
        return view

    def update(self, view: View, rows: RowArray) -> bool:
        if len(rows) > FEW_ROWS:
            return False
        for row in set(rows.tolist()):
            self._read(view, row)
        return True

    def _read(self, view: View, row: int) -> None:
        nominated = view.nominated.get(view.nodes.names[row])
        if nominated is None or not view.nodes.alive[row]:
            self.crowded[row] = False  # and nobody looks at its usage
            return
        now, usage, pods = view.usage, self.world.usage, view.pods
        counted = [pod_row for pod_row in nominated if pods.priorities.item(pod_row) >= self._priority]
        usage.requested[row] = now.requested[row] + pods.requests[counted].sum(axis=0)
        usage.nonzero_requested[row] = now.nonzero_requested[row] + pods.nonzero_requests[counted].sum(axis=0)
        usage.pod_counts[row] = now.pod_counts.item(row) + len(counted)
        self.crowded[row] = bool(counted)


class CrowdedOut:
    """Where pods of one board and priority do not fit with the nominated pods there. Knows of changes by its board."""

    def __init__(self, fails: Callable[[View, RowArray], BoolArray | None], usage: CrowdedUsage) -> None:
        """`fails` says on which rows, in a world; None: nowhere."""
        self._fails = fails
        self.usage = usage
        self._failing: BoolArray = np.zeros(len(usage.crowded), dtype=np.bool_)
        self._any_failing = False
        self._unread: list[RowArray] = [np.flatnonzero(usage.crowded)]

    def put_off(self, rows: RowArray) -> bool:
        """These rows have changed, and are looked at when somebody asks; False if nobody has asked for long."""
        self._unread.append(rows)
        return len(self._unread) <= PUT_OFF_MAX

    def rows_left(self, passed: BoolArray, passed_count: int) -> RowArray | None:
        """Those that pass with nominated pods, too, out of those that `passed` (nodes,) without; None: all of them.

        The usage has followed.
        """
        for rows in self._unread:
            self._judge(rows)
        self._unread.clear()
        if not self._any_failing:
            return None
        left = passed & ~self._failing
        return np.flatnonzero(left) if np.count_nonzero(left) < passed_count else None

    def _judge(self, rows: RowArray) -> None:
        # Elsewhere the usage is out of date. Judging those rows, too, takes less time than leaving them out.
        failing = self._fails(self.usage.world, rows)
        if failing is not None:
            failing &= self.usage.crowded[rows]
            self._any_failing = True
        if self._any_failing:
            self._failing[rows] = False if failing is None else failing
