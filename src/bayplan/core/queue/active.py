"""The pods to be tried next, in the order of the profile's QueueSort plugin.

The plugin gives a key from the pod and the time it was queued; what it cannot tell apart goes by order of arrival,
where upstream leaves it to its heap.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.pod_heap import Order, PodHeap
from bayplan.core.queue.queued_pod import QueuedPod

#: A QueueSort plugin's key, smaller first. All profiles of a scheduler share one.
SortKey: TypeAlias = Callable[[PodInfo, int], Order]


def active_heap(sort_key: SortKey) -> PodHeap:
    def order(queued: QueuedPod) -> Order:
        return sort_key(queued.info, queued.timestamp)

    return PodHeap(order)
