"""The defaults an API server v1.36 gives to documents, for every built-in kind.

`default_document` takes a document as decoded and gives a new one, in the form the server writes it, with every
default in it. What only creation brings (a pod's tolerations, a job's selector, cluster IPs) is not a default: see
`preparing` and `plugins`. A file for each group; each function completes, in place, a part that is new.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.apiserver.admitting.defaults import (
    apps,
    autoscaling,
    batch,
    core,
    devices,
    extending,
    networking,
    pods,
    rbac,
    services,
    storage,
)
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.wire_form import in_wire_form
from bayplan.apiserver.schema.messages import message_of
from bayplan.apiserver.schema.resources import Resource

_BY_KIND: dict[tuple[str, str], Callable[[Document], None]] = {
    ("v1", "Pod"): pods.default_pod,
    ("v1", "PodTemplate"): core.default_pod_template,
    ("v1", "ReplicationController"): core.default_replication_controller,
    ("v1", "Service"): services.default_service,
    ("v1", "Endpoints"): core.default_endpoints,
    ("v1", "Secret"): core.default_secret,
    ("v1", "Namespace"): core.default_namespace,
    ("v1", "Node"): core.default_node,
    ("v1", "LimitRange"): core.default_limit_range,
    ("v1", "PersistentVolume"): storage.default_volume,
    ("v1", "PersistentVolumeClaim"): storage.default_claim,
    ("apps/v1", "Deployment"): apps.default_deployment,
    ("apps/v1", "ReplicaSet"): apps.default_replica_set,
    ("apps/v1", "StatefulSet"): apps.default_stateful_set,
    ("apps/v1", "DaemonSet"): apps.default_daemon_set,
    ("batch/v1", "Job"): batch.default_job,
    ("batch/v1", "CronJob"): batch.default_cron_job,
    ("autoscaling/v1", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v1,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): autoscaling.default_autoscaler_v2,
    ("discovery.k8s.io/v1", "EndpointSlice"): networking.default_endpoint_slice,
    ("networking.k8s.io/v1", "NetworkPolicy"): networking.default_network_policy,
    ("networking.k8s.io/v1", "IngressClass"): networking.default_ingress_class,
    ("storage.k8s.io/v1", "StorageClass"): storage.default_storage_class,
    ("storage.k8s.io/v1", "CSIDriver"): storage.default_csi_driver,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): rbac.default_binding,
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): rbac.default_binding,
    ("scheduling.k8s.io/v1", "PriorityClass"): core.default_priority_class,
    ("resource.k8s.io/v1", "ResourceClaim"): devices.default_claim,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): devices.default_claim_template,
    ("flowcontrol.apiserver.k8s.io/v1", "FlowSchema"): extending.default_flow_schema,
    ("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration"): extending.default_priority_level,
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): extending.default_validating_webhooks,
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): extending.default_mutating_webhooks,
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): extending.default_admission_policy,
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): extending.default_policy_binding,
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): extending.default_definition,
}


def default_document(resource: Resource, document: Document) -> Document:
    """The document as the server writes it, with all defaults; a new one. Raises ValueError for a bad quantity."""
    described = message_of(resource.api_version, resource.kind)
    if described is None:
        return document
    made = {"apiVersion": resource.api_version, "kind": resource.kind}
    made.update(in_wire_form(document, described.name))
    default = _BY_KIND.get((resource.api_version, resource.kind))
    if default is not None:
        default(made)
    return made
