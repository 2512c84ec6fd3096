"""Required terms: pod + view -> which nodes break a rule, in the cluster as it is and in what-if worlds.

Three rules, in the order in which upstream tests them: the pod's affinity, its anti-affinity, and the
anti-affinity of the pods that run. Counts come from the shared counters; no pod is looked at here. In a world of
its own a node sees pods come to or leave that node alone, so of all domains only the node's own ones change.
Upstream: plugins/interpodaffinity/filtering.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import ABSENT, ALL_ROWS, BoolArray, IdArray, IntArray, RowArray, Rows
from bayplan.core.columns.counters import NodeCounts, PodCounter
from bayplan.core.columns.labels import NodeLabels
from bayplan.core.columns.shapes import PodShape
from bayplan.core.columns.terms import TermKind
from bayplan.core.framework.speed_hints import OWN_PODS_DECIDE, UNFORESEEN
from bayplan.core.plugins.inter_pod_affinity.counting import DomainCounts, meant_by
from bayplan.core.snapshot import View

BREAKS_AFFINITY = 1
BREAKS_ANTI_AFFINITY = 2
BREAKS_EXISTING_ANTI_AFFINITY = 3


class Contribution(NamedTuple):
    """How often a pod that moves counts for each rule, and under which key."""

    affinity: BoolArray  # (identities + 1,) under all keys of the affinity terms
    anti_affinity: tuple[tuple[str, BoolArray], ...]  # key, (identities + 1,)
    existing: tuple[tuple[str, IdArray], ...]  # key, (shapes + 1,)


@dataclass(slots=True)
class Rules:
    """What the incoming pod asks for, and who asks something of it; the same in all worlds."""

    shape: PodShape
    affinity_keys: tuple[str, ...]
    affinity_pods: PodCounter | None  # pods that meet all affinity terms at once; None without terms
    anti_affinity: tuple[tuple[str, PodCounter], ...]  # key, and the pods that meet the term
    effects: Contribution | None = None  # made when the first pod moves

    @property
    def matches_itself(self) -> bool:
        """Whether the pod could be the first of pods that want to be together."""
        return self.affinity_pods is not None and self.affinity_pods.accepts(self.shape.namespace, self.shape.labels)


@dataclass(slots=True)
class WorldCounts:
    """Domain counts, each node's own of which may have changed in its world."""

    counts: Mapping[str, IntArray]  # key -> (nodes,) the number for the node's domain
    pods_counted: int  # 0 when there is no number but 0
    zeros: IntArray  # (nodes,) stands in for keys nobody counted under
    changes: dict[str, IntArray] = field(default_factory=dict)  # key -> (nodes,) what the node's world adds

    def topology_keys(self) -> list[str]:
        return list(dict.fromkeys((*self.counts, *self.changes)))

    def has_pods(self, key: str, rows: Rows) -> BoolArray:
        """(rows,) whether there is a pod in the node's domain."""
        counts = self.counts.get(key, self.zeros)[rows]
        if key in self.changes:
            counts = counts + self.changes[key][rows]
        return counts > 0

    @property
    def may_be_empty(self) -> bool:
        """False where there is a pod in some domain of every node's world."""
        return bool(self.changes) or not self.pods_counted

    def all_empty(self, rows: Rows) -> BoolArray:
        """(rows,) whether there is no pod in any domain of the node's world."""
        changes: IntArray = sum((change[rows] for change in self.changes.values()), start=self.zeros[rows])
        empty: BoolArray = changes == -self.pods_counted
        return empty

    def fork(self) -> WorldCounts:
        return replace(self, changes=dict(self.changes))  # a shift makes new arrays

    def shift(self, key: str, node_rows: RowArray, amounts: IntArray) -> None:
        """The domain of each of these nodes changes by an amount, in the node's own world."""
        sums = np.bincount(node_rows, weights=amounts, minlength=len(self.zeros)).astype(np.int64)
        self.changes[key] = self.changes.get(key, self.zeros) + sums


