"""Which existing volume each unbound claim would get on each node.

Takes claims and the volumes there are; gives for every node at once the volume that upstream's search would pick:
the one reserved for the claim, else the smallest free one that can be reached from the node. Claims are served in
the given order, and a volume serves one claim on a node. The loops go over claims and volumes, never over nodes.
Upstream: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayplan.core.columns import ABSENT, BoolArray, IdArray
from bayplan.core.columns.node_selectors import compile_terms, match_some
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.plugins.csi_migration import required_terms
from bayplan.core.plugins.volume_claims import class_of_claim, class_of_volume, nano_amount
from bayplan.model.pod import NodeSelectorTerm
from bayplan.model.selectors import CompiledSelector, compile_label_selector
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim

FILESYSTEM = "Filesystem"
AVAILABLE = "Available"


def match_claims(
    nodes: NodeTable, claims: Sequence[PersistentVolumeClaim], volumes: Sequence[PersistentVolume]
) -> IdArray:
    """(claims, nodes) positions in `volumes`, ABSENT where no volume fits. Raises SelectorError."""
    chosen: IdArray = np.full((len(claims), nodes.count), ABSENT, dtype=np.int32)
    for order, claim in enumerate(claims):
        _match_claim(nodes, claim, volumes, chosen[:order], chosen[order])
    return chosen


def reachable_from(nodes: NodeTable, terms: Sequence[NodeSelectorTerm] | None) -> BoolArray:
    """(nodes,) nodes that a volume with this node affinity can be used on; fields are not looked at."""
    if terms is None:
        return nodes.alive.copy()
    # Not `match_any`: volumes of single nodes are many, and would drive other masks out of its cache.
    return match_some(nodes, compile_terms(terms), use_fields=False)


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume is bound to, or kept for, this very claim."""
    reference, meta = volume.spec.claim_ref, claim.metadata
    if reference is None or (reference.namespace, reference.name) != (meta.namespace, meta.name):
        return False
    return not reference.uid or reference.uid == meta.uid


def _match_claim(
    nodes: NodeTable,
    claim: PersistentVolumeClaim,
    volumes: Sequence[PersistentVolume],
    taken: IdArray,
    found: IdArray,
) -> None:
    """Fill `found` (nodes,); `taken` (claims, nodes) holds what earlier claims got."""
    undecided = nodes.alive.copy()
    fitting = [position for position, volume in enumerate(volumes) if _could_hold(claim, volume)]
    for position in fitting:
        if volumes[position].spec.claim_ref is not None:
            # A volume kept for the claim is its only choice, even where it cannot be reached.
            decided = undecided & _not_taken(taken, position)
            found[decided & reachable_from(nodes, required_terms(volumes[position]))] = position
            undecided &= ~decided
    for position in _free_smallest_first(claim, volumes, fitting):
        if not undecided.any():
            return
        reachable = reachable_from(nodes, required_terms(volumes[position]))
        served = undecided & reachable & _not_taken(taken, position)
        found[served] = position
        undecided &= ~served


def _could_hold(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """What must hold even of a volume kept for the claim."""
    return (
        class_of_volume(volume) == class_of_claim(claim)
        and (volume.spec.claim_ref is None or is_bound_to(volume, claim))
        and nano_amount(volume.spec.capacity) >= nano_amount(claim.spec.resources.requests)
        and (volume.spec.volume_mode or FILESYSTEM) == (claim.spec.volume_mode or FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def _free_smallest_first(
    claim: PersistentVolumeClaim, volumes: Sequence[PersistentVolume], fitting: list[int]
) -> list[int]:
    # A claim without a selector takes any volume, unlike other absent selectors.
    selector = (
        CompiledSelector.EVERYTHING if claim.spec.selector is None else compile_label_selector(claim.spec.selector)
    )
    modes = set(claim.spec.access_modes)
    free = [
        position
        for position in fitting
        if (volume := volumes[position]).spec.claim_ref is None
        and volume.status.phase == AVAILABLE
        and selector.matches(volume.metadata.labels)
        and modes.issubset(volume.spec.access_modes)
    ]
    return sorted(free, key=lambda position: nano_amount(volumes[position].spec.capacity))


def _not_taken(taken: IdArray, position: int) -> BoolArray:
    free: BoolArray = ~(taken == position).any(axis=0)
    return free
