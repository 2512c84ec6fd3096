"""ImageLocality: prefers nodes that already hold the pod's images, the large and widespread ones most.

An image counts with its size times the share of nodes that hold it, so that a single node with a large image does
not draw every pod. Image names are compared as written, with `:latest` where no tag or digest is given; registries
are not expanded.
Upstream: plugins/imagelocality/image_locality.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from bayplan.core.columns import IntArray, RowArray
from bayplan.core.columns.nodes import NodeTable
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.framework.contract import MAX_NODE_SCORE, Reads
from bayplan.core.framework.speed_hints import OtherNodes, sign_constraints
from bayplan.core.release import Release
from bayplan.core.snapshot import View
from bayplan.model.pod import PodSpec

MEBIBYTE = 1024 * 1024
SUM_MIN_BYTES = 23 * MEBIBYTE
#: What a shape remembers its images under.
_IMAGES = "images"
SUM_MAX_BYTES_PER_CONTAINER = 1000 * MEBIBYTE


class ImageLocality:
    """Score, final as it is."""

    name: ClassVar[str] = "ImageLocality"
    score_reads: ClassVar[Reads] = Reads.NODE
    sign_pod = staticmethod(sign_constraints)
    other_nodes: ClassVar[OtherNodes] = OtherNodes.IMAGES
    #: Upstream copies nodes twice there, and the second copy has lost how many nodes hold an image.
    is_silent_in_group_trials: ClassVar[bool] = True

    def score(self, state: PodInfo, view: View, rows: RowArray) -> IntArray:
        images = {} if view.bare else held_images(state, view.nodes)
        if not images:
            return np.zeros(len(rows), dtype=np.int64)
        sums = image_sums(view.nodes, images)[rows]
        return scaled(sums, _earning_count(state.spec, view.objects.gates.release))


def held_images(pod: PodInfo, nodes: NodeTable) -> Mapping[str, int]:
    """The images of the pod that some node holds, each with how often the pod names it."""
    if not nodes.images:
        return {}
    remembered = pod.shape.remembered
    if _IMAGES not in remembered:
        remembered[_IMAGES] = pod_images(pod.spec)
    images: Mapping[str, int] = remembered[_IMAGES]
    return {name: times for name, times in images.items() if name in nodes.images}


def _earning_count(spec: PodSpec, release: Release) -> int:
    """How many images the pod could earn the most for."""
    containers = len(spec.init_containers) + len(spec.containers)
    return containers + sum(volume.image is not None for volume in spec.volumes) * release.image_volumes_earn


def pod_images(spec: PodSpec) -> Counter[str]:
    """Normalized names of all images the pod needs, each with how often it is named."""
    containers = (*spec.init_containers, *spec.containers)
    volumes = [volume.image.reference for volume in spec.volumes if volume.image is not None]
    return Counter(normalized_name(name) for name in [*(item.image for item in containers), *volumes])


def normalized_name(name: str) -> str:
    """`:latest` is added where no colon follows the last slash."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_sums(nodes: NodeTable, images: Mapping[str, int]) -> IntArray:
    """(nodes,) bytes of the images each node holds, each scaled by the share of nodes that hold it."""
    sums = np.zeros(nodes.count, dtype=np.int64)
    for name, times in images.items():
        image = nodes.images.get(name)
        if image is not None:
            holders = np.fromiter(image.rows, dtype=np.intp, count=len(image.rows))
            size_bytes = spread_size(image.size_bytes, len(holders), nodes.alive_count)
            for _ in range(times):  # a sum beyond int64 wraps around, as upstream's
                sums[holders] += size_bytes
    return sums


def spread_size(size_bytes: int, holder_count: int, node_count: int) -> int:
    """In this order of operations: the result is cut, so a last bit can decide."""
    spread = float(size_bytes) * (float(holder_count) / float(node_count))
    return int(spread) if -(2.0**63) <= spread < 2.0**63 else -(2**63)  # what amd64 makes of a float beyond int64


def scaled(sums: IntArray, container_count: int) -> IntArray:
    """(rows,) 0..100 between the least sum that counts and the most that the containers can earn."""
    most = SUM_MAX_BYTES_PER_CONTAINER * container_count
    within = np.where(sums < SUM_MIN_BYTES, SUM_MIN_BYTES, np.minimum(sums, most))
    return MAX_NODE_SCORE * (within - SUM_MIN_BYTES) // (most - SUM_MIN_BYTES)
