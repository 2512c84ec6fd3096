"""PrioritySort: the pod of higher priority goes first, of two equal ones the pod that was queued earlier.

Gives a key, smaller first. Pods equal in both are not told apart here; the queue keeps their order of arrival.
Upstream: plugins/queuesort/priority_sort.go (v1.36).
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.core.columns.shapes import PodInfo


class PrioritySort:
    """QueueSort."""

    name: ClassVar[str] = "PrioritySort"

    def sort_key(self, pod: PodInfo, queued_at: int) -> tuple[int, ...]:
        return -pod.priority, queued_at
