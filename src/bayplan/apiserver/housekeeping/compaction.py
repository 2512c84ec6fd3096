"""How long lists of the past can be had: pages of a list that was begun, and lists of an exact version.

Every five minutes the versions from before the last time are given up, so a page can be asked for during five to ten
minutes. Watches resume from the log of changes, which knows nothing of time.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentChange
from bayplan.model.time_units import SECOND

# Upstream: DefaultCompactInterval in apiserver/pkg/storage/storagebackend (v1.36).
INTERVAL_NS: Final = 5 * 60 * SECOND


class PastVersions:
    """Gives up old versions in time."""

    def __init__(self) -> None:
        self._version = 0
        """As it was at the last time; what is older goes next."""
        self._due = 0

    def observe(self, change: DocumentChange) -> None:
        """Only versions count, and the storage knows those."""

    def reconcile(self, registry: Registry, now: int) -> None:
        storage = registry.storage
        if now < self._due:
            return
        if self._due and now >= self._due + INTERVAL_NS:
            self._version = storage.version  # the clock was put forward: this is old, too
        storage.compact(self._version)
        self._version = storage.version
        self._due = now + INTERVAL_NS
