"""Counts of pods for each node, kept up to date as pods come and go: no decision ever scans the pods.

Two kinds. A *pod counter* belongs to a selector somebody asks about (a spread constraint, an affinity term of
the pod being scheduled) and counts the pods on each node that match. A *carrier counter* belongs to an affinity
term of running pods and counts the pods on each node that carry it.

A selector is evaluated once for each identity (namespace and label set), never for each pod. Counts come into
being by one pass over the pod table when first asked for, and follow every change from then on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray, row_array, row_mask, with_room
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.pods import PodTable
from bayplan.core.columns.shapes import Identity, PodShape, Shapes
from bayplan.core.columns.term_index import SelectorIndex, TermIndex, telling_requirement
from bayplan.core.columns.terms import AffinityTerm, CarriedTerm
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.model.selectors import CompiledSelector


class PodMatch(NamedTuple):
    """Pods of these namespaces (None: of every one) whose labels match."""

    namespaces: frozenset[str] | None
    selector: CompiledSelector

    def accepts(self, identity: Identity) -> bool:
        if self.namespaces is not None and identity.namespace not in self.namespaces:
            return False
        return self.selector.matches(dict(identity.labels))


class CounterKey(NamedTuple):
    """What a pod counter counts: pods that meet all of them."""

    matches: tuple[PodMatch, ...]
    skip_terminating: bool
    below: int | None = None  # only pods of a lower priority than this


class NodeCounts:
    """An int32 for each node that grows with the node table."""

    __slots__ = ("_buffer", "_sums")

    def __init__(self, counts: IdArray) -> None:
        self._buffer = counts
        self._sums: dict[LabelColumn, tuple[int, IntArray]] = {}  # with the version of the column they are for

    def counts(self, node_count: int) -> IdArray:
        """(nodes,)"""
        self._buffer = with_room(self._buffer, node_count)
        return self._buffer[:node_count]

    def by_domain(self, column: LabelColumn) -> IntArray:
        """(domains + 1,) sums over the nodes of each domain; the last entry is 0 and answers for id -1. Read-only.

        Made once for each label column that is asked for, and kept up to date.
        """
        known = self._sums.get(column)
        if known is None or known[0] != column.version:
            present = np.flatnonzero(column.present)
            counts = self.counts(len(column.ids))[present]
            sums = np.bincount(column.ids[present], weights=counts, minlength=column.domains + 1)
            known = self._sums[column] = (column.version, sums.astype(np.int64))
        return known[1]

    def add(self, node_row: int, amount: int) -> None:
        self._buffer = with_room(self._buffer, node_row + 1)
        self._buffer[node_row] += amount
        for column, (version, sums) in self._sums.items():
            # Sums of a column that changed since may be too short; they are made anew when somebody asks.
            if version == column.version:
                domain = column.ids.item(node_row)
                if domain != ABSENT:
                    sums[domain] += amount


_NOBODY: Mapping[int, NodeCounts] = {}


class IdentityIndex:
    """Identities by each of their labels. Reads the vocabulary when asked, so that pods that come cost nothing."""

    def __init__(self, identities: Vocabulary[Identity]) -> None:
        self.identities = identities
        self._indexed_count = 0
        self._by_label: defaultdict[tuple[str, str], list[int]] = defaultdict(list)

    def having(self, label: tuple[str, str] | None) -> Sequence[int]:
        """Ids of the identities with the label, or of all, in order; a list that only grows."""
        values = self.identities.values
        if label is None:
            return range(len(values))
        for identity_id in range(self._indexed_count, len(values)):
            for own_label in values[identity_id].labels:
                self._by_label[own_label].append(identity_id)
        self._indexed_count = len(values)
        return self._by_label.get(label, ())


class PodCounter:
    """Pods on each node that a key counts."""

    def __init__(self, key: CounterKey, identities: IdentityIndex) -> None:
        self.key = key
        self._identities = identities
        self._tested_count = 0  # of the identities that have what is wanted
        self._matching_ids: set[int] = set()
        telling = telling_requirement(match.selector for match in key.matches)
        self._wanted = (telling.key, telling.values[0]) if telling is not None and len(telling.values) == 1 else None
        self.nodes = NodeCounts(np.zeros(0, dtype=np.int32))

    def matches(self, identity_id: int) -> bool:
        return identity_id in self.matching_ids()

    def matching(self) -> BoolArray:
        """(identities + 1,) which identities match; the last entry answers for id -1."""
        return row_mask(row_array(list(self.matching_ids())), len(self._identities.identities.values) + 1)

    def matching_ids(self) -> set[int]:
        """To be read only."""
        values = self._identities.identities.values
        candidates = self._identities.having(self._wanted)
        for identity_id in candidates[self._tested_count :]:
            if all(match.accepts(values[identity_id]) for match in self.key.matches):
                self._matching_ids.add(identity_id)
        self._tested_count = len(candidates)
        return self._matching_ids


class Counters:
    """All counters in use, and the updates that keep them true."""

    def __init__(self, shapes: Shapes, pods: PodTable) -> None:
        self._shapes = shapes
        self._pods = pods
        self._identities = IdentityIndex(shapes.identities)
        self._pod_counters: dict[CounterKey, PodCounter] = {}
        self._counter_index: SelectorIndex[PodCounter] = SelectorIndex()
        self._followers: dict[int, list[PodCounter]] = {}  # identity of pods that were on a node -> counters
        self.terms: Vocabulary[CarriedTerm] = Vocabulary()
        self._term_index = TermIndex(self.terms)
        self._shapes_carrying: defaultdict[int, list[PodShape]] = defaultdict(list)  # by term
        self._carriers: dict[int, NodeCounts] = {}
        self._carriers_below: dict[int, dict[int, NodeCounts]] = {}  # by term, then by the priority they are below
        self._carrier_totals: defaultdict[int, int] = defaultdict(int)  # pods that carry a term, ghosts' included

    def pods_matching(
        self, matches: tuple[PodMatch, ...], *, skip_terminating: bool, below: int | None = None
    ) -> PodCounter:
        """The counter of pods that meet all of them, of any priority or below one; made now if nobody asked before."""
        key = CounterKey(matches, skip_terminating, below)
        counter = self._pod_counters.get(key)
        if counter is None:
            counter = self._pod_counters[key] = PodCounter(key, self._identities)
            self._counter_index.add(counter, *(match.selector for match in matches))
            # The first pod of its kind asks about pods that nobody has seen yet.
            seen = [identity_id for identity_id in counter.matching_ids() if identity_id in self._followers]
            if seen:
                counter.nodes = NodeCounts(self._count_where(counter.matching(), key))
            for identity_id in seen:
                self._followers[identity_id].append(counter)
        return counter

    def carriers(self, term_id: int) -> NodeCounts:
        """How many pods on each node carry the term (a pod that carries it twice counts twice)."""
        counts = self._carriers.get(term_id)
        if counts is None:
            counts = self._carriers[term_id] = NodeCounts(self._count_carriers(term_id))
        return counts

    def carriers_below(self, term_id: int, priority: int) -> NodeCounts:
        """The same for pods of a lower priority."""
        by_priority = self._carriers_below.setdefault(term_id, {})
        counts = by_priority.get(priority)
        if counts is None:
            counts = by_priority[priority] = NodeCounts(self._count_carriers(term_id, priority))
        return counts

    def terms_reaching(
        self, shape: PodShape, namespace_labels: Mapping[str, str], *, include_idle: bool = False
    ) -> list[int]:
        """Ids of the terms that match a pod of this shape, whose namespace has these labels.

        Idle terms are those that no running pod carries; a nominated pod may.
        """
        totals, terms = self._carrier_totals, self.terms.values
        return [
            term_id
            for term_id in self._term_index.candidates(shape.labels)
            if (include_idle or totals.get(term_id)) and term_reaches(terms[term_id].term, shape, namespace_labels)
        ]

    def times_carried(self, term_id: int) -> IdArray:
        """(shapes + 1,) how often pods of each shape carry the term; the last entry answers for id -1."""
        times = np.zeros(len(self._shapes.shapes) + 1, dtype=np.int32)
        for shape in self._shapes_carrying[term_id]:
            times[shape.id] = shape.carried_ids.count(term_id)
        return times

    def intern_terms(self, shape: PodShape) -> None:
        """Give the shape's terms their ids; done once, when a pod of the shape first enters the table."""
        if not shape.carried_ids and shape.has_pod_affinity:
            shape.carried_ids = tuple(self.terms.id(term) for term in shape.terms.carried())
            for term_id in set(shape.carried_ids):
                self._shapes_carrying[term_id].append(shape)

    def on_pod(self, pod_row: int, shape: PodShape, node_row: int, sign: int) -> None:
        """A pod came to (+1) or left (-1) a node."""
        followers = self._followers.get(shape.identity_id)
        if followers is None:
            followers = self._followers[shape.identity_id] = self._find_followers(shape)
        if followers:
            cells = self._pods.cells
            terminating, priority = cells.terminating[pod_row], cells.priorities[pod_row]
            for counter in followers:
                _, skip_terminating, below = counter.key
                if not (terminating and skip_terminating) and (below is None or priority < below):
                    counter.nodes.add(node_row, sign)
        if shape.carried_ids:
            self._count_carried(pod_row, shape, node_row, sign)

    def _count_carried(self, pod_row: int, shape: PodShape, node_row: int, sign: int) -> None:
        priority = self._pods.cells.priorities[pod_row]
        for term_id in shape.carried_ids:
            self._carrier_totals[term_id] += sign
            counts = self._carriers.get(term_id)
            if counts is not None:
                counts.add(node_row, sign)
            for below, counts in self._carriers_below.get(term_id, _NOBODY).items():
                if priority < below:
                    counts.add(node_row, sign)

    def _find_followers(self, shape: PodShape) -> list[PodCounter]:
        labels = self._shapes.identities.values[shape.identity_id].labels
        return [it for it in self._counter_index.candidates(labels) if it.matches(shape.identity_id)]

    def _count_where(self, identity_matches: BoolArray, key: CounterKey) -> IdArray:
        pods = self._pods
        counted = identity_matches[pods.identity_ids] & (pods.node_rows != ABSENT)
        if key.skip_terminating:
            counted &= ~pods.terminating
        if key.below is not None:
            counted &= pods.priorities < key.below
        return np.bincount(pods.node_rows[counted]).astype(np.int32)

    def _count_carriers(self, term_id: int, below: int | None = None) -> IdArray:
        pods = self._pods
        carried = self.times_carried(term_id)[pods.shape_ids]
        running = (pods.node_rows != ABSENT) & (carried > 0)
        if below is not None:
            running &= pods.priorities < below
        counts = np.bincount(pods.node_rows[running], weights=carried[running])
        return counts.astype(np.int32)


def term_reaches(term: AffinityTerm, shape: PodShape, namespace_labels: Mapping[str, str]) -> bool:
    """Whether a term carried by a running pod matches a pod of this shape, whose namespace has these labels."""
    in_namespace = shape.namespace in term.namespaces or term.namespace_selector.matches(namespace_labels)
    return in_namespace and term.selector.matches(shape.labels)
