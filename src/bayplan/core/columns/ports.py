"""Which host ports are taken on which nodes.

A set, as upstream's: two pods that hold the same port on one node count once, and when one of them goes the
port is free. (The scheduler never places such a pair; a user who sets nodeName can.)
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bayplan.core.columns import BoolArray, with_room
from bayplan.core.columns.shapes import Port

ANY_ADDRESS = "0.0.0.0"

_NOWHERE: BoolArray = np.zeros(0, dtype=np.bool_)


class PortTable:
    """Host ports in use."""

    def __init__(self) -> None:
        self._by_number: dict[tuple[str, int], dict[Port, BoolArray]] = {}
        self._holding: dict[Port, int] = {}  # how many nodes

    def set(self, port: Port, node_row: int, taken: bool) -> None:
        users = self._by_number.setdefault((port.protocol, port.port), {})
        users[port] = with_room(users.get(port, _NOWHERE), node_row + 1)
        change = int(taken) - int(users[port][node_row])
        users[port][node_row] = taken
        self._holding[port] = self._holding.get(port, 0) + change
        if not self._holding[port]:
            self._forget(port)

    def _forget(self, port: Port) -> None:
        """No node holds it any more."""
        del self._holding[port]
        users = self._by_number[port.protocol, port.port]
        del users[port]
        if not users:
            del self._by_number[port.protocol, port.port]

    def is_held(self, port: Port, node_row: int) -> bool:
        """Whether a pod on the node holds the port."""
        holders = self._by_number.get((port.protocol, port.port), {}).get(port, _NOWHERE)
        return node_row < len(holders) and bool(holders[node_row])

    @property
    def held(self) -> Collection[Port]:
        """Ports that some node holds."""
        return self._holding.keys()

    def conflicting(self, wanted: Port, node_count: int) -> dict[Port, BoolArray]:
        """The ports some pod holds that clash with `wanted`, each with the (nodes,) mask of where it is held."""
        users = self._by_number.get((wanted.protocol, wanted.port), {})
        return {held: with_room(it, node_count)[:node_count] for held, it in users.items() if clash(wanted, held)}


def clash(wanted: Port, held: Port) -> bool:
    """Whether two ports cannot be on one node. 0.0.0.0 stands for every address; `::` is like any other."""
    if (wanted.protocol, wanted.port) != (held.protocol, held.port):
        return False
    return wanted.host_ip == held.host_ip or ANY_ADDRESS in (wanted.host_ip, held.host_ip)
