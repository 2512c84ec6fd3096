"""What may go out of the core: things to be done in the world, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evict:
    """Mark the pod with a DisruptionTarget condition and delete it, with its own grace period."""

    pod: str  # namespace/name
    node: str
    condition_reason: str
    condition_message: str
    note: str  # of the event on the victim


@dataclass(frozen=True, slots=True)
class Nominate:
    """Write the node the pod waits for into its status."""

    pod: str
    node: str


@dataclass(frozen=True, slots=True)
class ClearNomination:
    """Take back a nomination that a more important pod has overtaken."""

    pod: str
    node: str
