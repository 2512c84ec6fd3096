"""What the scheduler has been told of the store, delivered late and in order, with relists after a gap.

Between the store's log and the scheduler: every change is told some time after it was made. When the watch breaks,
everything is listed anew and the difference to what was told is told.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object
from bayplan.store import DELETED, Store, WatchEvent

Place = tuple[str, str, str]  # kind, namespace, name

#: Later than anything that ever happens.
NEVER = 1 << 62

#: Listed in this order, so that pods find their nodes, classes and volumes.
FIRST_KINDS = ("Namespace", "PriorityClass", "Node")


class Reflector:
    """The scheduler's copy of the store, as far as it was told."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: dict[Place, Object] = {}
        self._pending: deque[tuple[int, WatchEvent]] = deque()
        self._last_due = 0
        self._listed_version = 0
        self._is_broken = False
        self.due = NEVER
        """When there is something to tell next."""

    def start(self) -> list[Event]:
        """Everything there is, to be told at once."""
        return self._list()

    def tell_later(self, changes: Iterable[WatchEvent], due: int) -> None:
        """What was written is told at `due`, and never before what was written earlier."""
        if self._is_broken:
            return
        self._last_due = due = max(due, self._last_due)
        for change in changes:
            if change.resource_version > self._listed_version:
                self._pending.append((due, change))
        if self._pending:
            self.due = self._pending[0][0]

    def break_watch(self, due: int) -> None:
        """The connection is lost; what was not told yet will be found by a relist at `due`."""
        self._pending.clear()
        self._is_broken = True
        self.due = due

    def deliver(self, now: int) -> list[Event]:
        """What is to be told by now."""
        if self._is_broken:
            return self._list() if self.due <= now else []
        pending, events = self._pending, []
        while pending and pending[0][0] <= now:
            told = self._tell(pending.popleft()[1])
            if told is not None:
                events.append(told)
        self.due = pending[0][0] if pending else NEVER
        return events

    def _tell(self, change: WatchEvent) -> Event | None:
        """Note what is told; the old object is what was told before, whatever the log says."""
        new = change.new
        place = (change.kind, new.metadata.namespace, new.metadata.name)
        if change.type == DELETED:
            gone = self._told.pop(place, None)
            return ObjectRemoved(gone) if gone is not None else None
        known = self._told.get(place)
        self._told[place] = new
        return ObjectAdded(new) if known is None else ObjectChanged(known, new)

    def _list(self) -> list[Event]:
        snapshot = self._store.list_and_watch()
        self._listed_version = snapshot.resource_version
        self._pending.clear()
        self._is_broken, self.due = False, NEVER
        listed = {_place(one): one for one in snapshot.objects}
        events: list[Event] = [
            ObjectRemoved(self._told.pop(place)) for place in [p for p in self._told if p not in listed]
        ]
        order = sorted(listed, key=lambda place: FIRST_KINDS.index(place[0]) if place[0] in FIRST_KINDS else 9)
        for place in order:
            new, known = listed[place], self._told.get(place)
            if known is None:
                events.append(ObjectAdded(new))
            elif known.metadata.resource_version != new.metadata.resource_version:
                events.append(ObjectChanged(known, new))
            self._told[place] = new
        return events


def _place(thing: Object) -> Place:
    return type(thing).__name__, thing.metadata.namespace, thing.metadata.name
