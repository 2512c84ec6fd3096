"""Runs side by side in the terminal: figures and their differences, classes, pods that went another way, preemptions.

Takes a comparison. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bayplan.analysis.simulation.results.differences import Comparison, Difference
from bayplan.report.comparison import rows
from bayplan.report.comparison.rows import Row
from bayplan.report.durations import duration_text
from bayplan.report.terminal import Part, heading, sentence, table
from bayplan.report.words import counted, listed

_SHOWN = 20


def comparison_parts(comparison: Comparison) -> Iterator[Part]:
    """The table view."""
    yield sentence(_headline(comparison), "bold")
    for warning in comparison.warnings:
        yield sentence(f"warning: {warning}", "bold yellow")
    for difference in comparison.differences:
        yield sentence(rows.answer(comparison, difference))
    figures = ["", *rows.names(comparison), *rows.difference_titles(comparison)]
    yield heading("Side by side")
    yield _filled(figures, list(rows.figure_rows(comparison)), numeric=figures[1:])
    yield heading("Pods and waiting time, by priority class")
    yield _filled(rows.CLASS_TITLES, list(rows.class_rows(comparison)), numeric=(*rows.CLASS_TITLES[3:], "priority"))
    for difference in comparison.differences:
        yield from _change_parts(comparison, difference)
        yield from _preemption_parts(comparison, difference)


def _headline(comparison: Comparison) -> str:
    base = comparison.runs[0]
    said = f"{listed(rows.names(comparison))}, {duration_text(base.seconds)} on {counted(base.nodes, 'node')}"
    return f"{said}, seed {base.seed}."


def _change_parts(comparison: Comparison, difference: Difference) -> Iterator[Part]:
    yield heading(f"Placements: {rows.run_of(comparison, difference)} compared with {rows.names(comparison)[0]}")
    yield sentence(rows.change_sentence(comparison, difference))
    titles = rows.change_titles(comparison, difference)
    yield from _cut(titles, rows.change_rows(difference, _SHOWN), difference.pods.changed, ["bound"], titles)


def _preemption_parts(comparison: Comparison, difference: Difference) -> Iterator[Part]:
    yield heading(f"Preemptions: {rows.run_of(comparison, difference)} compared with {rows.names(comparison)[0]}")
    yield sentence(rows.preemption_sentence(comparison, difference))
    titles = rows.PREEMPTION_TITLES
    shown = rows.preemption_rows(comparison, difference, _SHOWN)
    yield from _cut(titles, shown, rows.preemptions_alone(difference), ["at", "priority"], titles[2:])


def _cut(
    titles: Sequence[str], shown: Sequence[Row], total: int, numeric: Sequence[str], flexible: Sequence[str]
) -> Iterator[Part]:
    if not shown:
        return
    yield _filled(titles, shown, numeric, [title for title in flexible if title not in numeric])
    if total > len(shown):
        yield sentence(f"and {total - len(shown):,} more; -o json shows all.", "dim")


def _filled(
    titles: Sequence[str], content: Sequence[Row], numeric: Sequence[str] = (), flexible: Sequence[str] = ()
) -> Part:
    made = table(*titles, numeric=numeric, flexible=flexible)
    for row in content:
        made.add_row(*row)
    return made
