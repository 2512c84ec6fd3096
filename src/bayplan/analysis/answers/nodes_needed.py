"""How many more nodes a number of replicas takes, for each kind of node.

Nodes are added as an autoscaler would: one at a time, when the next replica fits nowhere, in the zones of that kind in
turn. Each comes with the pods that DaemonSets would run on it. Kinds are those of the cluster's nodes (the same
resources, taints and instance type) or nodes that the user describes. Everything is taken back afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from typing import Any

from bayplan.admission import admit
from bayplan.analysis.answers.filling import Filling
from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.controllers.workloads.expand import pods_to_create
from bayplan.core.cache import Cache
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.node import Node, NodeSpec, Taint
from bayplan.model.pod import Pod
from bayplan.model.structs import replace
from bayplan.model.well_known import BETA_ZONE, HOSTNAME, INSTANCE_TYPE, NODE_STATE_TAINTS, ZONE
from bayplan.model.workloads import DaemonSet

KINDS_MAX = 6
NODES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Nodes that a pod cannot tell apart but for their zones."""

    name: str
    templates: tuple[Node, ...]  # one for each zone
    existing: int = 0

    @property
    def allocatable(self) -> dict[str, str]:
        return {resource: str(amount) for resource, amount in self.templates[0].status.allocatable.items()}


@dataclass(frozen=True, slots=True)
class NodesNeeded:
    """What it takes with nodes of one kind."""

    kind: str
    allocatable: dict[str, str]
    existing: int
    nodes: int | None  # None: however many there are, the replicas do not fit
    fits: int  # complete rounds of replicas with these nodes

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "allocatable": self.allocatable,
            "existing": self.existing,
            "nodes": self.nodes,
            "fits": self.fits,
        }


def node_kinds(cluster: Cluster, described: Iterable[str] = ()) -> list[NodeKind]:
    """Kinds that the user describes (`8cpu,32Gi`, or a file with nodes); without any those of the cluster."""
    given = [_described(text) for text in described]
    if given:
        return given
    by_looks: dict[object, list[Node]] = {}
    for node in cluster.objects:
        if isinstance(node, Node) and not node.spec.unschedulable:
            by_looks.setdefault(_looks(node), []).append(node)
    largest = sorted(by_looks.values(), key=len, reverse=True)[:KINDS_MAX]
    types = Counter(nodes[0].metadata.labels.get(INSTANCE_TYPE, "") for nodes in largest)
    return [_kind_of(nodes, types) for nodes in largest]


def nodes_needed(
    cluster: Cluster, cache: Cache, filling: Filling, kinds: Sequence[NodeKind], replicas: int
) -> tuple[NodesNeeded, ...]:
    """For each kind the nodes that this many rounds of replicas take, beyond those that fit now.

    The filling must be where no replica fits any more. It and the cache are as before afterwards.
    """
    return tuple(_needed(cluster, cache, filling, kind, replicas) for kind in kinds)


def _needed(cluster: Cluster, cache: Cache, filling: Filling, kind: NodeKind, replicas: int) -> NodesNeeded:
    before, added, useless = len(filling.placed), 0, 0
    with cache.trial():
        for node in _copies(kind, set(cache.nodes.rows_by_name)):
            if filling.rounds >= replicas or useless == len(kind.templates) or added == NODES_MAX:
                break
            placed = len(filling.placed)
            _add(cluster, cache, node)
            added += 1
            filling.start_afresh()
            filling.fill(rounds=replicas)
            useless = 0 if len(filling.placed) > placed else useless + 1
    enough = filling.rounds >= replicas
    needed = NodesNeeded(kind.name, kind.allocatable, kind.existing, added if enough else None, filling.rounds)
    filling.take_back(before)
    filling.start_afresh()
    return needed


def _add(cluster: Cluster, cache: Cache, node: Node) -> None:
    """The node with the daemons that would run on it."""
    cache.add_node(node)
    for pod in daemons_on(cluster, node):
        cache.add_pod(pod, node.metadata.name)


def daemons_on(cluster: Cluster, node: Node) -> Iterator[Pod]:
    """The pods that DaemonSets would run on a new node."""
    daemon_sets: list[Object] = [obj for obj in cluster.objects if isinstance(obj, DaemonSet)]
    if not daemon_sets:
        return
    for pending in pods_to_create([*daemon_sets, node]):
        try:
            admit(list(pending.pods), beside=cluster.objects)
        except InvalidObject:
            continue  # an API server would refuse these pods
        yield from pending.pods


def _copies(kind: NodeKind, taken: set[str]) -> Iterator[Node]:
    numbers = count(1)
    for template in cycle(kind.templates):
        name = next(made for number in numbers if (made := f"{template.metadata.name}-more-{number}") not in taken)
        labels = {**template.metadata.labels, HOSTNAME: name}
        yield replace(template, metadata=replace(template.metadata, name=name, labels=labels, uid=""))


def _described(text: str) -> NodeKind:
    try:
        nodes = nodes_like([f"{text}=1"])
    except InvalidObject as error:
        raise InvalidObject(
            Fault(fault.source, fault.object, fault.field.replace("--nodes", "--node"), fault.message)
            for fault in error.faults
        ) from error
    admitted = [node for node in admit(list(nodes)) if isinstance(node, Node)]
    return NodeKind(text, tuple(admitted))


def _looks(node: Node) -> object:
    taints = tuple(sorted((taint.key, taint.value, taint.effect) for taint in lasting_taints(node)))
    amounts = tuple(sorted((name, str(amount)) for name, amount in node.status.allocatable.items()))
    return node.metadata.labels.get(INSTANCE_TYPE, ""), amounts, taints


def lasting_taints(node: Node) -> list[Taint]:
    """Those that another node of its kind would have, too."""
    return [taint for taint in node.spec.taints if not taint.key.startswith(NODE_STATE_TAINTS)]


def _kind_of(nodes: Sequence[Node], types: Counter[str]) -> NodeKind:
    """A kind is called by its type of instance; where nodes of one type differ, by the first of them as well."""
    by_zone: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: node.metadata.name):
        labels = node.metadata.labels
        by_zone.setdefault(labels.get(ZONE) or labels.get(BETA_ZONE) or "", node)
    templates = tuple(replace(node, spec=NodeSpec(taints=lasting_taints(node))) for node in by_zone.values())
    first = nodes[0].metadata
    instance_type, like = first.labels.get(INSTANCE_TYPE, ""), f"like {first.name}"
    name = instance_type if instance_type and types[instance_type] == 1 else f"{instance_type} {like}".strip()
    return NodeKind(name, templates, len(nodes))
