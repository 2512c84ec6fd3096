"""What an answer is made of, whoever shows it: sentences, headings, tables, bars, and text to copy.

The first part is a sentence that answers the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Tone(Enum):
    """What something means to the reader; a writer chooses the color."""

    PLAIN = "plain"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    FAINT = "faint"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | Cell]]
    numeric: frozenset[str] = frozenset()  # columns aligned to the right
    flexible: frozenset[str] = frozenset()  # columns that may be wrapped on a narrow terminal


@dataclass(frozen=True, slots=True)
class Bar:
    label: str
    value: float
    text: str = ""  # the value in words, next to the bar
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Bars:
    rows: Sequence[Bar]
    full: float | None = None  # the value whose bar takes the whole width; None: the largest

    def share(self, bar: Bar) -> float:
        """How much of the width the bar takes, 0 to 1."""
        full = self.full if self.full is not None else max((each.value for each in self.rows), default=0.0)
        return min(1.0, max(0.0, bar.value / full)) if full > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy, such as a patch; shown as it is."""

    text: str
    language: str = "yaml"


Part: TypeAlias = Sentence | Heading | Table | Bars | Code


def cell(content: str | Cell) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)
