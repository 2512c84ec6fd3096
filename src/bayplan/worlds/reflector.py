"""What the scheduler has been told of the store, delivered late and in order, with relists after a gap.

Between the store's log and the scheduler: every change is told some time after it was made. When the watch breaks, or
lags behind what the log still holds, everything is listed anew and the difference to what was told is told.
"""

from __future__ import annotations

from collections import deque

from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object
from bayplan.store import ADDED, DELETED, Change, Gone, Store

Place = tuple[str, str, str]  # kind, namespace, name

#: Listed in this order, so that pods find their nodes, classes and volumes.
FIRST_KINDS = ("Namespace", "PriorityClass", "Node")


class Reflector:
    """The scheduler's copy of the store, as far as it was told."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._told: dict[Place, Object] = {}
        self._pending: deque[tuple[int, Event]] = deque()
        self._last_due = 0
        self._cursor = store.watch()
        self.relist_due: int | None = None

    def start(self) -> list[Event]:
        """Everything there is, to be told at once."""
        return self._list()

    def read(self, due: int) -> None:
        """Take over what was written; it is told at `due`, and never before what was written earlier."""
        if self.relist_due is not None:
            return
        try:
            changes = self._cursor.read()
        except Gone:
            self.relist_due = due
            return
        if changes:
            due = self._last_due = max(due, self._last_due)
            self._pending.extend((due, event) for event in map(self._as_event, changes) if event is not None)

    def break_watch(self, due: int) -> None:
        """The connection is lost; what was not told yet will be found by a relist at `due`."""
        self._pending.clear()
        self.relist_due = due

    def next_due(self) -> int | None:
        if self.relist_due is not None:
            return self.relist_due
        return self._pending[0][0] if self._pending else None

    def deliver(self, now: int) -> list[Event]:
        """What is to be told by now."""
        if self.relist_due is not None and self.relist_due <= now:
            self.relist_due = None
            return self._list()
        events = []
        while self._pending and self._pending[0][0] <= now:
            event = self._pending.popleft()[1]
            told = self._tell(event)
            if told is not None:
                events.append(told)
        return events

    def _as_event(self, change: Change) -> Event | None:
        if change.type == ADDED:
            return ObjectAdded(change.new)
        if change.type == DELETED:
            return ObjectRemoved(change.old if change.old is not None else change.new)
        assert change.old is not None
        return ObjectChanged(change.old, change.new)

    def _tell(self, event: Event) -> Event | None:
        """Note what is told; the old object is what was told before, whatever the log says."""
        match event:
            case ObjectRemoved(old):
                known = self._told.pop(_place(old), None)
                return ObjectRemoved(known) if known is not None else None
            case ObjectAdded(new) | ObjectChanged(_, new):
                known = self._told.get(_place(new))
                self._told[_place(new)] = new
                return ObjectAdded(new) if known is None else ObjectChanged(known, new)
        raise AssertionError(f"not about an object: {event}")

    def _list(self) -> list[Event]:
        snapshot = self._store.list_and_watch()
        self._cursor = snapshot.cursor
        self._pending.clear()
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
