"""Which host ports are taken on which nodes.

A set, as upstream's: two pods that hold the same port on one node count once, and when one of them goes the
port is free. (The scheduler never places such a pair; a user who sets nodeName can.)
"""

from __future__ import annotations

import numpy as np

from bayplan.core.columns import BoolArray
from bayplan.core.columns.shapes import Port

ANY_ADDRESS = "0.0.0.0"


class PortTable:
    """Host ports in use."""

    def __init__(self) -> None:
        self._by_number: dict[tuple[str, int], dict[Port, BoolArray]] = {}

    def set(self, port: Port, node_row: int, taken: bool) -> None:
        users = self._by_number.setdefault((port.protocol, port.port), {})
        column = users.get(port)
        if column is None or node_row >= len(column):
            grown = np.zeros(max(64, 2 * node_row), dtype=np.bool_)
            if column is not None:
                grown[: len(column)] = column
            column = users[port] = grown
        column[node_row] = taken

    def conflicting(self, wanted: Port, node_count: int) -> dict[Port, BoolArray]:
        """The ports some pod holds that clash with `wanted`, each with the (nodes,) mask of where it is held."""
        users = self._by_number.get((wanted.protocol, wanted.port), {})
        return {held: _resized(column, node_count) for held, column in users.items() if clash(wanted, held)}


def clash(wanted: Port, held: Port) -> bool:
    """Whether two ports cannot be on one node. 0.0.0.0 stands for every address; `::` is like any other."""
    if (wanted.protocol, wanted.port) != (held.protocol, held.port):
        return False
    return wanted.host_ip == held.host_ip or ANY_ADDRESS in (wanted.host_ip, held.host_ip)


def _resized(column: BoolArray, node_count: int) -> BoolArray:
    if len(column) >= node_count:
        return column[:node_count]
    return np.concatenate([column, np.zeros(node_count - len(column), dtype=np.bool_)])