@dataclass(slots=True)
class AffinityState:
    """The rules, and the counts that decide whether a node breaks them."""

    rules: Rules
    affinity: WorldCounts
    anti_affinity: WorldCounts
    existing: WorldCounts


def prepare(shape: PodShape, view: View) -> AffinityState | None:
    """Count; None when there is no rule to break."""
    existing = _existing_anti_affinity(shape, view)
    if not existing.pods_counted and not shape.terms.required and not shape.terms.required_anti:
        return None
    rules, node_count = _rules(shape, view), view.nodes.count
    affinity, anti_affinity = DomainCounts(view.nodes.labels), DomainCounts(view.nodes.labels)
    if rules.affinity_pods is not None:
        for key in rules.affinity_keys:
            affinity.add(key, rules.affinity_pods.nodes)
    for key, pods in rules.anti_affinity:
        anti_affinity.add(key, pods.nodes)
    zeros = np.zeros(node_count, dtype=np.int64)
    return AffinityState(
        rules,
        *(WorldCounts(it.by_node(), it.pods_counted, zeros) for it in (affinity, anti_affinity, existing)),
    )


def _rules(shape: PodShape, view: View) -> Rules:
    terms, objects = shape.terms, view.objects
    all_meant = tuple(meant_by(term, objects) for term in terms.required)
    count = view.counters.pods_matching
    return Rules(
        shape=shape,
        affinity_keys=tuple(term.topology_key for term in terms.required),
        affinity_pods=count(all_meant, shape, skip_terminating=False) if all_meant else None,
        anti_affinity=tuple(
            (term.topology_key, count((meant_by(term, objects),), shape, skip_terminating=False))
            for term in terms.required_anti
        ),
    )


def _existing_anti_affinity(shape: PodShape, view: View) -> DomainCounts:
    existing = DomainCounts(view.nodes.labels)
    for key, term_id in _anti_affinity_reaching(shape, view):
        existing.add(key, view.counters.carriers(term_id))
    return existing


def judge(state: AffinityState, labels: NodeLabels, rows: Rows) -> IntArray:
    """(rows,) the first rule that each node breaks, or 0."""
    existing, anti_affinity = state.existing, state.anti_affinity
    # Codes, and (rows,) where each applies. Backwards, because the first rule has the last word.
    broken: list[tuple[int, BoolArray]] = [
        *((BREAKS_EXISTING_ANTI_AFFINITY, existing.has_pods(key, rows)) for key in existing.topology_keys()),
        *((BREAKS_ANTI_AFFINITY, anti_affinity.has_pods(key, rows)) for key in anti_affinity.topology_keys()),
    ]
    if state.rules.affinity_keys:
        broken.append((BREAKS_AFFINITY, _breaks_affinity(state, labels, rows)))
    if not broken:
        return existing.zeros[rows].copy()
    code, applies = broken[0]
    codes: IntArray = applies.astype(np.int64)
    codes *= code
    for code, applies in broken[1:]:
        np.putmask(codes, applies, code)
    return codes


def _breaks_affinity(state: AffinityState, labels: NodeLabels, rows: Rows) -> BoolArray:
    """(rows,) nodes that lack a key, or whose domains lack a pod to be near to."""
    counts, keys = state.affinity, dict.fromkeys(state.rules.affinity_keys)
    has_pods = reduce(and_, (counts.has_pods(key, rows) for key in keys))
    # The first of pods that want to be together may go anywhere while there is none of them.
    if state.rules.matches_itself and counts.may_be_empty:
        has_pods |= counts.all_empty(rows)
    for key in keys:
        has_pods &= labels.column(key).present[rows]
    return ~has_pods


def fork(state: AffinityState) -> AffinityState:
    return AffinityState(state.rules, state.affinity.fork(), state.anti_affinity.fork(), state.existing.fork())


