"""A change to a cluster, and what controllers make of it at once.

Takes objects to apply, names to delete and nodes to add; gives the cluster with them, the pods that go (scaled down,
no longer wanted on their node, driven out by a NoExecute taint, deleted with their owner) and the workloads whose pods
are replaced one by one. The pods that go are still there at first: a `Course` removes them, and then adds those that
come in place of what was deleted and applied again. In the middle of a rollout a Deployment's pods count as one set
when it is scaled down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from bayplan.analysis.answers.applying import Replaced, applied
from bayplan.analysis.answers.course import DepartureCause
from bayplan.analysis.answers.deleting import Loss, deleted, parsed_names
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.references import Reference
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.analysis.workload_pods import label
from bayplan.controllers.nodes.taint_eviction import seconds_to_stay
from bayplan.controllers.ownership import WORKLOADS, Workload, controller_of_kind, is_active
from bayplan.controllers.workloads.daemon_placement import DaemonPlaces, daemon_template
from bayplan.controllers.workloads.deletion_order import first_to_delete
from bayplan.controllers.workloads.rollout import ON_DELETE
from bayplan.model.conditions import ready_since
from bayplan.model.kinds import Object, object_key
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.policy import PodDisruptionBudget
from bayplan.model.reading import ReadResult, Sources, from_dicts, joined, locating, read
from bayplan.model.selectors import SelectorError, compile_label_selector
from bayplan.model.structs import replace
from bayplan.model.timestamps import parse_time
from bayplan.model.tolerations import NO_EXECUTE
from bayplan.model.workloads import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet

#: Files, plain objects, and what was read before.
Given: TypeAlias = str | Path | Mapping[str, Any] | ReadResult


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """What somebody wants to do."""

    apply: tuple[Object, ...] = ()
    delete: tuple[Reference, ...] = ()
    add_nodes: tuple[Node, ...] = ()
    sources: Sources = field(default_factory=dict)  # of what is applied


@dataclass(slots=True)
class ChangedCluster:
    """The cluster after the change, and what follows."""

    cluster: Cluster
    start: Cluster  # the same with the pods that were deleted for good
    losses: list[Loss] = field(default_factory=list)
    updates: list[Deployment | StatefulSet | DaemonSet] = field(default_factory=list)  # with another template
    now: int = 0  # for updates: as young as the youngest pod

    def arriving(self) -> list[str]:
        """Pods that cannot be in `start`, as long as those that were deleted are in it."""
        if self.start is self.cluster:
            return []
        pods = self.cluster.pods
        waiting = {*self.start.pending_pods()} - {
            key for key, pod in self.start.pods.items() if pods.get(key) is not pod
        }
        return [key for key in self.cluster.pending_pods() if key not in waiting]


def read_change(
    cluster: Cluster,
    apply: Sequence[Given],
    delete: Sequence[str],
    add_nodes: Sequence[str],
    namespace: str,
) -> ClusterChange:
    """As a user writes it: files and plain objects, KIND/NAME, and nodes to copy. Raises InvalidObject."""
    nodes = {obj.metadata.name: obj for obj in cluster.objects if isinstance(obj, Node)}
    added = nodes_like(add_nodes, known=nodes, option="--add-nodes")
    given = read_given(apply)
    return ClusterChange(tuple(given.objects), tuple(parsed_names(delete, namespace)), tuple(added), given.sources)


def read_given(given: Sequence[Given]) -> ReadResult:
    """What is in these files, what has been read, and these plain objects. Raises InvalidObject."""
    files = [each for each in given if isinstance(each, str | Path)]
    plain = [each for each in given if isinstance(each, Mapping)]
    results = [each for each in given if isinstance(each, ReadResult)]
    return joined([*([read(files)] if files else ()), *results, from_dicts(plain)])


def changed(cluster: Cluster, change: ClusterChange) -> ChangedCluster:
    """Deletes, then applies, then adds nodes. Raises InvalidObject."""
    deletion = deleted(cluster.objects, change.delete)
    gone = deletion.gone_for_good()
    sources = {**cluster.sources, **change.sources}
    with locating(sources):
        objects, replaced = applied([obj for obj in deletion.objects if id(obj) not in gone], change.apply)
    after = cluster.like(_recounted([*objects, *change.add_nodes], replaced), sources)
    reactions = _Reactions(after, replaced)
    losses = [*deletion.losses, *reactions.losses()]
    start = _with_pods(after, gone.values()) if gone else after
    updates = list(_updates(replaced))
    return ChangedCluster(after, start, losses, updates, reactions.now if updates else 0)


def _with_pods(cluster: Cluster, pods: Collection[Pod]) -> Cluster:
    """The cluster with these pods in place of others that have their names."""
    names = {object_key(pod) for pod in pods}
    others = [obj for obj in cluster.objects if not (isinstance(obj, Pod) and object_key(obj) in names)]
    return cluster.like([*others, *pods])


class _Reactions:
    """What controllers do about objects that were replaced."""

    def __init__(self, cluster: Cluster, replaced: Sequence[Replaced]) -> None:
        self._replaced = replaced
        self._owners = cluster.ownership
        self._objects = cluster.objects

    @cached_property
    def now(self) -> int:
        """As young as the youngest pod."""
        return max((_newest(obj) for obj in self._objects if isinstance(obj, Pod)), default=0)

    def losses(self) -> Iterator[Loss]:
        for pair in self._replaced:
            if isinstance(pair.new, WORKLOADS):
                keys = tuple(map(object_key, self._surplus(pair.new)))
                if keys:
                    yield Loss(keys, DepartureCause.SCALED_DOWN, label(pair.new), for_good=True)
        nodes = {pair.new.metadata.name: pair.new for pair in self._replaced if isinstance(pair.new, Node)}
        if nodes:
            yield from self._driven_out(nodes)

    def _surplus(self, workload: Workload) -> list[Pod]:
        """Pods that the workload no longer wants."""
        active = [pod for pod in self._owners.pods_of(workload) if is_active(pod)]
        match workload:
            case DaemonSet():
                return self._misplaced(workload, active)
            case StatefulSet():
                return _beyond(workload, active)
            case Job():
                wanted = 0 if workload.spec.suspend else workload.spec.parallelism
            case Deployment() | ReplicaSet() | ReplicationController():
                wanted = workload.spec.replicas
        number = len(active) - (1 if wanted is None else wanted)
        crowds = Counter(pod.spec.node_name for pod in active if pod.spec.node_name)
        return first_to_delete(active, number, self.now, crowds) if number > 0 else []

    def _misplaced(self, daemon_set: DaemonSet, daemons: Sequence[Pod]) -> list[Pod]:
        """Daemons on nodes where the set does not want any."""
        places = DaemonPlaces(daemon_template(daemon_set).spec)
        nodes = {obj.metadata.name: obj for obj in self._objects if isinstance(obj, Node)}
        return [pod for pod in daemons if pod.spec.node_name in nodes and not places.keep(nodes[pod.spec.node_name])]

    def _driven_out(self, nodes: dict[str, Node]) -> Iterator[Loss]:
        """Pods that do not bear the taints of the nodes that were replaced, and daemons that no longer belong there."""
        for obj in self._objects:
            if not isinstance(obj, Pod) or obj.spec.node_name not in nodes or not is_active(obj):
                continue
            node = nodes[obj.spec.node_name]
            owner = self._owners.controller_of(obj.metadata)
            if isinstance(owner, DaemonSet):
                if self._misplaced(owner, [obj]):
                    yield Loss((object_key(obj),), DepartureCause.TAINTED, node.metadata.name, for_good=True)
                continue
            taints = [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
            if seconds_to_stay(obj.spec.tolerations, taints) is not None:
                is_daemon = controller_of_kind(obj.metadata, "DaemonSet") is not None
                yield Loss((object_key(obj),), DepartureCause.TAINTED, node.metadata.name, for_good=is_daemon)


def _beyond(owner: StatefulSet, pods: Iterable[Pod]) -> list[Pod]:
    """Pods whose ordinal is not wanted, the last first."""
    start = owner.spec.ordinals.start if owner.spec.ordinals is not None else 0
    wanted = range(start, start + (1 if owner.spec.replicas is None else owner.spec.replicas))
    ordinals = {int(number): pod for pod in pods if (number := pod.metadata.name.rpartition("-")[2]).isdecimal()}
    return [ordinals[ordinal] for ordinal in sorted(ordinals, reverse=True) if ordinal not in wanted]


def _updates(replaced: Iterable[Replaced]) -> Iterator[Deployment | StatefulSet | DaemonSet]:
    for pair in replaced:
        old, new = pair.old, pair.new
        if (
            isinstance(old, Deployment | StatefulSet | DaemonSet)
            and isinstance(new, Deployment | StatefulSet | DaemonSet)
            and old.spec.template != new.spec.template
            and not _waits(new)
        ):
            yield new


def _waits(workload: Deployment | StatefulSet | DaemonSet) -> bool:
    """Whether pods stay as they are although the template has changed."""
    if isinstance(workload, Deployment):
        return workload.spec.paused
    strategy = workload.spec.update_strategy
    return strategy is not None and strategy.type == ON_DELETE


def _recounted(objects: Sequence[Object], replaced: Sequence[Replaced]) -> list[Object]:
    """The objects; budgets have no status if the number of pods that a workload wants has changed for them."""
    scaled = [pair.new for pair in replaced if isinstance(pair.new, WORKLOADS) and _scale(pair.old) != _scale(pair.new)]
    return [
        replace(obj, status=None)
        if isinstance(obj, PodDisruptionBudget) and any(_covers(obj, workload) for workload in scaled)
        else obj
        for obj in objects
    ]


def _scale(obj: Object) -> int | None:
    return obj.spec.replicas if isinstance(obj, Deployment | ReplicaSet | ReplicationController | StatefulSet) else None


def _covers(budget: PodDisruptionBudget, workload: Workload) -> bool:
    if budget.metadata.namespace != workload.metadata.namespace:
        return False
    try:
        selector = compile_label_selector(budget.spec.selector)
    except SelectorError:
        return False
    return selector.matches(workload.spec.template.metadata.labels)


def _newest(pod: Pod) -> int:
    times = (pod.metadata.creation_timestamp, ready_since(pod))
    return max((parse_time(time) for time in times if time), default=0)
