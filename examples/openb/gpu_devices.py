"""A filter that knows single GPUs: a share must fit into one of them, several are taken whole.

Kubernetes counts an extended resource for a node as a whole, so two halves free on two GPUs look like a whole one.
Here each GPU has its own account. Which GPU a pod has is nowhere in its spec; the `Devices` book works it out from the
pods of a node in the order they came, and remembers it for as long as they stay. Only nodes whose pods changed are
looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar
from zlib import crc32

import numpy as np

from bayplan.plugin import (
    SKIP,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    IntArray,
    NodeTable,
    PodInfo,
    PreFiltered,
    Reads,
    Ready,
    RowArray,
    Rows,
    Status,
    View,
    distinct,
    every_row,
    unschedulable,
)

GPU_MILLI = "alibabacloud.com/gpu-milli"
WHOLE = 1000
NO_DEVICE = "node(s) didn't have enough room on single GPUs"


@dataclass(slots=True)
class Asked:
    """What a pod asks for: `count` GPUs with `milli` free on each; and the free room in a what-if view."""

    milli: int
    count: int
    free: IntArray | None = None  # (nodes, devices); None: as the book has it
    moved: dict[tuple[int, int], tuple[int, ...]] = field(
        default_factory=dict
    )  # (node, pod) -> devices, in the what-if


class GpuDevices:
    """Args: `pick` is `tightest` (the fullest GPU that has room) or `random`, which depends on `seed` and the pod."""

    name: ClassVar[str] = "GpuDevices"
    reads: ClassVar[Reads] = Reads.NODE | Reads.USAGE

    def __init__(self, args: dict[str, Any] | None = None) -> None:
        args = args or {}
        pick, seed = args.get("pick", "tightest"), args.get("seed", 0)
        if pick not in ("tightest", "random"):
            raise ValueError(f"pick must be tightest or random, not {pick!r}")
        self._book = Devices(None if pick == "tightest" else int(seed))

    def concerns(self, pod: PodInfo) -> bool:
        return asked_milli(pod) > 0

    def pre_filter(self, pod: PodInfo, view: View) -> PreFiltered:
        milli = asked_milli(pod)
        return Ready(Asked(*split(milli))) if milli else SKIP

    def filter(self, state: Asked, view: View, rows: Rows) -> IntArray:
        free = (self._book.free(view) if state.free is None else state.free)[rows]
        # Whole GPUs are those nobody uses; for one pod with a part of a GPU any will do that has as much left.
        fits = np.count_nonzero(free >= state.milli, axis=1) >= state.count
        failed: IntArray = (~fits).astype(np.int64)
        return failed

    def explain_failure(self, state: Asked, view: View, code: int) -> Status:
        return unschedulable(NO_DEVICE)

    def fork(self, state: Asked, view: View) -> Asked:
        free = self._book.free(view) if state.free is None else state.free
        return Asked(state.milli, state.count, free.copy(), dict(state.moved))

    def shift(self, state: Asked, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
        assert state.free is not None, "only a forked state is shifted"
        for pod_row, node_row in zip(pod_rows.tolist(), node_rows.tolist(), strict=True):
            milli, count = split(requested_milli(view, pod_row))
            if milli:
                key = view.pods.keys[pod_row]
                devices = self._book.devices_of(view, node_row, key) or state.moved.get((node_row, pod_row))
                if devices is None:
                    devices = self._book.pick(key, milli, count, state.free[node_row].tolist())
                    state.moved[node_row, pod_row] = devices
                state.free[node_row, list(devices)] -= sign * milli

    def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
        return (
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)),
            ClusterEventWithHint(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)),
        )


class Devices:
    """Which GPUs the pods have, and how much is left of each.

    Args:
        seed: of the draw among the GPUs that have room; None takes the one with the least room.
    """

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._nodes: NodeTable | None = None
        self._position = (-1, -1, -1)
        self._free: IntArray = np.zeros((0, 0), dtype=np.int64)  # (nodes, devices) 0 for a GPU that is not there
        self._devices: dict[int, dict[str, tuple[int, ...]]] = {}  # by node row and pod key

    def free(self, view: View) -> IntArray:
        """(nodes, devices) what is left of each GPU."""
        nodes = view.nodes
        position = (nodes.spec_changes.position, nodes.usage_changes.position, nodes.count)
        if nodes is self._nodes and position == self._position:
            return self._free
        same_nodes = nodes is self._nodes and (position[0], position[2]) == (self._position[0], self._position[2])
        changed = nodes.usage_changes.since(self._position[1]) if same_nodes else None
        if changed is None:
            if nodes is not self._nodes:
                self._devices = {}
            self._nodes = nodes
            self._free = _all_free(view)
            changed = every_row(nodes.count)
        for row in distinct(changed).tolist():
            self._recount(view, row)
        self._position = position
        return self._free

    def devices_of(self, view: View, node_row: int, key: str) -> tuple[int, ...] | None:
        self.free(view)
        return self._devices.get(node_row, {}).get(key)

    def pick(self, key: str, milli: int, count: int, free: list[int]) -> tuple[int, ...]:
        """GPUs for a pod. One that was put where it does not fit gets those with the most room."""
        fitting = [device for device, left in enumerate(free) if left >= milli]
        if len(fitting) < count:
            return tuple(sorted(range(len(free)), key=lambda device: -free[device])[:count])
        if milli == WHOLE:
            return tuple(fitting[:count])
        if self._seed is None:
            return (min(fitting, key=lambda device: free[device]),)
        return (fitting[crc32(f"{self._seed}/{key}".encode()) % len(fitting)],)

    def _recount(self, view: View, row: int) -> None:
        known = self._devices.get(row, {})
        free = _gpus(view, row, self._free.shape[1])
        taken: dict[str, tuple[int, ...]] = {}
        newcomers: list[tuple[str, int]] = []
        for pod_row in view.nodes.pod_rows[row]:
            total = requested_milli(view, pod_row)
            if total:
                key = view.pods.keys[pod_row]
                if key in known:
                    taken[key] = known[key]
                    _take(free, known[key], split(total)[0])
                else:
                    newcomers.append((key, total))
        for key, total in newcomers:
            milli, count = split(total)
            taken[key] = self.pick(key, milli, count, free)
            _take(free, taken[key], milli)
        self._devices[row] = taken
        self._free[row] = free


def asked_milli(pod: PodInfo) -> int:
    return pod.shape.requests.asked.get(GPU_MILLI, 0)


def requested_milli(view: View, pod_row: int) -> int:
    column = view.nodes.resources.find(GPU_MILLI)
    return view.pods.requests.item(pod_row, column) if column >= 0 else 0


def split(milli: int) -> tuple[int, int]:
    """How much of each GPU, and how many: up to a whole one it is a share of one, beyond that they are whole."""
    return (milli, 1) if milli <= WHOLE else (WHOLE, -(-milli // WHOLE))


def _all_free(view: View) -> IntArray:
    column = view.nodes.resources.find(GPU_MILLI)
    devices = int(view.nodes.allocatable[:, column].max(initial=0)) // WHOLE if column >= 0 else 0
    return np.zeros((view.nodes.count, devices), dtype=np.int64)


def _gpus(view: View, row: int, devices: int) -> list[int]:
    column = view.nodes.resources.find(GPU_MILLI)
    there = view.nodes.allocatable.item(row, column) // WHOLE if column >= 0 else 0
    return [WHOLE] * there + [0] * (devices - there)


def _take(free: list[int], devices: tuple[int, ...], milli: int) -> None:
    for device in devices:
        if device < len(free):
            free[device] -= milli
