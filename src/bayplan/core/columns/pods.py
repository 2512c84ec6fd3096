"""The pod table: pods that run on some node, and pending pods that are nominated to one.

Only numbers and ids are kept for each pod, with its key; everything else is in the shape it shares with pods
like it. A nominated pod has `node_rows` -1: it takes no room until a what-if view puts it somewhere.
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray
from bayplan.core.columns.resources import PodRequests, ResourceVocabulary, pod_requests, status_agrees
from bayplan.core.columns.shapes import PodInfo, PodShape, controller_of
from bayplan.core.columns.table import PER_RESOURCE, Table, column
from bayplan.core.columns.volume_users import VolumeUsers, attachable_count
from bayplan.core.feature_gates import DEFAULT_GATES, FeatureGates
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod
from bayplan.model.timestamps import parse_time
from bayplan.model.well_known import DISRUPTION_TARGET

#: Start time of a pod that has none: newer than any other.
NOT_STARTED = np.iinfo(np.int64).max


class PodTable(Table):
    """Pods as rows. A row that is free or spare has `node_rows` and ids -1."""

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
    requests: IntArray = column(np.int64, width=PER_RESOURCE)  # (pods, resources) what it takes on a node
    nonzero_requests: IntArray = column(np.int64, width=2)  # (pods, 2)
    attachable_volumes: IdArray = column(np.int32)  # (pods,) volumes that a driver may have to attach

    def __init__(
        self,
        resources: ResourceVocabulary,
        gates: FeatureGates = DEFAULT_GATES,
        own_schedulers: frozenset[str] | None = None,
    ) -> None:
        """`own_schedulers` are those whose pods may be victims; None: those of all may."""
        super().__init__(resources)
        self._gates = gates
        self.own_schedulers = own_schedulers
        self.keys: list[str] = []
        self.uids: list[str] = []
        self.owners: list[str] = []  # what `owner_of` says
        self.rows_by_key: dict[str, int] = {}
        self.volume_users = VolumeUsers()
        self._resized: set[int] = set()  # rows of pods that take something else than their shape says
        self._amounts_of_shape: dict[int, tuple[IntArray, IntArray]] = {}

    def add(self, pod: Pod, info: PodInfo) -> int:
        """A row for the pod, on no node yet."""
        assert info.key not in self.rows_by_key, f"pod {info.key} is already known"
        row = self._new_row()
        if row == len(self.keys):
            self.keys.append("")
            self.uids.append("")
            self.owners.append("")
        self.keys[row], self.uids[row] = info.key, info.uid
        self.owners[row] = owner_of(pod.metadata)
        self.rows_by_key[info.key] = row
        self.priorities[row] = info.priority
        if pod.status.start_time:
            self.started_at[row] = _start_time(pod.status.start_time)
        if pod.metadata.deletion_timestamp is not None:
            self.terminating[row] = True
            self.preempted[row] = _preempted_by_scheduler(pod)
        if self.own_schedulers is not None:
            self.foreign[row] = pod.spec.scheduler_name not in self.own_schedulers
        self.shape_ids[row] = info.shape.id
        self.identity_ids[row] = info.shape.identity_id
        if info.shape.spec.volumes:
            self.attachable_volumes[row] = attachable_count(info.shape.spec)
        requests = self._requests_in_use(pod, info.shape)
        if requests is not info.shape.requests:
            self._resized.add(row)
        amounts, nonzero = self._amounts(requests, info.shape)
        self.requests[row, : len(amounts)] = amounts
        self.nonzero_requests[row] = nonzero
        return row

    def refresh(self, row: int, pod: Pod, shape: PodShape) -> bool:
        """Take over what may change without touching any account; False if something else did."""
        terminating = pod.metadata.deletion_timestamp is not None
        if (
            self.shape_ids.item(row) != shape.id
            or self.terminating.item(row) != terminating
            or self.priorities.item(row) != (pod.spec.priority or 0)  # some count pods by it
            or self._requests_in_use(pod, shape) is not shape.requests
            or row in self._resized
        ):
            return False
        self.started_at[row] = _start_time(pod.status.start_time) if pod.status.start_time else NOT_STARTED
        self.preempted[row] = terminating and _preempted_by_scheduler(pod)
        self.uids[row] = pod.metadata.uid
        return True

    def remove(self, row: int) -> None:
        del self.rows_by_key[self.keys[row]]
        self.node_rows[row] = ABSENT
        self.shape_ids[row] = self.identity_ids[row] = ABSENT
        self.keys[row] = self.uids[row] = self.owners[row] = ""
        self._resized.discard(row)
        self._free_row(row)

    def _requests_in_use(self, pod: Pod, shape: PodShape) -> PodRequests:
        """A resized pod may hold more than its spec says; any other takes what its shape says."""
        return shape.requests if status_agrees(pod) else pod_requests(pod, self._gates)

    def _amounts(self, requests: PodRequests, shape: PodShape) -> tuple[IntArray, IntArray]:
        """(resources,) and (2,) what the pod takes; worked out once for each shape."""
        if requests is not shape.requests:
            return self._as_arrays(requests)
        known = self._amounts_of_shape.get(shape.id)
        if known is None:
            known = self._amounts_of_shape[shape.id] = self._as_arrays(requests)
        return known

    def _as_arrays(self, requests: PodRequests) -> tuple[IntArray, IntArray]:
        ids = [self.resources.id(name) for name in requests.used]
        self.widen()
        amounts = np.zeros(max(ids, default=-1) + 1, dtype=np.int64)
        for resource, amount in zip(ids, requests.used.values(), strict=True):
            amounts[resource] = amount
        return amounts, np.array([requests.nonzero_cpu_milli, requests.nonzero_memory_bytes], dtype=np.int64)


def owner_of(meta: ObjectMeta) -> str:
    """Who made the pod and would make it again: its controller or, for a pod without one, nobody but itself."""
    controller = controller_of(meta) if meta.owner_references else None
    kind, name = ("Pod", meta.name) if controller is None else (controller.kind, controller.name)
    return f"{kind} {meta.namespace}/{name}"


def _start_time(text: str) -> int:
    """Times that 64 bits do not hold, before 1678 and after 2262, count as the first or the last that they do."""
    return min(max(parse_time(text), -NOT_STARTED), NOT_STARTED - 1)


def _preempted_by_scheduler(pod: Pod) -> bool:
    condition = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    return condition is not None and condition.status == TRUE and condition.reason == "PreemptionByScheduler"
