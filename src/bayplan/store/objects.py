"""The store: API objects as a Kubernetes API server keeps them, without HTTP, clock or threads.

Writes take `now` in nanoseconds, answer with what is then stored, and raise `ApiError` with the words of the real
server. Reads hand out the stored structs themselves: **nobody may change these**. To write, give a new struct
(`copy.copy`, `msgspec.structs.replace`) that shares what stays the same; the old one remains as it was for all
who hold it. Objects given to the store are its own from then on. Kinds are named (`"Pod"`) or given as structs
(`Pod`), which also types the answer. Nothing is collected or reconciled here: that is the work of controllers.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from bayplan.admission.priority import PriorityClasses
from bayplan.admission.stored import looks_stored, was_created
from bayplan.model.cluster import Namespace, PriorityClass
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.structs import Struct, replace
from bayplan.model.watch_types import ADDED, DELETED, MODIFIED
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import CronJob
from bayplan.store import arriving, deleting, pods, updating
from bayplan.store.content import Content
from bayplan.store.errors import AlreadyExists, Conflict, Forbidden, NotFound, StatusCause
from bayplan.store.log import Cursor, WatchEvent, WatchLog
from bayplan.store.rules import RULES, Kind, KindRules
from bayplan.store.stamping import generated_name, make_uid

ObjectT = TypeVar("ObjectT", bound=Object)
_Half: TypeAlias = Callable[[Any, Any, KindRules], Any]
"""What becomes of an object by a write to all but its status, or to its status."""

# Others may depend on these when several objects are loaded together.
_LOADED_FIRST = ("Namespace", "PriorityClass", "StorageClass")
_CHECKED_WHEN_CHANGED = frozenset({"PriorityClass", "CronJob"})


class DeletionResult(Struct, frozen=True):
    """The answer to a request to delete."""

    object: Object
    """As it now stands, or as it was last."""
    gone: bool


class ListedObjects(NamedTuple):
    """Objects at one version, and the cursor that reads on from there."""

    objects: builtins.list[Object]
    resource_version: int
    cursor: Cursor


class Store:
    """API objects, their versions, and the log of all writes.

    Args:
        log_capacity: how many writes a watcher that is not essential may lag behind before it must list again.
            Few are enough where nobody watches from outside, and what is forgotten soon costs little to forget.
        checks_namespaces: whether a namespace must exist before anything is created in it.
    """

    def __init__(self, *, log_capacity: int = 1_024, checks_namespaces: bool = False) -> None:
        self.log = WatchLog(log_capacity)
        self._checks_namespaces = checks_namespaces
        self._content = Content()
        self._arrivals = arriving.NewSpecs(PriorityClasses(()))

    # Reading.

    @property
    def resource_version(self) -> int:
        """Of the newest write."""
        return self.log.resource_version

    @overload
    def find(self, kind: type[ObjectT], namespace: str, name: str) -> ObjectT | None: ...
    @overload
    def find(self, kind: str, namespace: str, name: str) -> Object | None: ...
    def find(self, kind: Kind, namespace: str, name: str) -> Any:
        """The object, or None; the namespace is "" for kinds that have none."""
        try:
            return self._content.objects[kind][namespace].get(name)
        except KeyError:
            _rules(kind)  # raises for a kind that nobody knows
            return None

    @overload
    def get(self, kind: type[ObjectT], namespace: str, name: str) -> ObjectT: ...
    @overload
    def get(self, kind: str, namespace: str, name: str) -> Object: ...
    def get(self, kind: Kind, namespace: str, name: str) -> Any:
        """The object; raises NotFound."""
        return self._stored(RULES.get(kind) or _rules(kind), namespace, name)

    @overload
    def list(self, kind: type[ObjectT], namespace: str | None = None) -> builtins.list[ObjectT]: ...
    @overload
    def list(self, kind: str, namespace: str | None = None) -> builtins.list[Object]: ...
    def list(self, kind: Kind, namespace: str | None = None) -> Any:
        """All of a kind, namespace by namespace in order of arrival."""
        return [*self._content.iterate(_rules(kind).kind, namespace)]

    def count(self, kind: Kind) -> int:
        return self._content.count(_rules(kind).kind)

    def pods_on_node(self, node_name: str) -> builtins.list[Pod]:
        """Pods bound to the node, whatever their phase, in order of binding."""
        return self._content.pods_on_node(node_name)

    def owned_by(self, uid: str) -> builtins.list[Object]:
        """Objects of any kind that name this uid among their owners."""
        return self._content.owned_by(uid)

    # Watching.

    def watch(self, *kinds: Kind, since: int | None = None, essential: bool = False) -> Cursor:
        """Reads what is written after a version, or from now on; of all kinds if none is given.

        Nothing is forgotten before an essential cursor has read it, however much is written at once.
        """
        return self.log.cursor(since, [_rules(kind).kind for kind in kinds] if kinds else None, essential=essential)

    def list_and_watch(self, *kinds: Kind) -> ListedObjects:
        """All objects of these kinds, or of all, and what comes after them: nothing is missed or told twice."""
        wanted = [_rules(kind).kind for kind in kinds] if kinds else [kind for kind in RULES if isinstance(kind, str)]
        objects = [obj for kind in wanted for obj in self._content.iterate(kind)]
        return ListedObjects(objects, self.resource_version, self.watch(*kinds))

    # Writing.

    def create(self, obj: ObjectT, now: int) -> ObjectT:
        """Admits a new object; what belongs to the server (uid, times, status) is set here."""
        rules = RULES[type(obj)]
        namespace = _namespace(obj, rules)
        if rules.namespaced:
            self._check_namespace(obj, namespace, rules)
        made = arriving.arrived(obj, namespace, rules, self._arrivals, now)
        if isinstance(made, Pod):
            if made.spec.node_name:
                labels = self._topology_labels(made.spec.node_name)
                made.metadata.labels = {**made.metadata.labels, **labels}
        elif isinstance(made, PriorityClass):
            arriving.check_class(made, self.list(PriorityClass))
        elif isinstance(made, PersistentVolumeClaim):
            arriving.set_default_class(made, self.list(StorageClass))
        return self._add(made, rules, now)

    def load(self, objects: Iterable[Object], now: int) -> None:
        """Takes over a cluster: stored objects with their uid, times and status; manifests are created."""
        arriving_objects = [*objects]
        for first in _LOADED_FIRST:
            for obj in arriving_objects:
                if type(obj).__name__ == first:
                    self._load_object(obj, now)
        for obj in arriving_objects:
            if type(obj).__name__ not in _LOADED_FIRST:
                self._load_object(obj, now)

    def replace(self, obj: ObjectT, now: int) -> ObjectT:
        """Writes all but the status; with a resourceVersion only over that version."""
        return self._replace(obj, updating.updated, now)

    def update_status(self, obj: ObjectT, now: int) -> ObjectT:
        """Writes the status, and metadata with it; with a resourceVersion only over that version."""
        return self._replace(obj, updating.updated_status, now)

    def set_status(self, obj: ObjectT, status: Any, now: int) -> ObjectT:
        """Gives an object, the very struct that was read from here, another status; Conflict if it is out of date."""
        rules, meta = RULES[type(obj)], obj.metadata
        if self._stored(rules, meta.namespace, meta.name) is not obj:
            raise Conflict.stale(rules, meta.name)
        if not rules.has_status:
            raise NotFound.no_resource()
        written: ObjectT = self._write(obj, updating.with_status(obj, status, rules), rules, now)
        return written

    def _replace(self, obj: ObjectT, half: _Half, now: int) -> ObjectT:
        rules = RULES[type(obj)]
        old = self._stored(rules, _namespace(obj, rules), obj.metadata.name)
        updating.check_preconditions(old, obj, rules, must_name_version=rules.update_needs_version)
        written: ObjectT = self._write(old, half(old, obj, rules), rules, now)
        return written

    @overload
    def modify(
        self, kind: type[ObjectT], namespace: str, name: str, change: Callable[[ObjectT], ObjectT], now: int
    ) -> ObjectT: ...
    @overload
    def modify(self, kind: str, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any: ...
    def modify(self, kind: Kind, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any:
        """As a patch does: writes what `change` makes of the stored object, all but its status."""
        return self._modify(kind, namespace, name, change, updating.updated, now)

    @overload
    def modify_status(
        self, kind: type[ObjectT], namespace: str, name: str, change: Callable[[ObjectT], ObjectT], now: int
    ) -> ObjectT: ...
    @overload
    def modify_status(self, kind: str, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any: ...
    def modify_status(self, kind: Kind, namespace: str, name: str, change: Callable[[Any], Any], now: int) -> Any:
        """As a patch of the status does: writes the status of what `change` makes of the stored object."""
        return self._modify(kind, namespace, name, change, updating.updated_status, now)

    def _modify(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Any], Any], half: _Half, now: int
    ) -> Any:
        rules = RULES.get(kind) or _rules(kind)
        old = self._stored(rules, namespace, name)
        new = change(old)
        updating.check_preconditions(old, new, rules, must_name_version=False)
        return self._write(old, half(old, new, rules), rules, now)

    def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        now: int,
        *,
        grace_seconds: int | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: str | None = None,
    ) -> DeletionResult:
        """Deletes at once, or begins to: pods get their grace period, finalizers their time.

        Args:
            grace_seconds: instead of the pod's own; a second request may only shorten it.
            uid: only if the object has this uid.
            resource_version: only if the object has this version.
            propagation: Foreground, Background or Orphan; kept as a finalizer for the garbage collector.
        """
        rules = _rules(kind)
        old = self._stored(rules, namespace, name)
        request = deleting.DeleteOptions(grace_seconds, uid, resource_version, propagation)
        left, goes = deleting.outcome_of(old, request, rules, now)
        if left is not old:
            self._commit(MODIFIED, rules, old, left, now)
        return DeletionResult(self._remove(left, rules, now) if goes else left, goes)

    def bind(
        self,
        namespace: str,
        name: str,
        node_name: str,
        uid: str,
        now: int,
        *,
        annotations: Mapping[str, str] = MappingProxyType({}),
    ) -> Pod:
        """Assigns the pod to the node, which need not exist; raises Conflict. Any uid will do if "" is given."""
        rules = pods.POD_RULES
        pod = self._stored(rules, namespace, name)
        made = pods.bound(pod, node_name, uid, self._topology_labels(node_name), annotations, now)
        self._commit(MODIFIED, rules, pod, made, now)
        return made

    def finalize_namespace(self, name: str, now: int) -> DeletionResult:
        """Lets a namespace that is being deleted go, once whoever emptied it has found nothing left in it."""
        namespace = self.get(Namespace, "", name)
        meta = namespace.metadata
        if meta.deletion_timestamp is None or meta.finalizers:
            return DeletionResult(namespace, gone=False)
        return DeletionResult(self._remove(namespace, RULES[Namespace], now), gone=True)

    def _stored(self, rules: KindRules, namespace: str, name: str) -> Any:
        try:
            return self._content.objects[rules.kind][namespace][name]
        except KeyError:
            raise NotFound.of(rules, name) from None

    def _check_namespace(self, obj: Object, name: str, rules: KindRules) -> None:
        namespace = self.find(Namespace, "", name)
        if namespace is None:
            if self._checks_namespaces:
                raise NotFound.of(RULES[Namespace], name)
        elif namespace.metadata.deletion_timestamp is not None:
            cause = StatusCause("NamespaceTerminating", f"namespace {name} is being terminated", "metadata.namespace")
            why = f"unable to create new content in namespace {name} because it is being terminated"
            raise Forbidden.because(rules, obj.metadata.name, why, [cause])

    def _topology_labels(self, node_name: str) -> dict[str, str]:
        return pods.topology_labels(self.find(Node, "", node_name))

    def _load_object(self, obj: Object, now: int) -> None:
        was_stored = looks_stored(obj) if isinstance(obj, Pod) else was_created(obj.metadata)
        if was_stored:
            rules = RULES[type(obj)]
            self._add(arriving.taken_over(obj, rules, self._arrivals.classes, now), rules, now)
        else:
            self.create(obj, now)

    def _add(self, made: ObjectT, rules: KindRules, now: int) -> ObjectT:
        meta = made.metadata
        version = self.log.resource_version + 1
        if not meta.name:
            meta.name = next(self._free_names(meta.generate_name, rules, meta.namespace, version))
        elif meta.name in self._content.objects[rules.kind].get(meta.namespace, ()):
            raise AlreadyExists.of(rules, meta.name)
        meta.uid = meta.uid or make_uid(rules, meta.namespace, meta.name, version)
        self._commit(ADDED, rules, None, made, now)
        return made

    def _free_names(self, base: str, rules: KindRules, namespace: str, number: int) -> Iterator[str]:
        while True:
            name = generated_name(base, number)
            if self._content.find(rules.kind, namespace, name) is None:
                yield name
            number += 1

    def _write(self, old: Object, made: Any, rules: KindRules, now: int) -> Any:
        if made is old:
            return old
        if old.metadata.deletion_timestamp is not None and deleting.may_go(old.metadata, made.metadata):
            self._remove(old, rules, now)
            return made
        if rules.kind in _CHECKED_WHEN_CHANGED:
            self._check_change(old, made)
        self._commit(MODIFIED, rules, old, made, now)
        return made

    def _check_change(self, old: Object, made: Object) -> None:
        if isinstance(made, PriorityClass):
            arriving.check_class(made, self.list(PriorityClass))
        elif isinstance(made, CronJob) and isinstance(old, CronJob) and made.spec.time_zone != old.spec.time_zone:
            arriving.check_time_zone(made)

    def _remove(self, old: Object, rules: KindRules, now: int) -> Object:
        """Watchers see the object as it was last, with the version of its deletion."""
        last = replace(old, metadata=replace(old.metadata))
        self._commit(DELETED, rules, old, last, now)
        return last

    def _commit(self, change_type: str, rules: KindRules, old: Object | None, new: Object, now: int) -> None:
        """The one place where anything changes; `new` must have metadata of its own."""
        log, kind = self.log, rules.kind
        version = log.resource_version + 1
        new.metadata.resource_version = str(version)
        change = WatchEvent(change_type, kind, old, new, version, now)
        self._content.apply(change)
        if kind == "PriorityClass":
            self._arrivals = arriving.NewSpecs(PriorityClasses(self.list(PriorityClass)))
        log.append(change)


def _rules(kind: Kind) -> KindRules:
    rules = RULES.get(kind)
    if rules is None:
        raise NotFound.no_resource()
    return rules


def _namespace(obj: Object, rules: KindRules) -> str:
    return (obj.metadata.namespace or DEFAULT_NAMESPACE) if rules.namespaced else ""
