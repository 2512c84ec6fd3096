"""What the changes of a random world apply to: what they need of the world, and how they pick and change an object.

Takes the world; draws among the objects that are not on their way out. What the store refuses raises `ApiError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from tests.random_worlds.character import Character
from tests.random_worlds.draw import Draw

from bayplan.analysis.simulation.inputs.commands import Command, reference_to
from bayplan.controllers.ownership import is_active
from bayplan.model.kinds import Object
from bayplan.model.node import Node
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import replace
from bayplan.store import Store

ObjectT = TypeVar("ObjectT", bound=Object)


class ChangingWorld(Protocol):
    """What changes need of a world."""

    draw: Draw
    character: Character
    store: Store
    failed: list[str]  # nodes that are down
    overcommitted: set[str]  # nodes that may hold more than they have, through no fault of the scheduler

    def command(self, command: Command, now: int) -> None: ...


Change: TypeAlias = Callable[[ChangingWorld, int], bool]


def any_object(world: ChangingWorld, found: Sequence[ObjectT]) -> ObjectT | None:
    """Any of the objects that is not on its way out."""
    staying = [obj for obj in found if obj.metadata.deletion_timestamp is None]
    return world.draw.any_of(staying) if staying else None


def applies_to(*kinds: type[Object]) -> Callable[[Callable[[ChangingWorld, Any, int], bool | None]], Change]:
    """A change to any object of these kinds; False from it means that it did not happen after all."""

    def decorate(apply: Callable[[ChangingWorld, Any, int], bool | None]) -> Change:
        def change(world: ChangingWorld, now: int) -> bool:
            found = any_object(world, [obj for kind in kinds for obj in world.store.list(kind)])
            return found is not None and apply(world, found, now) is not False

        change.__name__ = apply.__name__
        return change

    return decorate


def any_pod(world: ChangingWorld, wanted: Callable[[Pod], bool]) -> Pod | None:
    return any_object(world, [pod for pod in world.store.list(Pod) if is_active(pod) and wanted(pod)])


def is_pending(pod: Pod) -> bool:
    return not pod.spec.node_name


def modify(world: ChangingWorld, obj: Object, now: int, **fields: Any) -> bool:
    """Give it other fields than it has now."""
    target = reference_to(obj)
    world.store.modify(target.kind, target.namespace, target.name, lambda stored: replace(stored, **fields), now)
    return True


def modify_status(world: ChangingWorld, obj: Node | Pod | ResourceClaim, now: int, status: Any) -> bool:
    meta = obj.metadata
    world.store.modify_status(type(obj), meta.namespace, meta.name, lambda stored: replace(stored, status=status), now)
    return True
