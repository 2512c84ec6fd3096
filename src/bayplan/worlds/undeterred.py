"""Controllers that go on when the API refuses what they did not expect to be refused.

Takes a controller and gives one that does the same, with one difference: a refusal that it does not handle itself is
reported, and it pauses for a moment instead of ending the cluster, as a real one would. Not for simulations, where such
a refusal is a bug that should be seen.
"""

from __future__ import annotations

from collections.abc import Callable

from bayplan.controllers.contract import Controller
from bayplan.model.time_units import SECOND
from bayplan.store import ApiError, Store

PAUSE_NS = SECOND


class Undeterred:
    """The controller, pausing after a refusal; `on_refused` is told its name and the API's words."""

    def __init__(self, controller: Controller, on_refused: Callable[[str, str], None]) -> None:
        self.name, self.watches = controller.name, controller.watches
        self.observe = controller.observe
        self._controller = controller
        self._on_refused = on_refused
        self._paused_until: int | None = None

    def reconcile(self, store: Store, now: int) -> None:
        self._paused_until = None
        try:
            self._controller.reconcile(store, now)
        except ApiError as error:
            self._paused_until = now + PAUSE_NS
            self._on_refused(self.name, str(error))

    def wake_at(self) -> int | None:
        return self._controller.wake_at() if self._paused_until is None else self._paused_until
