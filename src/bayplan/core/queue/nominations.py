"""Which pending pods have a node kept for them, as the scheduler believes it; the API may be behind.

Takes pods and node names; gives the nominated pods of a node in order of nomination. A mirror, if given, is told of
every change, so that the cache can count nominated pods where it filters; a pod must therefore be taken out here before
it is assumed there. Waking those whom a nomination kept away is the queue's affair.
Upstream: backend/queue/nominator.go (v1.36).
"""

from __future__ import annotations

from typing import Protocol

from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.queued_pod import identity_of
from bayplan.model.pod import Pod


class Mirror(Protocol):
    """Somebody who holds the nominated pods too; the cache is one."""

    def nominate(self, pod: Pod, node_name: str) -> object: ...

    def remove_pod(self, key: str) -> None: ...


class Nominations:
    """At most one node for each pod."""

    def __init__(self, mirror: Mirror | None = None) -> None:
        self._mirror = mirror
        self._node_by_identity: dict[str, str] = {}
        self._told_by_identity: dict[str, str] = {}  # the node that the pod's status named when that was set
        self._pods_by_node: dict[str, dict[str, PodInfo]] = {}

    def __len__(self) -> int:
        return len(self._node_by_identity)

    def keys(self) -> list[str]:
        """The pods that have a node kept for them."""
        return [info.key for pods in self._pods_by_node.values() for info in pods.values()]

    def node_of(self, info: PodInfo) -> str:
        """The node kept for the pod, or ""."""
        nodes = self._node_by_identity
        return nodes.get(identity_of(info), "") if nodes else ""

    def on(self, node_name: str) -> tuple[PodInfo, ...]:
        return tuple(self._pods_by_node.get(node_name, {}).values())

    def set(self, pod: Pod, info: PodInfo, node_name: str) -> None:
        """Keep that node, whatever the pod's status says; "" keeps none."""
        self.remove(info)
        if not node_name or info.node_name:
            return
        identity = identity_of(info)
        self._node_by_identity[identity] = node_name
        self._told_by_identity[identity] = info.nominated_node_name
        self._pods_by_node.setdefault(node_name, {})[identity] = info
        if self._mirror is not None:
            self._mirror.nominate(pod, node_name)

    def adopt(self, pod: Pod, info: PodInfo) -> None:
        """Keep the node that the pod's own status names, and no other."""
        if info.nominated_node_name or self._node_by_identity:
            self.set(pod, info, info.nominated_node_name)

    def confirm(self, pod: Pod, info: PodInfo) -> None:
        """Keep what is kept, unless the pod's status has come to name another node than it did at the nomination.

        Upstream believes the status, even if it is older than the nomination, which is then forgotten until a watch
        brings it back; meanwhile the preemptor may preempt again.
        """
        identity = identity_of(info)
        if self._told_by_identity.get(identity) == info.nominated_node_name:
            self.set(pod, info, self._node_by_identity[identity])
        else:
            self.adopt(pod, info)

    def update(self, old: PodInfo, pod: Pod, new: PodInfo) -> None:
        """The pod changed. An update that knows of no nomination may be older than the one just made: that stays."""
        unaware = not old.nominated_node_name and not new.nominated_node_name
        self.set(pod, new, self.node_of(old) if unaware else new.nominated_node_name)

    def remove(self, info: PodInfo) -> str:
        """End the pod's nomination; gives the node that was kept, or ""."""
        if not self._node_by_identity:
            return ""
        identity = identity_of(info)
        node_name = self._node_by_identity.pop(identity, "")
        if node_name:
            del self._told_by_identity[identity]
            pods = self._pods_by_node[node_name]
            del pods[identity]
            if not pods:
                del self._pods_by_node[node_name]
            if self._mirror is not None:
                self._mirror.remove_pod(info.key)
        return node_name
