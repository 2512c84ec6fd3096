"""The history of every pod and node of a run, in rows that are updated with each change of the store.

Takes the store's changes in order. A pod keeps its row for good: a later pod of the same name is another row.
"""

from __future__ import annotations

from array import array
from collections import defaultdict

from bayplan.analysis.simulation.results.run_format import End, EvictionCause, NodeRow, PodRow
from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.controllers.budgets.evicting import EVICTION_REASON
from bayplan.controllers.device_taint_eviction import DELETED_BY_TAINT
from bayplan.controllers.ownership import controller_reference, deployment_behind
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, allocatable_amounts, pod_requests
from bayplan.model.conditions import TRUE, find_condition
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.node_pools import POOL_LABEL, NodePool
from bayplan.model.pod import Pod, group_key
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.model.well_known import DISRUPTION_TARGET
from bayplan.model.workloads import Deployment, ReplicaSet
from bayplan.store import WatchEvent

NEVER = -1

_CAUSES = {
    "PreemptionByScheduler": EvictionCause.PREEMPTION,
    "DeletionByTaintManager": EvictionCause.NODE,
    "DeletionByPodGC": EvictionCause.NODE,
    "TerminationByKubelet": EvictionCause.NODE,
    EVICTION_REASON: EvictionCause.DRAIN,
    DELETED_BY_TAINT: EvictionCause.DEVICE,
}
_ENDS_BY_PHASE = {"Succeeded": End.FINISHED, "Failed": End.FAILED}


