"""New names for old ones: equal for equal, different for different, and sorted as the old ones were.

Names are taken apart at `-`, `.` and `/`; each part gets a new one. So whatever is made of other names, such as a
StatefulSet's pod or a DaemonSet's, still is, and a label that repeats a name still does. The separators sort before
everything that may stand in a part, which is why names sort as their parts do. Ordinals stay, as controllers count
with them. Knows nothing of objects.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Final

#: Also those of images, `:` and `@`, whose order means nothing.
_SEPARATORS: Final = re.compile(r"([-./:@])")
_LETTER: Final = "x"  # sorts after all digits
_LOWEST: Final = "!"  # sorts before all digits, as only parts do that no name of an object can have


def parts_of(name: str) -> list[str]:
    """What a name is made of, without the separators."""
    return [part for part in _SEPARATORS.split(name)[::2] if part]


def with_parts(name: str, new: Callable[[str], str]) -> str:
    """The name with each part replaced."""
    pieces = _SEPARATORS.split(name)
    pieces[::2] = [new(part) if part else "" for part in pieces[::2]]
    return "".join(pieces)


class Renaming:
    """New names for a set of old ones.

    Args:
        names: all that will be asked for.
        ordinals: parts that stay as they are, all digits.
    """

    def __init__(self, names: Iterable[str], ordinals: Iterable[str] = ()) -> None:
        anchors = sorted(set(ordinals))
        parts = sorted({part for name in names for part in parts_of(name)} - set(anchors))
        width = len(str(len(parts)))
        self._new = {anchor: anchor for anchor in anchors}
        for rank, part in enumerate(parts, start=1):
            self._new[part] = _between(part, anchors, f"{_LETTER}{rank:0{width}}")

    def __call__(self, name: str) -> str:
        """The new name; raises KeyError for one that was not announced."""
        return with_parts(name, self._new.__getitem__)


def _between(part: str, anchors: list[str], label: str) -> str:
    """A text with this label that sorts among the anchors where the part does, and has nothing else of the part.

    Most parts come after all ordinals, so that the label will do. Others get a prefix that depends only on the
    ordinals around them: of two parts between the same ordinals, the labels decide.
    """
    position = bisect_right(anchors, part)
    before = anchors[position - 1] if position else ""
    after = anchors[position] if position < len(anchors) else ""
    if part == before + "0" * (len(part) - len(before)):
        return part  # an ordinal and zeros: there may be no other text before the next ordinal
    zeros = range(max(len(after) - len(before), 0) + 1)
    for prefix in ("", *(before + "0" * count for count in zeros)):
        if bisect_left(anchors, prefix + label) == position:
            return prefix + label
    return f"{before}{_LOWEST}{label}"
