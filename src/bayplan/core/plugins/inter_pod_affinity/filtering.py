"""Required terms: pod + view -> which nodes break a rule, in the cluster as it is and in what-if worlds.

Three rules, in the order in which upstream tests them: the pod's affinity, its anti-affinity, and the
anti-affinity of the pods that run. Counts come from the shared counters; no pod is looked at here. In a world of
its own a node sees pods come to or leave that node alone, so of all domains only the node's own ones change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IntArray, RowArray, Rows
from bayplan.core.columns.counters import PodCounter, term_reaches
from bayplan.core.columns.labels import NodeLabels
from bayplan.core.columns.shapes import PodShape
from bayplan.core.columns.terms import TermKind
from bayplan.core.plugins.inter_pod_affinity.counting import DomainCounts, meant_by
from bayplan.core.snapshot import View

BREAKS_AFFINITY = 1
BREAKS_ANTI_AFFINITY = 2
BREAKS_EXISTING_ANTI_AFFINITY = 3


class Effect(NamedTuple):
    """The keys under which a pod counts for each rule; a key may stand there several times."""

    affinity: tuple[str, ...]
    anti_affinity: tuple[str, ...]
    existing: tuple[str, ...]


@dataclass(slots=True)
class Rules:
    """What the incoming pod asks for, and who asks something of it; the same in all worlds."""

    shape: PodShape
    namespace_labels: Mapping[str, str]
    affinity_keys: tuple[str, ...]
    affinity_pods: PodCounter | None  # pods that meet all affinity terms at once; None without terms
    anti_affinity: tuple[tuple[str, PodCounter], ...]  # key, and the pods that meet the term
    effects: dict[int, Effect] = field(default_factory=dict)  # by shape id, as shapes are met

    def matches_affinity(self, shape: PodShape) -> bool:
        return self.affinity_pods is not None and self.affinity_pods.matches(shape.identity_id)

    def effect_of(self, shape: PodShape) -> Effect:
        effect = self.effects.get(shape.id)
        if effect is None:
            effect = self.effects[shape.id] = self._work_out_effect(shape)
        return effect

    def _work_out_effect(self, shape: PodShape) -> Effect:
        return Effect(
            affinity=self.affinity_keys if self.matches_affinity(shape) else (),
            anti_affinity=tuple(key for key, pods in self.anti_affinity if pods.matches(shape.identity_id)),
            existing=tuple(
                term.topology_key
                for term in shape.terms.required_anti
                if term_reaches(term, self.shape, self.namespace_labels)
            ),
        )


@dataclass(slots=True)
class WorldCounts:
    """Domain counts, each node's own of which may have changed in its world."""

    counts: Mapping[str, IntArray]  # key -> (nodes,) the number for the node's domain
    total: int  # of all domains of all keys
    zeros: IntArray  # (nodes,) stands in for keys nobody counted under
    changes: dict[str, IntArray] = field(default_factory=dict)  # key -> (nodes,) what the node's world adds

    def topology_keys(self) -> list[str]:
        return list(dict.fromkeys((*self.counts, *self.changes)))

    def of(self, key: str, rows: Rows) -> IntArray:
        """(rows,) the number for each node's domain."""
        return self.counts.get(key, self.zeros)[rows] + self.changes.get(key, self.zeros)[rows]

    def totals(self, rows: Rows) -> IntArray:
        """(rows,) all numbers of each node's world together."""
        return self.total + sum((change[rows] for change in self.changes.values()), start=self.zeros[rows])

    def fork(self) -> WorldCounts:
        return replace(self, changes={key: change.copy() for key, change in self.changes.items()})

    def shift(self, key: str, node_rows: RowArray, amounts: IntArray) -> None:
        """The domain of each of these nodes changes by an amount, in the node's own world."""
        change = self.changes.setdefault(key, np.zeros_like(self.zeros))
        np.add.at(change, node_rows, amounts)


@dataclass(slots=True)
class FilterState:
    """The rules, and the counts that decide whether a node breaks them."""

    rules: Rules
    affinity: WorldCounts
    anti_affinity: WorldCounts
    existing: WorldCounts


