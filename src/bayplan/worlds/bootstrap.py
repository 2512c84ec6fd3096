"""What every cluster has before anybody asks for anything.

Namespaces, priority classes, the range from which services get their addresses, the API's own service.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from bayplan.admission.priority import SYSTEM_CLASSES
from bayplan.apiserver.admitting.plugins.service_addresses import SERVICE_RANGE
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.entries import Document
from bayplan.model.conditions import TRUE
from bayplan.model.timestamps import format_time
from bayplan.model.well_known import READY, SERVICE_NAME, SKIP_MIRROR
from bayplan.store import AlreadyExists

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_SERVICE_CIDRS = built_in("networking.k8s.io", "servicecidrs")
_TEMPLATE = ("spec", "template", "spec")
#: Where objects keep the specs of pods.
_POD_SPECS = {
    built_in("", "pods"): ("spec",),
    built_in("", "replicationcontrollers"): _TEMPLATE,
    built_in("apps", "deployments"): _TEMPLATE,
    built_in("apps", "replicasets"): _TEMPLATE,
    built_in("apps", "statefulsets"): _TEMPLATE,
    built_in("apps", "daemonsets"): _TEMPLATE,
    built_in("batch", "jobs"): _TEMPLATE,
    built_in("batch", "cronjobs"): ("spec", "jobTemplate", *_TEMPLATE),
}
_OPTIONS = WriteOptions("kube-apiserver", trusted=True)


def bootstrap(registry: Registry, host: str, port: int, now: int) -> None:
    """Creates what is missing; the API's own service leads to this address."""
    for name in NAMESPACES:
        create(registry, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, now)
    for name, value in SYSTEM_CLASSES.items():
        create(registry, _priority_class(name, value), now)
    _create_service_range(registry, now)
    create(registry, _SERVICE, now)
    for document in _endpoints(host, port):
        create(registry, document, now)


def create(registry: Registry, document: Document, now: int, options: WriteOptions = _OPTIONS) -> None:
    """Creates an object unless it is there."""
    resource = registry.catalogue.of_kind(document["apiVersion"], document["kind"])
    assert resource is not None, document
    namespace = document["metadata"].get("namespace", "default") if resource.namespaced else ""
    with suppress(AlreadyExists):
        registry.create(resource, namespace, document, options, now)


def _create_service_range(registry: Registry, now: int) -> None:
    """The default ServiceCIDR, ready: a status is written only once there is an object."""
    # Upstream: pkg/controlplane/controller/defaultservicecidr (v1.36).
    name = _SERVICE_CIDR["metadata"]["name"]
    if registry.find(_SERVICE_CIDRS, "", name) is not None:
        return
    create(registry, _SERVICE_CIDR, now)
    ready = {
        "type": READY,
        "status": TRUE,
        "lastTransitionTime": format_time(now),
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    }
    registry.update(
        _SERVICE_CIDRS,
        "",
        name,
        lambda known: {**known, "status": {"conditions": [ready]}},
        _OPTIONS,
        now,
        subresource="status",
    )


def add_missing_accounts(registry: Registry, now: int) -> None:
    """Creates the ServiceAccounts that pods and templates name: a dump of a cluster does not have them."""
    named: dict[tuple[str, str], None] = {}
    for resource, path in _POD_SPECS.items():
        for document in registry.list(resource, ""):
            spec: Any = document
            for step in path:
                spec = spec.get(step) or {}
            if spec.get("serviceAccountName"):
                named[document["metadata"]["namespace"], spec["serviceAccountName"]] = None
    for namespace, name in named:
        meta = {"name": name, "namespace": namespace}
        create(registry, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}, now)


def _priority_class(name: str, value: int) -> Document:
    description = "Used for system critical pods that must not be moved from their current node."
    if name != "system-node-critical":
        where = "must run in the cluster, but can be moved to another node if necessary"
        description = f"Used for system critical pods that {where}."
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


def _endpoints(host: str, port: int) -> list[Document]:
    """Where the API's own service leads, in both forms."""
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    return [
        {
            "apiVersion": "v1",
            "kind": "Endpoints",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {SKIP_MIRROR: "true"},
            },
            "subsets": [{"addresses": [{"ip": host}], "ports": ports}],
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "kubernetes",
                "namespace": "default",
                "labels": {SERVICE_NAME: "kubernetes"},
            },
            "addressType": "IPv6" if ":" in host else "IPv4",
            "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
            "ports": ports,
        },
    ]


_SERVICE_CIDR: Document = {
    "apiVersion": _SERVICE_CIDRS.api_version,
    "kind": _SERVICE_CIDRS.kind,
    "metadata": {"name": "kubernetes"},
    "spec": {"cidrs": [str(SERVICE_RANGE)]},
}
_SERVICE: Document = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "kubernetes",
        "namespace": "default",
        "labels": {"component": "apiserver", "provider": "kubernetes"},
    },
    "spec": {
        "clusterIP": "10.96.0.1",
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        "type": "ClusterIP",
    },
}
