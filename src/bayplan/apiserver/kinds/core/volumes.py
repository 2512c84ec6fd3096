"""PersistentVolume and PersistentVolumeClaim."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.storage import default_claim, default_volume
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.default_classes import set_storage_class
from bayplan.apiserver.admitting.plugins.limit_ranges import check_limit_ranges
from bayplan.apiserver.admitting.plugins.volume_growth import check_growth
from bayplan.apiserver.admitting.validation.volumes import (
    check_claim,
    check_claim_status,
    check_claim_update,
    check_volume,
    check_volume_update,
)
from bayplan.apiserver.admitting.warnings.volumes import warn_of_claim, warn_of_volume
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.kinds.finalizers import protect
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.tables.storage import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import PV_PROTECTION, PVC_PROTECTION

_SNAPSHOTS: Final = "snapshot.storage.k8s.io"


def _create_volume(volume: Document, now: int) -> None:
    volume["status"] = {"phase": "Pending", "lastPhaseTransitionTime": format_time(now)}
    protect(volume, PV_PROTECTION)


def _keep_phase_time(volume: Document, old: Document, now: int) -> None:
    new, before = volume["status"], old.get("status", {})
    name = "lastPhaseTransitionTime"
    if new.get("phase") == before.get("phase"):
        if name in before:
            new.setdefault(name, before[name])
    elif new.get(name) in (None, before.get(name)):
        new[name] = format_time(now)


def _create_claim(claim: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    claim["status"]["phase"] = "Pending"
    _settle_data_source(claim["spec"])
    protect(claim, PVC_PROTECTION)


def _update_claim(new: Document, _old: Document) -> None:
    _settle_data_source(new["spec"])


def _settle_data_source(spec: Document) -> None:
    """A source other than a claim or a snapshot is ignored in the old field; the two fields say the same."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        known = (source.get("apiGroup", ""), source["kind"]) in (
            ("", "PersistentVolumeClaim"),
            (_SNAPSHOTS, "VolumeSnapshot"),
        )
        if known:
            spec["dataSourceRef"] = dict(source)
        else:
            del spec["dataSource"]
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def _complete_claim(
    _resource: Resource, claim: Document, old: Document | None, _name: str, cluster: ClusterView
) -> None:
    if old is None:
        set_storage_class(claim, cluster)


def _admit_claim(resource: Resource, claim: Document, old: Document | None, cluster: ClusterView) -> None:
    check_limit_ranges(resource, claim, cluster)
    if old is not None:
        check_growth(resource, claim, old, cluster)


PERSISTENT_VOLUME = Kind(
    "v1",
    "PersistentVolume",
    defaults=default_volume,
    on_create=_create_volume,
    on_status=_keep_phase_time,
    check=check_volume,
    check_update=check_volume_update,
    steps=(ChangeCheck.NEW, ChangeCheck.NEW, ChangeCheck.UPDATE),
    warn=warn_of_volume,
    printer=PERSISTENT_VOLUMES,
)
PERSISTENT_VOLUME_CLAIM = Kind(
    "v1",
    "PersistentVolumeClaim",
    defaults=default_claim,
    complete=_complete_claim,
    on_create=_create_claim,
    on_update=_update_claim,
    check=check_claim,
    check_update=check_claim_update,
    subresources={"status": check_claim_status},
    admit=_admit_claim,
    warn=warn_of_claim,
    printer=PERSISTENT_VOLUME_CLAIMS,
)
