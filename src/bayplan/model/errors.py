"""What is wrong with the input, reported completely and at once.

A `Fault` names the file, the object, the field and the problem; `InvalidObject` carries every fault found in the input,
so that a user can fix a manifest in one go. Nothing here decides what is a fault.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One problem; `source`, `object` and `field` are empty if they do not apply."""

    source: str
    object: str
    field: str
    message: str

    def __str__(self) -> str:
        """`file: Kind ns/name: field: message`, without the parts that are empty."""
        return ": ".join(part for part in (self.source, self.object, self.field, self.message) if part)


class InvalidObject(Exception):  # noqa: N818 - the name is public, and says what was found rather than that it is an error
    """Invalid input, with all its faults."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults: list[Fault] = list(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        """One line for each fault."""
        return "\n".join(str(fault) for fault in self.faults)
