"""Controllers that go on when the API refuses what they did not expect to be refused, and after bugs of their own.

Takes how a controller is made, and gives one that does the same, with two differences. A refusal that it does not
handle itself is reported, and it pauses for a moment instead of ending the cluster, as a real one would. After an
exception that nobody expected it is made again, and told of all objects there are. Not for simulations, where both are
bugs that should be seen.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.controllers.contract import Controller
from bayplan.model.kinds import object_key
from bayplan.model.time_units import MINUTE, SECOND
from bayplan.model.watch_types import ADDED
from bayplan.store import ApiError, Store, WatchEvent
from bayplan.worlds.bugs import CONTROLLER, BugReporter, not_survived

PAUSE_NS = SECOND
#: After bugs in a row the pause doubles up to this.
PAUSE_MAX_NS = MINUTE


class ResilientController:
    """The controller, pausing after a refusal; `on_refused` is told its name and the API's words."""

    def __init__(
        self,
        make: Callable[[], Controller],
        on_refused: Callable[[str, str], None],
        on_bug: BugReporter = not_survived,
    ) -> None:
        self._controller = make()
        self.name, self.watches = self._controller.name, self._controller.watches
        self._make = make
        self._on_refused = on_refused
        self._on_bug = on_bug
        self._paused_until: int | None = None
        self._is_broken = False  # it is made again before it acts
        self._bugs_in_a_row = 0
        self._now = 0

    def observe(self, change: WatchEvent, now: int) -> None:
        self._now = now
        if self._is_broken:
            return  # it will be told of everything
        try:
            self._controller.observe(change, now)
        except Exception as error:
            self._break(error, now)

    def reconcile(self, store: Store, now: int) -> None:
        self._now = now
        self._paused_until = None
        if self._is_broken:
            self._begin_again(store, now)
        try:
            self._controller.reconcile(store, now)
            self._bugs_in_a_row = 0
        except ApiError as error:
            self._paused_until = now + PAUSE_NS
            self._on_refused(self.name, str(error))
        except Exception as error:
            self._break(error, now)

    def wake_at(self) -> int | None:
        if self._paused_until is not None:
            return self._paused_until
        try:
            return self._controller.wake_at()
        except Exception as error:
            self._break(error, self._now)
            return self._paused_until

    def _break(self, error: Exception, now: int) -> None:
        self._is_broken = True
        self._paused_until = now + min(PAUSE_NS << min(self._bugs_in_a_row, PAUSE_MAX_NS // PAUSE_NS), PAUSE_MAX_NS)
        self._bugs_in_a_row += 1
        self._on_bug(CONTROLLER, self.name, error)

    def _begin_again(self, store: Store, now: int) -> None:
        """As after a restart. What one object does to it is not to keep it from the others."""
        self._is_broken = False
        self._controller = self._make()
        for obj in store.list_and_watch().objects:
            kind = type(obj).__name__
            if kind in self.watches:
                try:
                    self._controller.observe(WatchEvent(ADDED, kind, None, obj, 0, now), now)
                except Exception as error:
                    self._on_bug(CONTROLLER, f"{self.name}: {kind} {object_key(obj).lstrip('/')}", error)
