"""Nodes by how much of their storage a pod's claims would take, with the gate StorageCapacityScoring.

Takes the claims with the volumes they would be bound to or the capacity they would be made from; gives a score for each
node: for each storage class the point of the configured line at the share in use, and the mean of the classes. A node
where any claim would be bound to an existing volume is judged by such claims alone.
Upstream: plugins/volumebinding/scorer.go and Score of volume_binding.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray, IntArray
from bayplan.core.plugins.utilization import MAX_UTILIZATION, rounded_quotient
from bayplan.core.plugins.volume_claims import STORAGE
from bayplan.core.plugins.volume_space import NO_SPACE
from bayplan.model.meta import RawQuantity
from bayplan.model.quantity import parse_quantity, whole_value
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim


class ClassUse:
    """What the claims of one storage class take on each node, of how much."""

    def __init__(self, node_count: int) -> None:
        self.requested: IntArray = np.zeros(node_count, dtype=np.int64)
        self.capacity: IntArray = np.zeros(node_count, dtype=np.int64)
        self.counts: BoolArray = np.zeros(node_count, dtype=np.bool_)


def scores_of(uses: Iterable[ClassUse], by_utilization: IntArray, node_count: int) -> IntArray:
    """(nodes,) the mean over the classes that count on the node; 0 where none does."""
    total: IntArray = np.zeros(node_count, dtype=np.int64)
    classes: IntArray = np.zeros(node_count, dtype=np.int64)
    for use in uses:
        full = (use.capacity == 0) | (use.requested > use.capacity)
        share = use.requested * MAX_UTILIZATION // np.where(use.capacity == 0, 1, use.capacity)
        total += np.where(use.counts, by_utilization[np.where(full, MAX_UTILIZATION, share)], 0)
        classes += use.counts
    scores: IntArray = rounded_quotient(total, np.where(classes == 0, 1, classes))
    return scores


def bound_uses(
    claims: Sequence[PersistentVolumeClaim], volumes: Sequence[PersistentVolume], matches: IdArray
) -> dict[str, ClassUse]:
    """By class, claims that existing volumes would serve; `matches` is (claims, nodes) positions in `volumes`."""
    node_count = matches.shape[1]
    capacities = np.array([_bytes(volume.spec.capacity) for volume in volumes], dtype=np.int64)
    uses: dict[str, ClassUse] = {}
    for claim, match in zip(claims, matches, strict=True):
        for class_name in {volumes[position].spec.storage_class_name for position in set(match.tolist()) - {ABSENT}}:
            of_class = np.array([volume.spec.storage_class_name == class_name for volume in volumes], dtype=np.bool_)
            here = (match != ABSENT) & of_class[match]
            use = uses.setdefault(class_name, ClassUse(node_count))
            use.requested[here] += _bytes(claim.spec.resources.requests)
            use.capacity[here] += capacities[match[here]]
            use.counts |= here
    return uses


def made_uses(
    to_make: Iterable[tuple[PersistentVolumeClaim, BoolArray, IntArray | None]], node_count: int
) -> dict[str, ClassUse]:
    """By class, claims whose volumes would be made: each with the nodes where, and the capacity there if known."""
    uses: dict[str, ClassUse] = {}
    for claim, where, space in to_make:
        if space is None:
            continue
        here = where & (space != NO_SPACE)
        use = uses.setdefault(claim.spec.storage_class_name or "", ClassUse(node_count))
        use.requested[here] += _bytes(claim.spec.resources.requests)
        use.capacity[here] = space[here]  # claims of one class share it, so it is not added up
        use.counts |= here
    return uses


def _bytes(quantities: dict[str, RawQuantity]) -> int:
    return whole_value(parse_quantity(quantities.get(STORAGE, 0)))
