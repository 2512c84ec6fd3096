"""What may go out of the core: things to be done in the world, as plain data.

`Bind`, `Evict` and `WriteVolumes` are answered by `BindAnswered`, `EvictAnswered` and `VolumesAnswered`; of those that
free a claim it is only said when they fail (`ClaimWriteFailed`); the others are performed and forgotten. As with events
nothing leads back to them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from bayplan.model.kinds import Object
from bayplan.model.structs import Struct
from bayplan.model.well_known import DEFAULT_SCHEDULER_NAME

#: Groups are known by this and their name wherever pods are known by theirs.
GROUP_PREFIX: Final = "podgroup/"


class Bind(Struct, frozen=True, gc=False, omit_defaults=True):
    """Assign the pod to the node, or have the extender of that name do it."""

    pod: str  # namespace/name
    uid: str
    node: str
    extender: str = ""


class Evict(Struct, frozen=True, gc=False):
    """Mark the pod with a DisruptionTarget condition and delete it, with its own grace period."""

    pod: str  # namespace/name
    uid: str
    node: str
    condition_reason: str
    condition_message: str
    note: str  # of the event on the victim
    scheduler_name: str = DEFAULT_SCHEDULER_NAME  # the preemptor's, which reports that event


class Nominate(Struct, frozen=True, gc=False):
    """Write the node the pod waits for into its status."""

    pod: str
    node: str


class ClearNomination(Struct, frozen=True, gc=False):
    """Take back a nomination that a more important pod has overtaken."""

    pod: str
    node: str


class SetCondition(Struct, frozen=True, gc=False):
    """Write PodScheduled=False into the pod's status, and with it a nomination if one is given."""

    pod: str
    uid: str
    reason: str
    message: str
    nominated_node: str | None = None  # None leaves what is there


class SetGroupCondition(Struct, frozen=True, gc=False):
    """Write PodGroupInitiallyScheduled into the status of a PodGroup."""

    group: str  # namespace/name
    uid: str
    status: str
    reason: str
    message: str
    observed_generation: int | None


class WriteVolumes(Struct, frozen=True, gc=False):
    """Write volumes, volume claims and resource claims as they are to be for the pod."""

    pod: str
    uid: str
    objects: tuple[Object, ...]


class DeallocateClaim(Struct, frozen=True, gc=False):
    """Take the devices of a resource claim away that nobody else than the pod may be using."""

    pod: str
    uid: str
    claim: str  # namespace/name


class ReleaseClaim(Struct, frozen=True, gc=False):
    """Take the pod off the users of a resource claim; delete one that the scheduler wrote for the pod alone."""

    pod: str
    uid: str
    claim: str  # namespace/name
    delete: bool = False


class Emit(Struct, frozen=True, gc=False):
    """Record a Kubernetes Event about a pod."""

    pod: str
    uid: str
    type: str  # Normal or Warning
    reason: str
    action: str
    note: str


Action: TypeAlias = (
    Bind
    | Evict
    | Nominate
    | ClearNomination
    | SetCondition
    | SetGroupCondition
    | WriteVolumes
    | DeallocateClaim
    | ReleaseClaim
    | Emit
)


def subject_of(action: Action) -> str:
    """What is written: namespace/name of a pod, or `podgroup/namespace/name`, which no pod has."""
    return f"{GROUP_PREFIX}{action.group}" if isinstance(action, SetGroupCondition) else action.pod


def preempted(eviction: Evict, note: str) -> Emit:
    """The Event about a victim."""
    return Emit(eviction.pod, eviction.uid, "Normal", "Preempted", "Preempting", note)
