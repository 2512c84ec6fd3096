"""Objects that are deleted from a cluster, with everything that goes with them.

A namespace takes all in it along, a workload its pods and whatever it made for them, as the garbage collector would see
to. A deleted node loses its pods. Says which objects are left and which pods go, and why; whether a controller makes
others is decided where the pods are removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.answers.replacements import comes_back
from bayplan.analysis.references import ObjectNameError, Reference, not_found, parse_object_name
from bayplan.controllers.ownership import WORKLOADS, Ownership, controller_of_kind, is_terminal
from bayplan.model.cluster import Namespace
from bayplan.model.kinds import ALL_KINDS, Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.workloads import CronJob, Deployment, Job

_OWNED_BY_NODE = ("DaemonSet", "Node")  # pods that are there for their node go with it


@dataclass(frozen=True, slots=True)
class Loss:
    """Pods that go because of a change."""

    pods: tuple[str, ...]
    cause: DepartureCause
    by: str
    for_good: bool  # nobody makes others


@dataclass(slots=True)
class Deletion:
    """What is left, and whom it costs."""

    objects: list[Object]
    losses: list[Loss] = field(default_factory=list)

    def gone_for_good(self) -> dict[int, Pod]:
        """By identity, the pods that nobody makes again."""
        pods = {object_key(obj): obj for obj in self.objects if isinstance(obj, Pod)}
        lost = ((pods[key], loss.for_good) for loss in self.losses for key in loss.pods)
        return {id(pod): pod for pod, for_good in lost if for_good or not comes_back(pod)}


def parsed_names(texts: Iterable[str], namespace: str) -> list[Reference]:
    """What the user wants to delete: KIND/NAME. Raises InvalidObject."""
    references = []
    for text in texts:
        try:
            references.append(parse_object_name(text, ALL_KINDS, namespace))
        except ObjectNameError as error:
            raise not_found(text, error.problem) from error
    return references


def deleted(objects: Sequence[Object], references: Sequence[Reference]) -> Deletion:
    """Raises InvalidObject for something that is not there."""
    result = Deletion([*objects])
    for reference in references:
        result = _without(result, reference)
    return result


def _without(before: Deletion, reference: Reference) -> Deletion:
    target = _find(before.objects, reference)
    owners = Ownership(before.objects)
    gone: list[Object] = [target, *_made_by(target, before.objects, owners)]
    pods = [pod for obj in gone for pod in _pods_lost(obj, before.objects, owners) if not is_terminal(pod)]
    ids = {id(obj) for obj in gone if not isinstance(obj, Pod)}
    left = [obj for obj in before.objects if id(obj) not in ids]
    if isinstance(target, Node):
        return Deletion(left, [*before.losses, *_losses_of_node(target, pods)])
    for_good = not isinstance(target, Pod) and owners.controller_of(target.metadata) is None
    keys = tuple(dict.fromkeys(map(object_key, pods)))
    lost = [Loss(keys, DepartureCause.DELETED, str(reference), for_good)] if keys else []
    return Deletion(left, [*before.losses, *lost])


def _find(objects: Sequence[Object], reference: Reference) -> Object:
    same_kind = {object_key(obj): obj for obj in objects if type(obj).__name__ == reference.kind}
    found = same_kind.get(reference.key) or _implied_namespace(objects, reference)
    if found is None:
        close = [key.removeprefix("/") for key in near(reference.key, same_kind)]
        raise not_found(str(reference), f"not found in the input{did_you_mean(close)}")
    return found


def _implied_namespace(objects: Sequence[Object], reference: Reference) -> Namespace | None:
    """A dump seldom has namespaces, but whatever is in one tells that it is there."""
    if reference.kind == Namespace.__name__ and any(obj.metadata.namespace == reference.name for obj in objects):
        return Namespace(metadata=ObjectMeta(name=reference.name))
    return None


def _made_by(target: Object, objects: Sequence[Object], owners: Ownership) -> list[Object]:
    if isinstance(target, Namespace):
        return [obj for obj in objects if obj.metadata.namespace == target.metadata.name]
    if isinstance(target, Deployment):
        return [*owners.replica_sets_of(target)]
    if isinstance(target, CronJob):
        own = (target.metadata.namespace, target.metadata.name)
        return [obj for obj in objects if isinstance(obj, Job) and controller_of_kind(obj.metadata, "CronJob") == own]
    return []


def _pods_lost(obj: Object, objects: Sequence[Object], owners: Ownership) -> list[Pod]:
    if isinstance(obj, Pod):
        return [obj]
    if isinstance(obj, WORKLOADS):
        return owners.pods_of(obj)
    if isinstance(obj, Node):
        return [pod for pod in objects if isinstance(pod, Pod) and pod.spec.node_name == obj.metadata.name]
    return []


def _losses_of_node(node: Node, pods: Sequence[Pod]) -> list[Loss]:
    groups: dict[bool, list[str]] = {True: [], False: []}
    for pod in pods:
        goes_along = any(controller_of_kind(pod.metadata, kind) for kind in _OWNED_BY_NODE)
        groups[goes_along].append(object_key(pod))
    return [
        Loss(tuple(keys), DepartureCause.NODE_DELETED, node.metadata.name, for_good)
        for for_good, keys in groups.items()
        if keys
    ]