def prepare(shape: PodShape, view: View) -> FilterState | None:
    """Count; None when there is no rule to break."""
    # Upstream: plugins/interpodaffinity/filtering.go PreFilter (v1.36).
    rules = _rules(shape, view)
    existing = _existing_anti_affinity(rules, view)
    if existing.is_empty and not rules.affinity_keys and not rules.anti_affinity:
        return None
    node_count = view.nodes.count
    affinity, anti_affinity = DomainCounts(view.nodes.labels), DomainCounts(view.nodes.labels)
    if rules.affinity_pods is not None:
        for key in rules.affinity_keys:
            affinity.add(key, rules.affinity_pods.nodes.counts(node_count))
    for key, pods in rules.anti_affinity:
        anti_affinity.add(key, pods.nodes.counts(node_count))
    zeros = np.zeros(node_count, dtype=np.int64)
    return FilterState(
        rules,
        *(WorldCounts(it.by_domain(), it.total, zeros) for it in (affinity, anti_affinity, existing)),
    )


def _rules(shape: PodShape, view: View) -> Rules:
    terms, objects = shape.terms, view.objects
    all_meant = tuple(meant_by(term, objects) for term in terms.required)
    count = view.counters.pods_matching
    return Rules(
        shape=shape,
        namespace_labels=objects.namespace_labels(shape.namespace),
        affinity_keys=tuple(term.topology_key for term in terms.required),
        affinity_pods=count(all_meant, skip_terminating=False) if all_meant else None,
        anti_affinity=tuple(
            (term.topology_key, count((meant_by(term, objects),), skip_terminating=False))
            for term in terms.required_anti
        ),
    )


def _existing_anti_affinity(rules: Rules, view: View) -> DomainCounts:
    counters, existing = view.counters, DomainCounts(view.nodes.labels)
    for term_id in counters.terms_reaching(rules.shape, rules.namespace_labels):
        carried = counters.terms.values[term_id]
        if carried.kind is TermKind.REQUIRED_ANTI:
            existing.add(carried.term.topology_key, counters.carriers(term_id).counts(view.nodes.count))
    return existing


def judge(state: FilterState, labels: NodeLabels, rows: Rows) -> IntArray:
    """(rows,) the first rule that each node breaks, or 0."""
    broken = (
        (_breaks_affinity(state, labels, rows), BREAKS_AFFINITY),
        (_crowded(state.anti_affinity, rows), BREAKS_ANTI_AFFINITY),
        (_crowded(state.existing, rows), BREAKS_EXISTING_ANTI_AFFINITY),
    )
    codes = np.zeros_like(state.existing.zeros[rows])
    for breaks, code in reversed(broken):  # the first rule has the last word
        codes[breaks] = code
    return codes


def _crowded(counts: WorldCounts, rows: Rows) -> BoolArray:
    """(rows,) nodes with something in one of their domains that should not be there."""
    crowded = np.zeros(len(counts.zeros[rows]), dtype=np.bool_)
    for key in counts.topology_keys():
        crowded |= counts.of(key, rows) > 0
    return crowded


def _breaks_affinity(state: FilterState, labels: NodeLabels, rows: Rows) -> BoolArray:
    """(rows,) nodes that lack a key, or whose domains lack a pod to be near to."""
    counts = state.affinity
    lacks_key = np.zeros(len(counts.zeros[rows]), dtype=np.bool_)
    lacks_pod = lacks_key.copy()
    for key in dict.fromkeys(state.rules.affinity_keys):
        lacks_key |= labels.column(key).ids[rows] == ABSENT
        lacks_pod |= counts.of(key, rows) <= 0
    if state.rules.matches_affinity(state.rules.shape):
        # The first of pods that want to be together may go anywhere while there is none of them.
        lacks_pod &= counts.totals(rows) != 0
    return lacks_key | lacks_pod


def fork(state: FilterState) -> FilterState:
    return replace(
        state,
        affinity=state.affinity.fork(),
        anti_affinity=state.anti_affinity.fork(),
        existing=state.existing.fork(),
    )


def shift(state: FilterState, view: View, pod_rows: RowArray, node_rows: RowArray, sign: int) -> None:
    """Pods come to or leave nodes, each in its node's world; the effect is found once for each shape."""
    shape_ids, positions = np.unique(view.pods.shape_ids[pod_rows], return_inverse=True)
    effects = [state.rules.effect_of(view.shapes.shapes[shape_id]) for shape_id in shape_ids.tolist()]
    for counts, keys_of_shapes in (
        (state.affinity, [effect.affinity for effect in effects]),
        (state.anti_affinity, [effect.anti_affinity for effect in effects]),
        (state.existing, [effect.existing for effect in effects]),
    ):
        for key in dict.fromkeys(key for keys in keys_of_shapes for key in keys):
            times = np.array([keys.count(key) for keys in keys_of_shapes], dtype=np.int64)[positions]
            has_key = view.nodes.labels.column(key).ids[node_rows] != ABSENT
            counted = np.flatnonzero(has_key & (times > 0))
            counts.shift(key, node_rows[counted], sign * times[counted])
