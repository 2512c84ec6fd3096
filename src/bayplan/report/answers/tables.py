"""Tables of answers: from rows of any values, or shortened, for rows that may be thousands."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from bayplan.report.answers.parts import Cell, Part, Sentence, Table, Tone, cell

ROWS_MAX = 40


def table_of(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numeric: Collection[str] = (),
    flexible: Collection[str] = (),
) -> Table:
    """A table of any values; integers get thousands separators."""
    texts = [[_cell(value) for value in row] for row in rows]
    return Table(tuple(columns), texts, frozenset(numeric), frozenset(flexible))


def _cell(value: Any) -> str | Cell:
    if isinstance(value, str | Cell):
        return value
    return f"{value:,}" if isinstance(value, int) else str(value)


def short_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    *,
    numeric: Collection[str] = (),
    flexible: Collection[str] = (),
) -> Iterator[Part]:
    """The first rows without empty columns, and how many more rows there are."""
    used = [place for place in range(len(columns)) if any(cell(row[place]).text for row in rows)]
    yield Table(
        tuple(columns[place] for place in used),
        [[row[place] for place in used] for row in rows[:ROWS_MAX]],
        frozenset(numeric),
        frozenset(flexible),
    )
    if len(rows) > ROWS_MAX:
        yield Sentence(f"and {len(rows) - ROWS_MAX:,} more; -o json has them all", Tone.FAINT)
