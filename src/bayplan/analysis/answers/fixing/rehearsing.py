"""Fixes rehearsed: each is made to the cluster as its commands would, and played to its end.

A fix that lets one pod run may do nothing for the other pods of its workload, or evict them. So the whole workload is
changed, rolled out and counted: how many of its pending pods run then, which pods of others go, and whether any pod of
its own is worse off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

from bayplan.admission.stored import looks_stored
from bayplan.analysis.answers.changes import ChangedCluster, ClusterChange, changed
from bayplan.analysis.answers.course import UNINTENDED, Course, Departure
from bayplan.analysis.answers.fixing.answer import RemedyKind
from bayplan.analysis.answers.fixing.patches import Origin
from bayplan.analysis.answers.fixing.surroundings import Edits, WorkingChange
from bayplan.analysis.answers.fixing.trying import edited_spec
from bayplan.analysis.answers.owners import workload_of
from bayplan.analysis.answers.playing import play_out
from bayplan.analysis.answers.stage import Stage
from bayplan.analysis.cluster_objects import is_over, is_pending
from bayplan.analysis.references import POD, Reference
from bayplan.controllers.ownership import WORKLOADS, Workload, controller_of_kind
from bayplan.model.errors import InvalidObject
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.workloads import (
    DaemonSet,
    Deployment,
    Job,
    JobStatus,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

#: Whose controllers replace pods when the template changes.
_ROLLED_OUT = (Deployment, StatefulSet, DaemonSet)
_SCALED = (Deployment, StatefulSet, ReplicaSet, ReplicationController)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a fix comes to."""

    fixed: int  # of the workload's pending pods
    nodes: tuple[str, ...]  # where they run
    victims: tuple[str, ...]  # pods of others that are evicted, who would not be without the fix
    left_pending: tuple[str, ...]  # those of them that get no other node
    harms_own: bool  # evicts pods of the workload, or leaves it with fewer than it has


