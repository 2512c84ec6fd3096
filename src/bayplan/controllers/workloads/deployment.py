"""Deployments: a ReplicaSet for every template, and the rollout from one to the next.

Hears of Deployments and of their ReplicaSets and scales the latter, by the arithmetic of `rollout`: all at once, in
steps as new pods become available, or the old ones first (Recreate). Pods are left to the ReplicaSet controller. Old
ReplicaSets are kept up to the history limit. Hash collisions do not exist here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from bayplan.controllers.ownership import (
    NamespacedName,
    controlled_by,
    controller_of_kind,
    controller_reference,
    is_terminal,
    namespaced_name,
)
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads import deployment_conditions as conditions
from bayplan.controllers.workloads.rollout import (
    Bounds,
    RolledReplicaSet,
    bounds_of,
    is_recreated,
    proportional_sizes,
    size_of_new,
    sizes_of_old,
)
from bayplan.controllers.workloads.templates import replica_set_of, same_template, template_hash
from bayplan.controllers.writes import with_metadata, write_status
from bayplan.model.meta import Condition
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.model.well_known import LAST_APPLIED
from bayplan.model.workloads import Deployment, ReplicaSet, ScaleStatus
from bayplan.store import Store, WatchEvent

REVISION = "deployment.kubernetes.io/revision"
DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS = "deployment.kubernetes.io/max-replicas"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
#: Annotations of a Deployment that its ReplicaSets do not get.
_NOT_COPIED = frozenset(
    {
        LAST_APPLIED,
        *(REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, "deprecated.deployment.rollback.to"),
    }
)
DEFAULT_HISTORY_LIMIT = 10


class DeploymentController(Reconciler[NamespacedName]):
    """Rolls Deployments out."""

    name: ClassVar[str] = "deployment-controller"
    watches: ClassVar[frozenset[str]] = frozenset({"Deployment", "Pod", "ReplicaSet"})

    def __init__(self) -> None:
        super().__init__()
        self._awaited: dict[str, NamespacedName] = {}
        """ReplicaSets, by uid, whose last pods a Deployment that is recreated waits for."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        if change.kind == "Pod":
            if self._awaited:
                self._observe_pod(change)
        elif change.kind == "ReplicaSet":
            if change.type == DELETED:
                self._awaited.pop(change.new.metadata.uid, None)
            for replica_set in (change.old, change.new):
                owner = controller_of_kind(replica_set.metadata, "Deployment") if replica_set is not None else None
                if owner is not None:
                    self._queue.add(owner)
        elif change.kind == "Deployment":
            self._queue.add(namespaced_name(change.new))

    def _observe_pod(self, change: WatchEvent) -> None:
        reference = controller_reference(change.new.metadata)
        if reference is not None and reference.uid in self._awaited:
            assert isinstance(change.new, Pod)
            if change.type == DELETED or is_terminal(change.new):
                self._queue.add(self._awaited[reference.uid])

    def _sync(self, store: Store, key: NamespacedName, now: int) -> None:
        deployment = store.find(Deployment, *key)
        if deployment is None:
            return
        family = _Family(store, deployment, now)
        if deployment.metadata.deletion_timestamp is None:
            family.note_pausing()
            self._roll_out(family, key)
        status = family.write_status()
        if deployment.metadata.deletion_timestamp is None and _is_complete(status, family.bounds.wanted):
            family.clean_up()

    def _roll_out(self, family: _Family, key: NamespacedName) -> None:
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

    def _recreate(self, family: _Family, key: NamespacedName) -> None:
        if family.empty_old():
            return
        remaining = family.old_with_pods()
        for replica_set in family.old:
            self._awaited.pop(replica_set.metadata.uid, None)
        if remaining:
            self._awaited.update((replica_set.metadata.uid, key) for replica_set in remaining)
            return
        family.find_or_create_new()
        family.grow()


