"""The machines behind the nodes of pools: asked for, started, and taken away.

Stands for what a cloud does. A machine that was asked for becomes a node, with its devices, when its time to start is
over; one that is taken away leaves with its node. Knows which nodes belong to which pool. Decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass

from bayplan.controllers.autoscaling.settings import ScaledPool
from bayplan.controllers.timers import Timers
from bayplan.model.node import Node
from bayplan.model.node_pools import POOL_LABEL
from bayplan.model.resource_claims import ResourceSlice
from bayplan.model.watch_types import DELETED
from bayplan.store import AlreadyExists, NotFound, Store, WatchEvent

_NUMBER = re.compile(r"-(\d{1,9})$")


@dataclass(frozen=True, slots=True)
class Machine:
    """One that was asked for and is no node yet."""

    name: str
    pool: str


class Machines:
    """Of all pools.

    Args:
        start_ns: how long a machine takes that typically takes so long.
    """

    def __init__(self, start_ns: Callable[[int], int]) -> None:
        self._start_ns = start_ns
        self.pools: dict[str, ScaledPool] = {}
        self.pool_names: dict[str, str] = {}
        """Of nodes, by name."""
        self.starting: dict[str, Machine] = {}
        self.joined_at: dict[str, int] = {}
        """Of nodes that were machines here."""
        self._ready: Timers[str] = Timers()
        self._numbers: Counter[str] = Counter()
        self._slices: dict[str, dict[str, None]] = {}  # names of those of a node

    def observe(self, change: WatchEvent) -> None:
        """A node or a ResourceSlice changed."""
        obj, is_gone = change.new, change.type == DELETED
        name = obj.metadata.name
        if isinstance(obj, ResourceSlice):
            names = self._slices.setdefault(obj.spec.node_name or "", {})
            if is_gone:
                names.pop(name, None)
            else:
                names[name] = None
        elif isinstance(obj, Node):
            pool = obj.metadata.labels.get(POOL_LABEL, "")
            if is_gone or not pool:
                self.pool_names.pop(name, None)
                return
            self.pool_names[name] = pool
            number = _NUMBER.search(name)
            self._numbers[pool] = max(self._numbers[pool], int(number[1]) if number else 0)

    def pool_of(self, node_name: str) -> ScaledPool | None:
        return self.pools.get(self.pool_names.get(node_name, ""))

    def size(self, pool: str) -> int:
        """How many nodes it has, and machines that start."""
        here = sum(name == pool for name in self.pool_names.values())
        return here + sum(machine.pool == pool for machine in self.starting.values())

    def total(self) -> int:
        return len(self.pool_names) + len(self.starting)

    def ask_for(self, pool: ScaledPool, number: int, now: int, *, at_once: bool = False) -> list[Machine]:
        """So many more."""
        asked = []
        for _ in range(number):
            self._numbers[pool.name] += 1
            machine = Machine(f"{pool.name}-{self._numbers[pool.name]}", pool.name)
            self.starting[machine.name] = machine
            self._ready.set(machine.name, now if at_once else now + self._start_ns(pool.start_ns))
            asked.append(machine)
        return asked

    def start_due(self, store: Store, now: int) -> None:
        """Machines whose time has come join the cluster."""
        for name in self._ready.pop_due(now):
            pool = self.pools.get(self.starting.pop(name).pool)
            if pool is None:
                continue
            with suppress(AlreadyExists):
                store.create(pool.node(name), now)
                self.pool_names[name] = pool.name
                self.joined_at[name] = now
                for each in pool.slices(name):
                    store.create(each, now)

    def take_away(self, store: Store, name: str, now: int) -> None:
        """The node and what it offers are gone."""
        self.pool_names.pop(name, None)
        self.joined_at.pop(name, None)
        with suppress(NotFound):
            store.delete(Node, "", name, now)
        for slice_name in [*self._slices.pop(name, ())]:
            with suppress(NotFound):
                store.delete(ResourceSlice, "", slice_name, now)

    def room(self, pool: ScaledPool, most: int | None) -> int:
        """How many nodes more it may have, if all pools together may have at most so many."""
        left = pool.max - self.size(pool.name)
        return max(left if most is None else min(left, most - self.total()), 0)

    def starting_nodes(self) -> Iterable[tuple[Node, list[ResourceSlice]]]:
        """As they will be."""
        for machine in self.starting.values():
            pool = self.pools.get(machine.pool)
            if pool is not None:
                yield pool.node(machine.name), pool.slices(machine.name)

    def wake_at(self) -> int | None:
        return self._ready.next_at()
