"""Which printer each built-in resource has; the others show their name and time of creation."""

from __future__ import annotations

from bayplan.apiserver.schema.messages import RBAC_GROUP
from bayplan.apiserver.tables import (
    api_policies,
    autoscaling,
    cluster,
    configuration,
    devices,
    events,
    networking,
    pods,
    storage,
    workloads,
)
from bayplan.apiserver.tables.columns import NAME, Cells, Column, Document, Printer

_ADMISSION = "admissionregistration.k8s.io"
_DEVICES = "resource.k8s.io"
_FLOWS = "flowcontrol.apiserver.k8s.io"
_NETWORKING = "networking.k8s.io"
_STORAGE = "storage.k8s.io"


def _default_cells(document: Document, _now: int) -> Cells:
    metadata = document["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp") or "0001-01-01T00:00:00Z"]


DEFAULT = Printer(
    (NAME, Column("Created At", "Time at which the object was created.", type="date")),
    _default_cells,
    empty_is_null=True,
)

_PRINTERS = {
    ("", "componentstatuses"): cluster.COMPONENT_STATUSES,
    ("", "configmaps"): configuration.CONFIG_MAPS,
    ("", "endpoints"): networking.ENDPOINTS,
    ("", "events"): events.EVENTS,
    ("", "namespaces"): cluster.NAMESPACES,
    ("", "nodes"): cluster.NODES,
    ("", "persistentvolumeclaims"): storage.PERSISTENT_VOLUME_CLAIMS,
    ("", "persistentvolumes"): storage.PERSISTENT_VOLUMES,
    ("", "pods"): pods.PODS,
    ("", "podtemplates"): workloads.POD_TEMPLATES,
    ("", "replicationcontrollers"): workloads.REPLICATION_CONTROLLERS,
    ("", "resourcequotas"): configuration.RESOURCE_QUOTAS,
    ("", "secrets"): configuration.SECRETS,
    ("", "serviceaccounts"): cluster.SERVICE_ACCOUNTS,
    ("", "services"): networking.SERVICES,
    (_ADMISSION, "mutatingadmissionpolicies"): api_policies.MUTATING_POLICIES,
    (_ADMISSION, "mutatingadmissionpolicybindings"): api_policies.POLICY_BINDINGS,
    (_ADMISSION, "mutatingwebhookconfigurations"): api_policies.WEBHOOK_CONFIGURATIONS,
    (_ADMISSION, "validatingadmissionpolicies"): api_policies.VALIDATING_POLICIES,
    (_ADMISSION, "validatingadmissionpolicybindings"): api_policies.POLICY_BINDINGS,
    (_ADMISSION, "validatingwebhookconfigurations"): api_policies.WEBHOOK_CONFIGURATIONS,
    ("apiregistration.k8s.io", "apiservices"): cluster.API_SERVICES,
    ("apps", "controllerrevisions"): workloads.CONTROLLER_REVISIONS,
    ("apps", "daemonsets"): workloads.DAEMON_SETS,
    ("apps", "deployments"): workloads.DEPLOYMENTS,
    ("apps", "replicasets"): workloads.REPLICA_SETS,
    ("apps", "statefulsets"): workloads.STATEFUL_SETS,
    ("autoscaling", "horizontalpodautoscalers"): autoscaling.HORIZONTAL_POD_AUTOSCALERS,
    ("batch", "cronjobs"): workloads.CRON_JOBS,
    ("batch", "jobs"): workloads.JOBS,
    ("certificates.k8s.io", "certificatesigningrequests"): configuration.CERTIFICATE_SIGNING_REQUESTS,
    ("coordination.k8s.io", "leases"): configuration.LEASES,
    ("discovery.k8s.io", "endpointslices"): networking.ENDPOINT_SLICES,
    ("events.k8s.io", "events"): events.EVENTS,
    (_FLOWS, "flowschemas"): api_policies.FLOW_SCHEMAS,
    (_FLOWS, "prioritylevelconfigurations"): api_policies.PRIORITY_LEVELS,
    (_NETWORKING, "ingressclasses"): networking.INGRESS_CLASSES,
    (_NETWORKING, "ingresses"): networking.INGRESSES,
    (_NETWORKING, "ipaddresses"): networking.IP_ADDRESSES,
    (_NETWORKING, "networkpolicies"): networking.NETWORK_POLICIES,
    (_NETWORKING, "servicecidrs"): networking.SERVICE_CIDRS,
    ("node.k8s.io", "runtimeclasses"): cluster.RUNTIME_CLASSES,
    ("policy", "poddisruptionbudgets"): workloads.POD_DISRUPTION_BUDGETS,
    (RBAC_GROUP, "clusterrolebindings"): configuration.ROLE_BINDINGS,
    (RBAC_GROUP, "rolebindings"): configuration.ROLE_BINDINGS,
    (_DEVICES, "deviceclasses"): devices.DEVICE_CLASSES,
    (_DEVICES, "resourceclaims"): devices.RESOURCE_CLAIMS,
    (_DEVICES, "resourceclaimtemplates"): devices.RESOURCE_CLAIM_TEMPLATES,
    (_DEVICES, "resourceslices"): devices.RESOURCE_SLICES,
    ("scheduling.k8s.io", "priorityclasses"): configuration.PRIORITY_CLASSES,
    (_STORAGE, "csidrivers"): storage.CSI_DRIVERS,
    (_STORAGE, "csinodes"): storage.CSI_NODES,
    (_STORAGE, "storageclasses"): storage.STORAGE_CLASSES,
    (_STORAGE, "volumeattachments"): storage.VOLUME_ATTACHMENTS,
    (_STORAGE, "volumeattributesclasses"): storage.VOLUME_ATTRIBUTES_CLASSES,
}
"""By group and resource; all versions of a resource show in the same way."""


def printer_of(group: str, resource: str) -> Printer:
    """The printer of a built-in resource, such as `apps`, `deployments`."""
    return _PRINTERS.get((group, resource), DEFAULT)
