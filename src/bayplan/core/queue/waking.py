"""Which parked pods a happening wakes, and how urgently.

Takes the parked pods and what their profiles react to; gives the pods to be moved. Moves nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bayplan.core.framework.requeue import Happening
from bayplan.core.queue.hints import WILDCARD, QueueProfile, is_about, judge
from bayplan.core.queue.parked import Group, Parked
from bayplan.core.queue.record import QueuedPod, Strategy
from bayplan.model.kinds import Object


@dataclass(frozen=True, slots=True)
class Bounds:
    """Whom a happening can reach at all."""

    priority_max: int | None = None  # room that is given back is no news to those who could have taken it anyway
    except_key: str = ""

    def admit(self, group: Group) -> bool:
        return self.priority_max is None or group.priority <= self.priority_max


EVERYBODY = Bounds()


def woken(
    parked: Parked,
    profiles: Mapping[str, QueueProfile],
    happening: Happening,
    old: Object | None,
    new: Object | None,
    bounds: Bounds = EVERYBODY,
) -> list[tuple[QueuedPod, Strategy]]:
    if happening == WILDCARD:
        judged = [(record, judge(record, happening, {}, old, new)) for record in parked.all()]
    else:
        judged = [
            verdict
            for name, profile in profiles.items()
            for group, members in parked.reached(name, profile.reactions.to(happening))
            if bounds.admit(group)
            for verdict in _judge_group(members, profile, happening, old, new)
        ]
    return [
        (record, strategy)
        for record, strategy in judged
        if strategy is not Strategy.SKIP and record.key != bounds.except_key
    ]


def _judge_group(
    members: Mapping[str, QueuedPod],
    profile: QueueProfile,
    happening: Happening,
    old: Object | None,
    new: Object | None,
) -> Iterator[tuple[QueuedPod, Strategy]]:
    """One answer for all members, but for the one whom the happening is about."""
    matched = profile.reactions.to(happening)
    own = _subject(members, old, new)
    if own is not None:
        yield own, judge(own, happening, matched, old, new)
    speaker = next((record for record in members.values() if record is not own), None)
    if speaker is None:
        return
    strategy = judge(speaker, happening, matched, old, new)
    if strategy is not Strategy.SKIP:
        yield from ((record, strategy) for record in members.values() if record is not own)


def _subject(members: Mapping[str, QueuedPod], old: Object | None, new: Object | None) -> QueuedPod | None:
    thing = old if new is None else new
    if thing is None:
        return None
    record = members.get(f"{thing.metadata.namespace}/{thing.metadata.name}")
    return record if record is not None and is_about(record, thing) else None
