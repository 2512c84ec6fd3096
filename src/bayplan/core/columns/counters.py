"""Counts of pods for each node, kept up to date as pods come and go: no decision ever scans the pods.

Two kinds. A *pod counter* belongs to a selector that pods ask about (a spread constraint, an affinity term of
the pod being scheduled) and counts the pods on each node that match. A *carrier counter* belongs to an affinity
term of running pods and counts the pods on each node that carry it.

A selector is evaluated once for each identity (namespace and label set), never for each pod. Counts come into
being by one pass over the pod table when first asked for, and follow every change from then on. They go with the last
shape of pods that asked for them or that carries the term, and when memory is short: they can be made again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray, row_array, row_mask, with_room
from bayplan.core.columns.labels import LabelColumn
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.pods import PodTable
from bayplan.core.columns.recent import COUNTS_BYTES_MAX, Recent
from bayplan.core.columns.shapes import Identity, PodShape, Shapes
from bayplan.core.columns.term_index import SelectorIndex, telling_requirement
from bayplan.core.columns.terms import AffinityTerm, CarriedTerm, TermKind
from bayplan.core.columns.vocabulary import Vocabulary
from bayplan.model.selectors import CompiledSelector


class PodMatch(NamedTuple):
    """Pods of these namespaces (None: of every one) whose labels match."""

    namespaces: frozenset[str] | None
    selector: CompiledSelector

    def accepts(self, namespace: str, labels: Mapping[str, str]) -> bool:
        if self.namespaces is not None and namespace not in self.namespaces:
            return False
        return self.selector.matches(labels)


class CounterKey(NamedTuple):
    """What a pod counter counts: pods that meet all of them."""

    matches: tuple[PodMatch, ...]
    skip_terminating: bool
    below: int | None = None  # only pods of a lower priority than this


class CarrierKey(NamedTuple):
    """What a carrier counter counts: pods that carry the term, of any priority or below one."""

    term_id: int
    below: int | None


class NodeCounts:
    """An int32 for each node that grows with the node table."""

    __slots__ = ("_buffer", "_sums", "is_followed")

    def __init__(self, counts: IdArray) -> None:
        self._buffer = counts
        self.is_followed = True  # False: it was dropped, and what happens from now on is not counted
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
            sums = np.bincount(column.ids[present], weights=counts, minlength=column.domains + 1).astype(np.int64)
            if not column.is_followed:  # and will soon be forgotten by the one who asks
                return sums
            for other in [each for each, (version, _) in self._sums.items() if version != each.version]:
                del self._sums[other]  # which may not be asked for again
            known = self._sums[column] = (column.version, sums)
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


#: What a counter takes beside its counts, with its key and its place in the index.
_COUNTER_BYTES = 2_000
_BYTES_PER_NODE = 4

_NOBODY: Mapping[int, int] = {}
_NOT_COUNTED: Mapping[int | None, NodeCounts] = {}
_NO_TERM = CarriedTerm(
    TermKind.REQUIRED, 0, AffinityTerm("", frozenset(), CompiledSelector.NOTHING, CompiledSelector.NOTHING)
)


class PodCounter:
    """Pods on each node that a key counts."""

    __slots__ = ("asking_ids", "key", "matching_ids", "nodes")

    def __init__(self, key: CounterKey) -> None:
        self.key = key
        self.matching_ids: set[int] = set()  # identities that match, of those in the pod table; kept by `Counters`
        self.asking_ids: set[int] = set()  # shapes that asked for it
        self.nodes = NodeCounts(np.zeros(0, dtype=np.int32))

    def accepts(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod with these labels would be counted."""
        # A generator would take longer than most of these answers.
        for match in self.key.matches:  # noqa: SIM110
            if not match.accepts(namespace, labels):
                return False
        return True


class IdentityIndex:
    """Identities of pods in the table, by each of their labels."""

    def __init__(self, identities: Vocabulary[Identity]) -> None:
        self._identities = identities
        self._by_label: dict[tuple[str, str], dict[int, None]] = {}
        self._all: dict[int, None] = {}
        self._unread: set[int] = set()  # those whose labels were not looked at: often nobody asks

    def add(self, identity_id: int) -> None:
        self._all[identity_id] = None
        self._unread.add(identity_id)

    def _read(self) -> None:
        for identity_id in self._unread:
            for label in self._identities.values[identity_id].labels:
                self._by_label.setdefault(label, {})[identity_id] = None
        self._unread.clear()

    def remove(self, identity_id: int, identity: Identity) -> None:
        del self._all[identity_id]
        if identity_id in self._unread:
            self._unread.remove(identity_id)
            return
        for label in identity.labels:
            having = self._by_label[label]
            del having[identity_id]
            if not having:
                del self._by_label[label]

    def matching(self, counter: PodCounter) -> list[int]:
        """Ids of those that the counter counts."""
        self._read()
        telling = telling_requirement(match.selector for match in counter.key.matches)
        if telling is None:
            candidates = list(self._all)
        else:
            candidates = [each for value in telling.values for each in self._by_label.get((telling.key, value), ())]
        values = self._identities.values
        return [each for each in candidates if counter.accepts(values[each].namespace, dict(values[each].labels))]


