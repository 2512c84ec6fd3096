"""The pod that room is made for: `--for` as a user writes it.

A pod of the cluster or the first pending one of a workload; the next pod of a workload that has none pending; or a pod
that does not exist yet: a file, or requests such as `cpu=8,memory=32Gi`. Finds the pod; makes no room itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.course import Course
from bayplan.analysis.answers.owners import workload_of
from bayplan.analysis.answers.pod_patterns import patterns
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import POD, Reference, not_found, parse_reference
from bayplan.controllers.ownership import is_terminal
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod

_FILES = (".yaml", ".yml", ".json", ".gz")


@dataclass(frozen=True, slots=True)
class Goal:
    """A pod that needs a node."""

    name: str  # as the user wrote it
    key: str
    pod: Pod
    siblings: frozenset[str]  # other pods of its workload
    is_new: bool  # it is created once there is room
    along: tuple[Object, ...] = ()  # what a new pod needs besides a node
    own: tuple[Object, ...] = ()  # and what is made for it alone

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def needed(self) -> int:
        return 1

    def create(self, course: Course) -> None:
        """A new pod waits from now on; others do already."""
        if self.is_new:
            course.add([self.pod], along=(*self.along, *self.own))


def goal_for(asking: Asking, text: str, namespace: str) -> Goal:
    """Raises InvalidObject for a pod that is not there, runs already, or cannot be understood."""
    cluster = asking.cluster
    if "=" in text or text.endswith(_FILES) or text == "-":
        return _new_goal(asking, text, [text], [], namespace)
    reference = parse_reference(text, namespace)
    if reference.kind != POD and text not in cluster.pods:
        pending = _pending_of(cluster, reference)
        if not pending:
            return _new_goal(asking, text, [], [text], namespace)
        pod = cluster.find_pod(pending[0])
    else:
        pod = cluster.wanted(text, namespace).pod
    if is_terminal(pod):
        raise not_found(f"Pod {object_key(pod)}", f"has finished ({pod.status.phase}), so it needs no room")
    if pod.spec.node_name:
        raise not_found(f"Pod {object_key(pod)}", f"runs on {pod.spec.node_name} already, so it needs no room")
    asking.profile_of(pod)
    return Goal(text, object_key(pod), pod, _siblings(cluster, pod), is_new=False)


def _new_goal(asking: Asking, name: str, pods: list[str], workloads: list[str], namespace: str) -> Goal:
    (pattern,) = patterns(asking.cluster, pods, workloads, namespace, option="--for")
    asking.profile_of(pattern.pod)
    pod, own = pattern.replica(1)
    siblings = _siblings(asking.cluster, pod)
    return Goal(name, object_key(pod), pod, siblings, is_new=True, along=pattern.along, own=tuple(own))


def _pending_of(cluster: Cluster, workload: Reference) -> list[str]:
    ownership = cluster.ownership
    keys = cluster.pending_pods()
    return [key for key in keys if workload_of(cluster.find_pod(key), ownership) == workload]


def _siblings(cluster: Cluster, pod: Pod) -> frozenset[str]:
    ownership = cluster.ownership
    workload = workload_of(pod, ownership)
    if workload.kind == POD:
        return frozenset()
    return frozenset(key for key, each in cluster.pods.items() if workload_of(each, ownership) == workload)
