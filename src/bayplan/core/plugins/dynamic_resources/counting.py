"""On which nodes a pod's claims can be served, for all nodes at once, without choosing devices.

Where requests only ask for some number of devices, and nothing ties one device to another, counting is enough: by
Hall's theorem everybody gets a device when every group of requests finds, among the devices that suit any of them, as
many as it asks for together. Nodes that see pools with counters, shared devices or contradictions are left undecided,
as are those on which a selector fails. Which alternative of a list is taken can be told for a list that is served
first: the first that works. Further down it depends on the devices that earlier requests took, so that
there only nodes that do not fit are decided.
Upstream: none, as it searches node by node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from bayplan.core.columns import BoolArray, IntArray
from bayplan.core.columns.devices import FAILS, MATCHES, Inventory
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.feature_gates import FeatureGates
from bayplan.core.plugins.device_pools import DeviceColumns, device_columns
from bayplan.core.plugins.dynamic_resources.allocation import RESULTS_MAX, hindered_by
from bayplan.core.plugins.dynamic_resources.capacity import CapacityError, has_capacity
from bayplan.core.plugins.dynamic_resources.requests import Plan, RequestPlan, expressions_of
from bayplan.model.resource_claims import EXACT_COUNT, Device

#: What an alternative is worth in the score: the first of a list this much, each later one less by one.
ALTERNATIVES_MAX = 8
COMBINATIONS_MAX = 64
REQUESTS_MAX = 6


@dataclass(slots=True)
class CountedNodes:
    """What counting found."""

    decided: BoolArray  # (nodes,)
    fits: BoolArray  # (nodes,) where decided
    scores: IntArray  # (nodes,) where it fits: worth of the alternatives


def count_nodes(inventory: Inventory, nodes: NodeTable, plan: Plan) -> CountedNodes | None:
    """None when the claims ask for something that cannot be counted."""
    requests = [alternatives for claim in plan.claims for alternatives in claim.requests]
    if not _is_countable(inventory, plan, requests):
        return None
    columns = device_columns(inventory, nodes)
    counter = _Counter(inventory, columns, nodes.count)
    undecided = columns.odd.copy()
    suitable: dict[int, BoolArray] = {}
    for alternatives in requests:
        for request in alternatives:
            expressions = _expressions(inventory, request)
            outcomes = inventory.outcomes(expressions)
            undecided |= counter.count(outcomes == FAILS) > 0
            suitable[id(request)] = (outcomes == MATCHES) & _usable(inventory, request)
    fits: BoolArray = np.zeros(nodes.count, dtype=np.bool_)
    scores: IntArray = np.zeros(nodes.count, dtype=np.int64)
    for chosen in product(*(range(len(alternatives)) for alternatives in requests)):
        taken = [alternatives[place] for alternatives, place in zip(requests, chosen, strict=True)]
        works = counter.suffice([(suitable[id(request)], request.count) for request in taken]) & ~fits
        scores[works] = sum(
            ALTERNATIVES_MAX - place for request, place in zip(taken, chosen, strict=True) if request.parent
        )
        fits |= works
    if any(len(alternatives) > 1 for alternatives in requests[1:]):
        undecided |= fits
    return CountedNodes(~undecided, fits, scores)


def _is_countable(inventory: Inventory, plan: Plan, requests: Sequence[tuple[RequestPlan, ...]]) -> bool:
    return (
        len(requests) <= REQUESTS_MAX
        and int(np.prod([len(alternatives) for alternatives in requests], dtype=np.int64)) <= COMBINATIONS_MAX
        and all(not claim.constraints for claim in plan.claims)
        and all(
            sum(max(request.count for request in alternatives) for alternatives in claim.requests) <= RESULTS_MAX
            for claim in plan.claims
        )
        and all(_is_plain(inventory, request) for alternatives in requests for request in alternatives)
    )


def _is_plain(inventory: Inventory, request: RequestPlan) -> bool:
    return (
        request.mode == EXACT_COUNT
        and request.count >= 0
        and not request.is_admin
        and request.capacity is None
        and request.class_name in inventory.classes
        and None not in request.selectors
    )


def _expressions(inventory: Inventory, request: RequestPlan) -> tuple[str, ...]:
    of_class = expressions_of(inventory.classes[request.class_name].spec.selectors)
    return tuple(expression for expression in (*of_class, *request.selectors) if expression is not None)


def _usable(inventory: Inventory, request: RequestPlan) -> BoolArray:
    """(contents,) devices whose taints are tolerated and whose own policy lets them be used as a whole."""
    key = ("usable", tuple((t.key, t.operator, t.value, t.effect) for t in request.tolerations))
    known: BoolArray | None = inventory.remembered.get(key)
    if known is None or len(known) != inventory.content_count:
        samples = (inventory.sample(content_id) for content_id in range(inventory.content_count))
        found = (
            not hindered_by(device.taints, request.tolerations) and _gives_default(device, inventory.gates)
            for device in samples
        )
        known = np.fromiter(found, np.bool_, inventory.content_count)
        inventory.remember(key, known)
    return known


def _gives_default(device: Device, gates: FeatureGates) -> bool:
    """Where that cannot be computed, the search tells why."""
    try:
        return has_capacity(None, device.capacity, None, None, gates)
    except CapacityError:
        return False


class _Counter:
    """Free devices of some content that each node sees."""

    def __init__(self, inventory: Inventory, columns: DeviceColumns, node_count: int) -> None:
        self._columns = columns
        self._node_count = node_count
        free = columns.free(inventory)
        self._rows = columns.node_rows[free]
        self._content_ids = columns.content_ids[free]
        self._shared = [
            (
                shared.visible,
                shared.content_ids[[entry.id not in inventory.holders for entry in shared.entries]],
            )
            for shared in columns.shared
            if shared.entries
        ]

    def count(self, contents: BoolArray) -> IntArray:
        """(nodes,) how many devices with one of these contents there are."""
        local = self._rows[contents[self._content_ids]] if len(contents) else self._rows[:0]
        counts: IntArray = np.bincount(local, minlength=self._node_count).astype(np.int64)
        for visible, content_ids in self._shared:
            counts += visible * int(np.count_nonzero(contents[content_ids]))
        return counts

    def suffice(self, wanted: Sequence[tuple[BoolArray, int]]) -> BoolArray:
        """(nodes,) where everybody finds what they want."""
        works: BoolArray = np.ones(self._node_count, dtype=np.bool_)
        for group in _groups([(contents, number) for contents, number in wanted if number]):
            together = np.logical_or.reduce([contents for contents, _ in group])
            works &= self.count(together) >= sum(number for _, number in group)
        return works


def _groups(wanted: Sequence[tuple[BoolArray, int]]) -> Iterator[tuple[tuple[BoolArray, int], ...]]:
    """Every group that could be short of devices; those who want the same are always counted together."""
    merged: dict[bytes, tuple[BoolArray, int]] = {}
    for contents, number in wanted:
        key = contents.tobytes()
        merged[key] = (contents, number + (merged[key][1] if key in merged else 0))
    for size in range(1, len(merged) + 1):
        yield from combinations(merged.values(), size)
