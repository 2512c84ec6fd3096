"""A workload's pods are replaced by pods of its new template, as its controller does.

A Deployment makes new pods and deletes old ones within its surge and what it may lack, or deletes all first. A
StatefulSet goes from its last pod to the first, a DaemonSet from node to node, both as many at a time as may be away. A
DaemonSet that may surge makes new pods beside the old ones, which go once the new ones run. Where new pods get no node
an update stops, and what has not been replaced keeps running.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bayplan.analysis.answers.course import Course, DepartureCause
from bayplan.analysis.workload_pods import NewPod, expand_workloads, label
from bayplan.controllers.int_or_percent import scaled_value
from bayplan.controllers.ownership import Ownership, is_active
from bayplan.controllers.workloads.daemon_placement import pinned_to
from bayplan.controllers.workloads.deletion_order import first_to_delete
from bayplan.controllers.workloads.rollout import RolledReplicaSet, bounds_of, is_recreated, size_of_new, sizes_of_old
from bayplan.controllers.workloads.stateful_set import PARALLEL
from bayplan.controllers.workloads.templates import same_template
from bayplan.model.cluster import PriorityClass
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.meta import ObjectMeta
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.storage import PersistentVolumeClaim, StorageClass
from bayplan.model.workloads import DaemonSet, Deployment, ReplicaSet, RollingUpdate, StatefulSet

Updated: TypeAlias = Deployment | StatefulSet | DaemonSet

#: What making pods takes besides the workload itself.
_NEEDED = (PriorityClass, StorageClass, PersistentVolumeClaim, Node)


@dataclass(frozen=True, slots=True)
class Update:
    """How far the update of one workload gets."""

    workload: str
    replaced: int
    left: int  # old pods that stay because new ones get no node

    def to_dict(self) -> dict[str, Any]:
        return {"workload": self.workload, "replaced": self.replaced, "left": self.left}


def update(course: Course, workload: Updated, objects: Sequence[Object], now: int) -> Update:
    """Replaces the workload's pods in the course, and lets it settle. Raises InvalidObject for a bad template."""
    owners = Ownership(objects)
    pods = [pod for pod in owners.pods_of(workload) if is_active(pod)]
    old = [pod for pod in pods if not _is_current(pod, workload, owners)]
    current = [pod for pod in pods if _is_current(pod, workload, owners)]
    sets = owners.replica_sets_of(workload) if isinstance(workload, Deployment) else []
    fresh = _fresh(workload, objects, old, [*sets, *current])
    keys = [object_key(pod) for pod in old]
    if isinstance(workload, Deployment):
        _roll(course, workload, keys, [object_key(pod) for pod in current], fresh, now)
    elif not _is_held_up(course, workload, owners):
        pairs, surge = _pairs(workload, old, fresh), _surge(workload, len(fresh))
        if surge:
            _surge_in_turn(course, workload, pairs, fresh, surge)
        else:
            _replace_in_turn(course, workload, pairs, fresh, _most_away(workload, len(fresh)))
    # A StatefulSet's new pods bear the names of the old ones.
    made = {arrival.pod for arrival in course.arrivals} & fresh.keys()
    left = [key for key in keys if key not in made and course.knows(key)]
    return Update(label(workload), len(keys) - len(left), len(left))


def _is_current(pod: Pod, workload: Updated, owners: Ownership) -> bool:
    """Whether the pod is of the new template already, as after a rollout that was undone halfway."""
    owner = owners.controller_of(pod.metadata)
    return isinstance(owner, ReplicaSet) and same_template(owner.spec.template, workload.spec.template)


def _fresh(
    workload: Updated, objects: Sequence[Object], old: Sequence[Pod], owned: Sequence[Object]
) -> dict[str, NewPod]:
    """All pods of the new template that have yet to be made, by key; `owned` are those that count as made."""
    beside: list[Object] = [obj for obj in objects if isinstance(obj, _NEEDED)]
    if isinstance(workload, Deployment) or _surge(workload, len(old)):
        # Of old pods the names are taken, but they do not count.
        names = ((pod.metadata.name, pod.metadata.namespace) for pod in old)
        beside += [Pod(metadata=ObjectMeta(name=name, namespace=namespace)) for name, namespace in names]
    beside += owned
    made = expand_workloads([*beside, workload])
    if made.faults or made.refused:
        raise InvalidObject([*made.faults, *made.refused])
    return made.by_key


