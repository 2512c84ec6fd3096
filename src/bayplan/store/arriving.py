"""From what a client sends to what is stored as a new object.

Takes the object, the priority classes and storage classes that stand, and the time; gives a new top struct with
its own metadata, spec and status, completed by `bayplan.admission`; raises what an API server refuses. Parts
below those are taken over from the client's object and may be completed in place, always to the same end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from bayplan.admission.defaults import default_object, default_storage_class, set_storage_class
from bayplan.admission.priority import PriorityClasses, Refusal, check_classes, resolve_priority
from bayplan.admission.stored import is_complete
from bayplan.admission.time_zones import find_time_zone
from bayplan.model.cluster import Namespace, NamespaceStatus, PriorityClass
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodStatus
from bayplan.model.policy import PodDisruptionBudget, PodDisruptionBudgetStatus
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.structs import replace
from bayplan.model.timestamps import format_time
from bayplan.model.workloads import CronJob
from bayplan.store.errors import (
    FORBIDDEN,
    INVALID,
    REQUIRED,
    BadRequest,
    Forbidden,
    InternalError,
    Invalid,
    field_cause,
)
from bayplan.store.pods import start_out
from bayplan.store.rules import RULES, KindRules

ObjectT = TypeVar("ObjectT", bound=Object)

VERSION_ON_CREATE = "resourceVersion should not be set on objects to be created"
EMPTY_TIME_ZONE = "timeZone must be nil or non-empty string"
_NEW_STATUS = PodStatus(phase="Pending")  # pods that begin alike share it; gated ones get a condition of their own
_QUANTITY_FORMAT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


def arrived(obj: ObjectT, rules: KindRules, classes: PriorityClasses, now: int) -> ObjectT:
    """The object as created: without name or uid yet where the server makes these."""
    meta = obj.metadata
    if not meta.name and not meta.generate_name:
        cause = field_cause(REQUIRED, "metadata.name", "name or generateName is required")
        raise Invalid.of(rules, "", [cause])
    if meta.resource_version:
        raise InternalError(VERSION_ON_CREATE)
    made = replace(obj)
    made.metadata = replace(
        meta,
        namespace=meta.namespace if rules.namespaced else "",
        uid="",
        resource_version="",
        creation_timestamp=None,
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        generation=1 if rules.has_generation else meta.generation,
    )
    if isinstance(made, Pod):
        _admit_pod(made, classes, now)
    else:
        _admit_other(made, rules)
    made.metadata.creation_timestamp = format_time(now)
    return made


def taken_over(obj: ObjectT, rules: KindRules, classes: PriorityClasses, now: int) -> ObjectT:
    """An object that an API server has stored before, as it is; only what it lacks is filled in."""
    made = replace(obj)
    meta = replace(obj.metadata, resource_version="")
    if not rules.namespaced:
        meta.namespace = ""
    meta.creation_timestamp = meta.creation_timestamp or format_time(now)
    if rules.has_generation:
        meta.generation = meta.generation or 1
    made.metadata = meta
    if not isinstance(made, Pod):
        default_object(made)
    elif not is_complete(made):
        made.spec = replace(made.spec)
        _complete(made)
        resolve_priority(made, classes)
    return made


def _admit_pod(pod: Pod, classes: PriorityClasses, now: int) -> None:
    spec = replace(pod.spec)
    spec.tolerations = list(spec.tolerations)
    pod.spec = spec
    pod.status = PodStatus() if spec.scheduling_gates else _NEW_STATUS
    # Admission takes a pod with a node for one that was stored before; here it is new whatever it says.
    node_name, spec.node_name = spec.node_name, ""
    _complete(pod)
    refusals = resolve_priority(pod, classes)
    spec.node_name = node_name
    if refusals:
        raise Forbidden.because(RULES[Pod], pod.metadata.name or pod.metadata.generate_name, refusals[0][1])
    start_out(pod, now)


def _complete(pod: Pod) -> None:
    try:
        default_object(pod)
    except ValueError:
        raise BadRequest(
            'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
            f"'{_QUANTITY_FORMAT}'"
        ) from None


def _admit_other(obj: Object, rules: KindRules) -> None:
    if isinstance(obj, Namespace):
        obj.status = NamespaceStatus(phase="Active")
        obj.metadata.labels = dict(obj.metadata.labels)
    elif isinstance(obj, PodDisruptionBudget):
        obj.status = PodDisruptionBudgetStatus()
    elif rules.resets_status:
        fresh: Any = rules.struct()
        obj.status = fresh.status  # type: ignore[union-attr]  # its rules say that it has one
    default_object(obj)
    if isinstance(obj, CronJob):
        check_time_zone(obj)


def check_time_zone(cron_job: CronJob) -> None:
    """Raises what is wrong with the zone of a new or changed CronJob."""
    name = cron_job.spec.time_zone
    if find_time_zone(name) is None:
        why = unknown_time_zone(name) if name else EMPTY_TIME_ZONE
        cause = field_cause(INVALID, "spec.timeZone", f'"{name}": {why}')
        raise Invalid.of(RULES[CronJob], cron_job.metadata.name, [cause])


def unknown_time_zone(name: str) -> str:
    """A CronJob names a zone that nobody knows."""
    return f"unknown time zone {name}"


def set_default_class(claim: PersistentVolumeClaim, classes: Iterable[StorageClass]) -> None:
    """Lets a new claim that names no class have the default one, if there is one."""
    default = default_storage_class(classes)
    if default is not None:
        claim.spec = replace(claim.spec)
        set_storage_class(claim, default)


def check_class(priority_class: PriorityClass, standing: Iterable[PriorityClass]) -> None:
    """Raises what is wrong with a new or changed priority class beside those that stand."""
    # Only as a manifest is a class held to being the one default.
    meant = replace(priority_class, metadata=ObjectMeta(name=priority_class.metadata.name))
    refusals = [refusal for checked, refusal in check_classes([*standing, meant]) if checked is meant]
    for field, message in refusals:
        if field == "globalDefault":
            raise Forbidden.because(RULES[PriorityClass], priority_class.metadata.name, message)
    if refusals:
        causes = [field_cause(*_class_fault(priority_class, refusal)) for refusal in refusals]
        raise Invalid.of(RULES[PriorityClass], priority_class.metadata.name, causes)


def _class_fault(priority_class: PriorityClass, refusal: Refusal) -> tuple[str, str, str]:
    field, message = refusal
    if field == "preemptionPolicy":
        return INVALID, field, f'"{priority_class.preemption_policy}": {message}'
    return FORBIDDEN, field, message
