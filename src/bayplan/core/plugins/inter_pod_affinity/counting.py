"""Pods counted for each topology domain, and which pods a term of the incoming pod means.

`DomainCounts` is upstream's map from (topology key, value) to a number, seen from the nodes: for each node the
number of its own domain. Nodes without the key have no domain, so what stands on them counts nowhere. Which
numbers are added up is the business of filtering and scoring.
Upstream: plugins/interpodaffinity/filtering.go (v1.36).
"""

from __future__ import annotations

from bayplan.core.columns import IntArray
from bayplan.core.columns.counters import NodeCounts, PodMatch
from bayplan.core.columns.labels import LabelColumn, NodeLabels
from bayplan.core.columns.terms import AffinityTerm
from bayplan.core.snapshot import Objects


def meant_by(term: AffinityTerm, objects: Objects) -> PodMatch:
    """The running pods that a term of the incoming pod means."""
    selector = term.namespace_selector
    # Up to v1.36 the selector stays in force beside the names it stands for, and is tested on no labels at all: one
    # that a namespace without labels meets reaches every namespace. An empty one does so in any version.
    if selector.is_empty or (selector.matches({}) and not objects.gates.release.merges_namespace_selector):
        return PodMatch(None, term.selector)
    if selector.selects_nothing:
        return PodMatch(term.namespaces, term.selector)
    selected = (name for name, space in objects.namespaces.items() if selector.matches(space.metadata.labels))
    return PodMatch(term.namespaces.union(selected), term.selector)


class DomainCounts:
    """For each topology key and node, a number for the node's domain."""

    def __init__(self, labels: NodeLabels) -> None:
        self._labels = labels
        self._columns: dict[str, LabelColumn] = {}  # held, as one that is made again may number domains otherwise
        self._sums: dict[str, IntArray] = {}  # key -> (domains + 1,)
        self.pods_counted = 0  # a pod once for each term it was counted for

    def add(self, key: str, pods: NodeCounts, weight: int = 1) -> None:
        """Pods stand on nodes, each worth `weight`; those on nodes without the key do not count."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._labels.column(key)
        sums = pods.by_domain(column)
        pod_count = int(sums.sum())
        if not pod_count:
            return
        self.pods_counted += pod_count
        worth = sums if weight == 1 else sums * weight
        known = self._sums.get(key)
        self._sums[key] = worth if known is None else known + worth

    def by_node(self) -> dict[str, IntArray]:
        """For each key (nodes,) the sum over the node's domain, 0 for a node without the key."""
        return {key: sums.take(self._columns[key].ids, mode="wrap") for key, sums in self._sums.items()}
