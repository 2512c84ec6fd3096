"""StatefulSets: pods with names that stay, `<set>-<ordinal>`, and claims that outlive them.

Hears of sets and of their pods. With OrderedReady pods come one by one, each only when all before it are ready, and go
one by one from the last; with Parallel all at once. A pod that ended or was deleted comes back under its name, once
that is free. A new template is rolled out from the last pod down to the partition. Every new pod is of the
current template: what came before it is not remembered, so that a pod below the partition that is lost comes back new.
Claims are created and kept, never deleted.
"""

from __future__ import annotations

from typing import ClassVar

from bayplan.controllers.int_or_percent import scaled_value
from bayplan.controllers.ownership import NamespacedName, controller_of_kind, is_terminal, namespaced_name
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.availability import available_at
from bayplan.controllers.workloads.expand import POD_INDEX_LABEL, POD_NAME_LABEL
from bayplan.controllers.workloads.pods_from_templates import Stamp, mount_claims
from bayplan.controllers.workloads.rollout import ON_DELETE
from bayplan.controllers.workloads.templates import REVISION_HASH, Revisions
from bayplan.controllers.writes import delete_pod, write_status
from bayplan.model.conditions import is_ready
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.structs import replace
from bayplan.model.watch_types import DELETED, MODIFIED
from bayplan.model.workloads import RollingUpdate, ScaleStatus, StatefulSet
from bayplan.store import Store, WatchEvent

PARALLEL = "Parallel"


class StatefulSetController(Reconciler[NamespacedName]):
    """Keeps the pods of StatefulSets."""

    name: ClassVar[str] = "statefulset-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", "StatefulSet"})

    def __init__(self) -> None:
        super().__init__()
        self._revisions = Revisions()

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            key = controller_of_kind(change.new.metadata, "StatefulSet")
            if key is not None and _standing_changed(change):
                self._queue.add(key)
        elif change.kind == "StatefulSet":
            self._observe_owner(change)

    def _observe_owner(self, change: WatchEvent) -> None:
        owner = change.new
        assert isinstance(owner, StatefulSet)
        if change.type == DELETED:
            self._revisions.forget(owner.metadata.uid)
        else:
            self._queue.add(namespaced_name(owner))

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        owner = store.find(StatefulSet, *key)
        if owner is None:
            return
        self._revisions.observe(owner.metadata.uid, owner.spec.template)
        members = _Members(store, owner, self._revisions, now)
        try:
            if owner.metadata.deletion_timestamp is None:
                members.act()
        finally:  # a pod that is refused is no reason not to count the others
            members.write_status()
        if members.look_again_at is not None:
            self._queue.add_at(key, members.look_again_at)


