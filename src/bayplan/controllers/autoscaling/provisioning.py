"""Karpenter's way up: for pods that fit nowhere, nodes are opened one by one, each the cheapest that holds its pods.

A new node takes as many of the waiting pods as fit on the roomiest pool that suits them, the largest pods first; what
is asked for is then the cheapest pool that holds all of these. Pools of a higher priority come first. Takes a picture
that is up to date, inside a trial that knows of machines under way. Upstream: sigs.k8s.io/karpenter
pkg/controllers/provisioning (1.x).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bayplan.controllers.autoscaling.machines import Machine, Machines
from bayplan.controllers.autoscaling.packing import amounts_of, grouped
from bayplan.controllers.autoscaling.picture import Picture
from bayplan.controllers.autoscaling.settings import ScaledPool, Settings
from bayplan.core.framework.verdict import CycleError
from bayplan.model.pod import Pod


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node that would hold these pods."""

    pool: ScaledPool
    pods: tuple[Pod, ...]


def provision(
    picture: Picture, machines: Machines, settings: Settings, leaving: Iterable[Pod], now: int
) -> list[Machine]:
    """The machines that were asked for; `leaving` are pods of nodes that go. Pods that wait for victims get none."""
    waiting = [*(pod for pod in picture.refused.values() if not pod.status.nominated_node_name), *leaving]
    opened = nodes_for(picture, waiting, Rooms(machines, settings.max_nodes))
    return [machine for each in opened for machine in machines.ask_for(each.pool, 1, now)]


class Rooms:
    """How many nodes more each pool may have, while some are planned."""

    def __init__(self, machines: Machines, most: int | None, without: Iterable[str] = ()) -> None:
        """`without`: nodes that would be gone."""
        leaving = [*without]
        self.pools = machines.pools
        names = [machines.pool_names.get(name) for name in leaving]
        self._left = {name: pool.max - machines.size(name) + names.count(name) for name, pool in machines.pools.items()}
        self._total = None if most is None else most - machines.total() + len(leaving)

    def open(self) -> list[ScaledPool]:
        """Pools that may grow."""
        if self._total is not None and self._total <= 0:
            return []
        return [pool for name, pool in self.pools.items() if self._left[name] > 0]

    def take(self, pool: ScaledPool) -> None:
        self._left[pool.name] -= 1
        if self._total is not None:
            self._total -= 1


def nodes_for(picture: Picture, pods: Iterable[Pod], rooms: Rooms) -> list[NewNode]:
    """Puts pods onto nodes that are there, and opens nodes for the rest; pods that no pool can hold are left out."""
    waiting = _placed_where_there_is_room(picture, sorted(pods, key=_by_size))
    opened: list[NewNode] = []
    while waiting:
        found = _next_node(picture, waiting, rooms)
        if found is None:
            waiting = waiting[1:]
            continue
        rooms.take(found.pool)
        name = f"{found.pool.name}-planned-{len(opened) + 1}"
        _fill(picture, found.pool, name, found.pods)
        opened.append(found)
        taken = {id(pod) for pod in found.pods}
        waiting = [pod for pod in waiting if id(pod) not in taken]
    return opened


def _by_size(pod: Pod) -> tuple[int, int, str, str]:
    # Upstream: scheduling/queue.go: by CPU, then by memory, then by age.
    cpu, memory = amounts_of([pod])
    return -cpu, -memory, pod.metadata.creation_timestamp or "", pod.metadata.uid


def _placed_where_there_is_room(picture: Picture, pods: Sequence[Pod]) -> list[Pod]:
    left = []
    for group in grouped(picture, pods):
        for position, pod in enumerate(group):
            if not picture.place(pod):
                left += group[position:]
                break
    return sorted(left, key=_by_size)


def _next_node(picture: Picture, waiting: Sequence[Pod], rooms: Rooms) -> NewNode | None:
    """The node for the first pod and for what fits beside it; None if no pool takes that pod."""
    pools = rooms.open()
    for priority in sorted({pool.priority for pool in pools}, reverse=True):
        equal = sorted((p for p in pools if p.priority == priority), key=lambda pool: (pool.price, pool.name))
        held = {pool.name: _held_by(picture, pool, waiting) for pool in equal}
        most = max(held.values(), key=len, default=())
        if most:
            wanted = [id(pod) for pod in most]
            cheapest = next(
                pool
                for pool in equal
                if len(held[pool.name]) == len(most) or [*map(id, _held_by(picture, pool, most))] == wanted
            )
            return NewNode(cheapest, most if len(held[cheapest.name]) < len(most) else held[cheapest.name])
    return None


def _held_by(picture: Picture, pool: ScaledPool, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """What one node of the pool takes, if it takes the first of them."""
    with picture.trial():
        return _fill(picture, pool, f"{pool.name}-tried", pods)


def _fill(picture: Picture, pool: ScaledPool, name: str, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    picture.add_node(pool.node(name), slices=pool.slices(name))
    taken: list[Pod] = []
    refused: set[int] = set()  # shapes
    for pod in pods:
        shape = picture.shape(pod)
        if shape in refused or name not in picture.nodes_for(pod) or not _put(picture, pod, name):
            if not taken:
                return ()
            if not pod.spec.resource_claims:
                refused.add(shape)
            continue
        taken.append(pod)
    return tuple(taken)


def _put(picture: Picture, pod: Pod, name: str) -> bool:
    try:
        picture.put(pod, name)
    except CycleError:
        return False
    return True
