"""Runs side by side in the terminal: figures, waits by class, and what differs in placements and preemptions.

Takes a comparison. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.analysis.simulation.results.differences import Comparison
from bayplan.report.comparison import rows
from bayplan.report.durations import duration_text
from bayplan.report.terminal import Part, heading, sentence, table
from bayplan.report.words import counted, listed

_SHOWN = 20


def comparison_parts(comparison: Comparison) -> Iterator[Part]:
    """The table view."""
    base = comparison.runs[0]
    length = f"{duration_text(base.seconds)} on {counted(base.nodes, 'node')}"
    wakeups = listed(list(dict.fromkeys(run.wakeups for run in comparison.runs)))
    yield sentence(f"{listed(rows.names(comparison))}, {length}, seed {base.seed}, wake-ups {wakeups}.", "bold")
    for warning in comparison.warnings:
        yield sentence(f"warning: {warning}", "bold yellow")
    for answer in rows.answers(comparison):
        yield sentence(answer)
    yield heading("Side by side")
    yield _table(rows.figures(comparison))
    yield heading("Pods and waiting time, by priority class")
    yield _table(rows.classes(comparison))
    for section in rows.sections(comparison, _SHOWN):
        yield heading(section.title)
        yield sentence(section.sentence)
        if section.grid.rows:
            yield _table(section.grid)
        if section.total > _SHOWN:
            yield sentence(f"and {section.total - _SHOWN:,} more; -o json shows all.", "dim")


def _table(grid: rows.Grid) -> Part:
    return table(*grid.titles, rows=grid.rows, numeric=grid.numeric, flexible=grid.flexible)
