"""All built-in kinds, and the one of a resource."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.kinds.admissionregistration.policies import (
    MUTATING_BINDING,
    MUTATING_POLICY,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
)
from bayplan.apiserver.kinds.admissionregistration.webhooks import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from bayplan.apiserver.kinds.apiextensions.definitions import CUSTOM_RESOURCE_DEFINITION
from bayplan.apiserver.kinds.apiregistration.api_services import API_SERVICE
from bayplan.apiserver.kinds.apps.daemon_sets import DAEMON_SET
from bayplan.apiserver.kinds.apps.deployments import DEPLOYMENT, REPLICA_SET
from bayplan.apiserver.kinds.apps.stateful_sets import CONTROLLER_REVISION, STATEFUL_SET
from bayplan.apiserver.kinds.authentication.reviews import SELF_SUBJECT_REVIEW, TOKEN_REVIEW
from bayplan.apiserver.kinds.authorization.reviews import (
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    SUBJECT_ACCESS_REVIEW,
)
from bayplan.apiserver.kinds.autoscaling.autoscalers import AUTOSCALER, AUTOSCALER_V1
from bayplan.apiserver.kinds.batch.jobs import CRON_JOB, JOB
from bayplan.apiserver.kinds.certificates.signing_requests import CERTIFICATE_SIGNING_REQUEST
from bayplan.apiserver.kinds.certificates.trust_bundles import CLUSTER_TRUST_BUNDLE, POD_CERTIFICATE_REQUEST
from bayplan.apiserver.kinds.contract import Kind, StorageForm
from bayplan.apiserver.kinds.coordination.leases import LEASE
from bayplan.apiserver.kinds.core.configuration import CONFIG_MAP, SECRET, SERVICE_ACCOUNT
from bayplan.apiserver.kinds.core.nodes import COMPONENT_STATUS, NAMESPACE, NODE
from bayplan.apiserver.kinds.core.pods import BINDING, POD, POD_TEMPLATE
from bayplan.apiserver.kinds.core.quotas import LIMIT_RANGE, RESOURCE_QUOTA
from bayplan.apiserver.kinds.core.replication_controllers import REPLICATION_CONTROLLER
from bayplan.apiserver.kinds.core.services import ENDPOINTS_OF_SERVICE, SERVICE
from bayplan.apiserver.kinds.core.volumes import PERSISTENT_VOLUME, PERSISTENT_VOLUME_CLAIM
from bayplan.apiserver.kinds.discovery.endpoint_slices import ENDPOINT_SLICE
from bayplan.apiserver.kinds.events.events import CORE_EVENT, EVENT
from bayplan.apiserver.kinds.flowcontrol.flows import FLOW_SCHEMA, PRIORITY_LEVEL
from bayplan.apiserver.kinds.networking.addresses import IP_ADDRESS, SERVICE_CIDR
from bayplan.apiserver.kinds.networking.ingresses import INGRESS, INGRESS_CLASS
from bayplan.apiserver.kinds.networking.network_policies import NETWORK_POLICY
from bayplan.apiserver.kinds.node.runtime_classes import RUNTIME_CLASS
from bayplan.apiserver.kinds.policy.budgets import POD_DISRUPTION_BUDGET
from bayplan.apiserver.kinds.rbac.roles import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from bayplan.apiserver.kinds.resource.claims import RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE
from bayplan.apiserver.kinds.resource.devices import DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE
from bayplan.apiserver.kinds.scheduling.pod_groups import POD_GROUP, POD_GROUP_ALPHA, WORKLOAD, WORKLOAD_ALPHA
from bayplan.apiserver.kinds.scheduling.priority_classes import PRIORITY_CLASS
from bayplan.apiserver.kinds.storage.classes import STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS
from bayplan.apiserver.kinds.storage.csi import CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY, VOLUME_ATTACHMENT
from bayplan.apiserver.kinds.storagemigration.migrations import STORAGE_VERSION_MIGRATION
from bayplan.apiserver.schema.resources import Resource

KINDS: Final = (
    VALIDATING_POLICY,
    VALIDATING_BINDING,
    MUTATING_POLICY,
    MUTATING_BINDING,
    VALIDATING_WEBHOOKS,
    MUTATING_WEBHOOKS,
    CUSTOM_RESOURCE_DEFINITION,
    API_SERVICE,
    DAEMON_SET,
    DEPLOYMENT,
    REPLICA_SET,
    STATEFUL_SET,
    CONTROLLER_REVISION,
    TOKEN_REVIEW,
    SELF_SUBJECT_REVIEW,
    SUBJECT_ACCESS_REVIEW,
    LOCAL_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_ACCESS_REVIEW,
    SELF_SUBJECT_RULES_REVIEW,
    AUTOSCALER,
    AUTOSCALER_V1,
    JOB,
    CRON_JOB,
    CERTIFICATE_SIGNING_REQUEST,
    CLUSTER_TRUST_BUNDLE,
    POD_CERTIFICATE_REQUEST,
    LEASE,
    CONFIG_MAP,
    SECRET,
    SERVICE_ACCOUNT,
    NODE,
    NAMESPACE,
    COMPONENT_STATUS,
    POD,
    POD_TEMPLATE,
    BINDING,
    RESOURCE_QUOTA,
    LIMIT_RANGE,
    REPLICATION_CONTROLLER,
    SERVICE,
    ENDPOINTS_OF_SERVICE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    ENDPOINT_SLICE,
    CORE_EVENT,
    EVENT,
    FLOW_SCHEMA,
    PRIORITY_LEVEL,
    IP_ADDRESS,
    SERVICE_CIDR,
    INGRESS,
    INGRESS_CLASS,
    NETWORK_POLICY,
    RUNTIME_CLASS,
    POD_DISRUPTION_BUDGET,
    ROLE,
    CLUSTER_ROLE,
    ROLE_BINDING,
    CLUSTER_ROLE_BINDING,
    RESOURCE_CLAIM,
    RESOURCE_CLAIM_TEMPLATE,
    DEVICE_CLASS,
    DEVICE_TAINT_RULE,
    RESOURCE_SLICE,
    PRIORITY_CLASS,
    POD_GROUP,
    POD_GROUP_ALPHA,
    WORKLOAD,
    WORKLOAD_ALPHA,
    STORAGE_CLASS,
    VOLUME_ATTRIBUTES_CLASS,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    VOLUME_ATTACHMENT,
    STORAGE_VERSION_MIGRATION,
)
_BY_NAME: Final = {(kind.api_version, kind.kind): kind for kind in KINDS}


def kind_of(resource: Resource) -> Kind:
    """What the server knows of the kind of a built-in resource."""
    return _BY_NAME[resource.api_version, resource.kind]


def completed(resource: Resource, old: Document, new: Document, time: str, cluster: ClusterView) -> Document:
    """The new document with all that its writer's real counterpart says in a status."""
    kind = _BY_NAME.get((resource.api_version, resource.kind))
    if kind is None or kind.completed_status is None:
        return new
    return kind.completed_status(old, new, time, cluster)


def created_by_update(resource: Resource) -> bool:
    """Whether a PUT of a name that does not exist creates the object; never of custom resources."""
    kind = _BY_NAME.get((resource.api_version, resource.kind))
    return kind is not None and kind.created_by_update


def storage_form(resource: Resource) -> StorageForm | None:
    """How documents of a resource are stored, if not as they are served; custom resources are stored as served."""
    kind = _BY_NAME.get((resource.api_version, resource.kind))
    return None if kind is None else kind.storage
