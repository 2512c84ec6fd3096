"""The Leases by which kubelets say that they are alive, in `kube-node-lease`.

Kubelets renew theirs every 10 seconds. With many nodes each Lease lasts longer, so that all together are no more than
20 writes a second. A Lease goes with its node, which owns it.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import Any, Final

from bayplan.apiserver.housekeeping.kubelets import KUBELET_OPTIONS
from bayplan.apiserver.housekeeping.nodes import NODES
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.schema.resources import built_in
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.controllers.timers import Timers
from bayplan.model.time_units import SECOND
from bayplan.model.timestamps import format_micro_time
from bayplan.model.watch_types import ADDED, DELETED
from bayplan.store import ApiError

LEASES: Final = built_in("coordination.k8s.io", "leases")
NAMESPACE: Final = "kube-node-lease"
# Upstream: nodeLeaseDurationSeconds and nodeLeaseRenewIntervalFraction in pkg/kubelet (v1.36).
DURATION_SECONDS: Final = 40
_RENEWED_EVERY_NS: Final = 10 * SECOND
#: Nodes up to which Leases are for as long as a kubelet's.
_USUAL_NODES: Final = 200
#: How many are renewed before others have their turn.
_AT_ONCE_MAX: Final = 50


class NodeLeases:
    """Keeps the Leases of all nodes."""

    def __init__(self) -> None:
        self._nodes: set[str] = set()
        self._due: Timers[str] = Timers()

    def observe(self, change: DocumentChange) -> None:
        if change.resource != NODES.plural:
            return
        name = change.new.name
        if change.type == DELETED:
            self._nodes.discard(name)
            self._due.cancel(name)
        elif change.type == ADDED:
            self._nodes.add(name)
            self._due.set(name, 0)

    def reconcile(self, registry: Registry, now: int) -> None:
        times_longer = max(1, -(-len(self._nodes) // _USUAL_NODES))
        for name in [*islice(self._due.pop_due(now), _AT_ONCE_MAX)]:
            self._due.set(name, now + times_longer * _RENEWED_EVERY_NS)
            with suppress(ApiError):
                _renew(registry, name, times_longer * DURATION_SECONDS, now)


def _renew(registry: Registry, name: str, seconds: int, now: int) -> None:
    node = registry.find(NODES, "", name)
    if node is None:
        return
    spec = {"holderIdentity": name, "leaseDurationSeconds": seconds, "renewTime": format_micro_time(now)}
    if registry.find(LEASES, NAMESPACE, name) is None:
        registry.create(LEASES, NAMESPACE, _new_lease(node, spec), KUBELET_OPTIONS, now)
    else:
        registry.update(LEASES, NAMESPACE, name, lambda lease: {**lease, "spec": spec}, KUBELET_OPTIONS, now)


def _new_lease(node: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    name = node["metadata"]["name"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
    return {"kind": LEASES.kind, "apiVersion": LEASES.api_version, "metadata": metadata, "spec": spec}
