"""What housekeeping is made of: parties that note what changed, and later write what follows from it."""

from __future__ import annotations

from typing import Final, Protocol

from bayplan.apiserver.registry.options import WriteOptions
from bayplan.apiserver.registry.registry import Registry
from bayplan.apiserver.storage.log import DocumentChange

#: How the parties write: as the controller manager does.
OPTIONS: Final = WriteOptions("kube-controller-manager", trusted=True)


class Housekeeper(Protocol):
    """Sees to one thing."""

    def observe(self, change: DocumentChange) -> None:
        """Notes what the change means. It must be cheap: every write passes by."""

    def reconcile(self, registry: Registry, now: int) -> None:
        """Writes all that is due."""
