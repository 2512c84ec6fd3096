"""How many more pods of a kind fit, where, and what runs out first.

Takes patterns of pods; every replica is decided on by the scheduler's own code, one after another, so that the answer
is what would happen. Then once more, evicting pods of lower priority; and for a number of replicas that does not fit,
how many nodes of which kind it takes. Pods that are pending now are not placed first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayplan.analysis.answers.asking import Asking
from bayplan.analysis.answers.filling import Filling, Stop
from bayplan.analysis.answers.headroom import Headroom, amounts, headroom, zone_of
from bayplan.analysis.answers.nodes_needed import NodesNeeded, node_kinds, nodes_needed
from bayplan.analysis.answers.pod_patterns import PodPattern, patterns
from bayplan.analysis.answers.pools import Pool, pools
from bayplan.analysis.showing import Shown
from bayplan.core.cache import Cache
from bayplan.core.columns.pods import owner_of
from bayplan.model.node import Node
from bayplan.model.well_known import DEFAULT_NAMESPACE


@dataclass(frozen=True, slots=True)
class KindCapacity:
    """One kind of pod."""

    name: str  # as the user wrote it
    pod: str  # namespace/name of the pod that the replicas are like
    share: int
    priority: int
    requests: Mapping[str, int]
    fits: int
    fits_evicting: int | None  # None: not tried

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "pod": self.pod,
            "share": self.share,
            "priority": self.priority,
            "requests": dict(self.requests),
            "fits": self.fits,
            "fitsEvicting": self.fits_evicting,
        }


@dataclass(frozen=True, slots=True)
class OnNode:
    """How many fit on one node."""

    node: str
    zone: str
    fits: tuple[int, ...]  # by kind of pod

    def to_dict(self) -> dict[str, Any]:
        return {"node": self.node, "zone": self.zone, "fits": list(self.fits)}


@dataclass(frozen=True, slots=True)
class Evicting:
    """What becomes possible if pods of lower priority may go."""

    rounds: int
    victims: tuple[str, ...]  # in order of eviction
    victims_by_owner: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"fits": self.rounds, "victims": list(self.victims), "victimsByOwner": dict(self.victims_by_owner)}


@dataclass(frozen=True, slots=True, repr=False)
class Capacity(Shown):
    """The answer. A round is as many of each kind of pod as its share says; for a single pod it is one replica."""

    pods: tuple[KindCapacity, ...]
    rounds: int
    by_node: tuple[OnNode, ...]
    nodes: int
    stop: Stop
    evicting: Evicting | None
    headroom: tuple[Headroom, ...]
    pools: tuple[Pool, ...]
    replicas: int | None = None  # rounds that were asked for
    needed: tuple[NodesNeeded, ...] = ()

    @property
    def is_enough(self) -> bool:
        """Whether what was asked for fits now; without a number, whether anything does."""
        return self.rounds >= (1 if self.replicas is None else self.replicas)

    def to_dict(self) -> dict[str, Any]:
        return {
            "fits": self.rounds,
            "pods": [pod.to_dict() for pod in self.pods],
            "byNode": [node.to_dict() for node in self.by_node],
            "nodes": self.nodes,
            "stop": self.stop.to_dict(),
            "evicting": self.evicting.to_dict() if self.evicting else None,
            "headroom": [each.to_dict() for each in self.headroom],
            "pools": [each.to_dict() for each in self.pools],
            "replicas": self.replicas,
            "nodesNeeded": [each.to_dict() for each in self.needed],
        }


def capacity(
    asking: Asking,
    pods: Sequence[str | Mapping[str, Any]] = (),
    workloads: Sequence[str] = (),
    *,
    namespace: str = DEFAULT_NAMESPACE,
    replicas: int | None = None,
    nodes: Sequence[str] = (),
    evicting: bool = True,
    pool_labels: Sequence[str] = (),
) -> Capacity:
    """Raises InvalidObject for pods, workloads and nodes that cannot be understood."""
    wanted = patterns(asking.cluster, pods, workloads, namespace)
    kinds = node_kinds(asking.cluster, nodes) if replicas is not None else []
    cache = asking.cache()
    for pattern in wanted:
        asking.profile_of(pattern.pod)
        for obj in pattern.along:
            cache.add(obj)
    requests = [cache.info(pattern.pod).shape.requests.asked for pattern in wanted]
    resources = [resource for asked in requests for resource in asked]
    before = amounts(cache.view(), resources)
    filling = Filling(asking, cache, wanted)
    filling.fill()
    left = amounts(cache.view(), resources)
    room = headroom(cache.view(), before, left)
    fits, by_node, stop = filling.counts(), _by_node(filling, cache), filling.why()
    all_nodes = [node for node in asking.cluster.objects if isinstance(node, Node)]
    by_pool = pools(all_nodes, pool_labels, cache.view(), filling.by_node(), stop.by_node, before, left)
    rounds = filling.rounds
    lacking = replicas is not None and rounds < replicas
    needed = nodes_needed(asking.cluster, cache, filling, kinds, replicas) if lacking and replicas is not None else ()
    more = _fill_evicting(asking, filling) if evicting else None
    after = filling.counts() if evicting else [None] * len(wanted)
    counted = zip(wanted, requests, fits, after, strict=True)
    return Capacity(
        pods=tuple(_counted(*each) for each in counted),
        rounds=rounds,
        by_node=by_node,
        nodes=cache.nodes.alive_count,
        stop=stop,
        evicting=more,
        headroom=room,
        pools=by_pool,
        replicas=replicas,
        needed=needed,
    )


def _counted(pattern: PodPattern, requests: Mapping[str, int], fits: int, evicting: int | None) -> KindCapacity:
    meta, spec = pattern.pod.metadata, pattern.pod.spec
    key = f"{meta.namespace}/{meta.name}"
    return KindCapacity(pattern.name, key, pattern.share, spec.priority or 0, requests, fits, evicting)


def _by_node(filling: Filling, cache: Cache) -> tuple[OnNode, ...]:
    view, counts = cache.view(), filling.by_node()
    return tuple(
        OnNode(name, zone_of(view, view.nodes.rows_by_name[name]), tuple(counts[name])) for name in sorted(counts)
    )


def _fill_evicting(asking: Asking, filling: Filling) -> Evicting:
    """Go on from where nothing fits any more."""
    before = len(filling.placed)
    filling.fill(preempting=True)
    victims = tuple(victim for _, placed in filling.placed[before:] for victim in placed.victims)
    owners = Counter(owner_of(asking.cluster.pods[victim].metadata) for victim in victims)
    return Evicting(filling.rounds, victims, dict(owners.most_common()))
