"""How an exception that nobody expected is passed on to those who report it, and where such exceptions are met.

What is survived, and how, is up to whoever catches it.
"""

from __future__ import annotations

from typing import Final, Protocol

#: As metrics name it: one pod is tried; something is taken in; the scheduler starts over.
ATTEMPT: Final = "attempt"
EVENT: Final = "event"
RESTORING: Final = "restoring"
#: A kind is watched; something is written; somebody looks on.
WATCH: Final = "watch"
WRITE: Final = "write"
OBSERVER: Final = "observer"
#: In a cluster of its own: a controller; what keeps documents in order.
CONTROLLER: Final = "controller"
HOUSEKEEPING: Final = "housekeeping"
#: Anywhere else in the loop that drives them.
WORLD: Final = "world"


class BugReporter(Protocol):
    """Is told of each unexpected exception that was survived, and raises nothing itself."""

    def __call__(self, where: str, about: str, error: Exception, /) -> None:
        """`about` is the pod, object or part in question; "" if there is none."""


def internal_error(error: Exception) -> str:
    """What users are told."""
    return f"internal error: {type(error).__name__}: {error}"


def not_survived(where: str, about: str, error: Exception, /) -> None:  # noqa: ARG001
    """A BugReporter for those who want to see bugs: raises what was raised."""
    raise error
