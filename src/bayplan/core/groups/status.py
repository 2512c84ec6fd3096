"""The outcome for a group as a whole: a code, the error that upstream wraps, and reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from bayplan.core.framework.verdict import Code

UNSCHEDULABLE_GROUP: Final = "pod group is unschedulable"


@dataclass(frozen=True, slots=True)
class GroupStatus:
    """An outcome for the whole group."""

    code: Code
    error: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def failed(self) -> bool:
        """The attempt itself failed."""
        return self.code is Code.ERROR

    @property
    def message(self) -> str:
        return ", ".join((*((self.error,) if self.error else ()), *self.reasons))

    @property
    def cause(self) -> str:
        """The error alone where there is one, as upstream puts a status into another message."""
        return self.error or self.message

    def because(self, reason: str) -> GroupStatus:
        """With one more reason."""
        return replace(self, reasons=(*self.reasons, reason))


FITS: Final = GroupStatus(Code.SUCCESS)


def unschedulable_group(*reasons: str) -> GroupStatus:
    return GroupStatus(Code.UNSCHEDULABLE, UNSCHEDULABLE_GROUP, reasons)


def error_status(message: str) -> GroupStatus:
    return GroupStatus(Code.ERROR, message)
