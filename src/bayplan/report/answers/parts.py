"""What an answer is made of, in every format: sentences, headings, tables, bars, text to copy, next commands, details.

The first part is a sentence that answers the question. A short answer has a few lines of why and the next command;
everything else goes into one `Details`, which a terminal shows only if asked to. Text may come from files of
other people: making a part turns characters that nobody would see into escapes, for all formats at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeAlias

from bayplan.report.hidden_characters import visible

#: Lines of why in a short answer.
REASONS_MAX = 5


class Tone(Enum):
    """What something means to the reader; a writer chooses the color."""

    PLAIN = "plain"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    FAINT = "faint"


class _Visible:
    """All texts of the part, made visible."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, each.name, _visible(getattr(self, each.name)))


def _visible(value: Any) -> Any:
    """A text, or a table's titles or rows; anything else is not text, or a part of its own."""
    if isinstance(value, str):
        return visible(value)
    return type(value)(map(_visible, value)) if isinstance(value, list | tuple | frozenset) else value


@dataclass(frozen=True, slots=True)
class Sentence(_Visible):
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Heading(_Visible):
    text: str


@dataclass(frozen=True, slots=True)
class Cell(_Visible):
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Table(_Visible):
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str | Cell]]
    numeric: frozenset[str] = frozenset()  # columns aligned to the right
    flexible: frozenset[str] = frozenset()  # columns that may be wrapped on a narrow terminal


@dataclass(frozen=True, slots=True)
class Bar(_Visible):
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
class Snippet(_Visible):
    """Text to copy, such as a patch; shown as it is."""

    text: str
    language: str = "yaml"


@dataclass(frozen=True, slots=True)
class Next(_Visible):
    """The command to run next: `bayplan explain shop/web`, or one of kubectl."""

    command: str

    @property
    def reads_cluster(self) -> bool:
        """Whether it has to be told where the cluster is."""
        return self.command.startswith("bayplan ")


@dataclass(frozen=True, slots=True)
class Details:
    """What a short answer leaves out."""

    parts: Sequence[Part]


Part: TypeAlias = "Sentence | Heading | Table | Bars | Snippet | Next | Details"


def cell(content: str | Cell) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)
