"""What a plugin answers: a code, and reasons in words.

"Does not fit" is a value, never an exception. The one exception here, `CycleError`, is for what upstream calls an
Error: the attempt itself failed and says nothing about nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Code(Enum):
    """Outcome of an extension point; values are the names upstream prints."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Status:
    """An outcome with its reasons and the plugin it came from ("" when no plugin is to blame)."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)


SUCCESS = Status(Code.SUCCESS)


def unschedulable(*reasons: str) -> Status:
    """Preemption may help."""
    return Status(Code.UNSCHEDULABLE, reasons)


def unresolvable(*reasons: str) -> Status:
    """Removing pods would not help."""
    return Status(Code.UNRESOLVABLE, reasons)


class CycleError(Exception):
    """A plugin could not answer; the attempt ends."""

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(message)
        self.plugin = plugin
        self.message = message

    def at(self, where: str) -> CycleError:
        """This error with the point where it happened put before its message, as upstream reports it."""
        return CycleError(self.plugin, f"{where}: {self.message}")
