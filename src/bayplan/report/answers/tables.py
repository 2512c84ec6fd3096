"""Tables of answers that may have thousands of rows: a reader gets the first ones, and no column without content."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from bayplan.report.answers.parts import Cell, Part, Sentence, Table, Tone, cell

ROWS_MAX = 40


def short_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    *,
    numeric: Collection[str] = (),
    flexible: Collection[str] = (),
) -> Iterator[Part]:
    """The first rows, and how many more there are."""
    used = [place for place in range(len(columns)) if any(cell(row[place]).text for row in rows)]
    yield Table(
        tuple(columns[place] for place in used),
        [[row[place] for place in used] for row in rows[:ROWS_MAX]],
        frozenset(numeric),
        frozenset(flexible),
    )
    if len(rows) > ROWS_MAX:
        yield Sentence(f"and {len(rows) - ROWS_MAX:,} more; -o json has them all", Tone.FAINT)