class _Family:
    """A Deployment with its ReplicaSets, oldest first, for the length of replica_set look at it."""

    def __init__(self, store: Store, deployment: Deployment, now: int) -> None:
        self.deployment = deployment
        """With conditions that the status does not say yet."""
        self._stored = deployment
        self.bounds: Bounds = bounds_of(deployment)
        self._store = store
        self._now = now
        self._sets = _replica_sets_of(store, deployment)
        template = deployment.spec.template
        self._new_name = next(
            (n for n, replica_set in self._sets.items() if same_template(replica_set.spec.template, template)), ""
        )

    @property
    def new(self) -> ReplicaSet | None:
        """That of the current template."""
        return self._sets.get(self._new_name)

    @property
    def old(self) -> list[ReplicaSet]:
        return [replica_set for name, replica_set in self._sets.items() if name != self._new_name]

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
        revision = str(1 + max((_revision(replica_set) for replica_set in self.old), default=0))
        if self.new is None:
            made = replica_set_of(self.deployment, template_hash(self.deployment.spec.template))
            made.spec.replicas = self._size_of_new(0)
            made.metadata.annotations = {**self._copied(), **self._annotations(), REVISION: revision}
            created = self._store.create(made, self._now)
            self._new_name = created.metadata.name
            self._sets[self._new_name] = created
            self._note(conditions.created(self._new_name))
        else:
            self._bring_up_to_date(self.new, revision)
            if not any(known.type == conditions.PROGRESSING for known in self.deployment.status.conditions):
                self._note(conditions.found(self._new_name))
        assert self.new is not None
        self._write_revision(self.new.metadata.annotations[REVISION])

    def _bring_up_to_date(self, new: ReplicaSet, revision: str) -> None:
        """A template that was used before comes back as the latest revision."""
        annotations = {**new.metadata.annotations, **self._copied()}
        if _revision(new) < int(revision):
            if REVISION in annotations:
                history = [*filter(None, annotations.get(REVISION_HISTORY, "").split(",")), annotations[REVISION]]
                annotations[REVISION_HISTORY] = ",".join(history)
            annotations[REVISION] = revision
        seconds = self.deployment.spec.min_ready_seconds
        if annotations == new.metadata.annotations and seconds == new.spec.min_ready_seconds:
            return
        self._modify(
            new,
            lambda replica_set: _with(replica_set, annotations, replace(replica_set.spec, min_ready_seconds=seconds)),
        )

    def _write_revision(self, revision: str) -> None:
        meta = self.deployment.metadata
        if meta.annotations.get(REVISION) == revision:
            return

        def change(stored: Deployment) -> Deployment:
            annotations = {**stored.metadata.annotations, REVISION: revision}
            return with_metadata(stored, annotations=annotations)

        # With the status, as upstream: a revision is no change that anybody has to act upon.
        self._stored = self._store.modify_status(Deployment, meta.namespace, meta.name, change, self._now)
        self.deployment = replace(self._stored, status=self.deployment.status)

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
        sizes = sizes_of_old(self.bounds, _member(self.new), [_member(replica_set) for replica_set in self.old])
        for replica_set, size in zip(self.old, sizes, strict=True):
            if size != _size(replica_set):
                self._resize(replica_set, size)

    def empty_old(self) -> bool:
        """Takes all pods from the old ReplicaSets; says whether there was anything to take."""
        sized = [replica_set for replica_set in self.old if _size(replica_set) > 0]
        for replica_set in sized:
            self._resize(replica_set, 0)
        return bool(sized)

    def old_with_pods(self) -> list[ReplicaSet]:
        """Those that still have a pod which has not ended, if it is only being deleted."""
        return [
            replica_set
            for replica_set in self.old
            if any(map(_occupies, self._store.owned_by(replica_set.metadata.uid)))
        ]

    # Scaling.

    def is_to_be_scaled(self) -> bool:
        """Whether the wanted number has changed since the ReplicaSets got their sizes."""
        then = (replica_set.metadata.annotations.get(DESIRED_REPLICAS) for replica_set in self._sized())
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
        return [replica_set for replica_set in self._sets.values() if _size(replica_set) > 0]

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
        sizes = proportional_sizes(self.bounds, [_member(replica_set) for replica_set in by_size], total)
        for replica_set, size in zip(by_size, sizes, strict=True):
            self._resize(replica_set, size)

    # Writing.

    def _copied(self) -> dict[str, str]:
        """What a ReplicaSet takes over from its Deployment."""
        return {key: value for key, value in self.deployment.metadata.annotations.items() if key not in _NOT_COPIED}

    def _annotations(self) -> dict[str, str]:
        return {DESIRED_REPLICAS: str(self.bounds.wanted), MAX_REPLICAS: str(self.bounds.total_max)}

    def _resize(self, replica_set: ReplicaSet, size: int) -> bool:
        annotations = {**replica_set.metadata.annotations, **self._annotations()}
        if size == _size(replica_set) and annotations == replica_set.metadata.annotations:
            return False
        self._modify(replica_set, lambda stored: _with(stored, annotations, replace(stored.spec, replicas=size)))
        return size != _size(replica_set)

    def _modify(self, replica_set: ReplicaSet, change: Callable[[ReplicaSet], ReplicaSet]) -> None:
        meta = replica_set.metadata
        self._sets[meta.name] = self._store.modify(ReplicaSet, meta.namespace, meta.name, change, self._now)

    def note_pausing(self) -> None:
        """Says in the status that the rollout was paused, or goes on."""
        said = conditions.pausing(self.deployment.status.conditions, paused=self.deployment.spec.paused)
        if said is not None:
            self._note(said)

    def _note(self, said: Condition) -> None:
        """Adds the condition to what the status will say."""
        status = self.deployment.status
        noted = conditions.put_last(status.conditions, said, format_time(self._now))
        self.deployment = replace(self.deployment, status=replace(status, conditions=noted))

    def write_status(self) -> ScaleStatus:
        sets = [*self._sets.values()]
        available = sum(replica_set.status.available_replicas for replica_set in sets)
        before, time = self.deployment.status, format_time(self._now)
        said = conditions.availability(available, self.bounds.available_min)
        status = ScaleStatus(
            replicas=sum(replica_set.status.replicas for replica_set in sets),
            ready_replicas=sum(replica_set.status.ready_replicas for replica_set in sets),
            available_replicas=available,
            updated_replicas=self.new.status.replicas if self.new is not None else 0,
            terminating_replicas=sum(replica_set.status.terminating_replicas or 0 for replica_set in sets),
            observed_generation=self.deployment.metadata.generation,
            conditions=conditions.put_last(before.conditions, said, time),
        )
        progress = conditions.progress(before, status, self.bounds.wanted, self._new_name)
        if progress is not None:
            status.conditions = conditions.put_last(status.conditions, progress, time)
        newest_first = [*filter(None, [self.new]), *self.old]
        status.conditions = conditions.with_failure_of(newest_first, status.conditions)
        write_status(self._store, self._stored, status, self._now)
        return status

    def clean_up(self) -> None:
        """Deletes the oldest revisions beyond the history limit, of those that have no pods."""
        limit = self.deployment.spec.revision_history_limit
        kept = DEFAULT_HISTORY_LIMIT if limit is None else limit
        empty = [replica_set for replica_set in self.old if _is_idle(replica_set)]
        for replica_set in sorted(empty, key=_revision)[: max(0, len(self.old) - kept)]:
            meta = replica_set.metadata
            self._store.delete(ReplicaSet, meta.namespace, meta.name, self._now, uid=meta.uid)


