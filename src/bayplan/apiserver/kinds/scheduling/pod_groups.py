"""PodGroup and Workload, in both versions, which have the same fields; stored as v1beta1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.priorities import resolve_group_priority
from bayplan.apiserver.admitting.validation.pod_groups import (
    check_pod_group,
    check_pod_group_status,
    check_pod_group_update,
    check_workload,
    check_workload_update,
)
from bayplan.apiserver.kinds.contract import Kind, StorageForm
from bayplan.apiserver.kinds.finalizers import protect
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.tables.pod_groups import POD_GROUPS, WORKLOADS
from bayplan.model.well_known import GROUP_PROTECTION

_V1BETA1: Final = "scheduling.k8s.io/v1beta1"
_V1ALPHA3: Final = "scheduling.k8s.io/v1alpha3"
_FROM_ADMISSION: Final = ("priority", "preemptionPolicy")


def _default(group: Document) -> None:
    spec: dict[str, Any] = group["spec"]
    if spec.get("disruptionMode") is None:
        spec["disruptionMode"] = {"single": {}}


def _complete(resource: Resource, group: Document, old: Document | None, name: str, cluster: ClusterView) -> None:
    if old is None:
        resolve_group_priority(resource, group, name, cluster)
        return
    for field in _FROM_ADMISSION:
        if group["spec"].get(field) is None and old["spec"].get(field) is not None:
            group["spec"][field] = old["spec"][field]


def _protect(group: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    protect(group, GROUP_PROTECTION)


def _completed(_old: Document, new: Document, _time: str, _cluster: ClusterView) -> Document:
    """Conditions have a message, if an empty one."""
    status = new.get("status") or {}
    conditions = [
        {**condition, "message": condition.get("message", "")} for condition in status.get("conditions") or ()
    ]
    return {**new, "status": {**status, "conditions": conditions}} if conditions else new


def _as(version: str) -> Callable[[Document], Document]:
    return lambda document: {**document, "apiVersion": version}


def _alpha(kind: Kind, resource: str) -> Kind:
    """The kind in the other version."""
    form = StorageForm(f"{resource}.scheduling.k8s.io", _as(_V1BETA1), _as(_V1ALPHA3))
    return replace(kind, api_version=_V1ALPHA3, storage=form)


POD_GROUP = Kind(
    _V1BETA1,
    "PodGroup",
    defaults=_default,
    complete=_complete,
    on_create=_protect,
    check=check_pod_group,
    check_update=check_pod_group_update,
    subresources={"status": check_pod_group_status},
    watched=("spec",),
    update_needs_version=True,
    printer=POD_GROUPS,
    completed_status=_completed,
)
WORKLOAD = Kind(
    _V1BETA1,
    "Workload",
    check=check_workload,
    check_update=check_workload_update,
    watched=("spec",),
    update_needs_version=True,
    printer=WORKLOADS,
)
POD_GROUP_ALPHA = _alpha(POD_GROUP, "podgroups")
WORKLOAD_ALPHA = _alpha(WORKLOAD, "workloads")