class PodLedger:
    """One row for each pod, in order of creation."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self.pods: list[PodRow] = []
        self.rows: dict[str, int] = {}
        """Rows of all pods that ever were, by uid."""
        self.created_at = array("q")
        """For each row nanoseconds since the start, as differences of seconds are not exact."""
        self.bound_at = array("q")
        """For each row nanoseconds since the start; NEVER while there is no node."""
        self._replica_set_owners: dict[str, str] = {}  # by uid
        self._early_pods: defaultdict[str, list[PodRow]] = defaultdict(list)  # those that came before their ReplicaSet

    def observe(self, change: WatchEvent) -> None:
        new = change.new
        if isinstance(new, Pod):
            self._pod_changed(change, new)
        elif isinstance(new, ReplicaSet) and change.type == ADDED:
            self._replica_set_added(new.metadata)

    def _replica_set_added(self, meta: ObjectMeta) -> None:
        owner = _named_owner(meta) or f"{ReplicaSet.__name__} {meta.namespace}/{meta.name}"
        self._replica_set_owners[meta.uid] = owner
        for row in self._early_pods.pop(meta.uid, ()):
            row.owner = owner

    def _pod_changed(self, change: WatchEvent, pod: Pod) -> None:
        at = change.at - self._started_at
        if change.type == ADDED:
            self._add(pod, at)
            return
        number = self.rows[pod.metadata.uid]
        row = self.pods[number]
        if row.bound is None and pod.spec.node_name:
            self.bound_at[number] = at
            row.bound, row.node, row.end = at / 1e9, pod.spec.node_name, End.RUNNING
            row.waiting = (at - self.created_at[number]) / 1e9
        phase = pod.status.phase
        if row.started is None and phase == "Running":
            row.started = at / 1e9
        leaves = pod.metadata.deletion_timestamp is not None or change.type == DELETED
        if leaves and row.evicted is None:
            row.evicted = cause_of_eviction(pod)
        if phase in _ENDS_BY_PHASE and row.ended is None and row.evicted is None:
            row.ended, row.end = at / 1e9, _ENDS_BY_PHASE[phase]
        if change.type == DELETED and row.ended is None:
            row.ended = at / 1e9
            row.end = End.PREEMPTED if row.evicted is EvictionCause.PREEMPTION else End.DELETED

    def _add(self, pod: Pod, at: int) -> None:
        meta, phase, node = pod.metadata, pod.status.phase, pod.spec.node_name or None
        asked = pod_requests(pod, DEFAULT_GATES).used
        seconds = at / 1e9
        end = End.RUNNING if node else End.PENDING
        row = PodRow(
            key=f"{meta.namespace}/{meta.name}",
            class_name=_class_name(pod),
            priority=pod.spec.priority or 0,
            owner=_named_owner(meta),
            node=node,
            created=seconds,
            bound=seconds if node else None,
            started=seconds if phase == "Running" else None,
            ended=seconds if phase in _ENDS_BY_PHASE else None,
            end=_ENDS_BY_PHASE.get(phase, end),
            # Nobody knows how long a pod waited that was bound before the run began.
            waiting=0.0 if node and at else None,
            group=group_key(pod) or None,
            cpu=asked.get(CPU_NAME, 0),
            memory=asked.get(MEMORY_NAME, 0),
        )
        self.created_at.append(at)
        self.bound_at.append(at if node else NEVER)
        self.rows[meta.uid] = len(self.pods)
        self.pods.append(row)
        self._find_owner(row, meta)

    def _find_owner(self, row: PodRow, meta: ObjectMeta) -> None:
        """The top controller: a Deployment rather than its ReplicaSet, which a dump may list after its pods."""
        reference = controller_reference(meta)
        if reference is None or reference.kind != ReplicaSet.__name__:
            return
        known = self._replica_set_owners.get(reference.uid)
        if known is not None:
            row.owner = known
            return
        self._early_pods[reference.uid].append(row)
        if deployment := deployment_behind(meta):
            row.owner = f"{Deployment.__name__} {meta.namespace}/{deployment}"

    def workload_of(self, row: int) -> str:
        """The workload or else the pod group, or the pod itself if it belongs to none."""
        pod = self.pods[row]
        return pod.owner or (f"{PodGroup.__name__} {pod.group}" if pod.group is not None else pod.key)


class NodeLedger:
    """Nodes with the time in which they existed. One that comes back has a second row."""

    def __init__(self, started_at: int) -> None:
        self._started_at = started_at
        self.nodes: list[NodeRow] = []
        self._standing: dict[str, NodeRow] = {}
        self._prices: dict[str, float] = {}  # of pools

    def observe(self, change: WatchEvent) -> None:
        node: Object = change.new
        if isinstance(node, NodePool):
            self._price_changed(node)
        if not isinstance(node, Node):
            return
        at = (change.at - self._started_at) / 1e9
        name = node.metadata.name
        if change.type == DELETED:
            self._standing.pop(name).until = at
            return
        amounts, _ = allocatable_amounts(node.status.allocatable)
        if name not in self._standing:
            pool = node.metadata.labels.get(POOL_LABEL, "")
            self._standing[name] = NodeRow(name, at, None, {}, pool, self._prices.get(pool, 0.0))
            self.nodes.append(self._standing[name])
        self._standing[name].allocatable = dict(sorted(amounts.items()))

    def _price_changed(self, pool: NodePool) -> None:
        """Of a pool that nodes may have been heard of before; what a node costs stays as it was when it came."""
        name = pool.metadata.name
        if name not in self._prices:
            for row in self._standing.values():
                if row.pool == name:
                    row.price = pool.spec.price
        self._prices[name] = pool.spec.price


def _named_owner(meta: ObjectMeta) -> str:
    reference = controller_reference(meta)
    return f"{reference.kind} {meta.namespace}/{reference.name}" if reference is not None else ""


def _class_name(pod: Pod) -> str:
    """The priority class; pods without one are grouped by their priority."""
    priority = pod.spec.priority or 0
    return pod.spec.priority_class_name or (f"priority {priority}" if priority else "none")


def cause_of_eviction(pod: Pod) -> EvictionCause | None:
    """Why the pod has to go, as its condition says; None if it says nothing."""
    marked = find_condition(pod.status.conditions, DISRUPTION_TARGET)
    return _CAUSES.get(marked.reason) if marked is not None and marked.status == TRUE else None
