"""PodGroup and Workload."""

from __future__ import annotations

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
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.kinds.finalizers import protect
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.tables.pod_groups import POD_GROUPS, WORKLOADS
from bayplan.model.well_known import GROUP_PROTECTION

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


POD_GROUP = Kind(
    "scheduling.k8s.io/v1beta1",
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
    "scheduling.k8s.io/v1beta1",
    "Workload",
    check=check_workload,
    check_update=check_workload_update,
    watched=("spec",),
    update_needs_version=True,
    printer=WORKLOADS,
)
