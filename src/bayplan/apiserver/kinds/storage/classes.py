"""StorageClass and VolumeAttributesClass."""

from __future__ import annotations

from bayplan.apiserver.admitting.defaults.storage import default_storage_class
from bayplan.apiserver.admitting.validation.volumes import check_storage_class, check_storage_class_update
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.storage import STORAGE_CLASSES, VOLUME_ATTRIBUTES_CLASSES

STORAGE_CLASS = Kind(
    "storage.k8s.io/v1",
    "StorageClass",
    defaults=default_storage_class,
    check=check_storage_class,
    check_update=check_storage_class_update,
    printer=STORAGE_CLASSES,
)
VOLUME_ATTRIBUTES_CLASS = Kind("storage.k8s.io/v1", "VolumeAttributesClass", printer=VOLUME_ATTRIBUTES_CLASSES)
