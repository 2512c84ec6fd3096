"""Which nodes use which claims, and how many volumes that a driver may have to attach stand on each node.

Takes pods as they come and go; gives counts, so that no decision scans pods to find the users of a claim. Rows of
ghosts are counted like any other: whoever reads must leave out nodes that are not alive. What a volume really is
(its claim, its driver) is not looked at here, as that changes without the pod changing.
"""

from __future__ import annotations

from collections.abc import Collection

from bayplan.core.columns.shapes import PodShape
from bayplan.model.pod import PodSpec
from bayplan.model.volumes import Volume


class VolumeUsers:
    """Counts of volumes by node row."""

    __slots__ = ("_by_claim", "attachable", "doubtful")

    def __init__(self) -> None:
        self._by_claim: dict[tuple[str, str], dict[int, int]] = {}
        self.attachable: dict[int, int] = {}  # node row -> volumes of its pods that may need attaching
        self.doubtful: dict[int, int] = {}  # node row -> pods whose volumes may turn out to be impossible to count

    def rows_using(self, namespace: str, claim_name: str) -> Collection[int]:
        """Rows of the nodes with a pod that names the claim, ghosts included."""
        return self._by_claim.get((namespace, claim_name), {}).keys()

    def on_pod(self, shape: PodShape, attachable_count: int, node_row: int, sign: int) -> None:
        """A pod with volumes came to (+1) or left (-1) a node."""
        _add(self.attachable, node_row, sign * attachable_count)
        if is_doubtful(shape.spec):
            _add(self.doubtful, node_row, sign)
        for name in shape.claim_names:
            key = (shape.namespace, name)
            users = self._by_claim.setdefault(key, {})
            _add(users, node_row, sign)
            if not users:
                del self._by_claim[key]


def attachable_count(spec: PodSpec) -> int:
    """How many volumes of the pod a driver may have to attach: those of claims, and disks of cloud providers."""
    return sum(map(_may_be_attached, spec.volumes))


def is_doubtful(spec: PodSpec) -> bool:
    """Whether it takes a closer look to know that the pod's volumes can be counted: all but claims with a name."""
    return any(
        _may_be_attached(volume)
        and not (volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name)
        for volume in spec.volumes
    )


def _may_be_attached(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.cinder is not None
        or volume.portworx_volume is not None
    )


def _add(counts: dict[int, int], row: int, amount: int) -> None:
    count = counts.get(row, 0) + amount
    if count:
        counts[row] = count
    else:
        counts.pop(row, None)
