"""Rows of nodes, namespaces, service accounts, component statuses, API services and runtime classes."""

from __future__ import annotations

from bayplan.apiserver.tables.ages import UNKNOWN, age, named_age
from bayplan.apiserver.tables.columns import AGE, NAME, Cells, Column, Document, Printer, wide
from bayplan.apiserver.tables.wording import NONE, condition
from bayplan.model.well_known import READY

_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"


def _node_cells(node: Document, now: int) -> Cells:
    info = (node.get("status") or {}).get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    if info.get("architecture"):
        kernel += f" ({info['architecture']})"
    return [
        node["metadata"].get("name", ""),
        _node_status(node),
        _node_roles(node),
        age(node, now),
        info.get("kubeletVersion", ""),
        _node_address(node, "InternalIP"),
        _node_address(node, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(node: Document) -> str:
    # The last condition of a type counts here, unlike elsewhere.
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = condition([*reversed(conditions)], READY)
    status = "Unknown" if ready is None else READY if ready.get("status") == "True" else f"Not{READY}"
    return f"{status},SchedulingDisabled" if (node.get("spec") or {}).get("unschedulable") else status


def _node_roles(node: Document) -> str:
    labels = node["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE, ""))
    return ",".join(sorted(roles - {""})) or NONE


def _node_address(node: Document, kind: str) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((item.get("address", "") for item in addresses if item.get("type") == kind), NONE)


def _namespace_cells(namespace: Document, now: int) -> Cells:
    phase = (namespace.get("status") or {}).get("phase", "")
    return [namespace["metadata"].get("name", ""), phase, age(namespace, now)]


def _component_cells(component: Document, _now: int) -> Cells:
    healthy = condition(component.get("conditions"), "Healthy")
    name = component["metadata"].get("name", "")
    if healthy is None:
        return [name, "Unknown", "", ""]
    status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
    return [name, status, healthy.get("message", ""), healthy.get("error", "")]


def _api_service_cells(api_service: Document, now: int) -> Cells:
    service = (api_service.get("spec") or {}).get("service")
    return [
        api_service["metadata"].get("name", ""),
        f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local",
        _availability(api_service),
        age(api_service, now),
    ]


def _availability(api_service: Document) -> str:
    available = condition((api_service.get("status") or {}).get("conditions"), "Available")
    if available is None:
        return "Unknown"
    status, reason = available.get("status", ""), available.get("reason")
    return f"{status} ({reason})" if reason and status != "True" else status


def _runtime_class_cells(runtime_class: Document, now: int) -> Cells:
    return [runtime_class["metadata"].get("name", ""), runtime_class.get("handler", ""), age(runtime_class, now)]


NODES = Printer(
    (
        NAME,
        Column("Status", "Whether the node is ready and takes pods."),
        Column("Roles", "Roles of the node, from its labels."),
        AGE,
        Column("Version", "Version of the kubelet."),
        wide("Internal-IP", "First address inside the cluster."),
        wide("External-IP", "First address from outside."),
        wide("OS-Image", "Operating system."),
        wide("Kernel-Version", "Version of the kernel, and the architecture."),
        wide("Container-Runtime", "Container runtime and its version."),
    ),
    _node_cells,
)
NAMESPACES = Printer((NAME, Column("Status", "Whether the namespace is active or ending."), AGE), _namespace_cells)
SERVICE_ACCOUNTS = Printer((NAME, AGE), named_age)
COMPONENT_STATUSES = Printer(
    (
        NAME,
        Column("Status", "Whether the component is healthy."),
        Column("Message", "What the component's health check answered."),
        Column("Error", "Why the health check failed."),
    ),
    _component_cells,
)
API_SERVICES = Printer(
    (
        NAME,
        Column("Service", "Service that answers for this API."),
        Column("Available", "Whether the API can be reached."),
        AGE,
    ),
    _api_service_cells,
    repeats_columns=True,
)
RUNTIME_CLASSES = Printer((NAME, Column("Handler", "Runtime that starts the containers."), AGE), _runtime_class_cells)