def _replica_sets_of(store: Store, deployment: Deployment) -> dict[str, ReplicaSet]:
    owned = controlled_by(store, deployment, ReplicaSet)
    owned.sort(key=lambda replica_set: replica_set.metadata.creation_timestamp or "")
    return {replica_set.metadata.name: replica_set for replica_set in owned}


def _size(replica_set: ReplicaSet) -> int:
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def _member(replica_set: ReplicaSet) -> RolledReplicaSet:
    then = replica_set.metadata.annotations.get(MAX_REPLICAS, "")
    return RolledReplicaSet(
        _size(replica_set), replica_set.status.available_replicas, int(then) if then.isdecimal() else None
    )


def _revision(replica_set: ReplicaSet) -> int:
    written = replica_set.metadata.annotations.get(REVISION, "")
    return int(written) if written.isdecimal() else 0


def _with(replica_set: ReplicaSet, annotations: dict[str, str], spec: object) -> ReplicaSet:
    return with_metadata(replace(replica_set, spec=spec), annotations=annotations)


def _is_idle(replica_set: ReplicaSet) -> bool:
    meta = replica_set.metadata
    return (
        _size(replica_set) == 0
        and replica_set.status.replicas == 0
        and replica_set.status.observed_generation >= meta.generation
        and meta.deletion_timestamp is None
    )


def _occupies(obj: object) -> bool:
    return isinstance(obj, Pod) and not is_terminal(obj)


def _is_complete(status: ScaleStatus, wanted: int) -> bool:
    return {status.replicas, status.updated_replicas, status.available_replicas} == {wanted}