def _roll(
    course: Course,
    deployment: Deployment,
    old: Sequence[str],
    current: Sequence[str],
    fresh: Mapping[str, NewPod],
    now: int,
) -> None:
    if is_recreated(deployment):
        course.remove(old, DepartureCause.UPDATED, label(deployment), for_good=True)
        old = []
    bounds = bounds_of(deployment)
    left = [key for key in old if course.knows(key)]
    new = [key for key in (*current, *fresh) if course.knows(key)]
    unmade = [key for key in fresh if not course.knows(key)]
    while True:
        number = size_of_new(bounds, len(new), len(left), recreated=is_recreated(deployment)) - len(new)
        made, unmade = unmade[:number], unmade[number:]
        _add(course, [fresh[key] for key in made])
        new += made
        course.settle()
        sizes = sizes_of_old(bounds, _member(course, new), [_member(course, left)])
        going = _first_to_go(course, left, len(left) - sizes[0], now)
        if not going and not made:
            return
        course.remove(going, DepartureCause.UPDATED, label(deployment), for_good=True)
        left = [key for key in left if key not in going]


def _member(course: Course, keys: Sequence[str]) -> RolledReplicaSet:
    return RolledReplicaSet(len(keys), sum(key in course.pods for key in keys))


def _first_to_go(course: Course, keys: Sequence[str], number: int, now: int) -> list[str]:
    pods = [course.pods[key] if key in course.pods else course.waiting[key].pod for key in keys]
    crowds = Counter(pod.spec.node_name for pod in pods if pod.spec.node_name)
    return [object_key(pod) for pod in first_to_delete(pods, number, now, crowds)] if number > 0 else []


def _add(course: Course, made: Sequence[NewPod]) -> None:
    along = {id(obj): obj for new in made for obj in new.origin.along}
    course.add([new.pod for new in made], along.values())


# One after another.


def _is_held_up(course: Course, workload: StatefulSet | DaemonSet, owners: Ownership) -> bool:
    """An ordered set replaces nothing as long as one of its pods does not run."""
    return (
        isinstance(workload, StatefulSet)
        and workload.spec.pod_management_policy != PARALLEL
        and any(course.is_pending(object_key(pod)) for pod in owners.pods_of(workload))
    )


def _most_away(workload: StatefulSet | DaemonSet, wanted: int) -> int:
    unavailable = _rolling(workload).max_unavailable
    return max(1, scaled_value(1 if unavailable is None else unavailable, wanted, round_up=True))


def _surge(workload: StatefulSet | DaemonSet, wanted: int) -> int:
    """How many new daemons there may be beside old ones."""
    surge = _rolling(workload).max_surge if isinstance(workload, DaemonSet) else None
    return scaled_value(surge or 0, wanted, round_up=True)


def _rolling(workload: StatefulSet | DaemonSet) -> RollingUpdate:
    strategy = workload.spec.update_strategy
    return (strategy.rolling_update if strategy is not None else None) or RollingUpdate()


def _pairs(workload: StatefulSet | DaemonSet, old: Sequence[Pod], fresh: Mapping[str, NewPod]) -> list[tuple[str, str]]:
    """Old pods and the new ones in their place, in the order in which they are replaced."""
    if isinstance(workload, DaemonSet):
        by_node = {pinned_to(new.pod): key for key, new in fresh.items()}
        return [(object_key(pod), by_node[pinned_to(pod)]) for pod in old if pinned_to(pod) in by_node]
    first = _rolling(workload).partition or 0
    ordinals = {int(key.rpartition("-")[2]): key for key in fresh}
    known = {object_key(pod) for pod in old}
    return [(key, key) for ordinal, key in sorted(ordinals.items(), reverse=True) if ordinal >= first and key in known]


def _replace_in_turn(
    course: Course,
    workload: StatefulSet | DaemonSet,
    pairs: Sequence[tuple[str, str]],
    fresh: Mapping[str, NewPod],
    most_away: int,
) -> None:
    away: list[str] = []
    remaining = list(pairs)
    while remaining and len(away) < most_away:
        number = most_away - len(away)
        batch, remaining = remaining[:number], remaining[number:]
        course.remove([old for old, _ in batch], DepartureCause.UPDATED, label(workload), for_good=True)
        _add(course, [fresh[new] for _, new in batch])
        course.settle()
        away = [key for key in (*away, *(new for _, new in batch)) if key not in course.pods]


def _surge_in_turn(
    course: Course,
    workload: StatefulSet | DaemonSet,
    pairs: Sequence[tuple[str, str]],
    fresh: Mapping[str, NewPod],
    most: int,
) -> None:
    """An old pod goes when the new one runs."""
    both: list[tuple[str, str]] = []  # whose new pod does not run yet
    remaining = list(pairs)
    while remaining and len(both) < most:
        number = most - len(both)
        batch, remaining = remaining[:number], remaining[number:]
        _add(course, [fresh[new] for _, new in batch])
        course.settle()
        both += batch
        done = [old for old, new in both if new in course.pods]
        course.remove(done, DepartureCause.UPDATED, label(workload), for_good=True)
        course.settle()
        both = [(old, new) for old, new in both if old not in done]
