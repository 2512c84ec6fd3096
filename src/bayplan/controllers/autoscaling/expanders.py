"""Which of several pools grows: Cluster Autoscaler's expanders, one after another until one pool is left.

Takes options and gives one; ties that are left are broken by chance, from the generator that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from bayplan.controllers.autoscaling.packing import Option, amounts_of, room_of

#: A node with memory for a core costs as much again as the core, if it is this many bytes.
# Upstream: cloudprovider/gce/gce_price_model.go: 0.033174 for a core, 0.004446 for a gigabyte.
_BYTES_PER_CORE = 7.46 * 1024**3
#: Small differences of cheap options do not decide.
_STABILIZING_CORES = 1.0


def best(options: Sequence[Option], expanders: Sequence[str], random: Random) -> Option | None:
    """None if there are no options."""
    left = list(options)
    for name in expanders:
        if len(left) > 1 and name in _LOSS:
            losses = [_LOSS[name](option) for option in left]
            left = [option for option, loss in zip(left, losses, strict=True) if loss == min(losses)]
    return left[0] if len(left) == 1 else random.choice(left) if left else None


def _waste(option: Option) -> float:
    # Upstream: expander/waste/waste.go.
    shares = [
        (whole * option.nodes - part) / (whole * option.nodes)
        for part, whole in zip(amounts_of(option.pods), room_of(option.pool), strict=True)
        if whole
    ]
    return sum(shares)


def _price(option: Option) -> float:
    """What the nodes cost for what their pods are worth."""
    # Upstream: expander/price/price.go, without the preference for nodes of a size that suits the cluster.
    cpu, memory = amounts_of(option.pods)
    worth = cpu / 1_000 + memory / _BYTES_PER_CORE
    room_cpu, room_memory = room_of(option.pool)
    per_core = option.pool.price / (room_cpu / 1_000 + room_memory / _BYTES_PER_CORE or 1.0)
    stabilizing = _STABILIZING_CORES * per_core
    return (option.pool.price * option.nodes + stabilizing) / (worth + _STABILIZING_CORES)


_LOSS: dict[str, Callable[[Option], float]] = {
    "least-waste": _waste,
    "most-pods": lambda option: -len(option.pods),
    "least-nodes": lambda option: option.nodes,
    "price": _price,
    "priority": lambda option: -option.pool.priority,
}
