"""An action of the scheduler as requests, and what became of it as the event that the scheduler observes."""

from __future__ import annotations

from bayplan.core.actions import (
    Action,
    Bind,
    ClearNomination,
    DeallocateClaim,
    Emit,
    Evict,
    Nominate,
    ReleaseClaim,
    SetCondition,
    SetGroupCondition,
    WriteVolumes,
)
from bayplan.core.events import Answer, BindAnswered, ClaimWriteFailed, EvictAnswered, VolumesAnswered
from bayplan.model.resource_claims import ResourceClaim
from bayplan.model.storage import PersistentVolume, PersistentVolumeClaim
from bayplan.model.structs import Struct, field
from bayplan.performing.claims import deallocate, release, write_claim
from bayplan.performing.groups import set_group_condition
from bayplan.performing.pods import bind, evict, nominate, set_condition
from bayplan.performing.requests import Known, Steps
from bayplan.performing.volumes import write_volume, write_volume_claim


class Effects(Struct):
    """What is to be told about an action, as far as it got."""

    claims: list[ResourceClaim] = field(default_factory=list)  # as they are stored now
    event: Emit | None = None


def steps_of(action: Action, known: Known, now: int, effects: Effects) -> Steps[None]:
    """The requests of an action; `effects` is filled on the way."""
    match action:
        case Bind():
            yield from bind(action)
        case SetCondition():
            yield from set_condition(action, known, now)
        case SetGroupCondition():
            yield from set_group_condition(action, known, now)
        case Evict():
            effects.event = yield from evict(action, known, now)
        case Nominate() | ClearNomination():
            yield from nominate(action, known)
        case WriteVolumes():
            yield from _write(action, known, now, effects)
        case DeallocateClaim():
            yield from deallocate(action)
        case ReleaseClaim():
            yield from release(action, known)
        case Emit():
            effects.event = action


def _write(action: WriteVolumes, known: Known, now: int, effects: Effects) -> Steps[None]:
    for obj in action.objects:
        match obj:
            case ResourceClaim():
                effects.claims.append((yield from write_claim(obj, action, known, now)))
            case PersistentVolume():
                yield from write_volume(obj, known)
            case PersistentVolumeClaim():
                yield from write_volume_claim(obj)
            case _:
                raise AssertionError(f"no handler for {obj}")


def answer_to(action: Action, error: str = "", *, lost: bool = False, effects: Effects | None = None) -> Answer | None:
    """What the scheduler observes when the action is over; None if nobody waits for it.

    `lost`: nobody knows whether it was done. That a claim was freed is not reported: the watch shows it.
    """
    match action:
        case Bind(pod, uid):
            return BindAnswered(pod, uid, error, lost)
        case Evict(pod, uid):
            return EvictAnswered(pod, uid, error)
        case WriteVolumes(pod, uid):
            return VolumesAnswered(pod, uid, error, lost, tuple(effects.claims) if effects is not None else ())
        case DeallocateClaim(pod, uid) | ReleaseClaim(pod, uid) if error:
            return ClaimWriteFailed(pod, uid, error)
    return None
