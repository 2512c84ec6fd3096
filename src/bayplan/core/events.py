"""What may come into the core: what happened in the world, as plain data.

Objects come as a watch tells them, each with what was known before. Answers come for actions that went out; an action
that is never answered is the world's mistake, and it must answer with a timeout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bayplan.model.kinds import Object


@dataclass(frozen=True, slots=True)
class ObjectAdded:
    new: Object


@dataclass(frozen=True, slots=True)
class ObjectChanged:
    old: Object
    new: Object


@dataclass(frozen=True, slots=True)
class ObjectRemoved:
    old: Object  # as it was last known


@dataclass(frozen=True, slots=True)
class BindAnswered:
    """The answer to `Bind`; `error` is empty when the pod is bound. `lost`: nobody knows whether it is."""

    pod: str
    uid: str
    error: str = ""
    lost: bool = False


@dataclass(frozen=True, slots=True)
class EvictAnswered:
    """The answer to `Evict`; a pod that was gone already counts as evicted."""

    pod: str
    uid: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class VolumesAnswered:
    """The answer to `WriteVolumes`: the writes were taken, or not."""

    pod: str
    uid: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class PermitAnswered:
    """A plugin that made a pod wait has made up its mind."""

    pod: str
    uid: str
    plugin: str
    allowed: bool
    reason: str = ""


Event: TypeAlias = (
    ObjectAdded | ObjectChanged | ObjectRemoved | BindAnswered | EvictAnswered | VolumesAnswered | PermitAnswered
)
