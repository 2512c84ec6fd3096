"""Node, Namespace and ComponentStatus."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.defaults.core import default_namespace, default_node
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.validation.core import (
    check_namespace,
    check_namespace_status,
    check_node,
    check_node_update,
)
from bayplan.apiserver.kinds.contract import ChangeCheck, Kind
from bayplan.apiserver.selecting.selectable_fields import NAME_ONLY, SelectableFields, fields, flag
from bayplan.apiserver.tables.cluster import COMPONENT_STATUSES, NAMESPACES, NODES
from bayplan.model.dns_names import label_faults

NAMESPACE_FINALIZER: Final = "kubernetes"


def _create_namespace(namespace: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    namespace["status"] = {"phase": "Active"}
    finalizers = namespace["spec"].setdefault("finalizers", [])
    if NAMESPACE_FINALIZER not in finalizers:
        finalizers.append(NAMESPACE_FINALIZER)


def _keep_finalizers(new: Document, old: Document) -> None:
    keep(new["spec"], old.get("spec", {}), "finalizers")


def _drop_config(new: Document, old: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    """Kubelets that are configured through their nodes are no more."""
    if "config" not in old.get("status", {}):
        new["status"].pop("config", None)


NODE = Kind(
    "v1",
    "Node",
    defaults=default_node,
    check=check_node,
    check_update=check_node_update,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA, ChangeCheck.UPDATE),
    subresources={"status": check_node_update},
    on_status=_drop_config,
    resets_status=False,
    printer=NODES,
    selectable=SelectableFields({**NAME_ONLY, "spec.unschedulable": flag("spec", "unschedulable")}),
)
NAMESPACE = Kind(
    "v1",
    "Namespace",
    defaults=default_namespace,
    on_create=_create_namespace,
    on_update=_keep_finalizers,
    check=check_namespace,
    steps=(ChangeCheck.NEW, ChangeCheck.METADATA),
    subresources={"status": check_namespace_status},
    name_rule=label_faults,
    printer=NAMESPACES,
    selectable=SelectableFields({**NAME_ONLY, **fields("status.phase")}),
)
COMPONENT_STATUS = Kind("v1", "ComponentStatus", printer=COMPONENT_STATUSES)
