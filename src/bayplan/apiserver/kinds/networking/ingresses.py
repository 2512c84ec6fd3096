"""Ingress and IngressClass."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.networking import default_ingress_class
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.default_classes import OLD_INGRESS_CLASS, set_ingress_class
from bayplan.apiserver.admitting.validation.networking import (
    check_ingress,
    check_ingress_class,
    check_ingress_class_update,
    check_ingress_status,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.tables.networking import INGRESS_CLASSES, INGRESSES


def _complete(_resource: Resource, ingress: Document, old: Document | None, _name: str, cluster: ClusterView) -> None:
    if old is None:
        set_ingress_class(ingress, cluster)


def _warn(ingress: Document, old: Document | None) -> Iterator[str]:
    is_annotated = OLD_INGRESS_CLASS in ingress["metadata"].get("annotations", {})
    if old is None and is_annotated and "ingressClassName" not in ingress["spec"]:
        yield f"annotation \"{OLD_INGRESS_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"


INGRESS = Kind(
    "networking.k8s.io/v1",
    "Ingress",
    without_effect="pods have no network, and nothing listens",
    complete=_complete,
    check=check_ingress,
    subresources={"status": check_ingress_status},
    warn=_warn,
    watched=("spec",),
    printer=INGRESSES,
)
INGRESS_CLASS = Kind(
    "networking.k8s.io/v1",
    "IngressClass",
    defaults=default_ingress_class,
    check=check_ingress_class,
    check_update=check_ingress_class_update,
    steps=(ChangeCheck.METADATA, ChangeCheck.UPDATE, ChangeCheck.NEW),
    watched=("spec",),
    printer=INGRESS_CLASSES,
)
