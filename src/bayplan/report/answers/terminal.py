"""An answer for a terminal or a pipe: short, or with its details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from rich.table import Table as RichTable
from rich.text import Text

from bayplan.report import terminal
from bayplan.report.answers.parts import Bars, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone, cell
from bayplan.report.terminal import Verbatim

_STYLES = {Tone.PLAIN: "", Tone.GOOD: "green", Tone.WARN: "yellow", Tone.BAD: "red", Tone.FAINT: "dim"}
_BAR_WIDTH = 30
#: A bar is drawn to an eighth of a character.
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_FULL = _EIGHTHS[-1]

_Plain: TypeAlias = Sentence | Heading | Table | Bars | Snippet | Next


def terminal_parts(parts: Iterable[Part], *, details: bool = True) -> Iterator[terminal.Part]:
    """What `terminal.show` takes. The first sentence stands out: it is the answer."""
    remaining = chain.from_iterable(_unfolded(part, details) for part in parts)
    first = next(remaining, None)
    if isinstance(first, Sentence):
        yield Text(first.text, style=f"bold {_STYLES[first.tone]}".strip())
    elif first is not None:
        remaining = chain([first], remaining)
    for part in remaining:
        yield from _shown(part)


def _unfolded(part: Part, details: bool) -> Sequence[_Plain]:
    """The parts inside details, or a line that says how to see them."""
    if not isinstance(part, Details):
        return [part]
    if not details:
        return [Sentence("--details shows everything.", Tone.FAINT)] if part.parts else []
    return [each for inner in part.parts for each in _unfolded(inner, details)]


def _shown(part: _Plain) -> Iterator[terminal.Part]:
    match part:
        case Sentence(text, tone):
            yield terminal.sentence(text, _STYLES[tone])
        case Heading(text):
            yield terminal.heading(text)
        case Table():
            yield _table(part)
        case Bars():
            yield _bars(part)
        case Snippet(text):
            yield Verbatim(text.rstrip("\n"))
        case Next(command):
            yield Verbatim(f"Next: {command}")


def _table(part: Table) -> RichTable:
    made = terminal.table(*part.columns, numeric=part.numeric, flexible=part.flexible)
    for row in part.rows:
        made.add_row(*(Text(each.text, style=_STYLES[each.tone]) for each in map(cell, row)))
    return made


def _bars(part: Bars) -> RichTable:
    made = RichTable.grid(padding=(0, 1))
    made.add_column(overflow="fold")
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for bar in part.rows:
        drawn = Text(_drawn(part.share(bar)).ljust(_BAR_WIDTH), style=_STYLES[bar.tone] or "cyan")
        made.add_row(bar.label, drawn, bar.text)
    return made


def _drawn(share: float) -> str:
    eighths = round(share * _BAR_WIDTH * 8)
    if share > 0:
        eighths = max(1, eighths)  # little is more than nothing
    whole, part = divmod(eighths, 8)
    return _FULL * whole + (_EIGHTHS[part] if part else "")
