"""What a request to delete does: at once, after a grace period, or once all finalizers are gone.

Takes the stored object and the request; gives the object as it is to be stored, and whether it then goes. Only
pods have a grace period, and only those that may be running: bound ones that have not ended. What is to become
of dependents is left as a finalizer (`orphan`, `foregroundDeletion`) for a garbage collector to act upon;
in the background is when there is none. Namespaces end when their content has, and only when someone says so.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.model.cluster import Namespace, NamespaceStatus
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import FINISHED_PHASES, Pod
from bayplan.model.structs import Struct, replace
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_time, parse_time
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.store.errors import UNSUPPORTED, Conflict, Forbidden, Invalid, NamedResource, StatusCause

FOREGROUND, BACKGROUND, ORPHAN = "Foreground", "Background", "Orphan"
ORPHAN_FINALIZER, FOREGROUND_FINALIZER = "orphan", "foregroundDeletion"

_LASTING_NAMESPACES = frozenset({DEFAULT_NAMESPACE, "kube-system", "kube-public"})


class DeletionRules(NamedResource, Protocol):
    """What a deletion has to know of a kind."""

    @property
    def orphans_by_default(self) -> bool: ...


class DeleteOptions(Struct, frozen=True):
    """The options of a deletion; None where nothing was said."""

    grace_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    propagation: str | None = None


Outcome: TypeAlias = tuple[Any, bool]
"""The object as it is to be stored, itself when it stays as it is, and whether it goes thereafter."""


def outcome_of(obj: Any, request: DeleteOptions, rules: DeletionRules, now: int) -> Outcome:
    """What the request does to the object; raises what is refused."""
    # Upstream: registry/rest/delete.go BeforeDelete and registry/generic/registry/store.go Delete (v1.36).
    _check_request(obj, request, rules)
    if isinstance(obj, Namespace):
        return _mark_namespace(obj, now)
    meta = obj.metadata
    finalizers = _finalizers_for_dependents(meta, request.propagation, rules)
    if meta.deletion_timestamp is not None and meta.deletion_grace_period_seconds:
        return _shorten(obj, finalizers, request)
    if isinstance(obj, Pod) and meta.deletion_timestamp is None:
        return _end_gracefully(obj, finalizers, request, now)
    if not finalizers:
        return obj, True
    return _with_metadata(obj, _marked(meta, finalizers, now)), False


def may_go(old: ObjectMeta, new: ObjectMeta) -> bool:
    """Whether a write has taken away the last that kept an object from ending."""
    return not new.finalizers and old.deletion_timestamp is not None and not old.deletion_grace_period_seconds


def _check_request(obj: Any, request: DeleteOptions, rules: DeletionRules) -> None:
    meta = obj.metadata
    if rules.kind == "PriorityClass" and meta.name in SYSTEM_CLASSES:
        raise Forbidden.because(rules, meta.name, "this is a system priority class and cannot be deleted")
    if rules.kind == "Namespace" and meta.name in _LASTING_NAMESPACES:
        raise Forbidden.because(rules, meta.name, "this namespace may not be deleted")
    if request.propagation not in (None, FOREGROUND, BACKGROUND, ORPHAN):
        text = (
            f'Unsupported value: "{request.propagation}": supported values: "Foreground", "Background", "Orphan", "nil"'
        )
        raise Invalid.options("DeleteOptions", [StatusCause(UNSUPPORTED, text, "propagationPolicy")])
    if request.uid is not None and request.uid != meta.uid:
        why = (
            f"the UID in the precondition ({request.uid}) does not match the UID in record ({meta.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise Conflict.precondition(rules, meta.name, why)
    if request.resource_version is not None and request.resource_version != meta.resource_version:
        why = (
            f"the ResourceVersion in the precondition ({request.resource_version}) does not match the "
            f"ResourceVersion in record ({meta.resource_version}). The object might have been modified"
        )
        raise Conflict.precondition(rules, meta.name, why)


def _mark_namespace(namespace: Namespace, now: int) -> Outcome:
    """A namespace is only marked: it goes when whoever empties it says so."""
    if namespace.metadata.deletion_timestamp is not None:
        return namespace, False
    meta = replace(namespace.metadata, deletion_timestamp=format_time(now))
    return Namespace(metadata=meta, status=NamespaceStatus(phase="Terminating")), False


def _shorten(obj: Any, finalizers: list[str], request: DeleteOptions) -> Outcome:
    """A grace period that runs may end earlier, never later."""
    meta = obj.metadata
    running = meta.deletion_grace_period_seconds
    assert running is not None
    assert meta.deletion_timestamp is not None
    grace = running if request.grace_seconds is None else _no_less_than_now(request.grace_seconds)
    if grace >= running:
        return obj, False
    ends_at = parse_time(meta.deletion_timestamp) + (grace - running) * SECOND
    ending = replace(
        meta,
        deletion_timestamp=format_time(ends_at),
        deletion_grace_period_seconds=grace,
        finalizers=finalizers,
    )
    return _with_metadata(obj, ending), grace == 0 and not finalizers


def _end_gracefully(pod: Pod, finalizers: list[str], request: DeleteOptions, now: int) -> Outcome:
    # Upstream: pkg/registry/core/pod/strategy.go CheckGracefulDelete (v1.36).
    if not pod.spec.node_name or pod.status.phase in FINISHED_PHASES:
        grace = 0
    elif request.grace_seconds is not None:
        grace = _no_less_than_now(request.grace_seconds)
    else:
        grace = _no_less_than_now(pod.spec.termination_grace_period_seconds or 0)
    meta = pod.metadata
    ending = replace(
        meta,
        deletion_timestamp=format_time(now + grace * SECOND),
        deletion_grace_period_seconds=grace,
        finalizers=finalizers,
        generation=meta.generation + 1 if meta.generation else 0,
    )
    return replace(pod, metadata=ending), grace == 0 and not finalizers


def _no_less_than_now(seconds: int) -> int:
    # A negative period means one second: as short as can be while still being one.
    return 1 if seconds < 0 else seconds


def _marked(meta: ObjectMeta, finalizers: list[str], now: int) -> ObjectMeta:
    """The metadata of what waits for its finalizers alone."""
    marked = replace(meta, finalizers=finalizers, deletion_grace_period_seconds=0)
    if meta.deletion_timestamp is None:
        marked.deletion_timestamp = format_time(now)
        marked.generation = meta.generation + 1 if meta.generation else 0
    elif parse_time(meta.deletion_timestamp) > now:
        marked.deletion_timestamp = format_time(now)
    return marked


def _finalizers_for_dependents(meta: ObjectMeta, propagation: str | None, rules: DeletionRules) -> list[str]:
    # Upstream: registry/generic/registry/store.go deletionFinalizersForGarbageCollection (v1.36).
    if propagation is None and not meta.finalizers and not rules.orphans_by_default:
        return meta.finalizers
    wanted = _dependents_finalizer(meta, propagation, rules)
    if not wanted and not meta.finalizers:
        return meta.finalizers
    kept = [finalizer for finalizer in meta.finalizers if finalizer not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    return [*kept, *wanted] if sorted([*kept, *wanted]) != sorted(meta.finalizers) else meta.finalizers


def _dependents_finalizer(meta: ObjectMeta, propagation: str | None, rules: DeletionRules) -> list[str]:
    if propagation == ORPHAN:
        return [ORPHAN_FINALIZER]
    if propagation == FOREGROUND:
        return [FOREGROUND_FINALIZER]
    if propagation == BACKGROUND:
        return []
    standing = [finalizer for finalizer in meta.finalizers if finalizer in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    return standing or ([ORPHAN_FINALIZER] if rules.orphans_by_default else [])


def _with_metadata(obj: Any, meta: ObjectMeta) -> Any:
    if meta == obj.metadata:
        return obj
    made = replace(obj)
    made.metadata = meta
    return made
