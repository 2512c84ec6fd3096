"""What may come into the core: what happened in the world, as plain data.

Objects come as a watch reports them, each with what was known before. Answers come for actions that went out; an action
that is never answered is the world's mistake, and it must answer with a timeout. Nothing that they hold leads back to
them, so the garbage collector need not know them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeAlias, TypeVar, final

from bayplan.model.kinds import Object
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.structs import Struct

Key = TypeVar("Key", bound=Hashable)


@final
class ObjectAdded(Struct, frozen=True, gc=False):
    new: Object


@final
class ObjectChanged(Struct, frozen=True, gc=False):
    old: Object
    new: Object


@final
class ObjectRemoved(Struct, frozen=True, gc=False):
    old: Object  # as it was last known


@final
class BindAnswered(Struct, frozen=True, gc=False):
    """The answer to `Bind`; `error` is empty when the pod is bound. `lost`: nobody knows whether it is."""

    pod: str
    uid: str
    error: str = ""
    lost: bool = False


class EvictAnswered(Struct, frozen=True, gc=False):
    """The answer to `Evict`; a pod that was gone already counts as evicted."""

    pod: str
    uid: str
    error: str = ""


class VolumesAnswered(Struct, frozen=True, gc=False):
    """The answer to `WriteVolumes`: the writes were taken, or not. `lost`: nobody knows which of them were."""

    pod: str
    uid: str
    error: str = ""
    lost: bool = False
    claims: tuple[ResourceClaim, ...] = ()  # the resource claims among the objects, as they are stored now


class ClaimWriteFailed(Struct, frozen=True, gc=False):
    """A `DeallocateClaim` or `ReleaseClaim` came to nothing. That it was done is news that the watch brings."""

    pod: str
    uid: str
    error: str


#: What became of something that the core asked for.
Answer: TypeAlias = BindAnswered | EvictAnswered | VolumesAnswered | ClaimWriteFailed

#: What a watch reports.
ObjectEvent: TypeAlias = ObjectAdded | ObjectChanged | ObjectRemoved

Event: TypeAlias = ObjectEvent | Answer


def changes_between(known: Mapping[Key, Object], listed: Mapping[Key, Object]) -> list[ObjectEvent]:
    """What must have happened to objects that were not watched for a while: those that are gone, then the others."""
    events: list[ObjectEvent] = [ObjectRemoved(obj) for key, obj in known.items() if key not in listed]
    for key, new in listed.items():
        old = known.get(key)
        if old is None:
            events.append(ObjectAdded(new))
        elif old.metadata.resource_version != new.metadata.resource_version:
            events.append(ObjectChanged(old, new))
    return events
