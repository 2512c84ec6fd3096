"""Deployments: a ReplicaSet for every template, and the rollout from one to the next.

Hears of Deployments and of their ReplicaSets and scales the latter, by the arithmetic of `rollout`: all at once, in
steps as new pods become available, or the old ones first (Recreate). Pods are left to the ReplicaSet controller. Old
ReplicaSets are kept up to the history limit. Progress deadlines and hash collisions do not exist here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, TypeAlias

from msgspec.structs import replace

from bayplan.controllers.agenda import Reconciler
from bayplan.controllers.conditions import FALSE, TRUE, with_condition
from bayplan.controllers.ownership import controller_reference, is_terminal
from bayplan.controllers.workloads.rollout import (
    Bounds,
    Member,
    bounds_of,
    is_recreated,
    proportional_sizes,
    size_of_new,
    sizes_of_old,
)
from bayplan.controllers.workloads.templates import replica_set_of, same_template, template_hash
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.workloads import Deployment, ReplicaSet, ScaleStatus
from bayplan.store.log import DELETED, MODIFIED, WatchEvent
from bayplan.store.objects import Store
from bayplan.store.stamping import written_time

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a Deployment."""

REVISION = "deployment.kubernetes.io/revision"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
DEFAULT_HISTORY_LIMIT = 10


