"""When a process whose attempts end in unexpected exceptions should end itself.

One pod that fails for ever, or many now and then, are no reason: all others are scheduled. It is time when many
different ones have failed in a row, for a while, and not one attempt came to an end in between.
"""

from __future__ import annotations

from bayplan.model.time_units import MINUTE, SECOND

DIFFERENT_MAX = 10
LASTING_NS = MINUTE


class NothingWorksError(Exception):
    """Nothing has worked for a while, so that the process had better end; says how long, and what went wrong last."""


class Patience:
    """Counts failures since the last success."""

    def __init__(self) -> None:
        self._failed: set[str] = set()
        self._since = 0

    def succeeded(self) -> None:
        if self._failed:
            self._failed.clear()

    def failed(self, about: str, error: Exception, now: int) -> None:
        """What it was about; the same thing counts once. Raises NothingWorksError."""
        if not self._failed:
            self._since = now
        if len(self._failed) < DIFFERENT_MAX:
            self._failed.add(about)
        lasting_ns = now - self._since
        if len(self._failed) >= DIFFERENT_MAX and lasting_ns >= LASTING_NS:
            raise NothingWorksError(
                f"nothing has worked for {lasting_ns // SECOND} s, the last time because of "
                f"{type(error).__name__}: {error}"
            ) from error