class Rehearsal:
    """Rehearses fixes for one pod and all that are made with it."""

    def __init__(self, stage: Stage, pod: Pod, origin: Origin) -> None:
        asking = stage.asking
        self._stage = stage
        self._asking = asking
        self.pod = pod
        self._origin = origin
        self._running = {key for key, pod in asking.cluster.pods.items() if pod.spec.node_name and not is_over(pod)}
        self._owners = asking.cluster.ownership
        members = self.members_among(asking.cluster.pods.values())
        self._own_running = members & self._running
        self._own_pending = self._pending_among(members)
        self.pending = len(self._own_pending) or 1  # one more, if all are running
        self.running = len(self._own_running)

    def members_among(self, pods: Iterable[Pod]) -> set[str]:
        """Those that are the workload's."""
        wanted = self._origin.reference
        if wanted.kind == POD:
            return {key for pod in pods if (key := object_key(pod)) == wanted.key}
        near = (pod for pod in pods if pod.metadata.namespace == wanted.namespace)
        return {object_key(pod) for pod in near if workload_of(pod, self._owners) == wanted}

    def _pending_among(self, members: set[str]) -> set[str]:
        """Those that exist and wait, and those that are yet to be created."""
        cluster, workload = self._asking.cluster, self._origin.workload
        waiting = {key for key in members if (pod := cluster.pods.get(key)) is not None and is_pending(pod)}
        return waiting | (set(cluster.lacking_pods(workload)) if workload is not None else set())

    @cached_property
    def _departures(self) -> list[Departure]:
        """Pods that go without any fix."""
        with self._stage.course() as course:
            course.settle()
        return course.departures

    @cached_property
    def _evicted_anyway(self) -> set[str]:
        return {each.pod for each in self._departures if each.cause in UNINTENDED}

    @cached_property
    def evicts_anyway(self) -> int:
        """How many pods the workload's own evict without any fix."""
        return sum(each.by in self._own_pending for each in self._departures)

    @property
    def is_about_one_more(self) -> bool:
        """Whether no pod is pending, so that the fix is for one that nobody has asked for yet."""
        return not self._own_pending

    @property
    def waiting(self) -> list[Pod]:
        """The workload's pods that exist and are pending."""
        pods = self._asking.cluster.pods
        return [pods[key] for key in sorted(self._own_pending) if key in pods]

    def rehearse(self, found: WorkingChange) -> Rehearsed | None:
        """None if an API server would not take the change."""
        try:
            made = self._changed(found)
            with self._stage.course(made.start) as course:
                play_out(course, made, found.evicted)
        except InvalidObject:
            return None
        own = self.members_among(course.pods.values())
        new = own - self._own_running
        victims, siblings = self._victims(course, found, own)
        gained = max(0, len(own) - len(self._own_running))
        # A DaemonSet that finds no node to be on has no pods; how many it gets depends on the fix.
        is_counted_by_nodes = self.is_about_one_more and isinstance(self._origin.workload, DaemonSet)
        return Rehearsed(
            fixed=gained if is_counted_by_nodes else min(self.pending, gained),
            nodes=tuple(dict.fromkeys(course.node_of(key) for key in sorted(new))),
            victims=tuple(victims),
            left_pending=tuple(key for key in victims if course.is_pending(key)),
            harms_own=bool(siblings) or len(own) < len(self._own_running),
        )

    def _victims(self, course: Course, found: WorkingChange, own: set[str]) -> tuple[list[str], set[str]]:
        """Whom the fix evicts, or the pods that it lets run: pods of others, and of the workload itself."""
        evicted = dict.fromkeys(found.evicted)
        evicted |= dict.fromkeys(
            each.pod
            for each in course.departures
            if each.cause in UNINTENDED
            and each.pod in self._running
            and (each.by in own or each.pod not in self._evicted_anyway)
        )
        siblings = self.members_among(self._asking.cluster.pods[key] for key in evicted)
        return [key for key in evicted if key not in siblings], siblings

    # ---------------------------------------------------------------- the cluster with the fix

    def _changed(self, found: WorkingChange) -> ChangedCluster:
        cluster = self._asking.cluster
        edits = (*found.edits, *found.assumed)
        jobs = tuple(self._new_jobs(edits))
        given = [*found.objects, *(() if jobs else self._edited_pods(edits))]
        new = None if jobs else self._new_workload(edits)
        if new is not None and not isinstance(new, _ROLLED_OUT):
            given.append(new)
        base = cluster.like(_with_objects(cluster.objects, given)) if given else cluster
        if jobs:
            return changed(base, ClusterChange(delete=tuple(map(_reference_to, jobs)), apply=jobs))
        return changed(base, ClusterChange(apply=(new,)) if isinstance(new, _ROLLED_OUT) else ClusterChange())

    def _new_jobs(self, edits: Edits) -> Iterator[Job]:
        """The Jobs that pending pods belong to, recreated with another template."""
        edits = tuple(edit for edit in edits if edit.change.kind is not RemedyKind.GATES)
        owners = {controller_of_kind(pod.metadata, Job.__name__) for pod in self.waiting} if edits else set()
        for obj in self._asking.cluster.objects:
            if isinstance(obj, Job) and (obj.metadata.namespace, obj.metadata.name) in owners:
                new = deepcopy(obj)
                new.metadata.uid = ""
                new.status = JobStatus()
                new.spec.template.spec = edited_spec(new.spec.template.spec, edits)
                yield new

    def _edited_pods(self, edits: Edits) -> Iterator[Pod]:
        """Pending pods that a fix changes or has recreated, instead of leaving that to a rollout.

        A StatefulSet would wait for them, and other kinds leave the pods that they have as they are.
        """
        if isinstance(self._origin.workload, Deployment | DaemonSet):
            edits = tuple(edit for edit in edits if edit.change.kind is RemedyKind.GATES)
        if edits:
            yield from (replace(pod, spec=edited_spec(pod.spec, edits)) for pod in self.waiting)

    def _new_workload(self, edits: Edits) -> Workload | None:
        """With another template or, if all of its pods run, with one more pod; None if it stays as it is."""
        workload = self._origin.workload
        if not isinstance(workload, WORKLOADS):
            return None
        if looks_stored(self.pod):  # its gates are removed from the pod itself
            edits = tuple(edit for edit in edits if edit.change.kind is not RemedyKind.GATES)
        if self._own_pending and not edits:
            return None
        new = deepcopy(workload)
        new.spec.template.spec = edited_spec(new.spec.template.spec, edits)
        if not self._own_pending and isinstance(new, _SCALED):
            new.spec.replicas = (1 if new.spec.replicas is None else new.spec.replicas) + 1
        return new


def _reference_to(job: Job) -> Reference:
    return Reference(Job.__name__, job.metadata.namespace, job.metadata.name)


def _with_objects(objects: Sequence[Object], given: Sequence[Object]) -> list[Object]:
    """The objects with the given ones in place of those of the same kind and name."""
    new = {(type(obj), object_key(obj)): obj for obj in given}
    kept = [new.pop((type(obj), object_key(obj)), obj) for obj in objects]
    return [*kept, *new.values()]
