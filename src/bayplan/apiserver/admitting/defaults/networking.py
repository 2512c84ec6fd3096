"""Defaults of network policies, ingress classes and endpoint slices.

Takes documents in wire form, completes them in place.
"""

from __future__ import annotations

from bayplan.apiserver.admitting.documents import Document


def default_network_policy(policy: Document) -> None:
    """A policy is about what comes in; about what goes out only where it has rules for that."""
    spec = policy["spec"]
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction, ()):
            for port in rule.get("ports", ()):
                port.setdefault("protocol", "TCP")


def default_ingress_class(ingress_class: Document) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def default_endpoint_slice(endpoint_slice: Document) -> None:
    for port in endpoint_slice.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
