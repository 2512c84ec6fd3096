"""What became of every pod and node of a run, as columns that grow with each change of the store.

Takes the store's changes in order. A pod keeps its row for good: a later pod of the same name is another row. Times
are nanoseconds since the start of the run, -1 for what has not happened.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from bayplan.controllers.ownership import controller_reference
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, allocatable_amounts, pod_requests
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.model.workloads import ReplicaSet
from bayplan.store import ADDED, DELETED, WatchEvent

NEVER = -1
RUNNING, PENDING, FINISHED, FAILED, DELETED_END, PREEMPTED = (
    "running",
    "pending",
    "finished",
    "failed",
    "deleted",
    "preempted",
)
BY_PREEMPTION = "preemption"
BY_NODE = "node"
BY_DRAIN = "drain"
DRAIN_REASON = "EvictionByEvictionAPI"

_CAUSES = {
    "PreemptionByScheduler": BY_PREEMPTION,
    "DeletionByTaintManager": BY_NODE,
    "DeletionByPodGC": BY_NODE,
    "TerminationByKubelet": BY_NODE,
    DRAIN_REASON: BY_DRAIN,
}
_ENDS_BY_PHASE = {"Succeeded": FINISHED, "Failed": FAILED}


class PodLedger:
    """One row for each pod, in order of creation."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self.rows: dict[str, int] = {}
        """Rows of the pods that exist, by uid."""
        self.rows_ever: dict[str, int] = {}
        """The same for all that ever were."""
        self.keys: list[str] = []
        self.classes: list[str] = []
        self.priorities: list[int] = []
        self.owners: list[str] = []
        self.nodes: list[str] = []
        self.created: list[int] = []
        self.bound: list[int] = []
        self.started: list[int] = []
        self.ended: list[int] = []
        self.ends: list[str] = []
        self.cpu_milli: list[int] = []
        self.memory_bytes: list[int] = []
        self.was_there: list[bool] = []
        """Bound before the run began, so that nobody knows how long it waited."""
        self.evicted: dict[int, str] = {}
        """Row -> the cause, for pods that were made to go."""
        self.evictions: Counter[str] = Counter()
        self._replica_set_owners: dict[str, str] = {}

    def observe(self, change: WatchEvent) -> None:
        new = change.new
        if isinstance(new, Pod):
            self._pod_changed(change, new)
        elif isinstance(new, ReplicaSet) and change.type == ADDED:
            self._replica_set_owners[new.metadata.uid] = self._owner(new.metadata)

    def _pod_changed(self, change: WatchEvent, pod: Pod) -> None:
        at = change.at - self._started_at
        if change.type == ADDED:
            self._add(pod, at)
            return
        row = self.rows[pod.metadata.uid]
        if self.bound[row] == NEVER and pod.spec.node_name:
            self.bound[row], self.nodes[row], self.ends[row] = at, pod.spec.node_name, RUNNING
        phase = pod.status.phase
        if self.started[row] == NEVER and phase == "Running":
            self.started[row] = at
        goes = pod.metadata.deletion_timestamp is not None or change.type == DELETED
        if goes and row not in self.evicted:
            self._note_eviction(row, pod)
        if phase in _ENDS_BY_PHASE and self.ended[row] == NEVER and row not in self.evicted:
            self.ended[row], self.ends[row] = at, _ENDS_BY_PHASE[phase]
        if change.type == DELETED:
            self._remove(row, pod, at)

    def _add(self, pod: Pod, at: int) -> None:
        meta, spec, phase = pod.metadata, pod.spec, pod.status.phase
        self.rows[meta.uid] = self.rows_ever[meta.uid] = len(self.keys)
        asked = pod_requests(pod).used
        over = phase in _ENDS_BY_PHASE
        self.keys.append(f"{meta.namespace}/{meta.name}")
        self.priorities.append(spec.priority or 0)
        self.classes.append(class_name(pod))
        self.owners.append(self._owner(meta))
        self.nodes.append(spec.node_name)
        self.created.append(at)
        self.bound.append(at if spec.node_name else NEVER)
        self.started.append(at if phase == "Running" else NEVER)
        self.ended.append(at if over else NEVER)
        self.ends.append(_ENDS_BY_PHASE[phase] if over else RUNNING if spec.node_name else PENDING)
        self.cpu_milli.append(asked.get(CPU_NAME, 0))
        self.memory_bytes.append(asked.get(MEMORY_NAME, 0))
        self.was_there.append(bool(spec.node_name) and at == 0)

    def _note_eviction(self, row: int, pod: Pod) -> None:
        marked = find_condition(pod.status.conditions, DISRUPTION_TARGET)
        if marked is not None and marked.status == TRUE and marked.reason in _CAUSES:
            self.evicted[row] = _CAUSES[marked.reason]
            self.evictions[_CAUSES[marked.reason]] += 1

    def _remove(self, row: int, pod: Pod, at: int) -> None:
        del self.rows[pod.metadata.uid]
        if self.ended[row] == NEVER:
            self.ended[row] = at
            self.ends[row] = PREEMPTED if self.evicted.get(row) == BY_PREEMPTION else DELETED_END

    def _owner(self, meta: ObjectMeta) -> str:
        """`Deployment shop/web`: the workload that a user knows, "" if there is none."""
        reference = controller_reference(meta)
        if reference is None:
            return ""
        above = self._replica_set_owners.get(reference.uid, "")
        return above or f"{reference.kind} {meta.namespace}/{reference.name}"

    def name_of(self, row: int) -> str:
        """The workload, or the pod itself if it belongs to none."""
        return self.owners[row] or self.keys[row]


class NodeLedger:
    """Nodes with the time they were there. One that comes again is told again."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self.nodes: list[dict[str, Any]] = []
        self._standing: dict[str, dict[str, Any]] = {}

    def observe(self, change: WatchEvent) -> None:
        node: Object = change.new
        if not isinstance(node, Node):
            return
        at = (change.at - self._started_at) / 1e9
        name = node.metadata.name
        if change.type == DELETED:
            self._standing.pop(name)["until"] = at
            return
        amounts, _ = allocatable_amounts(node.status.allocatable)
        if name not in self._standing:
            self._standing[name] = {"name": name, "from": at, "until": None, "allocatable": {}}
            self.nodes.append(self._standing[name])
        self._standing[name]["allocatable"] = dict(sorted(amounts.items()))


def class_name(pod: Pod) -> str:
    """The priority class; pods without one are told apart by their priority."""
    priority = pod.spec.priority or 0
    return pod.spec.priority_class_name or (f"priority {priority}" if priority else "none")
