"""Nodes that a pod must share with pods that are nominated to them: where it would fit but for those.

A node with nominated pods must pass the filters with them as well as without. While preemptors wait for their victims
to go, hundreds of pods may be nominated, and every decision has to respect them. Here is the usage of all nodes with
those pods there (`CrowdedUsage`, for pods of one priority, who must make room for the same ones), and for the pods of
one standing which nodes fail so (`CrowdedOut`). Both follow the log of changes, in which nominations stand as well.
Good only for filters that see nothing but usage, and for pods that are not nominated themselves.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import BoolArray, RowArray
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.filtering import nominated_pods
from bayplan.core.snapshot import View
from bayplan.core.standing import Standing

#: With more changed rows than this all of them are looked at again.
FEW_ROWS = 32
#: Pods of this many priorities, at most, are thought of at the same time.
PRIORITIES_MAX = 4


class CrowdedUsage:
    """The nodes that are crowded: with nominated pods there that a pod of some priority must make room for."""

    def __init__(self, pod: PodInfo, view: View) -> None:
        self._live = view
        self._spec_position = view.nodes.spec_changes.position
        self._usage_position = view.nodes.usage_changes.position
        self._priority = pod.priority
        self.world = view.what_if()
        pod_rows, node_rows = nominated_pods(pod, view)
        self.world.usage.shift(view.pods, pod_rows, node_rows, +1)
        self.crowded: BoolArray = np.zeros(view.nodes.count, dtype=np.bool_)  # (nodes,)
        self.crowded[node_rows] = True

    def follow(self, view: View) -> bool:
        """Bring every row up to date; False when it has to be rebuilt."""
        nodes = view.nodes
        # The view is another one if the table got longer, shorter or wider.
        if view is not self._live or nodes.spec_changes.position != self._spec_position:
            return False
        log = nodes.usage_changes
        news = log.position - self._usage_position
        if news == 1:
            self._read(view, log.last)
        elif news:
            changed = log.since(self._usage_position) if news <= FEW_ROWS else None
            if changed is None:
                return False
            for row in set(changed.tolist()):
                self._read(view, row)
        self._usage_position = log.position
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


class Crowds:
    """The crowded usage for each priority in question."""

    def __init__(self) -> None:
        self._by_priority: dict[int, CrowdedUsage] = {}

    def seen_by(self, pod: PodInfo, view: View) -> CrowdedUsage:
        """For a pod that is not nominated itself."""
        known = self._by_priority.get(pod.priority)
        if known is None or not known.follow(view):
            if known is None and len(self._by_priority) == PRIORITIES_MAX:
                self._by_priority.clear()
            known = self._by_priority[pod.priority] = CrowdedUsage(pod, view)
        return known


class CrowdedOut:
    """Where pods of one standing and priority do not fit with the nominated pods there."""

    def __init__(self, standing: Standing, usage: CrowdedUsage, view: View) -> None:
        self._standing = standing
        self.usage = usage
        self._usage_position = view.nodes.usage_changes.position
        self._failing: BoolArray = np.zeros(view.nodes.count, dtype=np.bool_)
        self._any_failing = False
        self._judge(np.flatnonzero(usage.crowded))

    def follow(self, view: View) -> bool:
        """Bring every row up to date, after the usage; False when it has to be rebuilt."""
        log = view.nodes.usage_changes
        if log.position != self._usage_position:
            changed = log.since(self._usage_position)
            if changed is None:
                return False
            if self._any_failing:
                self._failing[changed] = False
            self._judge(changed.compress(self.usage.crowded.take(changed)))
            self._usage_position = log.position
        return True

    def rows_left(self) -> RowArray | None:
        """The rows that pass all the same, when they are fewer than pass the local filters; None when they are not."""
        if not self._any_failing:
            return None
        passed = self._standing.passed
        left = passed & ~self._failing
        return np.flatnonzero(left) if np.count_nonzero(left) < self._standing.passed_count else None

    def _judge(self, rows: RowArray) -> None:
        if len(rows):
            failing = self._standing.fails_in(self.usage.world, rows)
            if failing is not None:
                self._failing[rows] = failing
                self._any_failing = True
