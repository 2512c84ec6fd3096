"""What users do to a cluster while time passes, as plain data.

`verbs` reads commands, `command_runner` carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from bayplan.analysis.references import Reference
from bayplan.model.kinds import ALL_KINDS, Object
from bayplan.model.node import Taint


@dataclass(frozen=True, slots=True)
class Apply:
    """Create the objects, or bring those that exist to what is wanted now."""

    objects: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class DeleteObject:
    targets: tuple[Reference, ...]
    grace_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ScaleWorkload:
    """Set `spec.replicas`, or a Job's parallelism."""

    targets: tuple[Reference, ...]
    replicas: int


@dataclass(frozen=True, slots=True)
class Cordon:
    nodes: tuple[str, ...]
    unschedulable: bool = True


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordon, and evict the node's pods as budgets allow; daemons stay."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesFail:
    """The machines stop: nothing happens on them, and they send no heartbeats."""

    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodesRecover:
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetTaints:
    nodes: tuple[str, ...]
    add: tuple[Taint, ...] = ()
    remove: tuple[tuple[str, str], ...] = ()  # key and effect, "" for any effect


@dataclass(frozen=True, slots=True)
class SetLabels:
    nodes: tuple[str, ...]
    labels: dict[str, str | None] = field(default_factory=dict)  # None removes the label


@dataclass(frozen=True, slots=True)
class LabelObjects:
    """Set or remove labels of objects of any kind."""

    targets: tuple[Reference, ...]
    labels: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Restate:
    """Give an object that exists exactly this meaning: labels and annotations, spec, and what a node has.

    What it says of its state stays, and so do the taints of a node that follow from that.
    """

    wanted: Object


Command: TypeAlias = (
    Apply
    | Restate
    | DeleteObject
    | ScaleWorkload
    | Cordon
    | Drain
    | NodesFail
    | NodesRecover
    | SetTaints
    | SetLabels
    | LabelObjects
)


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """A command and when it is due, in nanoseconds since the start; `source` is `file:line`."""

    at: int
    command: Command
    source: str = ""


def all_objects(objects: Iterable[Object], plans: Iterable[PlannedCommand]) -> Iterator[Object]:
    """The objects of a cluster, and those that are applied to it later."""
    yield from objects
    for plan in plans:
        if isinstance(plan.command, Apply):
            yield from plan.command.objects


def reference_to(obj: Object) -> Reference:
    kind = type(obj).__name__
    return Reference(kind, obj.metadata.namespace if ALL_KINDS[kind].namespaced else "", obj.metadata.name)
