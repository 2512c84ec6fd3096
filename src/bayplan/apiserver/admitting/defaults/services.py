"""Defaults of services. Takes documents in wire form, completes them in place; addresses are allocated elsewhere."""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"
_AFFINITY_SECONDS = 10_800


def default_service(service: Document) -> None:
    spec = service["spec"]
    kind = spec.setdefault("type", CLUSTER_IP)
    _default_affinity(spec)
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port["targetPort"] in (0, ""):
            port["targetPort"] = port["port"]
    if is_externally_accessible(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind != EXTERNAL_NAME:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == LOAD_BALANCER:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        for ingress in service["status"].get("loadBalancer", {}).get("ingress", ()):
            if ingress.get("ip"):
                ingress.setdefault("ipMode", "VIP")


def needs_health_check(spec: Document) -> bool:
    """Whether a load balancer must ask nodes for pods of the service."""
    return spec["type"] == LOAD_BALANCER and spec.get("externalTrafficPolicy") == "Local"


def is_externally_accessible(spec: Document) -> bool:
    kind = spec.get("type")
    return kind in (LOAD_BALANCER, NODE_PORT) or (kind == CLUSTER_IP and bool(spec.get("externalIPs")))


def _default_affinity(spec: Document) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = spec.get("sessionAffinityConfig", {}).get("clientIP", {})
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
