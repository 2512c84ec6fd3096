"""From what a client sends to what is stored as a new object.

Takes the object, the priority classes and storage classes that stand, and the time; gives a new top struct with
its own metadata, spec and status, completed by `bayplan.admission`; raises what an API server refuses. Parts
below those are taken over from the client's object and may be completed in place, always to the same end. Only pods
with equal specs share one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, TypeVar

from bayplan.admission.defaults import default_object, default_storage_class, set_storage_class
from bayplan.admission.priority import PriorityClasses, Refusal, check_classes, resolve_group_priority, resolve_priority
from bayplan.admission.stored import is_complete
from bayplan.admission.time_zones import find_time_zone
from bayplan.model.cluster import Namespace, NamespaceStatus, PriorityClass
from bayplan.model.fingerprint import exact_fingerprint
from bayplan.model.groups import PodGroup
from bayplan.model.kinds import Object
from bayplan.model.meta import ObjectMeta
from bayplan.model.pod import Pod, PodSpec, PodStatus
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
from bayplan.store.pods import start_gated
from bayplan.store.rules import RULES, KindRules

ObjectT = TypeVar("ObjectT", bound=Object)

VERSION_ON_CREATE = "resourceVersion should not be set on objects to be created"
EMPTY_TIME_ZONE = "timeZone must be nil or non-empty string"
SPECS_MAX = 1_024
"""How many different specs are remembered."""
_NEW_STATUS = PodStatus(phase="Pending")  # pods that begin alike share it; gated ones get a condition of their own
_QUANTITY_FORMAT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"


class NewSpecs:
    """What becomes of the specs of new pods while these priority classes stand.

    Pods of a workload come with equal specs: what became of the first becomes of the others, so they share it.
    """

    def __init__(self, classes: PriorityClasses) -> None:
        self.classes = classes
        self._known: dict[bytes, PodSpec] = {}

    def completed(self, pod: Pod) -> PodSpec:
        """The spec of a new pod with its defaults and its priority; raises what is refused."""
        given = pod.spec
        if given.affinity is not None or given.topology_spread_constraints:
            return self._complete(pod)  # which depends on the pod's labels, too
        content = exact_fingerprint(given)
        known = self._known.get(content)
        if known is None:
            known = self._complete(pod)
            if _is_for_good(known):
                if len(self._known) >= SPECS_MAX:
                    self._known.clear()
                self._known[content] = known
        return known

    def _complete(self, pod: Pod) -> PodSpec:
        # Admission takes a pod with a node for one that was stored before; here it is new whatever it says.
        spec = replace(pod.spec, node_name="", tolerations=list(pod.spec.tolerations))
        new = Pod(metadata=ObjectMeta(labels=pod.metadata.labels), spec=spec)
        _complete(new)
        refusals = resolve_priority(new, self.classes)
        if refusals:
            raise Forbidden.because(RULES[Pod], pod.metadata.name or pod.metadata.generate_name, refusals[0][1])
        spec.node_name = pod.spec.node_name
        return spec


def _is_for_good(spec: PodSpec) -> bool:
    """Whether no part of it becomes something else when a client sends it again as part of another pod's spec."""
    containers = chain(spec.containers, spec.init_containers)
    return spec.resources is None and not any(container.ports for container in containers)


def arrived(obj: ObjectT, namespace: str, rules: KindRules, arrivals: NewSpecs, now: int) -> ObjectT:
    """The object as created: without name or uid yet where the server makes these."""
    meta = obj.metadata
    if not meta.name and not meta.generate_name:
        cause = field_cause(REQUIRED, "metadata.name", "name or generateName is required")
        raise Invalid.of(rules, "", [cause])
    if meta.resource_version:
        raise InternalError(VERSION_ON_CREATE)
    own = replace(
        meta,
        namespace=namespace,
        uid="",
        creation_timestamp=format_time(now),
        deletion_timestamp=None,
        deletion_grace_period_seconds=None,
        generation=1 if rules.has_generation else meta.generation,
    )
    if isinstance(obj, Pod):
        made = Pod(metadata=own, spec=arrivals.completed(obj), status=_NEW_STATUS)
        if made.spec.scheduling_gates:
            start_gated(made, now)
        return made  # type: ignore[return-value]  # a pod, as the object is one
    other = replace(obj, metadata=own)
    if isinstance(other, PodGroup):
        _admit_group(other, arrivals.classes)
    _admit_other(other, rules)
    return other


def _admit_group(group: PodGroup, classes: PriorityClasses) -> None:
    group.spec = replace(group.spec)
    new = PodGroup(spec=group.spec)  # whatever it says of when it was created
    refusals = resolve_group_priority(new, classes)
    if refusals:
        raise Forbidden.because(RULES[PodGroup], group.metadata.name or group.metadata.generate_name, refusals[0][1])


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
    if isinstance(made, PodGroup):
        made.spec = replace(made.spec)
        resolve_group_priority(made, classes)
    if not isinstance(made, Pod):
        default_object(made)
    elif not is_complete(made):
        made.spec = replace(made.spec)
        _complete(made)
        resolve_priority(made, classes)
    return made


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
