"""What becomes of a part that many objects have in common by a step that many of them take.

Pods that were bound in the same second, and started in the same second, have equal statuses. Where each step gives the
same struct for the same struct, they share one: nothing is made for most of them, and what is read of thousands of pods
stays in the processor's caches. Stored parts are never changed in place, so nobody notices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

PartT = TypeVar("PartT")

#: Steps that are remembered: those of a few seconds in a busy cluster.
REMEMBERED_MAX = 1_024


def shared_step(step: Callable[..., PartT]) -> Callable[..., PartT]:
    """The step, giving the very same struct for the very same struct and equal arguments as long as it remembers."""
    # By identity; the struct is kept as well, so that no other can take its place in memory.
    remembered: dict[tuple[int, tuple[object, ...]], tuple[PartT, PartT]] = {}

    def taken(part: PartT, *arguments: object) -> PartT:
        key = id(part), arguments
        try:
            return remembered[key][1]
        except KeyError:
            if len(remembered) >= REMEMBERED_MAX:
                remembered.clear()
            made = step(part, *arguments)
            remembered[key] = (part, made)
            return made

    return taken
