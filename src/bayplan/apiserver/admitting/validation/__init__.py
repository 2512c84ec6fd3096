"""What an API server refuses about a document's content, in its words and order.

`validate_create` and `validate_update` take documents that have their defaults and give every fault as a cause. A
file for each area; `_CREATE` and `_UPDATE` say which check belongs to which kind. Kinds that are not in them are
held to their metadata only. What other documents there are plays no part here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.validation import (
    batch,
    core,
    devices,
    events,
    extending,
    networking,
    policies,
    rbac,
    services,
    volumes,
    workloads,
)
from bayplan.apiserver.admitting.validation.faults import Faults
from bayplan.apiserver.admitting.validation.metadata import check_metadata, check_metadata_update
from bayplan.apiserver.admitting.validation.pods import spec as pods
from bayplan.apiserver.admitting.validation.pods import updates as pod_updates
from bayplan.apiserver.schema.messages import RBAC_GROUP
from bayplan.apiserver.schema.resources import Resource
from bayplan.store.errors import Cause

_Check: TypeAlias = Callable[[Document, Faults], None]
_Comparison: TypeAlias = Callable[[Document, Document, Faults], None]

_CREATE: dict[tuple[str, str], _Check] = {
    ("", "Pod"): pods.check_new_pod,
    ("", "PodTemplate"): workloads.check_pod_template,
    ("", "ReplicationController"): workloads.check_replication_controller,
    ("", "Service"): services.check_service,
    ("", "ConfigMap"): core.check_config_map,
    ("", "Secret"): core.check_secret,
    ("", "Node"): core.check_node,
    ("", "ResourceQuota"): core.check_quota,
    ("", "LimitRange"): core.check_limit_range,
    ("", "PersistentVolume"): volumes.check_volume,
    ("", "PersistentVolumeClaim"): volumes.check_claim,
    ("", "Event"): events.check_core_event,
    ("events.k8s.io", "Event"): events.check_new_event,
    ("apps", "Deployment"): workloads.check_deployment,
    ("apps", "ReplicaSet"): workloads.check_replica_set,
    ("apps", "StatefulSet"): workloads.check_stateful_set,
    ("apps", "DaemonSet"): workloads.check_daemon_set,
    ("batch", "Job"): batch.check_job,
    ("batch", "CronJob"): batch.check_cron_job,
    ("autoscaling", "HorizontalPodAutoscaler"): policies.check_autoscaler,
    ("policy", "PodDisruptionBudget"): policies.check_budget,
    ("scheduling.k8s.io", "PriorityClass"): policies.check_priority_class,
    ("storage.k8s.io", "StorageClass"): volumes.check_storage_class,
    ("coordination.k8s.io", "Lease"): core.check_lease,
    ("networking.k8s.io", "Ingress"): networking.check_ingress,
    ("networking.k8s.io", "NetworkPolicy"): networking.check_network_policy,
    (RBAC_GROUP, "Role"): rbac.check_role,
    (RBAC_GROUP, "ClusterRole"): rbac.check_role,
    (RBAC_GROUP, "RoleBinding"): rbac.check_binding,
    (RBAC_GROUP, "ClusterRoleBinding"): rbac.check_binding,
    ("resource.k8s.io", "ResourceClaim"): devices.check_claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): devices.check_claim_template,
    ("resource.k8s.io", "DeviceClass"): devices.check_device_class,
    ("resource.k8s.io", "ResourceSlice"): devices.check_slice,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extending.check_definition,
}
# Kinds for which a change is more, or something else, than the creation of what it leads to.
_UPDATE: dict[tuple[str, str], _Comparison] = {
    ("", "Pod"): pod_updates.check_pod_update,
    ("", "Service"): services.check_service_update,
    ("", "ConfigMap"): core.check_config_map_update,
    ("", "Secret"): core.check_secret_update,
    ("", "Node"): core.check_node_update,
    ("", "ResourceQuota"): core.check_quota_update,
    ("", "PersistentVolume"): volumes.check_volume_update,
    ("", "PersistentVolumeClaim"): volumes.check_claim_update,
    ("apps", "StatefulSet"): workloads.check_stateful_set_update,
    ("batch", "Job"): batch.check_job_update,
    ("batch", "CronJob"): batch.check_cron_job_update,
    ("scheduling.k8s.io", "PriorityClass"): policies.check_priority_class_update,
    ("storage.k8s.io", "StorageClass"): volumes.check_storage_class_update,
    (RBAC_GROUP, "RoleBinding"): rbac.check_binding_update,
    (RBAC_GROUP, "ClusterRoleBinding"): rbac.check_binding_update,
    ("resource.k8s.io", "ResourceClaim"): devices.check_claim_update,
    ("resource.k8s.io", "ResourceClaimTemplate"): devices.check_claim_template_update,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): extending.check_definition_update,
}
_IMMUTABLE_SELECTORS = frozenset({("apps", kind) for kind in ("Deployment", "ReplicaSet", "DaemonSet")})
_SUBRESOURCES: dict[tuple[str, str], _Comparison] = {
    ("Pod", "status"): pod_updates.check_pod_status_update,
    ("Pod", "resize"): pod_updates.check_pod_resize,
    ("Pod", "ephemeralcontainers"): pod_updates.check_ephemeral_update,
}


def validate_create(resource: Resource, document: Document) -> list[Cause]:
    """Everything that is wrong with a new document."""
    faults = Faults()
    key = (resource.group, resource.kind)
    check_metadata(resource, document["metadata"], faults)
    check = _CREATE.get(key)
    if check is not None:
        check(document, faults)
    return faults


def validate_update(resource: Resource, new: Document, old: Document, subresource: str = "") -> list[Cause]:
    """Everything that is wrong with a document that is to replace another, or part of it."""
    faults = Faults()
    key = (resource.group, resource.kind)
    check_metadata_update(new["metadata"], old["metadata"], faults)
    faults.extend(list(faults))  # the real server looks at the metadata of every change twice
    if subresource:
        compare = _SUBRESOURCES.get((resource.kind, subresource))
    else:
        compare = _UPDATE.get(key)
        if compare is None and key in _CREATE:
            _CREATE[key](new, faults)
        if key in _IMMUTABLE_SELECTORS:
            workloads.check_selector_update(new, old, faults)
    if compare is not None:
        compare(new, old, faults)
    return faults
