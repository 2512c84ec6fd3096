"""Objects that are applied to a cluster: those of the same kind and name are replaced, as `kubectl apply` does.

What only a server or a controller writes stays: identity, status, the node of a pod, the volume of a claim. So do
labels and annotations that the new object does not mention, and the number of replicas if it names none. An object
that was read from a server (a dump that somebody edited) takes the place of the old one as it is. To a pod that exists
tolerations can be added, and its gates opened; what an API server refuses to change is a fault (`refused_updates`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayplan.admission.stored import looks_stored, was_created
from bayplan.analysis.answers.refused_updates import refusals
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import ALL_KINDS, Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node, NodeSpec
from bayplan.model.pod import Pod, PodSpec
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
    faults: list[Fault] = []
    for old in objects:
        found = new.pop((type(old), object_key(old)), None)
        if found is not None:
            if isinstance(found, PriorityClass) or not _takes_the_place(old, found):
                faults += refusals(old, found)
            replaced.append(Replaced(old, _merged(old, found)))
        result.append(old if found is None else replaced[-1].new)
    if faults:
        raise InvalidObject(faults)
    return [*result, *new.values(), *unnamed], replaced


def _set_namespace(obj: Object) -> None:
    if ALL_KINDS[type(obj).__name__].namespaced and not obj.metadata.namespace:
        obj.metadata.namespace = DEFAULT_NAMESPACE


def _takes_the_place(old: Object, new: Object) -> bool:
    """Of the old object, and all of it: one that a server has written down, or one of which there is but a plan."""
    return was_created(new.metadata) or (isinstance(old, Pod) and not looks_stored(old))


def _merged(old: Object, new: Object) -> Object:
    if _takes_the_place(old, new):
        return new
    meta = _merged_metadata(old.metadata, new.metadata)
    if isinstance(old, Pod) and isinstance(new, Pod):
        return replace(old, metadata=meta, spec=_merged_pod_spec(old.spec, new.spec))
    merged: Object = replace(new, metadata=meta)
    if isinstance(merged, _TEMPLATED) and isinstance(old, _TEMPLATED):
        _keep_annotations(merged, old)
    if isinstance(merged, _SCALED) and isinstance(old, _SCALED) and merged.spec.replicas is None:
        merged.spec.replicas = old.spec.replicas
    if isinstance(merged, PersistentVolumeClaim) and isinstance(old, PersistentVolumeClaim):
        merged.spec.volume_name = merged.spec.volume_name or old.spec.volume_name
    if isinstance(merged, Node) and isinstance(old, Node) and merged.spec == NodeSpec():
        merged.spec = old.spec
    # A budget's status is recomputed, for what it asks for may have changed.
    if not isinstance(merged, PodDisruptionBudget) and _has_no_status(merged):
        merged = replace(merged, status=old.status)  # type: ignore[union-attr]
    return merged


def _merged_metadata(old: ObjectMeta, new: ObjectMeta) -> ObjectMeta:
    return replace(old, labels={**old.labels, **new.labels}, annotations={**old.annotations, **new.annotations})


def _merged_pod_spec(old: PodSpec, new: PodSpec) -> PodSpec:
    added = [toleration for toleration in new.tolerations if toleration not in old.tolerations]
    if not old.scheduling_gates:
        return replace(old, tolerations=[*old.tolerations, *added])
    gates = [gate for gate in old.scheduling_gates if gate in new.scheduling_gates]
    return replace(
        old,
        tolerations=[*old.tolerations, *added],
        scheduling_gates=gates,
        node_selector={**old.node_selector, **new.node_selector},
        affinity=new.affinity or old.affinity,
    )


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
