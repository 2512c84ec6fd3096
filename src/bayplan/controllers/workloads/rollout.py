"""How many pods each ReplicaSet of a Deployment should have: the arithmetic of rolling updates and of scaling.

Takes the Deployment and the sizes and counts of its ReplicaSets as plain numbers, and gives sizes. Nothing is read or
written here; `deployment` does that. Sizes are what a ReplicaSet's spec asks for, counts what its status says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayplan.controllers.int_or_percent import scaled_value
from bayplan.model.workloads import Deployment, RollingUpdate

RECREATE, ON_DELETE = "Recreate", "OnDelete"
_DEFAULT_SHARE = "25%"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a rollout may go beyond and below the wanted number."""

    wanted: int
    surge: int
    unavailable: int

    @property
    def total_max(self) -> int:
        return self.wanted + self.surge

    @property
    def available_min(self) -> int:
        return self.wanted - min(self.unavailable, self.wanted)


@dataclass(frozen=True, slots=True)
class RolledReplicaSet:
    """One ReplicaSet of a Deployment, in numbers."""

    size: int
    available: int
    size_total_then: int | None = None
    """The most pods its Deployment was allowed when this member was last sized."""


def is_recreated(deployment: Deployment) -> bool:
    strategy = deployment.spec.strategy
    return strategy is not None and strategy.type == RECREATE


def bounds_of(deployment: Deployment) -> Bounds:
    """As its strategy says; a Deployment that is recreated has no surge, and lacks something unless it has all."""
    # Upstream: pkg/controller/deployment/util/deployment_util.go ResolveFenceposts (v1.36).
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    if is_recreated(deployment):
        return Bounds(wanted, surge=0, unavailable=0)
    strategy = deployment.spec.strategy
    rolling = (strategy.rolling_update if strategy is not None else None) or RollingUpdate()
    surge = _DEFAULT_SHARE if rolling.max_surge is None else rolling.max_surge
    unavailable = _DEFAULT_SHARE if rolling.max_unavailable is None else rolling.max_unavailable
    more = scaled_value(surge, wanted, round_up=True)
    fewer = scaled_value(unavailable, wanted, round_up=False)
    # With neither, a rollout could never begin.
    return Bounds(wanted, more, fewer if more or fewer else 1)


def size_of_new(bounds: Bounds, new: int, old: int, *, recreated: bool) -> int:
    """The next size of the ReplicaSet of the current template; all the others together have `old`."""
    if recreated or new > bounds.wanted:
        return bounds.wanted
    room = bounds.total_max - old - new
    return new if room <= 0 else new + min(room, bounds.wanted - new)


def sizes_of_old(bounds: Bounds, new: RolledReplicaSet, old: Sequence[RolledReplicaSet]) -> list[int]:
    """The next sizes of the others, which are given oldest first: as many go as can be spared."""
    # Upstream: pkg/controller/deployment/rolling.go reconcileOldReplicaSets (v1.36).
    sizes = [member.size for member in old]
    new_unavailable = new.size - new.available
    spare = sum(sizes) + new.size - bounds.available_min - new_unavailable
    if spare <= 0:
        return sizes
    # Pods that are not available are missed by nobody, so they go first.
    for position, member in enumerate(old):
        fewer = max(0, min(spare, member.size - member.available))
        sizes[position] -= fewer
        spare -= fewer
    surplus = sum(member.available for member in old) + new.available - bounds.available_min
    for position, size in enumerate(sizes):
        fewer = max(0, min(size, surplus))
        sizes[position] -= fewer
        surplus -= fewer
    return sizes


def proportional_sizes(bounds: Bounds, members: Sequence[RolledReplicaSet], total_now: int) -> list[int]:
    """New sizes in the middle of a rollout, in proportion to the old; members are given largest first.

    Args:
        bounds: of the Deployment as it is now.
        members: those that have a size.
        total_now: the pods the Deployment's status counts, for members nobody has written a total for.
    """
    # Upstream: pkg/controller/deployment/sync.go scale (v1.36).
    sizes = [member.size for member in members]
    allowed = bounds.total_max if bounds.wanted > 0 else 0
    left = allowed - sum(sizes)
    if left == 0:
        return sizes
    growing = left > 0
    for position, member in enumerate(members):
        share = _share(bounds, member, total_now)
        step = min(share, left) if growing else max(share, left)
        sizes[position] += step
        left -= step
    if sizes:
        sizes[0] = max(0, sizes[0] + left)
    return sizes


def _share(bounds: Bounds, member: RolledReplicaSet, total_now: int) -> int:
    if bounds.wanted == 0:
        return -member.size
    then = member.size_total_then or total_now
    if then == 0:
        return 0
    # Half away from zero, as Go rounds; nothing here is negative.
    return (2 * member.size * bounds.total_max + then) // (2 * then) - member.size
