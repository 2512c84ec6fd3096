"""Admission plugins that whoever runs a server can turn off, by the names that kube-apiserver has for them.

A server that compares itself with recordings needs that: they were made without accounts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from bayplan.apiserver.admitting.cluster import ClusterView
from bayplan.apiserver.admitting.documents import Document
from bayplan.apiserver.admitting.plugins.new_nodes import taint_new_node
from bayplan.apiserver.admitting.plugins.service_accounts import give_account
from bayplan.apiserver.schema.resources import Resource

Completion: TypeAlias = Callable[[Resource, Document, str, ClusterView], None]
"""Completes a new document: resource, document, name to show, cluster."""

NODE_TAINTS: Final = "TaintNodesByCondition"
SWITCHABLE: Final[Mapping[str, tuple[str, Completion]]] = {
    "ServiceAccount": ("pods", give_account),
    NODE_TAINTS: ("nodes", taint_new_node),
}
"""By name: the resource whose new documents a plugin completes, and how."""


def complete_new(
    plugins: frozenset[str], resource: Resource, document: Document, name: str, cluster: ClusterView
) -> None:
    """Has those of the plugins that are on complete a new document."""
    for plugin, (completed, complete) in SWITCHABLE.items():
        if plugin in plugins and resource.qualified_resource == completed:
            complete(resource, document, name, cluster)
