"""Which pending pods have a node kept for them, as the scheduler believes it; the API may be behind.

Takes pods and node names; gives the nominated pods of a node in order of nomination. A mirror, if given, is told of
every change, so that the cache can count nominated pods where it filters; a pod must therefore be taken out here before
it is assumed there. Waking those whom a nomination kept away is the queue's affair.
Upstream: backend/queue/nominator.go (v1.36).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from bayplan.core.columns.nominated import known_by_name
from bayplan.core.columns.shapes import PodInfo
from bayplan.core.queue.queued_pod import identity_of
from bayplan.model.pod import Pod


class Mirror(Protocol):
    """Somebody who holds the nominated pods too; the cache is one."""

    def nominate(self, pod: Pod, node_name: str) -> object: ...

    def remove_pod(self, key: str) -> None: ...


class _Kept(NamedTuple):
    """A node that is kept for a pod."""

    node: str
    pod: PodInfo
    told: str  # the node that the pod's status named at the nomination


class Nominations:
    """At most one node for each pod."""

    def __init__(self, mirror: Mirror | None = None) -> None:
        self._mirror = mirror
        self._kept: dict[str, _Kept] = {}  # by identity of the pod, in order of nomination

    def __len__(self) -> int:
        return len(self._kept)

    def keys(self) -> list[str]:
        """The pods that have a node kept for them."""
        return [kept.pod.key for kept in self._kept.values()]

    def node_of(self, info: PodInfo) -> str:
        """The node kept for the pod, or ""."""
        kept = self._kept.get(identity_of(info)) if self._kept else None
        return "" if kept is None else kept.node

    def on(self, node_name: str) -> tuple[PodInfo, ...]:
        return tuple(kept.pod for kept in self._kept.values() if kept.node == node_name)

    def set(self, pod: Pod, info: PodInfo, node_name: str) -> None:
        """Keep that node, whatever the pod's status says; "" keeps none."""
        self.remove(info)
        if not node_name or info.node_name:
            return
        self._kept[identity_of(info)] = _Kept(node_name, info, info.nominated_node_name)
        if self._mirror is not None:
            self._mirror.nominate(pod, node_name)

    def adopt(self, pod: Pod, info: PodInfo) -> None:
        """Keep the node that the pod's own status names, and no other."""
        if info.nominated_node_name or self._kept:
            self.set(pod, info, info.nominated_node_name)

    def confirm(self, pod: Pod, info: PodInfo) -> None:
        """Keep what is kept, unless the pod's status has come to name another node than it did at the nomination.

        Upstream believes the status, even if it is older than the nomination, which is then forgotten until a watch
        brings it back; meanwhile the preemptor may preempt again.
        """
        kept = self._kept.get(identity_of(info))
        if kept is not None and kept.told == info.nominated_node_name:
            self.set(pod, info, kept.node)
        else:
            self.adopt(pod, info)

    def update(self, old: PodInfo, pod: Pod, new: PodInfo) -> None:
        """The pod changed. An update that knows of no nomination may be older than the one just made: that stays."""
        unaware = not old.nominated_node_name and not new.nominated_node_name
        self.set(pod, new, self.node_of(old) if unaware else new.nominated_node_name)

    def keep_by_name(self, pod: Pod, info: PodInfo) -> None:
        """The node stays kept for a pod that is in no queue, of which upstream finds but the name.

        Such a pod takes a place on its node and nothing else there, and has priority 0.
        """
        kept = self._kept.get(identity_of(info))
        if kept is not None and self._mirror is not None:
            self._mirror.remove_pod(info.key)
            self._mirror.nominate(known_by_name(pod), kept.node)

    def remove(self, info: PodInfo) -> str:
        """End the pod's nomination; gives the node that was kept, or ""."""
        kept = self._kept.pop(identity_of(info), None) if self._kept else None
        if kept is None:
            return ""
        if self._mirror is not None:
            self._mirror.remove_pod(info.key)
        return kept.node
