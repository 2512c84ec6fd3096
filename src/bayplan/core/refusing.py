"""The answer to an action that was not performed, for actions that are answered. Says nothing about why."""

from __future__ import annotations

from bayplan.core.actions import Action, Bind, Evict, WriteVolumes
from bayplan.core.events import BindAnswered, EvictAnswered, VolumesAnswered
from bayplan.model.resource_claims import ResourceClaim


def refusal(
    action: Action, error: str, claims: tuple[ResourceClaim, ...] = ()
) -> BindAnswered | EvictAnswered | VolumesAnswered | None:
    """None if nobody waits for an answer; `claims` are those of the action, as they are stored."""
    match action:
        case Bind(pod, uid, _):
            return BindAnswered(pod, uid, error)
        case Evict(pod, uid):
            return EvictAnswered(pod, uid, error)
        case WriteVolumes(pod, uid, _):
            return VolumesAnswered(pod, uid, error, claims=claims)
    return None
