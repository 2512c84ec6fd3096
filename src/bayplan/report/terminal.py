"""Parts of a report to a stream.

On a terminal: colors, and text wrapped to its width. Anywhere else, or with NO_COLOR: plain text without control
characters; a pipe is taken for a wide terminal, so that most rows of a table are one line for grep and awk. Nothing is
ever cut, and text to copy is never wrapped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from typing import TextIO, TypeAlias

from rich import box
from rich.console import Console, ConsoleRenderable
from rich.table import Table
from rich.text import Text

from bayplan.report.column_widths import demand, widths

#: Of a pipe or a file; still readable in an editor or a ticket.
PIPE_WIDTH = 160
_WIDTH_MIN = 60
#: What is between two columns, and what rich counts at the edges of a table although nothing is there.
_BETWEEN, _EDGES = 3, 2


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that is printed as it is, never wrapped, so that it can be copied or searched."""

    text: str


Part: TypeAlias = ConsoleRenderable | Verbatim


def show(parts: Iterable[Part], stream: TextIO) -> None:
    """Write the parts, fitted to what the stream is."""
    on_terminal = stream.isatty()
    width = max(_WIDTH_MIN, Console(file=stream).width) if on_terminal else PIPE_WIDTH
    colors = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    stream.write(rendered(parts, width=width, colors=colors))
    stream.flush()


def rendered(parts: Iterable[Part], *, width: int = PIPE_WIDTH, colors: bool = False) -> str:
    """The parts as text."""
    buffer = StringIO()
    console = _console(buffer, width, colors)
    for part in parts:
        if isinstance(part, Verbatim):
            console.print(part.text, soft_wrap=True)
        elif isinstance(part, Table) and part.show_header:
            _console(buffer, _fitted(part, width), colors).print(part)
        else:
            console.print(part)
    # Tables fill their last column with blanks.
    return "".join(f"{line.rstrip()}\n" for line in buffer.getvalue().splitlines())


def _console(buffer: StringIO, width: int, colors: bool) -> Console:
    return Console(
        file=buffer,
        width=width,
        force_terminal=colors,
        color_system="standard" if colors else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _fitted(made: Table, width: int) -> int:
    """Gives the table's columns widths that fit, if they have to give way; the width to print it with."""
    demands = [
        demand(
            [str(column.header), *map(str, column.cells)],
            is_text=not column.no_wrap,
            is_number=column.justify == "right",
        )
        for column in made.columns
    ]
    between = _BETWEEN * (len(demands) - 1)
    if sum(each.natural for each in demands) + between > width:
        found = widths(demands, width - between)
        for column, wide in zip(made.columns, found, strict=True):
            column.width, column.no_wrap = wide, False
        width = sum(found) + between
    return width + _EDGES


def heading(text: str) -> Text:
    """The first line of a section, with an empty line before it."""
    return Text(f"\n{text}", style="bold")


def chapter(text: str) -> Text:
    """The first line of what holds several sections."""
    return Text(f"\n{text}", style="bold underline cyan")


def sentence(text: str, style: str = "") -> Text:
    return Text(text, style=style)


def table(
    *columns: str, rows: Iterable[Iterable[str]] = (), numeric: Iterable[str] = (), flexible: Iterable[str] = ()
) -> Table:
    """A table. Numbers are aligned to the right; only flexible columns are wrapped when the terminal is narrow."""
    numeric, flexible = set(numeric), set(flexible)
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="dim", padding=(0, 1))
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in numeric else "left",
            no_wrap=column not in flexible,
            overflow="fold",
        )
    for row in rows:
        made.add_row(*row)
    return made
