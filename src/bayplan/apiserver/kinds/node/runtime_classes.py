"""RuntimeClass."""

from __future__ import annotations

from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.tables.cluster import RUNTIME_CLASSES

RUNTIME_CLASS = Kind("node.k8s.io/v1", "RuntimeClass", created_by_update=True, printer=RUNTIME_CLASSES)