class DeploymentController(Reconciler[Key]):
    """Rolls Deployments out."""

    name: ClassVar[str] = "deployment-controller"
    hears: ClassVar[frozenset[str]] = frozenset({"Deployment", "Pod", "ReplicaSet"})

    def __init__(self) -> None:
        super().__init__()
        self._awaited: dict[str, Key] = {}
        """ReplicaSets, by uid, whose last pods a Deployment that is recreated waits for."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            if self._awaited:
                self._hear_pod(change)
        elif change.kind == "ReplicaSet":
            if change.type == DELETED:
                self._awaited.pop(change.new.metadata.uid, None)
            for one in (change.old, change.new):
                self._hear_replica_set(one)
        elif change.kind == "Deployment" and not _is_status_alone(change):
            self._agenda.mark((change.new.metadata.namespace, change.new.metadata.name))

    def _hear_pod(self, change: WatchEvent) -> None:
        reference = controller_reference(change.new.metadata)
        if reference is not None and reference.uid in self._awaited:
            assert isinstance(change.new, Pod)
            if change.type == DELETED or is_terminal(change.new):
                self._agenda.mark(self._awaited[reference.uid])

    def _hear_replica_set(self, one: object) -> None:
        if isinstance(one, ReplicaSet):
            reference = controller_reference(one.metadata)
            if reference is not None and reference.kind == "Deployment":
                self._agenda.mark((one.metadata.namespace, reference.name))

    def _sync(self, store: Store, key: Key, now: int) -> None:
        deployment = store.find(Deployment, *key)
        if deployment is None:
            return
        family = _Family(store, deployment, now)
        if deployment.metadata.deletion_timestamp is None:
            self._roll_out(family, key)
        status = family.write_status()
        if deployment.metadata.deletion_timestamp is None and _is_complete(status, family.bounds.wanted):
            family.clean_up()

    def _roll_out(self, family: _Family, key: Key) -> None:
        if family.is_at_rest():
            return
        if family.deployment.spec.paused or family.is_to_be_scaled():
            family.scale()
        elif is_recreated(family.deployment):
            self._recreate(family, key)
        else:
            family.find_or_create_new()
            if not family.grow():
                family.shrink_old()

    def _recreate(self, family: _Family, key: Key) -> None:
        if family.empty_old():
            return
        remaining = family.old_with_pods()
        for one in family.old:
            self._awaited.pop(one.metadata.uid, None)
        if remaining:
            self._awaited.update((one.metadata.uid, key) for one in remaining)
            return
        family.find_or_create_new()
        family.grow()


class _Family:
    """A Deployment with its ReplicaSets, oldest first, for the length of one look at it."""

    def __init__(self, store: Store, deployment: Deployment, now: int) -> None:
        self.deployment = deployment
        self.bounds: Bounds = bounds_of(deployment)
        self._store = store
        self._now = now
        self._sets = _replica_sets_of(store, deployment)
        template = deployment.spec.template
        self._new_name = next((n for n, one in self._sets.items() if same_template(one.spec.template, template)), "")

    @property
    def new(self) -> ReplicaSet | None:
        """The one of the current template."""
        return self._sets.get(self._new_name)

    @property
    def old(self) -> list[ReplicaSet]:
        return [one for name, one in self._sets.items() if name != self._new_name]

    def is_at_rest(self) -> bool:
        """Whether all is as it was when the last rollout ended, as it mostly is when pods come and go."""
        new, meta = self.new, self.deployment.metadata
        return (
            new is not None
            and _size(new) == self.bounds.wanted
            and self.deployment.status.observed_generation == meta.generation
            and new.metadata.annotations.get(DESIRED_REPLICAS) == str(self.bounds.wanted)
            and not any(map(_size, self.old))
        )

    def find_or_create_new(self) -> None:
        """Sees to it that the current template has its ReplicaSet, and that this is the latest revision."""
        revision = str(1 + max((_revision(one) for one in self.old), default=0))
        if self.new is None:
            made = replica_set_of(self.deployment, template_hash(self.deployment.spec.template))
            made.spec.replicas = self._size_of_new(0)
            made.metadata.annotations = {**self._annotations(), REVISION: revision}
            created = self._store.create(made, self._now)
            self._new_name = created.metadata.name
            self._sets[self._new_name] = created
        else:
            self._bring_up_to_date(self.new, revision)
        assert self.new is not None
        self._write_revision(self.new.metadata.annotations[REVISION])

    def _bring_up_to_date(self, new: ReplicaSet, revision: str) -> None:
        """A template that was used before comes back as the latest revision."""
        annotations = dict(new.metadata.annotations)
        if _revision(new) < int(revision):
            annotations[REVISION] = revision
        seconds = self.deployment.spec.min_ready_seconds
        if annotations == new.metadata.annotations and seconds == new.spec.min_ready_seconds:
            return
        self._modify(new, lambda one: _with(one, annotations, replace(one.spec, min_ready_seconds=seconds)))

    def _write_revision(self, revision: str) -> None:
        meta = self.deployment.metadata
        if meta.annotations.get(REVISION) == revision:
            return

        def change(one: Deployment) -> Deployment:
            annotations = {**one.metadata.annotations, REVISION: revision}
            return replace(one, metadata=replace(one.metadata, annotations=annotations))

        self.deployment = self._store.modify(Deployment, meta.namespace, meta.name, change, self._now)

    # Rolling out.

    def grow(self) -> bool:
        """Gives the new ReplicaSet its next size; says whether that changed anything."""
        assert self.new is not None
        return self._resize(self.new, self._size_of_new(_size(self.new)))

    def _size_of_new(self, size: int) -> int:
        old = sum(map(_size, self.old))
        return size_of_new(self.bounds, size, old, recreated=is_recreated(self.deployment))

    def shrink_old(self) -> None:
        assert self.new is not None
        sizes = sizes_of_old(self.bounds, _member(self.new), [_member(one) for one in self.old])
        for one, size in zip(self.old, sizes, strict=True):
            if size != _size(one):
                self._resize(one, size)

    def empty_old(self) -> bool:
        """Takes all pods from the old ReplicaSets; says whether there was anything to take."""
        sized = [one for one in self.old if _size(one) > 0]
        for one in sized:
            self._resize(one, 0)
        return bool(sized)

    def old_with_pods(self) -> list[ReplicaSet]:
        """Those that still have a pod which has not ended, if it is only being deleted."""
        return [one for one in self.old if any(map(_occupies, self._store.owned_by(one.metadata.uid)))]

    # Scaling.

    def is_to_be_scaled(self) -> bool:
        """Whether the wanted number has changed since the ReplicaSets got their sizes."""
        then = (one.metadata.annotations.get(DESIRED_REPLICAS) for one in self._sized())
        return any(number is not None and number != str(self.bounds.wanted) for number in then)

    def scale(self) -> None:
        """Brings the wanted number about without going on with a rollout."""
        # Upstream: pkg/controller/deployment/sync.go scale (v1.36).
        sized = self._sized()
        if len(sized) <= 1:
            only = next(iter(sized), None) or self.new or next(reversed(self.old), None)
            if only is not None:
                self._resize(only, self.bounds.wanted)
        elif self._is_saturated():
            self.empty_old()
        elif not is_recreated(self.deployment):
            self._scale_in_proportion(sized)

    def _sized(self) -> list[ReplicaSet]:
        return [one for one in self._sets.values() if _size(one) > 0]

    def _is_saturated(self) -> bool:
        new, wanted = self.new, str(self.bounds.wanted)
        return (
            new is not None
            and new.metadata.annotations.get(DESIRED_REPLICAS) == wanted
            and str(_size(new)) == wanted
            and str(new.status.available_replicas) == wanted
        )

    def _scale_in_proportion(self, sized: list[ReplicaSet]) -> None:
        growing = self.bounds.total_max > sum(map(_size, sized))
        # Of equal sizes the newer grows first and the older shrinks first.
        by_size = sorted(reversed(sized) if growing else sized, key=_size, reverse=True)
        total = self.deployment.status.replicas
        sizes = proportional_sizes(self.bounds, [_member(one) for one in by_size], total)
        for one, size in zip(by_size, sizes, strict=True):
            self._resize(one, size)

    # Writing.

    def _annotations(self) -> dict[str, str]:
        return {DESIRED_REPLICAS: str(self.bounds.wanted), MAX_REPLICAS: str(self.bounds.total_max)}

    def _resize(self, one: ReplicaSet, size: int) -> bool:
        annotations = {**one.metadata.annotations, **self._annotations()}
        if size == _size(one) and annotations == one.metadata.annotations:
            return False
        self._modify(one, lambda stored: _with(stored, annotations, replace(stored.spec, replicas=size)))
        return size != _size(one)

    def _modify(self, one: ReplicaSet, change: Callable[[ReplicaSet], ReplicaSet]) -> None:
        meta = one.metadata
        self._sets[meta.name] = self._store.modify(ReplicaSet, meta.namespace, meta.name, change, self._now)

    def write_status(self) -> ScaleStatus:
        sets = [*self._sets.values()]
        available = sum(one.status.available_replicas for one in sets)
        meta, before = self.deployment.metadata, self.deployment.status
        status = ScaleStatus(
            replicas=sum(one.status.replicas for one in sets),
            ready_replicas=sum(one.status.ready_replicas for one in sets),
            available_replicas=available,
            updated_replicas=self.new.status.replicas if self.new is not None else 0,
            observed_generation=meta.generation,
            conditions=with_condition(before.conditions, self._availability(available), written_time(self._now)),
        )
        if status != before:
            self._store.modify_status(
                Deployment, meta.namespace, meta.name, lambda one: replace(one, status=status), self._now
            )
        return status

    def _availability(self, available: int) -> Condition:
        if available >= self.bounds.available_min:
            reason, message = "MinimumReplicasAvailable", "Deployment has minimum availability."
            return Condition(type="Available", status=TRUE, reason=reason, message=message)
        reason, message = "MinimumReplicasUnavailable", "Deployment does not have minimum availability."
        return Condition(type="Available", status=FALSE, reason=reason, message=message)

    def clean_up(self) -> None:
        """Deletes the oldest revisions beyond the history limit, of those that have no pods."""
        limit = self.deployment.spec.revision_history_limit
        kept = DEFAULT_HISTORY_LIMIT if limit is None else limit
        empty = [one for one in self.old if _is_idle(one)]
        for one in sorted(empty, key=_revision)[: max(0, len(self.old) - kept)]:
            meta = one.metadata
            self._store.delete(ReplicaSet, meta.namespace, meta.name, self._now, uid=meta.uid)


def _replica_sets_of(store: Store, deployment: Deployment) -> dict[str, ReplicaSet]:
    uid = deployment.metadata.uid
    owned = [one for one in store.owned_by(uid) if isinstance(one, ReplicaSet) and _is_controlled(one, uid)]
    owned.sort(key=lambda one: one.metadata.creation_timestamp or "")
    return {one.metadata.name: one for one in owned}


def _is_controlled(one: ReplicaSet, uid: str) -> bool:
    reference = controller_reference(one.metadata)
    return reference is not None and reference.uid == uid


def _size(one: ReplicaSet) -> int:
    return 1 if one.spec.replicas is None else one.spec.replicas


def _member(one: ReplicaSet) -> Member:
    then = one.metadata.annotations.get(MAX_REPLICAS, "")
    return Member(_size(one), one.status.available_replicas, int(then) if then.isdecimal() else None)


def _revision(one: ReplicaSet) -> int:
    written = one.metadata.annotations.get(REVISION, "")
    return int(written) if written.isdecimal() else 0


def _with(one: ReplicaSet, annotations: dict[str, str], spec: object) -> ReplicaSet:
    return replace(one, metadata=replace(one.metadata, annotations=annotations), spec=spec)


def _is_idle(one: ReplicaSet) -> bool:
    meta = one.metadata
    return (
        _size(one) == 0
        and one.status.replicas == 0
        and one.status.observed_generation >= meta.generation
        and meta.deletion_timestamp is None
    )


def _occupies(one: object) -> bool:
    return isinstance(one, Pod) and not is_terminal(one)


def _is_complete(status: ScaleStatus, wanted: int) -> bool:
    counts: Iterable[int] = (status.replicas, status.updated_replicas, status.available_replicas)
    return all(count == wanted for count in counts)


def _is_status_alone(change: WatchEvent) -> bool:
    if change.type != MODIFIED:
        return False
    old, new = change.old, change.new
    assert isinstance(old, Deployment)
    assert isinstance(new, Deployment)
    return (
        old.spec is new.spec
        and old.metadata.deletion_timestamp == new.metadata.deletion_timestamp
        and old.metadata.annotations == new.metadata.annotations
    )
