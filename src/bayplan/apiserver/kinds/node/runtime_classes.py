"""RuntimeClass."""

from __future__ import annotations

from bayplan.apiserver.admitting.validation.node_classes import check_runtime_class, check_runtime_class_update
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.tables.cluster import RUNTIME_CLASSES

RUNTIME_CLASS = Kind(
    "node.k8s.io/v1",
    "RuntimeClass",
    check=check_runtime_class,
    check_update=check_runtime_class_update,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA, ChangeCheck.UPDATE),
    update_needs_version=True,
    printer=RUNTIME_CLASSES,
    any_finalizers=True,
)
