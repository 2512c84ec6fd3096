"""What a controller is: it notes what changed, and later writes what follows from it.

Controllers are pure. They learn of every write to the kinds they watch through `observe`, write to the store in
`reconcile`, and say with `wake_at` when something is due though nothing changes; only those three, and a user's
command, may change that time. They hold what they derived from the changes they heard (a relist tells them again as
ADDED) and nothing else; times are integer nanoseconds, and any delay is drawn from the generator they were given.
"""

from __future__ import annotations

from typing import Protocol

from bayplan.store import Store, WatchEvent


class Controller(Protocol):
    """Brings the store closer to what objects say they want."""

    @property
    def name(self) -> str: ...

    @property
    def watches(self) -> frozenset[str]:
        """Kinds whose changes it observes."""

    def observe(self, change: WatchEvent, now: int) -> None:
        """Note what the change means; nothing is written here. It must be cheap: every write passes by."""

    def reconcile(self, store: Store, now: int) -> None:
        """Write all that is due now. A write that the store refuses (gone, conflict) is tried again when news come."""

    def wake_at(self) -> int | None:
        """When `reconcile` is due again without any news; None if never. A time that is over means at once."""
