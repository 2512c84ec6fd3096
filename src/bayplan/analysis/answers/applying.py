"""Objects that are applied to a cluster: those of the same kind and name are replaced, as `kubectl apply` does it.

What only a server or a controller writes stays: identity, status, the node of a pod, the volume of a claim. So do
labels and annotations that the new object does not mention, and the number of replicas if it names none. An object
that was read from a server (a dump that somebody edited) takes the place of the old one as it is. Of a pod that exists
nothing but labels and annotations changes, for an API server would refuse anything else that matters here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayplan.admission.priority import check_classes
from bayplan.admission.stored import was_created
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import KINDS, Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node, NodeSpec
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.storage import PersistentVolumeClaim
from bayplan.model.structs import replace
from bayplan.model.well_known import DEFAULT_NAMESPACE
from bayplan.model.workloads import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet

_SCALED = (Deployment, ReplicaSet, ReplicationController, StatefulSet)
_TEMPLATED = (*_SCALED, DaemonSet, Job)


@dataclass(frozen=True, slots=True)
class Replaced:
    """An object before and after."""

    old: Object
    new: Object


def applied(objects: Sequence[Object], given: Iterable[Object]) -> tuple[list[Object], list[Replaced]]:
    """The objects with the given ones among them, and what was replaced. Raises InvalidObject."""
    new: dict[tuple[type, str], Object] = {}
    unnamed: list[Object] = []
    for obj in given:
        _set_namespace(obj)
        if obj.metadata.name:
            new[type(obj), object_key(obj)] = obj
        else:
            unnamed.append(obj)
    replaced: list[Replaced] = []
    result: list[Object] = []
    for old in objects:
        found = new.pop((type(old), object_key(old)), None)
        if found is not None:
            replaced.append(Replaced(old, _merged(old, found)))
        result.append(old if found is None else replaced[-1].new)
    _refuse_changed_classes(replaced)
    return [*result, *new.values(), *unnamed], replaced


def _set_namespace(obj: Object) -> None:
    if KINDS[type(obj).__name__].namespaced and not obj.metadata.namespace:
        obj.metadata.namespace = DEFAULT_NAMESPACE


def _merged(old: Object, new: Object) -> Object:
    if was_created(new.metadata):
        return new
    meta = _merged_metadata(old.metadata, new.metadata)
    if isinstance(old, Pod):
        return replace(old, metadata=meta)
    merged: Object = replace(new, metadata=meta)
    if isinstance(merged, _TEMPLATED) and isinstance(old, _TEMPLATED):
        _keep_annotations(merged, old)
    if isinstance(merged, _SCALED) and isinstance(old, _SCALED) and merged.spec.replicas is None:
        merged.spec.replicas = old.spec.replicas
    if isinstance(merged, PersistentVolumeClaim) and isinstance(old, PersistentVolumeClaim):
        merged.spec.volume_name = merged.spec.volume_name or old.spec.volume_name
    if isinstance(merged, Node) and isinstance(old, Node) and merged.spec == NodeSpec():
        merged.spec = old.spec
    # A budget's status is worked out anew, for what it asks for may have changed.
    if not isinstance(merged, PodDisruptionBudget) and _has_no_status(merged):
        merged = replace(merged, status=old.status)  # type: ignore[union-attr]
    return merged


def _merged_metadata(old: ObjectMeta, new: ObjectMeta) -> ObjectMeta:
    return replace(old, labels={**old.labels, **new.labels}, annotations={**old.annotations, **new.annotations})


def _keep_annotations(
    new: Deployment | ReplicaSet | ReplicationController | StatefulSet | DaemonSet | Job,
    old: Deployment | ReplicaSet | ReplicationController | StatefulSet | DaemonSet | Job,
) -> None:
    """Such as the one that `kubectl rollout restart` writes, which is in no manifest."""
    template = new.spec.template
    template.metadata.annotations = {**old.spec.template.metadata.annotations, **template.metadata.annotations}


def _has_no_status(obj: Object) -> bool:
    status = getattr(obj, "status", None)
    return status is not None and status == type(status)()


def _refuse_changed_classes(replaced: Iterable[Replaced]) -> None:
    """An API server lets nobody change what a PriorityClass is worth."""
    faults = [
        Fault("", f"PriorityClass {pair.new.metadata.name}", field, message)
        for pair in replaced
        if isinstance(pair.old, PriorityClass) and isinstance(pair.new, PriorityClass)
        for _, (field, message) in check_classes([pair.old, pair.new])
    ]
    if faults:
        raise InvalidObject(faults)
