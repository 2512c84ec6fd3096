"""How wide the columns of a table are where there is not enough room for all of them.

Takes how wide each column would like to be, and what its longest word is. Columns of running text give way first, then
the widest ones, first between words and at last within names. Numbers are never split: where nothing can give way any
more, the table is wider than its room. Pure arithmetic; knows nothing of terminals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: What running text should have if possible.
_TEXT_MIN = 20
#: What is left of a name in one line if it has to be split.
_NAME_MIN = 12


@dataclass(frozen=True, slots=True)
class WidthDemand:
    """What a column asks for."""

    natural: int
    longest_word: int
    is_text: bool = False  # meant to be wrapped
    is_number: bool = False

    @property
    def least(self) -> int:
        return self.longest_word if self.is_number else min(self.longest_word, _NAME_MIN)


def demand(texts: Iterable[str], *, is_text: bool = False, is_number: bool = False) -> WidthDemand:
    """Of a column with these cells, its title first; a cell may have several lines. Numbers keep their units."""
    title, *cells = [text.splitlines() for text in texts] or [[]]
    lines = [line for text in cells for line in text]
    pieces = [word for line in title for word in line.split()]
    pieces += lines if is_number else [word for line in lines for word in line.split()]
    natural = max(map(len, [*title, *lines]), default=0)
    return WidthDemand(natural, max(map(len, pieces), default=0), is_text, is_number)


def widths(demands: Sequence[WidthDemand], room: int) -> list[int]:
    """In the room if that is possible."""
    found = [each.natural for each in demands]
    for floors in (
        [max(each.longest_word, _TEXT_MIN) if each.is_text else each.natural for each in demands],
        [each.longest_word for each in demands],
        [each.least for each in demands],
    ):
        while sum(found) > room:
            wide = [at for at, floor in enumerate(floors) if found[at] > floor]
            if not wide:
                break
            found[max(wide, key=found.__getitem__)] -= 1
    return found
