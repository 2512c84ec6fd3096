"""What the scheduler knows of the store: changes delivered late and in order, with relists after a gap.

Between the store's log and the scheduler: every change is delivered some time after it was made. When the watch breaks,
everything is listed anew and the difference to what is known is delivered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from bayplan.core.events import Event, ObjectAdded, ObjectChanged, ObjectEvent, ObjectRemoved, changes_between
from bayplan.model.kinds import Object
from bayplan.model.watch_types import DELETED
from bayplan.store import Store, WatchEvent
from bayplan.worlds.driving import rank_of

Place = tuple[str, str, str]  # kind, namespace, name

#: Later than anything that ever happens, with years of four digits.
NEVER = 1 << 80


class DelayedWatch:
    """The scheduler's copy of the store, as far as changes were delivered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pending: deque[tuple[int, Sequence[WatchEvent]]] = deque()
        self._last_due = 0
        self._listed_version = 0
        self._known: dict[Place, Object] | None = None
        """While the watch is broken, what the scheduler knows; else that is what is stored but for what is pending."""
        self.due = NEVER
        """When there is something to deliver next."""

    def start(self) -> list[ObjectEvent]:
        """Everything there is, to be delivered at once."""
        return self._list({})

    def deliver_later(self, changes: Sequence[WatchEvent], due: int) -> None:
        """What was written is delivered at `due`, and never before what was written earlier."""
        if self._known is not None:
            return
        self._last_due = due = due if due > self._last_due else self._last_due
        if changes[0].resource_version <= self._listed_version:
            changes = self._not_listed(changes)
            if not changes:
                return
        if not self._pending:
            self.due = due
        self._pending.append((due, changes))

    def _not_listed(self, changes: Sequence[WatchEvent]) -> Sequence[WatchEvent]:
        return [change for change in changes if change.resource_version > self._listed_version]

    def break_watch(self, changes: Sequence[WatchEvent], due: int) -> None:
        """The connection is lost; these changes, and others not delivered yet, will be found by a relist at `due`."""
        if self._known is None:
            self._known = self._known_without(changes)
        self._pending.clear()
        self.due = due

    def _known_without(self, changes: Sequence[WatchEvent]) -> dict[Place, Object]:
        """What is stored, with all undone that has not been delivered; the changes are the last there are."""
        known = {_place(obj): obj for obj in self._store.list_and_watch().objects}
        pending = [change for _, delivery in self._pending for change in delivery]
        for change in reversed([*pending, *self._not_listed(changes)]):
            if change.old is None:
                del known[_place(change.new)]
            else:
                known[_place(change.old)] = change.old
        return known

    def deliver(self, now: int, hear: Callable[[Event, int], object]) -> None:
        """Let somebody hear what is to be delivered by now."""
        if self._known is not None:
            for event in self._list(self._known) if self.due <= now else ():
                hear(event, now)
            return
        pending = self._pending
        while self.due <= now:
            changes = pending.popleft()[1]
            self.due = pending[0][0] if pending else NEVER
            for change in changes:
                old = change.old
                if old is None:
                    hear(ObjectAdded(change.new), now)
                elif change.type == DELETED:
                    hear(ObjectRemoved(old), now)
                else:
                    hear(ObjectChanged(old, change.new), now)

    def _list(self, known: dict[Place, Object]) -> list[ObjectEvent]:
        """All that differs from what is known."""
        snapshot = self._store.list_and_watch()
        self._listed_version = snapshot.resource_version
        self._known, self.due = None, NEVER
        return changes_between(known, {_place(obj): obj for obj in sorted(snapshot.objects, key=rank_of)})


def _place(obj: Object) -> Place:
    return type(obj).__name__, obj.metadata.namespace, obj.metadata.name
