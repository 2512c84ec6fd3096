"""What the scheduler knows of the store: changes delivered late and in order, with relists after a gap.

Between the store's log and the scheduler: every change is delivered some time after it was made. When the watch breaks,
everything is listed anew and the difference to what is known is delivered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectRemoved
from bayplan.model.kinds import Object
from bayplan.model.watch_types import DELETED
from bayplan.store import Store, WatchEvent

Place = tuple[str, str, str]  # kind, namespace, name

#: Later than anything that ever happens, with years of four digits.
NEVER = 1 << 80

#: Listed in this order, so that pods find their nodes, classes and volumes.
FIRST_KINDS = ("Namespace", "PriorityClass", "Node")


class Reflector:
    """The scheduler's copy of the store, as far as changes were delivered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[Place, Object] = {}
        self._pending: deque[tuple[int, Sequence[WatchEvent]]] = deque()
        self._last_due = 0
        self._listed_version = 0
        self._is_broken = False
        self.due = NEVER
        """When there is something to deliver next."""

    def start(self) -> list[Event]:
        """Everything there is, to be delivered at once."""
        return self._list()

    def deliver_later(self, changes: Sequence[WatchEvent], due: int) -> None:
        """What was written is delivered at `due`, and never before what was written earlier."""
        if self._is_broken:
            return
        self._last_due = due = max(due, self._last_due)
        if changes and changes[0].resource_version <= self._listed_version:
            changes = [change for change in changes if change.resource_version > self._listed_version]
        if changes:
            self._pending.append((due, changes))
        if self._pending:
            self.due = self._pending[0][0]

    def break_watch(self, due: int) -> None:
        """The connection is lost; what was not delivered yet will be found by a relist at `due`."""
        self._pending.clear()
        self._is_broken = True
        self.due = due

    def deliver(self, now: int) -> list[Event]:
        """What is to be delivered by now."""
        if self._is_broken:
            return self._list() if self.due <= now else []
        pending, events = self._pending, []
        while pending and pending[0][0] <= now:
            for change in pending.popleft()[1]:
                event = self._event_of(change)
                if event is not None:
                    events.append(event)
        self.due = pending[0][0] if pending else NEVER
        return events

    def _event_of(self, change: WatchEvent) -> Event | None:
        """What the scheduler observes; the old object is the one it knows, whatever the log says."""
        new = change.new
        meta = new.metadata
        place = (change.kind, meta.namespace, meta.name)
        if change.type == DELETED:
            gone = self._known.pop(place, None)
            return ObjectRemoved(gone) if gone is not None else None
        known = self._known.get(place)
        self._known[place] = new
        return ObjectAdded(new) if known is None else ObjectChanged(known, new)

    def _list(self) -> list[Event]:
        snapshot = self._store.list_and_watch()
        self._listed_version = snapshot.resource_version
        self._pending.clear()
        self._is_broken, self.due = False, NEVER
        listed = {_place(obj): obj for obj in snapshot.objects}
        events: list[Event] = [
            ObjectRemoved(self._known.pop(place)) for place in [p for p in self._known if p not in listed]
        ]
        order = sorted(listed, key=lambda place: FIRST_KINDS.index(place[0]) if place[0] in FIRST_KINDS else 9)
        for place in order:
            new, known = listed[place], self._known.get(place)
            if known is None:
                events.append(ObjectAdded(new))
            elif known.metadata.resource_version != new.metadata.resource_version:
                events.append(ObjectChanged(known, new))
            self._known[place] = new
        return events


def _place(obj: Object) -> Place:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name
