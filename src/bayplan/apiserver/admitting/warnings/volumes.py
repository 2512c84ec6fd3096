"""Persistent volumes and claims that will not work as they did.

Upstream: pkg/api/persistentvolume/util.go, pkg/api/persistentvolumeclaim/util.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bayplan.apiserver.admitting.documents import Document, Path
from bayplan.apiserver.admitting.validation.volumes import OLD_MOUNT_OPTIONS
from bayplan.apiserver.admitting.warnings.nodes import warn_of_node_term
from bayplan.model.quantity import NANO_PER_UNIT, parse_quantity
from bayplan.model.well_known import BETA_STORAGE_CLASS

_INT64_MAX = (1 << 63) - 1
#: Sources of volumes by how they are called in warnings, and since when they do nothing.
GONE_SOURCES: Final = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_UNNOTICED_IN_VOLUMES: Final = frozenset({"flocker", "quobyte"})
_OLD_ANNOTATIONS: Final = {
    BETA_STORAGE_CLASS: 'deprecated since v1.8; use "storageClassName" attribute instead',
    OLD_MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}


def warn_of_volume(volume: Document, _old: Document | None) -> Iterator[str]:
    spec, annotations = volume["spec"], volume["metadata"].get("annotations", {})
    for key, text in _OLD_ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning."
        )
    required = spec.get("nodeAffinity", {}).get("required") or {}
    for position, term in enumerate(required.get("nodeSelectorTerms") or ()):
        yield from warn_of_node_term(term, f"spec.nodeAffinity.required.nodeSelectorTerms[{position}]")
    for field, (shown, text) in GONE_SOURCES.items():
        if field in spec and field not in _UNNOTICED_IN_VOLUMES:
            yield f"spec.{shown}: {text}"


def warn_of_claim(claim: Document, _old: Document | None) -> Iterator[str]:
    yield from warn_of_claim_spec(claim["spec"], "spec")


def warn_of_claim_spec(spec: Document, path: Path) -> Iterator[str]:
    """Of a claim or of a template of one."""
    for which in ("requests", "limits"):
        raw = spec.get("resources", {}).get(which, {}).get("storage")
        if raw is not None and is_fractional(raw):
            yield fractional(f"{path}.resources.{which}[storage]", raw)


def is_fractional(raw: str) -> bool:
    """Whether the server takes an amount for one that is no whole number; it counts in thousandths, up to a limit."""
    milli = min(-(-parse_quantity(raw) * 1000 // NANO_PER_UNIT), _INT64_MAX)
    return milli % 1000 != 0


def fractional(path: Path, raw: str) -> str:
    return f'{path}: fractional byte value "{raw}" is invalid, must be an integer'
