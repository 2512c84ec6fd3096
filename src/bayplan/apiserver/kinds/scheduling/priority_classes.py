"""PriorityClass."""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.core import default_priority_class
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.priorities import check_default_class
from bayplan.apiserver.admitting.validation.policies import check_priority_class, check_priority_class_update
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.tables.configuration import PRIORITY_CLASSES


def _admit(resource: Resource, priority_class: Document, _old: Document | None, cluster: ClusterView) -> None:
    check_default_class(resource, priority_class, cluster)


PRIORITY_CLASS = Kind(
    "scheduling.k8s.io/v1",
    "PriorityClass",
    defaults=default_priority_class,
    check=check_priority_class,
    check_update=check_priority_class_update,
    admit=_admit,
    watched=(),
    printer=PRIORITY_CLASSES,
)