_Counted: TypeAlias = PodCounter | NodeCounts


class Counters:
    """All counters in use, and the updates that keep them true."""

    def __init__(self, shapes: Shapes, pods: PodTable, nodes: NodeTable) -> None:
        self._shapes = shapes
        self._pods = pods
        self._nodes = nodes
        self._identities = IdentityIndex(shapes.identities)
        self._recent: Recent[CounterKey | CarrierKey, _Counted] = Recent(COUNTS_BYTES_MAX, self._dropped)
        self._counter_index: SelectorIndex[PodCounter] = SelectorIndex()
        #: By identity of pods in the table, with the identity: counters that count them.
        self._followers: dict[int, tuple[Identity, list[PodCounter]]] = {}
        self._asked_by: dict[int, dict[CounterKey, None]] = {}  # shape -> what it asked for
        self.terms: Vocabulary[CarriedTerm] = Vocabulary(_NO_TERM)
        self._term_index: SelectorIndex[int] = SelectorIndex()
        self._carried_by: dict[int, tuple[int, ...]] = {}  # shape -> its terms
        self._times_carried: dict[int, dict[int, int]] = {}  # term -> shape -> how often
        self._carriers: dict[int, dict[int | None, NodeCounts]] = {}  # by term, then by the priority they are below
        self._carrier_totals: dict[int, int] = {}  # pods that carry a term, ghosts' included

    def pods_matching(
        self, matches: tuple[PodMatch, ...], shape: PodShape, *, skip_terminating: bool, below: int | None = None
    ) -> PodCounter:
        """The counter of pods that meet all of them, of any priority or below one; made now if it is new.

        Pods of the shape ask for it.
        """
        key = CounterKey(matches, skip_terminating, below)
        counter = self._recent.get(key)
        if counter is None:
            counter = self._make(key)
        assert isinstance(counter, PodCounter)
        if shape.id not in counter.asking_ids:
            counter.asking_ids.add(shape.id)
            self._asked_by.setdefault(shape.id, {})[key] = None
        return counter

    def _make(self, key: CounterKey) -> PodCounter:
        counter = PodCounter(key)
        self._counter_index.add(counter, *(match.selector for match in key.matches))
        found = self._identities.matching(counter)
        # The first pod of its kind asks about pods that are not there yet.
        if found:
            counter.matching_ids.update(found)
            counter.nodes = NodeCounts(self._count_where(self.matching(counter), key))
            for identity_id in found:
                self._followers[identity_id][1].append(counter)
        self._recent.put(key, counter, self._size())
        return counter

    def matching(self, counter: PodCounter) -> BoolArray:
        """(identities + 1,) which identities of pods in the table the counter counts; the last entry is for id -1."""
        return row_mask(row_array(list(counter.matching_ids)), len(self._shapes.identities) + 1)

    def carriers(self, term_id: int, below: int | None = None) -> NodeCounts:
        """How many pods on each node carry the term, of any priority or below one.

        A pod that carries it twice counts twice.
        """
        key = CarrierKey(term_id, below)
        counts = self._recent.get(key)
        if counts is None:
            counts = NodeCounts(self._count_carriers(key))
            self._carriers.setdefault(key.term_id, {})[key.below] = counts
            self._recent.put(key, counts, self._size())
        assert isinstance(counts, NodeCounts)
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
            for term_id in self._term_index.candidates(shape.labels.items())
            if (include_idle or totals.get(term_id)) and term_reaches(terms[term_id].term, shape, namespace_labels)
        ]

    def times_carried(self, term_id: int) -> IdArray:
        """(shapes + 1,) how often pods of each shape carry the term; the last entry answers for id -1."""
        times = np.zeros(len(self._shapes) + 1, dtype=np.int32)
        for shape_id, often in self._times_carried.get(term_id, _NOBODY).items():
            times[shape_id] = often
        return times

    # ---------------------------------------------------------------- pods that come and go

    def on_shape(self, shape: PodShape) -> None:
        """A pod of the shape enters the table."""
        if shape.identity_id not in self._followers:
            self._follow_identity(shape)
        if shape.has_pod_affinity and shape.id not in self._carried_by:
            self._take_terms(shape)

    def _follow_identity(self, shape: PodShape) -> None:
        identity_id = shape.identity_id
        identity = self._shapes.identities.values[identity_id]
        self._identities.add(identity_id)
        candidates = self._counter_index.candidates(identity.labels)
        followers = [counter for counter in candidates if counter.accepts(shape.namespace, shape.labels)]
        self._followers[identity_id] = (identity, followers)
        for counter in followers:
            counter.matching_ids.add(identity_id)

    def _take_terms(self, shape: PodShape) -> None:
        for term in shape.terms.carried():
            is_new = self.terms.find(term) == ABSENT
            term_id = self.terms.take(term)
            shape.carried_ids += (term_id,)
            if is_new:
                self._term_index.add(term_id, term.term.selector)
            times = self._times_carried.setdefault(term_id, {})
            times[shape.id] = times.get(shape.id, 0) + 1
        self._carried_by[shape.id] = shape.carried_ids

    def on_pod(self, pod_row: int, shape: PodShape, node_row: int, sign: int) -> None:
        """A pod came to (+1) or left (-1) a node."""
        followers = self._followers[shape.identity_id][1]
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
            self._carrier_totals[term_id] = self._carrier_totals.get(term_id, 0) + sign
            for below, counts in self._carriers.get(term_id, _NOT_COUNTED).items():
                if below is None or priority < below:
                    counts.add(node_row, sign)

    # ---------------------------------------------------------------- what is forgotten

    def forget_shape(self, shape_id: int) -> None:
        """No pod has the shape any more."""
        for key in self._asked_by.pop(shape_id, ()):
            counter = self._recent.peek(key)
            assert isinstance(counter, PodCounter)
            counter.asking_ids.remove(shape_id)
            if not counter.asking_ids:
                self._recent.pop(key)
                self._dropped(key, counter)
        for term_id in self._carried_by.pop(shape_id, ()):
            self._times_carried[term_id].pop(shape_id, None)
            term = self.terms.values[term_id].term
            if self.terms.drop(term_id):
                self._forget_term(term_id, term)

    def forget_identity(self, identity_id: int) -> None:
        """No shape has the identity any more."""
        known = self._followers.pop(identity_id, None)
        if known is not None:  # a pod in the table had it once
            identity, followers = known
            self._identities.remove(identity_id, identity)
            for counter in followers:
                counter.matching_ids.remove(identity_id)

    def _forget_term(self, term_id: int, term: AffinityTerm) -> None:
        self._term_index.remove(term_id, term.selector)
        del self._times_carried[term_id]
        assert not self._carrier_totals.pop(term_id, 0), "a pod still carries the term"
        for below in list(self._carriers.get(term_id, ())):
            key = CarrierKey(term_id, below)
            counts = self._recent.pop(key)
            assert counts is not None
            self._dropped(key, counts)

    def _dropped(self, key: CounterKey | CarrierKey, counted: _Counted) -> None:
        """Count no longer. It is made again if pods ask for it."""
        if isinstance(counted, NodeCounts):
            assert isinstance(key, CarrierKey)
            counted.is_followed = False
            del self._carriers[key.term_id][key.below]
            if not self._carriers[key.term_id]:
                del self._carriers[key.term_id]
            return
        assert isinstance(key, CounterKey)
        counted.nodes.is_followed = False
        self._counter_index.remove(counted, *(match.selector for match in key.matches))
        for identity_id in counted.matching_ids:
            self._followers[identity_id][1].remove(counted)
        for shape_id in counted.asking_ids:
            del self._asked_by[shape_id][key]

    def sizes(self) -> dict[str, int]:
        """How many entries each table has."""
        return {
            "counters": len(self._recent),
            "identities followed": len(self._followers),
            "shapes that ask": len(self._asked_by),
            "shapes that carry terms": len(self._carried_by),
            "terms carried": len(self._times_carried),
            "terms counted": len(self._carriers),
        }

    # ---------------------------------------------------------------- counting from scratch

    def _size(self) -> int:
        """Bytes that a counter takes, by estimate."""
        return _COUNTER_BYTES + _BYTES_PER_NODE * self._nodes.count

    def _count_where(self, identity_matches: BoolArray, key: CounterKey) -> IdArray:
        pods = self._pods
        counted = identity_matches[pods.identity_ids] & (pods.node_rows != ABSENT)
        if key.skip_terminating:
            counted &= ~pods.terminating
        if key.below is not None:
            counted &= pods.priorities < key.below
        return np.bincount(pods.node_rows[counted]).astype(np.int32)

    def _count_carriers(self, key: CarrierKey) -> IdArray:
        pods = self._pods
        carried = self.times_carried(key.term_id)[pods.shape_ids]
        running = (pods.node_rows != ABSENT) & (carried > 0)
        if key.below is not None:
            running &= pods.priorities < key.below
        counts = np.bincount(pods.node_rows[running], weights=carried[running])
        return counts.astype(np.int32)


def term_reaches(term: AffinityTerm, shape: PodShape, namespace_labels: Mapping[str, str]) -> bool:
    """Whether a term carried by a running pod matches a pod of this shape, whose namespace has these labels."""
    in_namespace = shape.namespace in term.namespaces or term.namespace_selector.matches(namespace_labels)
    return in_namespace and term.selector.matches(shape.labels)
