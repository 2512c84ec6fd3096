"""ReplicaSets and ReplicationControllers: as many pods as they say, no more and no fewer.

Hears of pods and of their owners, and keeps count, so that a change costs the same however many pods there are. A pod
that ended or is being deleted no longer counts, and is replaced at once. Only when pods are to go are all of an owner's
looked at, to choose which. Pods are an owner's by their controller reference alone, which `adoption` writes and takes
away as labels say. What the store refuses is said in the condition ReplicaFailure.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, TypeAlias

from bayplan.controllers.ownership import (
    NamespacedName,
    controlled_by,
    controller_reference,
    is_active,
    is_terminal,
    namespaced_name,
)
from bayplan.controllers.tally import Tally
from bayplan.controllers.work_queue import BURST_MAX, Reconciler
from bayplan.controllers.workloads.availability import available_at
from bayplan.controllers.workloads.deletion_order import first_to_delete
from bayplan.controllers.workloads.pods_from_templates import Stamp
from bayplan.controllers.writes import delete_pod, write_status
from bayplan.model.conditions import REPLICA_FAILURE, TRUE, find_condition, is_ready
from bayplan.model.meta import Condition, ObjectMeta
from bayplan.model.pod import Pod, PodTemplateSpec
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.model.workloads import ReplicaSet, ReplicationController, ScaleStatus
from bayplan.store import ApiError, Store, WatchEvent

Replicated: TypeAlias = ReplicaSet | ReplicationController

_ACTIVE, _READY, _TERMINATING = 1, 2, 4


class ReplicaSetController(Reconciler[NamespacedName]):
    """Keeps the pods of ReplicaSets at the wanted number."""

    name: ClassVar[str] = "replicaset-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "ReplicaSet"})
    _struct: ClassVar[type[ReplicaSet] | type[ReplicationController]] = ReplicaSet

    def __init__(self) -> None:
        super().__init__()
        self._kind = self._struct.__name__
        self._pods: dict[str, Tally] = {}
        """By the owner's uid; an owner without pods that have not ended has none."""
        self._uncounted: dict[str, None] = {}
        """Owners that were relisted: what happened to their pods before may never have been told."""
        self._stamps: dict[str, tuple[PodTemplateSpec, Stamp]] = {}

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            self._observe_pod(change)
        elif change.kind == self._kind:
            self._observe_owner(change)

    def _observe_pod(self, change: WatchEvent) -> None:
        pod, old = change.new, change.old
        references = pod.metadata.owner_references
        if old is not None and old.metadata.owner_references is not references:
            self._note(old.metadata, 0)
        if references:
            assert isinstance(pod, Pod)
            self._note(pod.metadata, 0 if change.type == DELETED else _marks(pod))

    def _note(self, meta: ObjectMeta, marks: int) -> None:
        """The pod with this metadata has these marks now."""
        reference = controller_reference(meta)
        if reference is None or reference.kind != self._kind:
            return
        tally = self._pods.get(reference.uid)
        if tally is None:
            if not marks:
                return
            tally = self._pods[reference.uid] = Tally()
        if tally.note(meta.name, marks):
            self._queue.add((meta.namespace, reference.name))
            if not tally:
                del self._pods[reference.uid]

    def _observe_owner(self, change: WatchEvent) -> None:
        meta = change.new.metadata
        if change.type == DELETED:
            self._uncounted.pop(meta.uid, None)
            self._stamps.pop(meta.uid, None)
            return
        if change.type == ADDED:
            self._uncounted[meta.uid] = None
        self._queue.add((meta.namespace, meta.name))

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        owner = store.find(self._struct, *key)
        if owner is None:
            return
        if owner.metadata.uid in self._uncounted:
            self._recount(store, owner)
        try:
            if owner.metadata.deletion_timestamp is None:
                self._replicate(store, owner, now)
        except ApiError as error:
            self._write_status(store, owner, str(error), now)
            raise
        self._write_status(store, owner, "", now)

    def _replicate(self, store: Store, owner: Replicated, now: int) -> None:
        missing = _wanted(owner) - self._count(owner, _ACTIVE)
        if missing > 0:
            self._create(store, owner, min(missing, BURST_MAX), now)
        elif missing < 0:
            self._delete(store, owner, now)
        if abs(missing) > BURST_MAX:
            self._queue.add(namespaced_name(owner))

    def _count(self, owner: Replicated, marks: int) -> int:
        tally = self._pods.get(owner.metadata.uid)
        return 0 if tally is None else tally.having(marks)

    def _recount(self, store: Store, owner: Replicated) -> list[Pod]:
        """Counts the active pods that are stored, and returns them."""
        uid = owner.metadata.uid
        pods = controlled_by(store, owner, Pod)
        tally = Tally()
        for pod in pods:
            tally.note(pod.metadata.name, _marks(pod))
        self._pods.pop(uid, None)
        if tally:
            self._pods[uid] = tally
        self._uncounted.pop(uid, None)
        return [pod for pod in pods if is_active(pod)]

    def _create(self, store: Store, owner: Replicated, number: int, now: int) -> None:
        stamp = self._stamp(owner)
        for _ in range(number):
            made = store.create(stamp.pod_alike(), now)
            # Counted here and not only when it is heard of, or it might be created twice.
            self._note(made.metadata, _marks(made))

    def _stamp(self, owner: Replicated) -> Stamp:
        uid, template = owner.metadata.uid, owner.spec.template
        known = self._stamps.get(uid)
        if known is None or known[0] is not template:
            known = self._stamps[uid] = template, Stamp(template, owner)
        return known[1]

    def _delete(self, store: Store, owner: Replicated, now: int) -> None:
        active = self._recount(store, owner)
        number = min(len(active) - _wanted(owner), BURST_MAX)
        if number <= 0:
            return
        for pod in first_to_delete(active, number, now, _crowds(store, owner, active)):
            deletion = delete_pod(store, pod, now)
            assert isinstance(deletion.object, Pod)
            self._note(pod.metadata, 0 if deletion.gone else _marks(deletion.object))

    def _write_status(self, store: Store, owner: Replicated, failure: str, now: int) -> None:
        ready = self._count(owner, _ACTIVE | _READY)
        available = ready if owner.spec.min_ready_seconds == 0 else self._count_available(store, owner, now)
        status: ScaleStatus = replace(
            owner.status,
            replicas=self._count(owner, _ACTIVE),
            ready_replicas=ready,
            available_replicas=available,
            # ReplicationControllers do not say.
            terminating_replicas=self._count(owner, _TERMINATING) if isinstance(owner, ReplicaSet) else None,
            observed_generation=owner.metadata.generation,
            conditions=self._conditions(owner, failure, now),
        )
        write_status(store, owner, status, now)

    def _conditions(self, owner: Replicated, failure: str, now: int) -> list[Condition]:
        # Upstream: pkg/controller/replicaset/replica_set_utils.go calculateStatus (v1.36).
        standing = find_condition(owner.status.conditions, REPLICA_FAILURE)
        if bool(failure) == (standing is not None):
            return owner.status.conditions
        others = [condition for condition in owner.status.conditions if condition is not standing]
        if not failure:
            return others
        reason = "FailedCreate" if self._count(owner, _ACTIVE) < _wanted(owner) else "FailedDelete"
        condition = Condition(type=REPLICA_FAILURE, status=TRUE, reason=reason, message=failure)
        return [*others, replace(condition, last_transition_time=format_time(now))]

    def _count_available(self, store: Store, owner: Replicated, now: int) -> int:
        """How many have been ready long enough; comes back when the next one has."""
        available = 0
        for pod in controlled_by(store, owner, Pod):
            at = available_at(pod, owner.spec.min_ready_seconds) if is_active(pod) else None
            if at is not None and at <= now:
                available += 1
            elif at is not None:
                self._queue.add_at(namespaced_name(owner), at)
        return available


