"""The node table: what nodes offer and what runs on them.

A row lives as long as its node or any pod on it does; the table gets shorter when most of its last rows are free, as
every decision looks at all rows. A *ghost* is a row without a node object (a pod named the
node before it was seen, or the node is gone and its pods are not): it keeps accounts but is not `alive`, has no
labels and nothing allocatable, and no snapshot user may count it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from bayplan.core.columns import BoolArray, IdArray, IntArray
from bayplan.core.columns.changes import ChangeLog
from bayplan.core.columns.labels import NO_LABELS, NodeLabels
from bayplan.core.columns.masks import MaskCache
from bayplan.core.columns.name_ranks import NameRanks
from bayplan.core.columns.node_order import NodeOrder
from bayplan.core.columns.resources import ResourceVocabulary, allocatable_amounts
from bayplan.core.columns.table import INITIAL_CAPACITY, PER_RESOURCE, ColumnTable, column, part
from bayplan.core.columns.vocabulary import Serials, Vocabulary
from bayplan.model.fingerprint import digest
from bayplan.model.node import Node, Taint

TaintSet = tuple[tuple[str, str, str], ...]

#: What a node offers: amounts of resources, and how many pods.
Size = tuple[frozenset[tuple[str, int]], int]


@dataclass(slots=True)
class ImageState:
    """An image name known to some node: the size first reported for it, and who has it."""

    size_bytes: int
    rows: set[int]


class _Used(NamedTuple):
    """What a node with an object uses of the vocabularies."""

    taint_set: int
    feature_set: int
    size: int
    resources: tuple[int, ...]


class Absent(NamedTuple):
    """A node that is gone for a while, with all that was known of its object."""

    row: int
    looks: bytes
    used: _Used
    unschedulable: bool
    allocatable: IntArray  # (resources,)
    allowed_pods: int
    labels: Mapping[str, str]
    ranks_version: int
    images: list[tuple[str, ImageState]]
    image_version: int


class Changed(NamedTuple):
    """A node whose spec is another for a while, with what it was."""

    row: int
    looks: bytes
    used: _Used
    unschedulable: bool


class NodeTable(ColumnTable):
    """Nodes as rows."""

    alive: BoolArray = column(np.bool_, False)  # (nodes,) has a node object
    unschedulable: BoolArray = column(np.bool_, False)  # (nodes,)
    #: (nodes, resources) milli-cores and whole units
    allocatable: IntArray = column(np.int64, width=PER_RESOURCE, by_width=True)
    allowed_pods: IntArray = column(np.int64)  # (nodes,)
    size_ids: IdArray = column(np.int32)  # (nodes,) equal for nodes that offer the same amounts; 0: nothing
    #: (nodes, 3 + resources) what the pods there take, all that is below in one row
    taken: IntArray = column(np.int64, width=PER_RESOURCE, more=3, by_width=True)
    pod_counts: IntArray = part("taken", 0)  # (nodes,)
    #: (nodes, 2) cpu and memory, with the scheduler's minimum for pods that ask nothing
    nonzero_requested: IntArray = part("taken", slice(1, 3))
    #: (nodes, resources) what the pods there ask for
    requested: IntArray = part("taken", slice(3, None))
    taint_set_ids: IdArray = column(np.int32)  # (nodes,) ids in `taint_sets`
    feature_set_ids: IdArray = column(np.int32)  # (nodes,) ids in `feature_sets`

    def __init__(self, resources: ResourceVocabulary) -> None:
        super().__init__(resources)
        self.labels = NodeLabels()
        self.order = NodeOrder()
        self.masks = MaskCache()  # of node selectors
        self.names: list[str] = []
        self.rows_by_name: dict[str, int] = {}
        self.pod_rows: list[list[int]] = []  # pods of each node, in upstream's order: removal moves the last one in
        self.sizes: Serials[Size] = Serials()
        self.taint_sets: Vocabulary[TaintSet] = Vocabulary(blank=())
        self.feature_sets: Vocabulary[frozenset[str]] = Vocabulary(blank=frozenset())
        # Rows without a node object have the id 0 of what is empty, which is never given back.
        self.taint_sets.take(())
        self.feature_sets.take(frozenset())
        self._used: dict[int, _Used] = {}  # by row
        self._looks: dict[int, bytes] = {}  # of rows that are alive: what their columns were made of
        self.images: dict[str, ImageState] = {}
        self._images_of: dict[int, list[str]] = {}
        self.image_version = 0  # another when an image gets another size, or is held by other nodes than before
        self._last_image_version = 0
        self.alive_count = 0
        self.spec_changes = ChangeLog()  # rows whose node object changed
        self.usage_changes = ChangeLog()  # rows whose pods changed, or their node object
        self.importance_changes = ChangeLog()  # rows whose pods changed in importance only: start time, order
        #: Of each row: another number when its node object or its pods change, the old one when that is undone.
        self.versions: list[int] = []
        self._last_version = 0
        self._versions_before: dict[int, int] | None = None  # during a trial: of rows that changed in it
        self.order_version = 0  # grows whenever a node comes or goes
        self.ranks = NameRanks(self.rows_by_name)

    def name_ranks(self) -> IntArray:
        """(nodes,) numbers in the order of names: see `NameRanks`."""
        return self.ranks.of_rows(self.count)

    def named(self, names: Iterable[str]) -> BoolArray:
        """(nodes,) the nodes with one of these names."""
        named = np.zeros(self.count, dtype=np.bool_)
        named[[self.rows_by_name[name] for name in names if name in self.rows_by_name]] = True
        return named

    def naming(self, resource: str) -> BoolArray:
        """(nodes,) the nodes that say how much of the resource they have, be it nothing."""
        naming = [serial for (amounts, _), serial in self.sizes.items() if any(name == resource for name, _ in amounts)]
        return np.isin(self.size_ids, naming)

    def declaring(self, feature: str) -> BoolArray:
        """(nodes,) the nodes whose kubelet says that it has the feature."""
        declaring = np.array([feature in features for features in self.feature_sets.values], dtype=np.bool_)
        return declaring[self.feature_set_ids]

    def add_node(self, node: Node) -> int:
        """Add a node, or replace the object of one that is known."""
        row = self.row_for(node.metadata.name)
        looks = _looks_of(node)
        if self._looks.get(row) == looks:
            return row  # a heartbeat: nothing that was worked out for this node is out of date
        self._looks[row] = looks
        if not self.alive[row]:
            self.alive_count += 1
            self.order_version += 1
            self.ranks.add(node.metadata.name)
        self.alive[row] = True
        self.unschedulable[row] = node.spec.unschedulable
        before = self._used.pop(row, None)
        self._use(row, node)
        if before is not None:
            self._give_back(before)
        self.labels.set(row, node.metadata.labels)
        self.order.put(node.metadata.name, node.metadata.labels)
        self._set_images(row, node)
        self._object_changed(row)
        return row

    def _object_changed(self, row: int) -> None:
        self.spec_changes.append(row)
        self.pods_changed(row)

    def all_changed(self) -> None:
        """Something else has changed that is part of what is known of each node."""
        self.spec_changes.break_off()
        self.usage_changes.break_off()

    def pods_changed(self, row: int) -> None:
        """Pods came to the node or left it, or what is kept for others there."""
        self.usage_changes.append(row)
        if self._versions_before is None:  # by far the most frequent of all changes
            self._last_version = self.versions[row] = self._last_version + 1
        else:
            self._next_version(row)

    def importance_changed(self, row: int) -> None:
        """The pods are the same, in another order or with other start times."""
        self.importance_changes.append(row)
        self._next_version(row)

    def _next_version(self, row: int) -> None:
        self._last_version += 1
        if self._versions_before is not None:
            self._versions_before.setdefault(row, self.versions[row])
        self.versions[row] = self._last_version

    @contextmanager
    def trial(self) -> Iterator[None]:
        """What is done in here is undone before the end, by others; logs and versions follow."""
        logs = (self.spec_changes, self.usage_changes, self.importance_changes)
        positions = [log.position for log in logs]
        before: dict[int, int] = {}
        self._versions_before = before
        try:
            yield
        finally:
            self._versions_before = None
            for row, version in before.items():
                if row < len(self.versions):
                    self.versions[row] = version
            for log, position in zip(logs, positions, strict=True):
                log.take_back(position)

    def remove_node(self, name: str) -> None:
        """Forget the node object; the row stays as a ghost while pods are on it."""
        row = self.rows_by_name[name]
        assert self.alive[row], f"node {name} is not known"
        used = self._used[row]
        self.order.remove(name)
        self._clear_object(row)
        self._give_back(used)
        self.release_if_empty(row)

    def _clear_object(self, row: int) -> None:
        name = self.names[row]
        self.alive[row] = False
        del self._looks[row]
        self.alive_count -= 1
        self.order_version += 1
        self.ranks.remove(name)
        self.allocatable[row] = 0
        self.allowed_pods[row] = 0
        self.size_ids[row] = 0
        self.unschedulable[row] = False
        self.taint_set_ids[row] = 0
        self.feature_set_ids[row] = 0
        del self._used[row]
        self.labels.set(row, NO_LABELS)
        self._drop_images(row)
        self._object_changed(row)

    def take_out(self, name: str) -> Absent:
        """Remove the node object for a while; until it is put back, the row is a ghost, even without pods."""
        row = self.rows_by_name[name]
        images = [(image, self.images[image]) for image in self._images_of.get(row, ())]
        absent = Absent(
            row,
            self._looks[row],
            self._used[row],
            bool(self.unschedulable[row]),
            self.allocatable[row].copy(),
            int(self.allowed_pods[row]),
            self.labels[row],
            self.ranks.version,
            images,
            self.image_version,
        )
        self.order.hide(name)
        self._clear_object(row)
        self._next_image_version()
        return absent

    def put_back(self, absent: Absent) -> None:
        """As it was. Whatever was done since it was taken out has been undone; the log is up to the caller."""
        row, used, name = absent.row, absent.used, self.names[absent.row]
        self._looks[row] = absent.looks
        self._used[row] = used
        self.alive[row] = True
        self.alive_count += 1
        self.order_version += 1
        self.ranks.put_back(name, absent.ranks_version)
        self.unschedulable[row] = absent.unschedulable
        self.allocatable[row, : len(absent.allocatable)] = absent.allocatable
        self.allowed_pods[row] = absent.allowed_pods
        self.taint_set_ids[row], self.feature_set_ids[row], self.size_ids[row], _ = used
        self.labels.set(row, absent.labels)
        self.order.show(name)
        for image, state in absent.images:
            self.images.setdefault(image, state).rows.add(row)
        self._images_of[row] = [image for image, _ in absent.images]
        self.image_version = absent.image_version

    def change(self, node: Node) -> Changed | None:
        """Another spec for a node, for a while; what it uses stays in use. None if it is what it was."""
        row = self.rows_by_name[node.metadata.name]
        before = Changed(row, self._looks[row], self._used[row], bool(self.unschedulable[row]))
        looks = _looks_of(node)
        if looks == before.looks:
            return None
        self._use(row, node)
        is_spec_alone = self._used[row]._replace(taint_set=before.used.taint_set) == before.used
        assert is_spec_alone, "a trial changes no more of a node than its spec"
        self._looks[row] = looks
        self.unschedulable[row] = node.spec.unschedulable
        self._object_changed(row)
        return before

    def change_back(self, before: Changed) -> None:
        """As it was; the log is up to the caller."""
        row = before.row
        self._give_back(self._used[row])
        self._looks[row] = before.looks
        self._used[row] = before.used
        self.unschedulable[row] = before.unschedulable
        self.taint_set_ids[row] = before.used.taint_set

    def row_for(self, name: str) -> int:
        """The row of `name`; a ghost is made where there is none."""
        row = self.rows_by_name.get(name)
        if row is None:
            row = self._new_row()
            if row == len(self.names):
                self.names.append(name)
                self.pod_rows.append([])
                self.versions.append(0)
            self.names[row] = name
            self.rows_by_name[name] = row
            self.labels.set(row, NO_LABELS)
        return row

    def release_if_empty(self, row: int) -> None:
        """Free a ghost without pods."""
        if not self.pod_rows[row] and not self.alive[row]:
            del self.rows_by_name[self.names[row]]
            self.names[row] = ""
            self._clear_row(row)
            heappush(self._free_rows, row)
            if 2 * len(self._free_rows) > max(self.count, INITIAL_CAPACITY):
                self._shorten()

    def _new_row(self) -> int:
        """The first that is free, so that the last ones get free in time."""
        return heappop(self._free_rows) if self._free_rows else super()._new_row()

    def _shorten(self) -> None:
        """Give up free rows at the end where they are at least half of the table."""
        count = 1 + max(self.rows_by_name.values(), default=-1)
        if 2 * count > self.count:
            return
        self.count = count
        self.order_version += 1
        self._free_rows = [row for row in self._free_rows if row < count]  # a sorted list is a heap
        self._free_rows.sort()
        del self.names[count:], self.pod_rows[count:], self.versions[count:]
        self.labels.shorten(count)
        self._give_room_back()

    def _use(self, row: int, node: Node) -> None:
        """Set what the node offers and forbids."""
        amounts, allowed_pods = allocatable_amounts(node.status.allocatable)
        used = self._used[row] = _Used(
            self.taint_sets.take(taint_set(node.spec.taints)),
            self.feature_sets.take(frozenset(node.status.declared_features)),
            self.sizes.take((frozenset(amounts.items()), allowed_pods)),
            tuple(map(self.resources.take, amounts)),
        )
        self.allocatable[row] = 0
        for resource, amount in zip(used.resources, amounts.values(), strict=True):
            self.allocatable[row, resource] = amount
        self.allowed_pods[row] = allowed_pods
        self.taint_set_ids[row], self.feature_set_ids[row], self.size_ids[row], _ = used

    def _give_back(self, used: _Used) -> None:
        self.taint_sets.drop(used.taint_set)
        self.feature_sets.drop(used.feature_set)
        self.sizes.drop(used.size)
        for resource in used.resources:
            self.resources.drop(resource)

    def _set_images(self, row: int, node: Node) -> None:
        before = self._facts_of_images(row)
        self._drop_images(row)
        names = self._images_of[row] = []
        for image in node.status.images:
            for name in image.names:
                state = self.images.setdefault(name, ImageState(image.size_bytes, set()))
                state.rows.add(row)
                names.append(name)
        if before != self._facts_of_images(row):
            self._next_image_version()

    def _next_image_version(self) -> None:
        """One that was never there before, even if the present one has been there again."""
        self._last_image_version += 1
        self.image_version = self._last_image_version

    def _facts_of_images(self, row: int) -> list[tuple[str, int]]:
        """What the row's images are, and what is known of them."""
        return [(name, self.images[name].size_bytes) for name in self._images_of.get(row, ())]

    def _drop_images(self, row: int) -> None:
        for name in self._images_of.pop(row, ()):
            state = self.images.get(name)
            if state is not None:
                state.rows.discard(row)
                if not state.rows:
                    del self.images[name]


def _looks_of(node: Node) -> bytes:
    """Equal for nodes that give the same columns."""
    spec, status = node.spec, node.status
    return digest(
        (
            node.metadata.labels,
            spec.unschedulable,
            spec.taints,
            status.allocatable,
            status.images,
            status.declared_features,
        )
    )


def taint_set(taints: Iterable[Taint]) -> TaintSet:
    return tuple((taint.key, taint.value, taint.effect) for taint in taints)
