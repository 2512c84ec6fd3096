"""StorageClass and VolumeAttributesClass."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.storage import default_storage_class
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation.storage import (
    check_attributes_class,
    check_attributes_class_update,
    check_storage_class,
    check_storage_class_update,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.kinds.finalizers import protect
from bayplan.apiserver.tables.storage import STORAGE_CLASSES, VOLUME_ATTRIBUTES_CLASSES
from bayplan.model.well_known import VAC_PROTECTION


def _protect_class(attributes_class: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    protect(attributes_class, VAC_PROTECTION)


STORAGE_CLASS = Kind(
    "storage.k8s.io/v1",
    "StorageClass",
    defaults=default_storage_class,
    check=check_storage_class,
    check_update=check_storage_class_update,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA, ChangeCheck.UPDATE),
    printer=STORAGE_CLASSES,
)
VOLUME_ATTRIBUTES_CLASS = Kind(
    "storage.k8s.io/v1",
    "VolumeAttributesClass",
    on_create=_protect_class,
    check=check_attributes_class,
    check_update=check_attributes_class_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE, ChangeCheck.NEW),
    printer=VOLUME_ATTRIBUTES_CLASSES,
)
