"""The pod table: pods that run on some node, and pending pods that are nominated to one.

Only numbers and ids are kept for each pod, with its key; everything else is in the shape it shares with pods
like it. A nominated pod has `node_rows` -1: it takes no room until a what-if view puts it somewhere.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray
from bayplan.core.columns.resources import PodRequests, ResourceVocabulary, pod_requests, status_agrees
from bayplan.core.columns.shapes import PodInfo, PodShape, controller_of
from bayplan.core.columns.table import PER_RESOURCE, ColumnTable, column, part
from bayplan.core.columns.volume_users import VolumeUsers, attachable_count
from bayplan.core.feature_gates import FeatureGates
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, group_key
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import DISRUPTION_TARGET

#: Start time of a pod that has none: newer than any other.
NOT_STARTED = np.iinfo(np.int64).max
#: A pod, as it is counted on a node.
_ONE = struct.pack("q", 1)


class PodCells(NamedTuple):
    """Columns to read and write a single value of, which takes much less time than with arrays."""

    node_rows: memoryview[int]
    slots: memoryview[int]
    priorities: memoryview[int]
    started_at: memoryview[int]
    terminating: memoryview[int]
    shape_ids: memoryview[int]
    identity_ids: memoryview[int]
    attachable_volumes: memoryview[int]


class PodTable(ColumnTable):
    """Pods as rows. A row that is free or spare has `node_rows` -1, and nothing else in it means anything."""

    shows_spare_rows = True

    node_rows: IdArray = column(np.int32, ABSENT)  # (pods,) where it runs, -1 for a nominated pod and for a free row
    slots: IdArray = column(np.int32)  # (pods,) its place in that node's list of pods
    priorities: IntArray = column(np.int64)  # (pods,)
    started_at: IntArray = column(np.int64, NOT_STARTED)  # (pods,) nanoseconds, NOT_STARTED when unknown
    terminating: BoolArray = column(np.bool_, False)  # (pods,) has a deletion timestamp
    preempted: BoolArray = column(np.bool_, False)  # (pods,) terminating because a scheduler preempted it
    foreign: BoolArray = column(np.bool_, False)  # (pods,) of another scheduler, and for that reason never a victim
    shape_ids: IdArray = column(np.int32, ABSENT)  # (pods,)
    identity_ids: IdArray = column(np.int32, ABSENT)  # (pods,)
    amounts: IntArray = column(np.int64, width=PER_RESOURCE, more=2)  # (pods, 2 + resources) both of these in one row
    nonzero_requests: IntArray = part("amounts", slice(0, 2))  # (pods, 2)
    requests: IntArray = part("amounts", slice(2, None))  # (pods, resources) what it takes on a node
    attachable_volumes: IdArray = column(np.int32)  # (pods,) volumes that a driver may have to attach

    def __init__(
        self,
        resources: ResourceVocabulary,
        gates: FeatureGates,
        own_schedulers: frozenset[str] | None = None,
    ) -> None:
        """`own_schedulers` are those whose pods may be victims; None: those of all may."""
        self._taken_by_shape: dict[int, bytes] = {}  # what `taken_by` says, by id
        super().__init__(resources)
        self._gates = gates
        self.own_schedulers = own_schedulers
        self.keys: list[str] = []
        self.shapes: list[PodShape | None] = []  # None where a row is free
        self.uids: list[str] = []
        self._owners: list[str] = []  # what `owner_of` says; "" for a pod that nobody would make again
        self.rows_by_key: dict[str, int] = {}
        self.volume_users = VolumeUsers()
        self.grouped: dict[int, Pod] = {}  # the members of pod groups, by row
        self._members: dict[str, set[int]] = {}  # by group
        #: Rows of pods that are terminating, foreign or resized. What was written because of that is taken back when
        #: the pod leaves, so that nothing is to be written for all others.
        self._unusual: set[int] = set()
        #: Those of them that take something else than their shape says, and the resources they use.
        self._resized: dict[int, tuple[int, ...]] = {}

    def owner(self, row: int) -> str:
        """What `owner_of` says of the pod."""
        return self._owners[row] or f"Pod {self.keys[row]}"

    def add(self, pod: Pod, info: PodInfo) -> int:
        """A row for the pod, on no node yet."""
        key, shape, start_time = info.key, info.shape, pod.status.start_time
        assert key not in self.rows_by_key, f"pod {key} is already known"
        taken = self._taken_by_shape.get(shape.id)
        if taken is None:
            taken = self._taken_by_shape[shape.id] = self._taken(shape.requests)
        row = self._new_row()
        if row == len(self.keys):
            self.keys.append(key)
            self.shapes.append(shape)
            self.uids.append(info.uid)
            self._owners.append("")
        else:
            self.keys[row], self.shapes[row], self.uids[row] = key, shape, info.uid
        if pod.metadata.owner_references:
            self._owners[row] = owner_of(pod.metadata)
        self.rows_by_key[key] = row
        if pod.spec.scheduling_group is not None:
            self.grouped[row] = pod
            self._members.setdefault(group_key(pod), set()).add(row)
        cells = self.cells
        cells.priorities[row] = info.priority
        cells.started_at[row] = _start_time(start_time) if start_time else NOT_STARTED
        cells.shape_ids[row] = shape.id
        cells.identity_ids[row] = shape.identity_id
        cells.attachable_volumes[row] = attachable_count(shape.spec) if shape.spec.volumes else 0
        self._write_amounts(row, taken)
        if (
            pod.metadata.deletion_timestamp is not None
            or (self.own_schedulers is not None and pod.spec.scheduler_name not in self.own_schedulers)
            or not status_agrees(pod, self._gates.release)
        ):
            self._add_unusual(row, pod)
        return row

    def _add_unusual(self, row: int, pod: Pod) -> None:
        self._unusual.add(row)
        if pod.metadata.deletion_timestamp is not None:
            self.terminating[row] = True
            self.preempted[row] = _preempted_by_scheduler(pod)
        if self.own_schedulers is not None:
            self.foreign[row] = pod.spec.scheduler_name not in self.own_schedulers
        if not status_agrees(pod, self._gates.release):
            # A resized pod may hold more than its spec says.
            requests = pod_requests(pod, self._gates)
            self._resized[row] = tuple(map(self.resources.take, requests.used))
            self._write_amounts(row, self._taken(requests))

    def scheduled_members(self, group: str) -> list[int]:
        """Rows of the group's pods that are on a node, whether there is such a node or not, by their keys."""
        on_nodes = [row for row in self._members.get(group, ()) if self.cells.node_rows[row] != ABSENT]
        return sorted(on_nodes, key=self.keys.__getitem__)

    def refresh(self, row: int, pod: Pod) -> bool:
        """Take over what may change without touching any account; False if something else did but the shape."""
        cells, start_time = self.cells, pod.status.start_time
        terminating = pod.metadata.deletion_timestamp is not None
        if (
            cells.terminating[row] != terminating
            or cells.priorities[row] != (pod.spec.priority or 0)  # some count pods by it
            or not status_agrees(pod, self._gates.release)
            or row in self._resized
        ):
            return False
        cells.started_at[row] = _start_time(start_time) if start_time else NOT_STARTED
        if terminating:
            self.preempted[row] = _preempted_by_scheduler(pod)
        self.uids[row] = pod.metadata.uid
        if row in self.grouped:
            self.grouped[row] = pod
        return True

    def remove(self, row: int) -> None:
        del self.rows_by_key[self.keys[row]]
        self.cells.node_rows[row] = ABSENT
        self.keys[row] = self.uids[row] = self._owners[row] = ""
        self.shapes[row] = None
        if row in self._unusual:
            self._remove_unusual(row)
        if row in self.grouped:
            self._leave_group(row)
        self._free_row(row)

    def _leave_group(self, row: int) -> None:
        key = group_key(self.grouped.pop(row))
        self._members[key].remove(row)
        if not self._members[key]:
            del self._members[key]

    def lay_aside(self, row: int) -> None:
        """The pod is gone for a while; its row is kept."""
        del self.rows_by_key[self.keys[row]]
        self.cells.node_rows[row] = ABSENT

    def put_back(self, row: int) -> None:
        """A pod that was laid aside, on no node yet."""
        self.rows_by_key[self.keys[row]] = row

    def _remove_unusual(self, row: int) -> None:
        self._unusual.remove(row)
        for resource in self._resized.pop(row, ()):
            self.resources.drop(resource)
        self.terminating[row] = self.preempted[row] = self.foreign[row] = False

    def taken_by(self, row: int, shape: PodShape) -> bytes:
        """(3 + resources,) what the pod adds to `NodeTable.taken` where it is."""
        if row in self._resized:
            held: bytes = self.amounts[row].tobytes()
            return _ONE + held
        known = self._taken_by_shape.get(shape.id)
        if known is None:
            known = self._taken_by_shape[shape.id] = self._taken(shape.requests)
        return known

    def shape(self, row: int) -> PodShape:
        """The shape of the pod in that row."""
        shape = self.shapes[row]
        assert shape is not None, f"row {row} is free"
        return shape

    def forget_shape(self, shape_id: int) -> None:
        """No pod has the shape any more."""
        self._taken_by_shape.pop(shape_id, None)

    def _taken(self, requests: PodRequests) -> bytes:
        """A pod, and what it takes."""
        amounts = [0] * self._width
        for name, amount in requests.used.items():
            amounts[self.resources.find(name)] = amount
        return self._packing.pack(1, requests.nonzero_cpu_milli, requests.nonzero_memory_bytes, *amounts)

    def _write_amounts(self, row: int, taken: bytes) -> None:
        length = len(taken) - len(_ONE)
        self._records[row * length : (row + 1) * length] = taken[len(_ONE) :]

    def _resize(self) -> None:
        for name in ("cells", "_records"):  # which would hold the old arrays until all are copied
            vars(self).pop(name, None)
        super()._resize()
        self.cells = PodCells(*(getattr(self, name).data for name in PodCells._fields))
        self._records = self.amounts.data.cast("B")
        self._packing = struct.Struct(f"{3 + self._width}q")
        self._taken_by_shape.clear()  # they may have been narrower


def owner_of(meta: ObjectMeta) -> str:
    """Who made the pod and would make it again: its controller or, for a pod without one, nobody but itself."""
    controller = controller_of(meta) if meta.owner_references else None
    kind, name = ("Pod", meta.name) if controller is None else (controller.kind, controller.name)
    return f"{kind} {meta.namespace}/{name}"


@lru_cache(maxsize=64)  # many pods start in the same second
def _start_time(text: str) -> int:
    """Times that 64 bits do not hold, before 1678 and after 2262, count as the first or the last that they do."""
    return min(max(parse_time(text), -NOT_STARTED), NOT_STARTED - 1)


def _preempted_by_scheduler(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    return condition is not None and condition.status == TRUE and condition.reason == "PreemptionByScheduler"
