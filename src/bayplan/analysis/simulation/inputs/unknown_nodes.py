"""Nodes that a timeline names and that never exist: a typing error, found before the run rather than by its result.

Takes the objects at the start and what is planned. A node that a plan adds may be named before that: whether it is
there at that time is for the run to find out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import assert_never

from bayplan.analysis.simulation.inputs.commands import (
    Apply,
    Command,
    Cordon,
    DeleteObject,
    Drain,
    LabelObjects,
    NodesFail,
    NodesRecover,
    PlannedCommand,
    Restate,
    ScaleWorkload,
    SetLabels,
    SetTaints,
    all_objects,
)
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.near_matches import did_you_mean, near
from bayplan.model.node import Node


def check_nodes(objects: Iterable[Object], plans: Sequence[PlannedCommand]) -> None:
    """Raises InvalidObject with every plan that names a node which never exists."""
    if not plans:
        return
    known = {obj.metadata.name for obj in all_objects(objects, plans) if isinstance(obj, Node)}
    unknown = [(plan, name) for plan in plans for name in _nodes_of(plan.command) if name not in known]
    if unknown:
        raise InvalidObject([Fault(plan.source, f"Node {name}", "", _message(name, known)) for plan, name in unknown])


def _nodes_of(command: Command) -> Iterator[str]:
    match command:
        case Cordon() | Drain() | NodesFail() | NodesRecover() | SetTaints() | SetLabels():
            yield from command.nodes
        case DeleteObject() | LabelObjects():
            yield from (target.name for target in command.targets if target.kind == Node.__name__)
        case Apply() | Restate() | ScaleWorkload():
            return
        case _:
            assert_never(command)


def _message(name: str, known: Collection[str]) -> str:
    return f"not found in the input, and no step adds it{did_you_mean(near(name, known)[:1])}"
