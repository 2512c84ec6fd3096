"""A new node is tainted as not ready, so that no pod comes to it before its kubelet says that it is.

Takes a new node document and completes it in place, whatever its conditions say; who watches nodes takes the taint away
once they are good. Where nobody does, the plugin is better off.
Upstream: plugin/pkg/admission/nodetaint/admission.go (v1.36).
"""

from __future__ import annotations

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.schema.resources import Resource
from bayplan.model.tolerations import NO_SCHEDULE
from bayplan.model.well_known import NOT_READY


def taint_new_node(resource: Resource, node: Document, name: str, cluster: ClusterView) -> None:  # noqa: ARG001
    taints = node["spec"].get("taints") or []
    if not any(taint.get("key") == NOT_READY and taint.get("effect") == NO_SCHEDULE for taint in taints):
        node["spec"]["taints"] = [*taints, {"key": NOT_READY, "effect": NO_SCHEDULE}]