class _Members:
    """A set and its pods by ordinal, for the length of one look at it."""

    def __init__(self, store: Store, owner: StatefulSet, revisions: Revisions, now: int) -> None:
        self._store = store
        self._owner = owner
        self._now = now
        self._ordered = owner.spec.pod_management_policy != PARALLEL
        self._revisions = revisions
        self._stamp: Stamp | None = None
        self._pods = _pods_by_ordinal(store, owner)
        start = owner.spec.ordinals.start if owner.spec.ordinals is not None else 0
        replicas = 1 if owner.spec.replicas is None else owner.spec.replicas
        self._wanted = range(start, start + replicas)
        self.look_again_at: int | None = None
        """When a pod that is ready will have been so for long enough."""

    def act(self) -> None:
        """Creates and deletes what may be created and deleted now."""
        # Upstream: pkg/controller/statefulset/stateful_set_control.go updateStatefulSet (v1.36).
        if self._fill() and self._shrink():
            self._roll()

    def _fill(self) -> bool:
        """Brings the wanted pods about, in order; says whether one may go on to what comes after."""
        for ordinal in self._wanted:
            pod = self._pods.get(ordinal)
            if pod is not None and is_terminal(pod) and not _is_terminating(pod):
                self._delete(ordinal, pod)
                pod = self._pods.get(ordinal)
            if pod is None:
                self._create(ordinal)
                if self._ordered:
                    return False
            elif self._ordered and (_is_terminating(pod) or not self._is_available(pod)):
                return False
        return True

    def _shrink(self) -> bool:
        """Takes away pods beyond the wanted, the last first; says whether none is left."""
        surplus = sorted((ordinal for ordinal in self._pods if ordinal not in self._wanted), reverse=True)
        for ordinal in surplus:
            pod = self._pods[ordinal]
            if not _is_terminating(pod):
                self._delete(ordinal, pod)
            if self._ordered:
                return False
        return not surplus

    def _roll(self) -> None:
        """Deletes pods of older templates, the last first, as many at once as may be away."""
        strategy = self._owner.spec.update_strategy
        if strategy is not None and strategy.type == ON_DELETE:
            return
        rolling = (strategy.rolling_update if strategy is not None else None) or RollingUpdate()
        most = max(1, scaled_value(rolling.max_unavailable or 1, len(self._wanted), round_up=True))
        away = sum(1 for ordinal in self._wanted if not self._is_there(ordinal))
        for ordinal in reversed(self._wanted[self._partition :]):
            pod = self._pods.get(ordinal)
            if pod is None or _is_terminating(pod) or self._is_current(pod):
                continue
            # A pod that is not there for anybody anyway may always be exchanged.
            if self._is_available(pod):
                if away >= most:
                    return
                away += 1
            self._delete(ordinal, pod)

    def _is_there(self, ordinal: int) -> bool:
        pod = self._pods.get(ordinal)
        return pod is not None and not _is_terminating(pod) and self._is_available(pod)

    def _is_available(self, pod: Pod) -> bool:
        at = available_at(pod, self._owner.spec.min_ready_seconds) if pod.status.phase == "Running" else None
        if at is not None and at > self._now:
            self.look_again_at = at if self.look_again_at is None else min(at, self.look_again_at)
        return at is not None and at <= self._now

    def _is_current(self, pod: Pod) -> bool:
        return self._revisions.is_current(self._owner.metadata.uid, pod)

    def _create(self, ordinal: int) -> None:
        name = f"{self._owner.metadata.name}-{ordinal}"
        pod = self._stamp_for(ordinal).pod(name)
        pod.metadata.labels |= {POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
        for claim in mount_claims(pod, self._owner):
            if self._store.find(PersistentVolumeClaim, claim.metadata.namespace, claim.metadata.name) is None:
                self._store.create(claim, self._now)
        self._pods[ordinal] = self._store.create(pod, self._now)

    def _stamp_for(self, ordinal: int) -> Stamp:
        """What pods of the ordinal are made with: below the partition, the template before the last change."""
        meta = self._owner.metadata
        before = self._revisions.before(meta.uid)
        if before is not None and ordinal - self._wanted.start < self._partition:
            hashed, template = before
            if self._owner.status.current_revision == f"{meta.name}-{hashed}":
                return Stamp(template, self._owner, {REVISION_HASH: f"{meta.name}-{hashed}"})
        if self._stamp is None:
            revision = f"{meta.name}-{self._revisions.hash_of(meta.uid)}"
            self._stamp = Stamp(self._owner.spec.template, self._owner, {REVISION_HASH: revision})
        return self._stamp

    @property
    def _partition(self) -> int:
        """How many of the first ordinals an update leaves alone."""
        strategy = self._owner.spec.update_strategy
        rolling = strategy.rolling_update if strategy is not None else None
        return 0 if rolling is None else rolling.partition or 0

    def _delete(self, ordinal: int, pod: Pod) -> None:
        deletion = delete_pod(self._store, pod, self._now)
        if deletion.gone:
            del self._pods[ordinal]
        else:
            assert isinstance(deletion.object, Pod)
            self._pods[ordinal] = deletion.object

    def write_status(self) -> None:
        owner = self._owner
        pods = [pod for pod in self._pods.values() if not is_terminal(pod)]
        ready = [pod for pod in pods if pod.status.phase == "Running" and is_ready(pod)]
        staying = [pod for pod in pods if not _is_terminating(pod)]
        current = sum(map(self._is_current, staying))
        revision = f"{owner.metadata.name}-{self._revisions.hash_of(owner.metadata.uid)}"
        is_of_one = current == len(staying)
        status: ScaleStatus = replace(
            owner.status,
            replicas=len(pods),
            ready_replicas=len(ready),
            available_replicas=sum(map(self._is_available, ready)),
            updated_replicas=current,
            # Once all are of one template that is the current one; until then it is the one before.
            current_replicas=current if is_of_one else len(staying) - current,
            current_revision=revision if is_of_one else owner.status.current_revision or revision,
            update_revision=revision,
            observed_generation=owner.metadata.generation,
        )
        write_status(self._store, owner, status, self._now)


def _pods_by_ordinal(store: Store, owner: StatefulSet) -> dict[int, Pod]:
    prefix = f"{owner.metadata.name}-"
    found = {}
    for pod in store.owned_by(owner.metadata.uid):
        if isinstance(pod, Pod) and pod.metadata.name.startswith(prefix):
            ordinal = pod.metadata.name.removeprefix(prefix)
            if ordinal.isdecimal():
                found[int(ordinal)] = pod
    return found


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def _standing_changed(change: WatchEvent) -> bool:
    """Whether the pod came or went, or its standing changed; most writes to pods are about other things."""
    old, new = change.old, change.new
    if change.type != MODIFIED:
        return True
    assert isinstance(old, Pod)
    assert isinstance(new, Pod)
    return _standing(old) != _standing(new)


def _standing(pod: Pod) -> tuple[str, bool, bool]:
    return pod.status.phase, _is_terminating(pod), is_ready(pod)
