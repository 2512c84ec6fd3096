"""Defaults of the core group beyond pods, services and volumes, and of priority classes.

Takes documents in wire form, completes them in place.
"""

from __future__ import annotations

import base64

from bayplan.admission.defaults import NAME_LABEL
from bayplan.admission.priority import PREEMPT_LOWER_PRIORITY
from bayplan.apiserver.admitting.defaults.pods import default_template
from bayplan.apiserver.admitting.documents import Document


def default_pod_template(pod_template: Document) -> None:
    default_template(pod_template["template"])


def default_replication_controller(controller: Document) -> None:
    spec = controller["spec"]
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is not None:
        labels = template["metadata"].get("labels")
        if labels:
            spec.setdefault("selector", dict(labels))
            controller["metadata"].setdefault("labels", dict(labels))
        default_template(template)


def default_endpoints(endpoints: Document) -> None:
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def default_secret(secret: Document) -> None:
    """The type; and plain texts are encoded into the data, over what is there."""
    secret.setdefault("type", "Opaque")
    texts = secret.pop("stringData", None)
    if texts:
        data = secret.setdefault("data", {})
        data.update({key: base64.b64encode(text.encode()).decode() for key, text in texts.items()})


def default_namespace(namespace: Document) -> None:
    metadata = namespace["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[NAME_LABEL] = metadata["name"]
    namespace["status"].setdefault("phase", "Active")


def default_node(node: Document) -> None:
    spec = node["spec"]
    if spec.get("podCIDR"):
        if not spec.get("podCIDRs") or spec["podCIDRs"][0] != spec["podCIDR"]:
            spec["podCIDRs"] = [spec["podCIDR"]]
    elif spec.get("podCIDRs"):
        spec["podCIDR"] = spec["podCIDRs"][0]
    status = node["status"]
    if "capacity" in status:
        status.setdefault("allocatable", dict(status["capacity"]))


def default_limit_range(limit_range: Document) -> None:
    for item in limit_range["spec"]["limits"] or ():
        if item["type"] == "Container":
            _default_container_limits(item)


def _default_container_limits(item: Document) -> None:
    """Without a default limit the maximum is one; without a default request the default limit, or the minimum."""
    limits = {**item.get("max", {}), **item.get("default", {})}
    requests = {**item.get("min", {}), **limits, **item.get("defaultRequest", {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def default_priority_class(priority_class: Document) -> None:
    priority_class.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)
