"""Pod, PodTemplate and Binding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.apiserver.admitting.app_armor import take_profiles, warn_of_profiles
from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.defaults.core import default_pod_template
from bayplan.apiserver.admitting.defaults.pods import complete_pod_totals, default_pod
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.keeping import keep
from bayplan.apiserver.admitting.label_keys import merge_label_keys
from bayplan.apiserver.admitting.plugins.default_classes import add_runtime_class
from bayplan.apiserver.admitting.plugins.limit_ranges import apply_limit_ranges, check_limit_ranges
from bayplan.apiserver.admitting.plugins.priorities import keep_priority, resolve_priority
from bayplan.apiserver.admitting.plugins.resizes import check_resize
from bayplan.apiserver.admitting.plugins.tolerations import tolerate_for_a_while
from bayplan.apiserver.admitting.pod_resources import qos_class
from bayplan.apiserver.admitting.release import admission_release
from bayplan.apiserver.admitting.validation.pods.resizing import check_pod_resize
from bayplan.apiserver.admitting.validation.pods.spec import check_new_pod
from bayplan.apiserver.admitting.validation.pods.status import check_pod_status_update
from bayplan.apiserver.admitting.validation.pods.updates import check_ephemeral_update, check_pod_update
from bayplan.apiserver.admitting.validation.workloads import check_pod_template
from bayplan.apiserver.admitting.warnings.pods import warn_of_pod, warn_of_template
from bayplan.apiserver.kinds.contract import Kind
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.selecting.selectable_fields import METADATA, Getter, SelectableFields, fields, flag
from bayplan.apiserver.statuses.pods import completed
from bayplan.apiserver.tables.pods import PODS
from bayplan.apiserver.tables.workloads import POD_TEMPLATES
from bayplan.model.conditions import FALSE
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import POD_SCHEDULED, SCHEDULING_GATED
from bayplan.store.pods import GATED_MESSAGE


def _complete(resource: Resource, pod: Document, old: Document | None, name: str, cluster: ClusterView) -> None:
    if old is not None:
        keep_priority(pod, old)
        tolerate_for_a_while(pod)
        return
    apply_limit_ranges(pod, cluster)
    resolve_priority(resource, pod, name, cluster)
    tolerate_for_a_while(pod)
    add_runtime_class(resource, pod, name, cluster)


def _create(pod: Document, now: int) -> None:
    spec = pod["spec"]
    complete_pod_totals(spec)
    status: Document = {"phase": "Pending", "qosClass": qos_class(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": POD_SCHEDULED,
                "status": FALSE,
                "lastProbeTime": None,
                "lastTransitionTime": format_time(now),
                "reason": SCHEDULING_GATED,
                "message": GATED_MESSAGE,
            }
        ]
    pod["status"] = status
    merge_label_keys(pod)
    take_profiles(pod)


def _keep_totals(new: Document, old: Document) -> None:
    """What the server has completed need not be written again."""
    if admission_release().completes_pod_totals_last and "resources" not in new["spec"]:
        keep(new["spec"], old["spec"], "resources")


def _keep_status(new: Document, old: Document, now: int) -> None:  # noqa: ARG001 - other kinds need the time
    keep(new["metadata"], old["metadata"], "ownerReferences")
    status, before = new["status"], old.get("status", {})
    for name in ("qosClass", "observedGeneration"):
        if name in before:
            status.setdefault(name, before[name])
    conditions = {condition["type"]: condition for condition in before.get("conditions", ())}
    for condition in status.get("conditions", ()):
        generation = conditions.get(condition["type"], {}).get("observedGeneration")
        if generation:
            condition.setdefault("observedGeneration", generation)


def _admit(resource: Resource, pod: Document, old: Document | None, cluster: ClusterView) -> None:
    if old is None:
        check_limit_ranges(resource, pod, cluster)


def _nothing(_document: Mapping[str, Any]) -> str:
    return ""


def _first_address(pod: Mapping[str, Any]) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    return (addresses[0].get("ip") if addresses else "") or ""


def _selectable() -> dict[str, Getter]:
    plain = fields(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.nominatedNodeName",
    )
    return {
        **METADATA,
        **plain,
        "spec.host": plain["spec.nodeName"],
        "spec.hostNetwork": flag("spec", "hostNetwork"),
        "status.podIP": _first_address,
        # Upstream takes this field, yet knows no value of it.
        "status.podIPs": _nothing,
    }


POD = Kind(
    "v1",
    "Pod",
    defaults=default_pod,
    complete=_complete,
    on_create=_create,
    on_update=_keep_totals,
    on_status=_keep_status,
    check=check_new_pod,
    check_update=check_pod_update,
    subresources={
        "status": check_pod_status_update,
        "resize": check_pod_resize,
        "ephemeralcontainers": check_ephemeral_update,
    },
    admit=_admit,
    admit_subresources={"resize": check_resize},
    watched=("spec",),
    kept_by_status=("ownerReferences",),
    warn_beforehand=warn_of_profiles,
    warn=warn_of_pod,
    printer=PODS,
    selectable=SelectableFields(_selectable()),
    completed_status=completed,
)
POD_TEMPLATE = Kind(
    "v1",
    "PodTemplate",
    defaults=default_pod_template,
    check=check_pod_template,
    watched=("template",),
    created_by_update=True,
    warn=warn_of_template("template", named=False),
    printer=POD_TEMPLATES,
)
BINDING = Kind("v1", "Binding")
