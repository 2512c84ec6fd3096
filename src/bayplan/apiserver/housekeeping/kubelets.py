"""What kubelets report of pods that run and of their nodes, besides what changes with a pod's phase.

Which generation of its spec a pod has taken up, the sizes that its containers then have, containers that were added to
it for debugging, that a node lets pods have the extended resources which somebody added to its capacity, and what a
node of a pool is.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from bayplan.apiserver.housekeeping.nodes import NODES
from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import PODS, Registry, Wish
from bayplan.apiserver.schema.resources import Resource
from bayplan.apiserver.schema.versions import served_version
from bayplan.apiserver.statuses.nodes import node_info
from bayplan.apiserver.statuses.pods import with_ephemeral_statuses, with_sizes
from bayplan.apiserver.storage.entries import Document
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.config.releases import release_named
from bayplan.model.node_pools import POOL_LABEL
from bayplan.model.timestamps import format_time
from bayplan.model.watch_types import DELETED
from bayplan.store import ApiError

#: How kubelets write.
KUBELET_OPTIONS: Final = WriteOptions("kubelet", trusted=True)


class KubeletReports:
    """Keeps statuses of pods and nodes in step with what was written to them."""

    def __init__(self) -> None:
        self._pods: dict[tuple[str, str], None] = {}
        self._nodes: dict[str, dict[str, str]] = {}
        self._new_nodes: dict[str, None] = {}  # of pools

    def observe(self, change: DocumentChange) -> None:
        if change.type == DELETED:
            return
        new = change.new
        if change.resource == PODS.plural:
            if _is_pod_behind(new.document):
                self._pods[new.namespace, new.name] = None
        elif change.resource == NODES.plural:
            added = _added(new.document, {} if change.old is None else change.old.document)
            if added:
                self._nodes[new.name] = added
            if _is_unreported(new.document):
                self._new_nodes[new.name] = None

    def reconcile(self, registry: Registry, now: int) -> None:
        pods, self._pods = self._pods, {}
        for namespace, name in pods:
            _report(registry, PODS, namespace, name, lambda pod: _caught_up(pod, format_time(now)), now)
        nodes, self._nodes = self._nodes, {}
        for name, amounts in nodes.items():
            _report(registry, NODES, "", name, partial(_allowing, amounts), now)
        new_nodes, self._new_nodes = self._new_nodes, {}
        for name in new_nodes:
            _report(registry, NODES, "", name, _with_info, now)


def _report(registry: Registry, resource: Resource, namespace: str, name: str, wish: Wish, now: int) -> None:
    with suppress(ApiError):
        registry.update(resource, namespace, name, wish, KUBELET_OPTIONS, now, subresource="status")


def _is_pod_behind(pod: Document) -> bool:
    status = pod.get("status") or {}
    if status.get("phase") != "Running" or not pod["spec"].get("nodeName"):
        return False
    added = len(pod["spec"].get("ephemeralContainers") or ())
    return (
        status.get("observedGeneration") != pod["metadata"].get("generation")
        or len(status.get("ephemeralContainerStatuses") or ()) < added
    )


def _caught_up(pod: Document, time: str) -> Document:
    if not _is_pod_behind(pod):
        return pod
    made = with_sizes(with_ephemeral_statuses(pod, time))
    generation = pod["metadata"].get("generation")
    observed = {} if generation is None else {"observedGeneration": generation}
    return {**made, "status": {**made["status"], **observed}}


def _added(node: Document, old: Document) -> dict[str, str]:
    """Extended resources that were added to a node's capacity, or changed, and that it does not let pods have yet."""
    capacity, allocatable = _amounts(node, "capacity"), _amounts(node, "allocatable")
    old_capacity, old_allocatable = _amounts(old, "capacity"), _amounts(old, "allocatable")
    return {
        name: amount
        for name, amount in capacity.items()
        if "/" in name
        and allocatable.get(name) != amount
        and (name not in allocatable or old_capacity.get(name) == old_allocatable.get(name) == allocatable[name])
    }


def _amounts(node: Document, of: str) -> dict[str, str]:
    return (node.get("status") or {}).get(of) or {}


def _allowing(amounts: dict[str, str], node: Document) -> Document:
    return {**node, "status": {**node["status"], "allocatable": {**_amounts(node, "allocatable"), **amounts}}}


def _is_unreported(node: Document) -> bool:
    """Whether it was made for a pool and its kubelet has not reported yet. Other nodes are what their makers say."""
    info = (node.get("status") or {}).get("nodeInfo") or {}
    return POOL_LABEL in (node["metadata"].get("labels") or {}) and not info.get("kubeletVersion")


def _with_info(node: Document) -> Document:
    if not _is_unreported(node):
        return node
    status = node.get("status") or {}
    address = {"type": "Hostname", "address": node["metadata"]["name"]}
    info = node_info(release_named(served_version()))
    return {**node, "status": {**status, "addresses": status.get("addresses") or [address], "nodeInfo": info}}
