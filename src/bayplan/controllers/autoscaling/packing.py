"""How many nodes of a pool pending pods would take, and which pods that helps.

First fit, the largest pods first, on nodes that are added to a trial one by one. Pods that no filter can tell apart are
tried together: where one of them fits nowhere, the others do not either. Takes a picture in which nothing pending fits
on existing nodes. Upstream: cluster-autoscaler/estimator/binpacking_estimator.go (1.33).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from bayplan.config.feature_gates import DEFAULT_GATES
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.settings import ScaledPool
from bayplan.controllers.ownership import controller_reference
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, allocatable_amounts, pod_requests
from bayplan.core.framework.verdict import CycleError
from bayplan.model.pod import Pod

_NODES_AT_ONCE_MAX = 1_000  # of one scale-up


@dataclass(frozen=True, slots=True)
class Option:
    """A pool that helps, and how much."""

    pool: ScaledPool
    nodes: int
    pods: tuple[Pod, ...]


def option_of(picture: Picture, pool: ScaledPool, pods: Sequence[Pod], most: int) -> Option | None:
    """What at most so many new nodes of the pool would do; None if they would help no pod."""
    packing = _Packing(picture, pool, min(most, _NODES_AT_ONCE_MAX))
    with picture.trial():
        for group in sorted(grouped(picture, pods), key=lambda group: -_size(group[0], pool)):
            packing.add(group)
    return Option(pool, len(packing.used), tuple(packing.placed)) if packing.placed else None


def grouped(picture: Picture, pods: Sequence[Pod]) -> list[list[Pod]]:
    """Pods of one owner that no filter can tell apart, in order of arrival."""
    groups: dict[tuple[int, str], list[Pod]] = {}
    for pod in pods:
        owner = controller_reference(pod.metadata)
        alone = pod.metadata.uid if pod.spec.resource_claims or owner is None else owner.uid or owner.name
        groups.setdefault((picture.shape(pod), alone), []).append(pod)
    return list(groups.values())


def amounts_of(pods: Sequence[Pod]) -> tuple[int, int]:
    """Milli-CPUs and bytes that they request together."""
    requests = [pod_requests(pod, DEFAULT_GATES).asked for pod in pods]
    return sum(each.get(CPU_NAME, 0) for each in requests), sum(each.get(MEMORY_NAME, 0) for each in requests)


def room_of(pool: ScaledPool) -> tuple[int, int]:
    """Milli-CPUs and bytes of one node."""
    amounts, _ = allocatable_amounts(pool.template.status.allocatable)
    return amounts.get(CPU_NAME, 0), amounts.get(MEMORY_NAME, 0)


def _size(pod: Pod, pool: ScaledPool) -> float:
    """Which share of the node's CPU and memory the pod takes, added up."""
    return sum(part / whole for part, whole in zip(amounts_of([pod]), room_of(pool), strict=True) if whole)


class _Packing:
    """Nodes of one pool as they fill up."""

    def __init__(self, picture: Picture, pool: ScaledPool, most: int) -> None:
        self._picture = picture
        self._pool = pool
        self._most = most
        self._names: list[str] = []
        self._numbers = count(1)
        self.used: dict[str, None] = {}
        self.placed: list[Pod] = []

    def add(self, pods: Sequence[Pod]) -> None:
        """Equal pods, each onto the first new node that takes it, else onto one more."""
        for pod in pods:
            if not self._put(pod, self._names) and not self._put_on_another(pod):
                return

    def _put_on_another(self, pod: Pod) -> bool:
        # A new node that is still empty did not take such a pod; another one would not either.
        if (self._names and self._names[-1] not in self.used) or len(self._names) >= self._most:
            return False
        name = f"{self._pool.name}-new-{next(self._numbers)}"
        self._picture.add_node(self._pool.node(name), slices=self._pool.slices(name))
        self._names.append(name)
        return self._put(pod, [name])

    def _put(self, pod: Pod, names: Sequence[str]) -> bool:
        fits = self._picture.nodes_for(pod) if names else set()
        name = next((name for name in names if name in fits), None)
        if name is None:
            return False
        try:
            self._picture.put(pod, name)
        except CycleError:
            return False
        self.used[name] = None
        self.placed.append(pod)
        return True
