"""What a scheduler has been told and has asked for, written down beside it.

Takes events before the scheduler sees them, and its actions; knows all objects as they were last observed, the bindings
that are under way, and the writes that are not answered. From that a scheduler can be built again whose own memory
cannot be trusted any more. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from bayplan.core.actions import Action, Bind, WriteVolumes
from bayplan.core.events import BindAnswered, Event, ObjectAdded, ObjectChanged, ObjectRemoved, VolumesAnswered
from bayplan.core.on_the_way import BindingUnderWay
from bayplan.core.starting_over import Past
from bayplan.model.kinds import Object, object_key
from bayplan.model.pod import Pod
from bayplan.model.resource_claims import ResourceClaim
from bayplan.worlds.driving import LAST_RANK, rank_of

#: Kind and key.
Place: TypeAlias = tuple[str, str]


class Ledger:
    """The books of one scheduler."""

    def __init__(self) -> None:
        self.known: dict[Place, Object] = {}
        """To be read only, as are the bindings."""
        self.bindings: dict[str, BindingUnderWay] = {}  # by uid
        self._written: set[str] = set()  # uids of pods for which volumes or claims are being written

    @property
    def awaits_writes(self) -> bool:
        """Whether volumes or devices may be given to a pod that no object shows yet."""
        return bool(self._written)

    def observe(self, event: Event) -> None:
        if isinstance(event, ObjectAdded | ObjectChanged):
            self._show(event.new)
        elif isinstance(event, ObjectRemoved):
            self.known.pop(place_of(event.old), None)
            self.bindings.pop(event.old.metadata.uid, None)
        elif isinstance(event, BindAnswered):
            self._bind_answered(event)
        elif isinstance(event, VolumesAnswered):
            self._written.discard(event.uid)
            for claim in event.claims:
                self._show_if_newer(claim)

    def ask(self, actions: Iterable[Action]) -> None:
        """These are being performed."""
        for action in actions:
            if isinstance(action, Bind):
                before = self.bindings.get(action.uid)
                is_uncertain = before is not None and before.is_uncertain
                self.bindings[action.uid] = BindingUnderWay(action, is_uncertain=is_uncertain)
            elif isinstance(action, WriteVolumes):
                self._written.add(action.uid)

    def in_order(self, past: Past) -> list[Object]:
        """All objects: what pods refer to first, then pods in the order in which they arrived."""
        return sorted(self.known.values(), key=lambda obj: _order(obj, past))

    def _show(self, obj: Object) -> None:
        self.known[place_of(obj)] = obj
        if self.bindings and isinstance(obj, Pod) and obj.spec.node_name:
            self.bindings.pop(obj.metadata.uid, None)

    def _show_if_newer(self, claim: ResourceClaim) -> None:
        """What a claim was given is not given to another, though the watch has not shown it yet."""
        known = self.known.get(place_of(claim))
        if known is not None and known.metadata.uid == claim.metadata.uid and _version(known) < _version(claim):
            self.known[place_of(claim)] = claim

    def _bind_answered(self, answer: BindAnswered) -> None:
        under_way = self.bindings.get(answer.uid)
        if under_way is None:
            return
        if not answer.error:
            under_way.is_bound = True
        elif (answer.lost or under_way.is_uncertain) and not under_way.bind.extender:
            # The pod may be bound. Somebody has to ask again.
            under_way.is_uncertain, under_way.is_asked = True, False
        else:
            del self.bindings[answer.uid]


def place_of(obj: Object) -> Place:
    return type(obj).__name__, object_key(obj)


def _order(obj: Object, past: Past) -> tuple[int, int]:
    if isinstance(obj, Pod):
        return LAST_RANK + 1, past.number(obj) if not obj.spec.node_name else 0
    return rank_of(obj), 0


def _version(obj: Object) -> int:
    version = obj.metadata.resource_version
    return int(version) if version.isdigit() else 0