def shift(state: AffinityState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
    """Pods come to or leave nodes, each in its node's world."""
    rules = state.rules
    if rules.effects is None:
        rules.effects = _effects(rules, view)
    identity_ids, shape_ids = view.pods.identity_ids[pod_rows], view.pods.shape_ids[pod_rows]
    moves: list[tuple[WorldCounts, str, BoolArray | IdArray]] = []  # the last: (pods,) how often each counts
    moves += ((state.affinity, key, rules.effects.affinity[identity_ids]) for key in rules.affinity_keys)
    moves += ((state.anti_affinity, key, of[identity_ids]) for key, of in rules.effects.anti_affinity)
    moves += ((state.existing, key, of[shape_ids]) for key, of in rules.effects.existing)
    for counts, key, times in moves:
        counted = np.flatnonzero(times)
        counted = counted[view.nodes.labels.column(key).ids[node_rows[counted]] != ABSENT]
        if len(counted):
            counts.shift(key, node_rows[counted], sign * times[counted].astype(np.int64))


def foresee(state: AffinityState, view: View, priority: int) -> IntArray:
    """(nodes,) codes that stay whichever pods of a lower priority leave a node.

    Where none of them counts for any rule a node's world is the cluster as it is.
    """
    codes = judge(state, view.nodes.labels, ALL_ROWS)
    depends = np.zeros(view.nodes.count, dtype=np.bool_)
    for pods in _counting_below(state.rules, view, priority):
        depends |= pods.counts(view.nodes.count) > 0
    if np.count_nonzero(depends):
        codes[depends] = UNFORESEEN
        codes[depends & _alone(state, view)] = OWN_PODS_DECIDE
    return codes


def _counting_below(rules: Rules, view: View, priority: int) -> Iterator[NodeCounts]:
    """The pods of a lower priority that count for each of the rules."""
    counters = view.counters
    for pods in (rules.affinity_pods, *(pods for _, pods in rules.anti_affinity)):
        if pods is not None:
            yield counters.pods_matching(pods.key.matches, rules.shape, skip_terminating=False, below=priority).nodes
    for _, term_id in _anti_affinity_reaching(rules.shape, view):
        yield counters.carriers(term_id, priority)


def _alone(state: AffinityState, view: View) -> BoolArray:
    """(nodes,) nodes in whose domains no pod counts but those on the node itself."""
    rules, count = state.rules, view.nodes.count
    if rules.affinity_keys:
        return np.zeros(count, dtype=np.bool_)  # the first of its kind counts pods everywhere
    apart = [(key, pods.nodes) for key, pods in rules.anti_affinity]
    existing = [(key, view.counters.carriers(term_id)) for key, term_id in _anti_affinity_reaching(rules.shape, view)]
    alone = np.ones(count, dtype=np.bool_)
    for of_domains, on_nodes in ((state.anti_affinity.counts, apart), (state.existing.counts, existing)):
        for key, elsewhere_too in of_domains.items():
            alone &= sum(pods.counts(count) for at, pods in on_nodes if at == key) == elsewhere_too
    return alone


def _anti_affinity_reaching(shape: PodShape, view: View) -> Iterator[tuple[str, int]]:
    """Key and id of the terms by which running pods keep the incoming one away."""
    counters = view.counters
    for term_id in counters.terms_reaching(shape, view.objects.namespace_labels(shape.namespace)):
        carried = counters.terms.values[term_id]
        if carried.kind is TermKind.REQUIRED_ANTI:
            yield carried.term.topology_key, term_id


def _effects(rules: Rules, view: View) -> Contribution:
    counters = view.counters
    # A nominated pod may carry a term that no running pod does.
    namespace_labels = view.objects.namespace_labels(rules.shape.namespace)
    reaching = counters.terms_reaching(rules.shape, namespace_labels, include_idle=True)
    carried = [(counters.terms.values[term_id], term_id) for term_id in reaching]
    return Contribution(
        affinity=counters.matching(rules.affinity_pods) if rules.affinity_pods else np.zeros(0, dtype=np.bool_),
        anti_affinity=tuple((key, counters.matching(pods)) for key, pods in rules.anti_affinity),
        existing=tuple(
            (it.term.topology_key, counters.times_carried(term_id))
            for it, term_id in carried
            if it.kind is TermKind.REQUIRED_ANTI
        ),
    )
