"""From a stored object and a wish to what is stored next.

A write goes either to the object or to its status: the other half stays as it was, as with Kubernetes' status
subresource. What belongs to the server (uid, times, generation) stays whatever the wish says. A wish that changes
nothing gives back the stored struct itself, and then nothing must be written. Specs of other kinds than pods
are taken as they come.
"""

from __future__ import annotations

from typing import Any

from bayplan.admission.defaults import default_object, tolerate_for_a_while
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSpec
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.model.workloads import Deployment
from bayplan.store.errors import FORBIDDEN, INVALID, TOO_MANY, BadRequest, Conflict, Invalid, NotFound, field_cause
from bayplan.store.pods import check_spec_update, check_status_update
from bayplan.store.rules import KindRules

#: Users a resource claim may have at most.
_USERS_MAX = 256


def check_preconditions(old: Object, new: Object, rules: KindRules, *, must_name_version: bool) -> None:
    """Raises Conflict when the wish was made for another object or an older version of it."""
    meta, wished = old.metadata, new.metadata
    if wished is meta:
        return
    if wished.name != meta.name:
        raise BadRequest(f"the name of the object ({wished.name}) does not match the name on the URL ({meta.name})")
    if wished.namespace and wished.namespace != meta.namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")
    if wished.uid and wished.uid != meta.uid:
        key = rules.storage_key(meta.namespace, meta.name)
        raise Conflict.other_uid(rules, key, meta.name, wished.uid, meta.uid)
    if wished.resource_version:
        if wished.resource_version != meta.resource_version:
            raise Conflict.stale(rules, meta.name)
    elif must_name_version:
        cause = field_cause(INVALID, "metadata.resourceVersion", "0: must be specified for an update")
        raise Invalid.of(rules, meta.name, [cause])


def updated(old: Any, new: Any, rules: KindRules) -> Any:
    """The object after a write to all but its status."""
    if new is old:
        return old
    made = replace(new)
    made.metadata = _next_metadata(old.metadata, new.metadata, rules)
    if rules.has_status:
        made.status = old.status
    if not rules.has_spec or made.spec is not old.spec:
        _complete(made, old, rules)
    if _means_more_work(old, made, rules):
        made.metadata.generation += 1
    return old if made == old else made


def updated_status(old: Any, new: Any, rules: KindRules) -> Any:
    """The object after a write to its status, with which metadata may come along."""
    if not rules.has_status:
        raise NotFound.no_resource()
    if new.metadata is old.metadata:
        return with_status(old, new.status, rules)
    made = replace(old, metadata=_next_metadata(old.metadata, new.metadata, rules), status=new.status)
    if isinstance(made, Pod):
        made.metadata.owner_references = old.metadata.owner_references
        check_status_update(old, made)
    elif isinstance(made, Deployment):
        made.metadata.labels = old.metadata.labels
    return old if made == old else made


def with_status(old: Any, status: Any, rules: KindRules) -> Any:
    """The object with another status and metadata of its own; the object itself where the status says the same."""
    if status == old.status:
        return old
    made = replace(old, metadata=replace(old.metadata), status=status)
    if isinstance(made, Pod) and status.nominated_node_name:
        check_status_update(old, made)
    elif isinstance(made, ResourceClaim) and len(status.reserved_for) > _USERS_MAX:
        text = f"{len(status.reserved_for)}: must have at most {_USERS_MAX} items"
        raise Invalid.of(rules, old.metadata.name, [field_cause(TOO_MANY, "status.reservedFor", text)])
    return made


def _next_metadata(old: ObjectMeta, new: ObjectMeta, rules: KindRules) -> ObjectMeta:
    if new is old:
        return replace(old)
    if old.deletion_timestamp is not None:
        _check_finalizers(old, new, rules)
    return replace(
        new,
        namespace=old.namespace,
        uid=old.uid,
        generation=old.generation,
        resource_version=old.resource_version,
        creation_timestamp=old.creation_timestamp,
        deletion_timestamp=old.deletion_timestamp,
        deletion_grace_period_seconds=old.deletion_grace_period_seconds,
    )


def _check_finalizers(old: ObjectMeta, new: ObjectMeta, rules: KindRules) -> None:
    added = sorted({finalizer for finalizer in new.finalizers if finalizer not in old.finalizers})
    if added:
        listed = ", ".join(f'"{finalizer}"' for finalizer in added)
        text = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{listed}}}"
        )
        raise Invalid.of(rules, old.name, [field_cause(FORBIDDEN, "metadata.finalizers", text)])


def _complete(made: Any, old: Any, rules: KindRules) -> None:
    if isinstance(made, Pod):
        made.spec = _completed_spec(made, old)
        check_spec_update(old, made)
    elif not rules.has_spec or made.spec != old.spec:
        default_object(made)


def _completed_spec(made: Pod, old: Pod) -> PodSpec:
    """The wished spec with the defaults a client may leave out, its priority from the stored pod."""
    given = made.spec
    made.spec = replace(
        given,
        priority=old.spec.priority if given.priority is None else given.priority,
        preemption_policy=given.preemption_policy or old.spec.preemption_policy,
        tolerations=list(given.tolerations),
    )
    default_object(made)
    tolerate_for_a_while(made.spec)
    return made.spec


def _means_more_work(old: Any, made: Any, rules: KindRules) -> bool:
    """Whether the change is one that controllers must act upon, which a new generation tells them."""
    if not rules.has_generation or not rules.has_spec:
        return False
    if made.spec is not old.spec and made.spec != old.spec:
        return True
    return isinstance(made, Deployment) and bool(made.metadata.annotations != old.metadata.annotations)
