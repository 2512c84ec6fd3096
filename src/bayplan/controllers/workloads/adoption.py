"""Workloads take on what their selectors match and nobody controls, and let go of what they no longer match.

Hears of workloads, of pods and of ReplicaSets; writes owner references, from which the controllers of the workloads
then learn. It acts before them, so that a workload adopts pods instead of creating more. It has something to do only
where users write what they like.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, Final, TypeAlias

from bayplan.controllers.ownership import controller_reference, is_terminal, reference_to
from bayplan.controllers.work_queue import Reconciler
from bayplan.controllers.workloads.job_tracking import TRACKING
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta, OwnerReference
from bayplan.model.pod import Pod
from bayplan.model.selectors import CompiledSelector, SelectorError, compile_label_selector, compile_match_labels
from bayplan.model.structs import replace
from bayplan.model.watch_types import DELETED
from bayplan.model.workloads import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet
from bayplan.store import Store, WatchEvent

_Owner: TypeAlias = DaemonSet | Deployment | Job | ReplicaSet | ReplicationController | StatefulSet
_OWNERS: Final = (DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet)
_Key: TypeAlias = tuple[str, str, str]
"""Kind, namespace and name of what may be adopted or let go."""


class AdoptionController(Reconciler[_Key]):
    """Keeps owner references in step with labels and selectors."""

    name: ClassVar[str] = "adoption"
    watches: ClassVar[frozenset[str]] = frozenset({"Pod", *(owner.__name__ for owner in _OWNERS)})

    def __init__(self) -> None:
        super().__init__()
        self._selectors: dict[str, dict[tuple[str, str], tuple[str, CompiledSelector]]] = {}
        """By namespace, then by kind and name of the owner: its uid and its selector."""
        self._orphans: dict[str, dict[_Key, dict[str, str]]] = {}
        """By namespace: what nobody controls, with its labels."""

    def observe(self, change: WatchEvent, now: int) -> None:  # noqa: ARG002
        obj = change.new
        if isinstance(obj, _OWNERS):
            self._observe_owner(change, obj)
        if isinstance(obj, Pod | ReplicaSet):
            self._observe_owned(change)

    def _observe_owner(self, change: WatchEvent, owner: _Owner) -> None:
        meta, kind = owner.metadata, type(owner).__name__
        known = self._selectors.setdefault(meta.namespace, {})
        before = known.pop((kind, meta.name), None)
        selector = _selector_of(owner)
        if change.type != DELETED and selector is not None:
            known[kind, meta.name] = meta.uid, selector
            if before != (meta.uid, selector):
                for key, labels in self._orphans.get(meta.namespace, {}).items():
                    if selector.matches(labels):
                        self._queue.add(key)
        if not known:
            del self._selectors[meta.namespace]

    def _observe_owned(self, change: WatchEvent) -> None:
        meta, old = change.new.metadata, change.old
        key = type(change.new).__name__, meta.namespace, meta.name
        orphans = self._orphans.setdefault(meta.namespace, {})
        orphans.pop(key, None)
        if change.type != DELETED:
            if controller_reference(meta) is None:
                orphans[key] = meta.labels
            has_changed = old is None or (old.metadata.labels, old.metadata.owner_references) != (
                meta.labels,
                meta.owner_references,
            )
            if has_changed and meta.namespace in self._selectors:
                self._queue.add(key)
        if not orphans:
            del self._orphans[meta.namespace]

    def _sync(self, store: Store, key: _Key, now: int) -> None:
        obj = store.find(*key)
        if obj is None:
            return
        reference = controller_reference(obj.metadata)
        if reference is None:
            self._adopt(store, obj, now)
        else:
            self._let_go(store, obj, reference, now)

    def _adopt(self, store: Store, obj: Object, now: int) -> None:
        if obj.metadata.deletion_timestamp is not None or (isinstance(obj, Pod) and is_terminal(obj)):
            return
        owner = next(self._willing(store, obj), None)
        if owner is None:
            return

        def adopted(meta: ObjectMeta) -> ObjectMeta:
            finalizers = [*meta.finalizers, TRACKING] if isinstance(owner, Job) else meta.finalizers
            return replace(meta, owner_references=[*meta.owner_references, reference_to(owner)], finalizers=finalizers)

        _rewrite(store, obj, adopted, now)

    def _willing(self, store: Store, obj: Object) -> Iterator[_Owner]:
        """Owners whose selector matches."""
        for (kind, name), (uid, selector) in self._selectors.get(obj.metadata.namespace, {}).items():
            if (kind == "Deployment") == isinstance(obj, ReplicaSet) and selector.matches(obj.metadata.labels):
                owner = store.find(kind, obj.metadata.namespace, name)
                if isinstance(owner, _OWNERS) and owner.metadata.uid == uid and not owner.metadata.deletion_timestamp:
                    yield owner

    def _let_go(self, store: Store, obj: Object, reference: OwnerReference, now: int) -> None:
        namespace = obj.metadata.namespace
        known = self._selectors.get(namespace, {}).get((reference.kind, reference.name))
        if known is None or known[0] != reference.uid or known[1].matches(obj.metadata.labels):
            return
        owner = store.find(reference.kind, namespace, reference.name)
        if owner is None or owner.metadata.deletion_timestamp is not None:
            return

        def released(meta: ObjectMeta) -> ObjectMeta:
            others = [other for other in meta.owner_references if other.uid != reference.uid]
            finalizers = [finalizer for finalizer in meta.finalizers if finalizer != TRACKING]
            return replace(meta, owner_references=others, finalizers=finalizers)

        _rewrite(store, obj, released, now)


def _rewrite(store: Store, obj: Object, change: Callable[[ObjectMeta], ObjectMeta], now: int) -> None:
    meta = obj.metadata
    store.modify(
        type(obj).__name__,
        meta.namespace,
        meta.name,
        lambda known: replace(known, metadata=change(known.metadata)),
        now,
    )


def _selector_of(owner: _Owner) -> CompiledSelector | None:
    """None if it selects nothing, or everything, which nobody means."""
    if isinstance(owner, ReplicationController):
        return compile_match_labels(owner.spec.selector) if owner.spec.selector else None
    selector = owner.spec.selector
    if selector is None or not (selector.match_labels or selector.match_expressions):
        return None
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return None