class ReplicationManager(ReplicaSetController):
    """Keeps the pods of ReplicationControllers at the wanted number."""

    name: ClassVar[str] = "replication-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "ReplicationController"})
    _struct: ClassVar[type[ReplicaSet] | type[ReplicationController]] = ReplicationController


def _marks(pod: Pod) -> int:
    if is_terminal(pod):
        return 0
    if pod.metadata.deletion_timestamp is not None:
        return _TERMINATING
    return _ACTIVE | _READY if is_ready(pod) else _ACTIVE


def _wanted(owner: Replicated) -> int:
    return 1 if owner.spec.replicas is None else owner.spec.replicas


def _crowds(store: Store, owner: Replicated, active: list[Pod]) -> dict[str, int]:
    """How many active pods of the owner and its siblings, the other ReplicaSets of a rollout, are on each node."""
    # Upstream: pkg/controller/replicaset/replica_set.go getIndirectlyRelatedPods (v1.36).
    related = [*active, *_pods_of_siblings(store, owner)]
    return Counter(pod.spec.node_name for pod in related if pod.spec.node_name)


def _pods_of_siblings(store: Store, owner: Replicated) -> list[Pod]:
    above = controller_reference(owner.metadata)
    if above is None:
        return []
    siblings = [
        sibling
        for sibling in store.owned_by(above.uid)
        if isinstance(sibling, ReplicaSet) and sibling.metadata.uid != owner.metadata.uid
    ]
    return [pod for sibling in siblings for pod in controlled_by(store, sibling, Pod) if is_active(pod)]
