"""Nodes of the same kind, and one more of them.

Two nodes are of one kind if they offer the same and bear the same taints and labels, but for the host name and taints
that tell of a node's state. In a large cluster labels that no other node shares do not count either, or every node
would be a kind of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from itertools import count

from bayplan.analysis.answers.nodes_needed import lasting_taints
from bayplan.core.columns.nodes import taint_set
from bayplan.core.columns.resources import CPU_NAME, MEMORY_NAME, allocatable_amounts
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.well_known import HOSTNAME

#: Kinds that are tried.
KINDS_MAX = 40


def one_of_each_kind(nodes: Iterable[Node]) -> list[Node]:
    """The first by name of each kind, the smallest kinds first. Cordoned nodes are left out."""
    known = sorted((node for node in nodes if not node.spec.unschedulable), key=lambda node: node.metadata.name)
    shared = Counter(pair for node in known for pair in node.metadata.labels.items())
    many = len(known) > KINDS_MAX
    kinds: dict[object, Node] = {}
    for node in known:
        pairs = (pair for pair in node.metadata.labels.items() if pair[0] != HOSTNAME)
        labels = frozenset(pair for pair in pairs if not many or shared[pair] > 1)
        offered = frozenset(node.status.allocatable.items())
        kinds.setdefault((offered, labels, taint_set(lasting_taints(node))), node)
    return sorted(kinds.values(), key=_size)[:KINDS_MAX]


def node_like(node: Node, taken: Collection[str]) -> Node:
    """An empty node of the same kind."""
    made = deepcopy(node)
    made.metadata.name = next(name for name in _names(node.metadata.name) if name not in taken)
    made.metadata.uid = ""
    made.spec.taints = lasting_taints(made)
    if HOSTNAME in made.metadata.labels:
        made.metadata.labels[HOSTNAME] = made.metadata.name
    return made


def daemons_like(daemons: Iterable[Pod], node: str) -> Iterator[Pod]:
    """The pods that DaemonSets would make for one more node."""
    for daemon in daemons:
        made = deepcopy(daemon)
        made.metadata.name = f"{daemon.metadata.name}-on-{node}"
        made.metadata.uid = ""
        made.spec.node_name = node
        yield made


def _names(name: str) -> Iterator[str]:
    yield f"{name}-copy"
    for number in count(2):
        yield f"{name}-copy-{number}"


def _size(node: Node) -> tuple[int, int, str]:
    amounts, _ = allocatable_amounts(node.status.allocatable)
    return amounts.get(CPU_NAME, 0), amounts.get(MEMORY_NAME, 0), node.metadata.name
