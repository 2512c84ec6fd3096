"""Runs side by side as one HTML file that works offline: the answer first, then figures, plots and changed pods.

Takes the runs (for the plots) and their comparison (for everything else). The same data gives the
same bytes. Long tables are cut, and say so; the JSON of the comparison holds all. Needs the extra `report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from bayplan.analysis.simulation.results.differences import Comparison, Difference
from bayplan.analysis.simulation.results.run import Run
from bayplan.report.comparison import rows
from bayplan.report.comparison.figures import colour_of, runs_over_time, waits_by_class
from bayplan.report.comparison.rows import Row
from bayplan.report.durations import duration_text
from bayplan.report.html_page import filled, framed, page_file, require_plotly, write_page
from bayplan.report.simulation.preemption_list import and_more, html_table
from bayplan.report.words import counted, listed

_CHANGES_MAX = 1_000
_PREEMPTIONS_MAX = 500


def write_comparison(runs: Sequence[Run], comparison: Comparison, path: Path | str) -> None:
    """One page for all runs; PlotlyMissingError without the extra."""
    write_page(comparison_page(runs, comparison), path)


def comparison_page(runs: Sequence[Run], comparison: Comparison) -> str:
    """The page as text."""
    require_plotly()  # without it all else would be in vain
    figures = {"over-time": runs_over_time(runs, comparison), "waiting": waits_by_class(comparison)}
    body = filled(
        page_file("comparison.html"),
        {
            "answer": _answer(comparison),
            "legend": _legend(comparison),
            "figures_table": _figures(comparison),
            "classes": _classes(comparison),
            "differences": "\n".join(_difference(comparison, difference) for difference in comparison.differences),
        },
    )
    return framed(f"{listed(rows.names(comparison))} compared", body, figures, "comparison.js")


def _answer(comparison: Comparison) -> str:
    warnings = "".join(f'<p class="partial">{escape(warning)}</p>' for warning in comparison.warnings)
    answers = [rows.answer(comparison, difference) for difference in comparison.differences]
    said = "".join(f'<p class="answer">{escape(answer)}</p>' for answer in answers)
    base = comparison.runs[0]
    facts = f"{duration_text(base.seconds)} on {counted(base.nodes, 'node')}, seed {base.seed}"
    return f'{warnings}{said}<p class="facts">{escape(facts)}</p>'


def _legend(comparison: Comparison) -> str:
    """Which run is which colour, and what it ran."""
    return '<p class="legend">' + " ".join(
        f'<span><i style="background:{colour_of(place)}"></i><b>{escape(name)}</b> '
        f"configuration {escape(run.configs)}</span>"
        for place, (name, run) in enumerate(zip(rows.names(comparison), comparison.runs, strict=True))
    ) + "</p>"  # fmt: skip


def _figures(comparison: Comparison) -> str:
    titles = ["", *rows.names(comparison), *rows.difference_titles(comparison)]
    return f'<div class="figures">{html_table(titles, rows.figure_rows(comparison), titles[1:])}</div>'


def _classes(comparison: Comparison) -> str:
    table = html_table(rows.CLASS_TITLES, rows.class_rows(comparison), (*rows.CLASS_TITLES[3:], "priority"))
    return f'<div class="figures grouped">{table}</div>'


def _difference(comparison: Comparison, difference: Difference) -> str:
    pair = escape(f"{rows.run_of(comparison, difference)} compared with {rows.names(comparison)[0]}")
    changed = rows.change_rows(difference, _CHANGES_MAX)
    preempted = rows.preemption_rows(comparison, difference, _PREEMPTIONS_MAX)
    return (
        f"<section><h2>Placements that differ: {pair}</h2>"
        f"<p>{escape(rows.change_sentence(comparison, difference))}</p>"
        + _filtered(rows.change_titles(comparison, difference), changed, difference.pods.changed, ["bound"])
        + f"</section>\n<section><h2>Preemptions that differ: {pair}</h2>"
        f"<p>{escape(rows.preemption_sentence(comparison, difference))}</p>"
        + _filtered(rows.PREEMPTION_TITLES, preempted, rows.preemptions_alone(difference), ["at", "priority"])
        + "</section>"
    )


def _filtered(titles: Sequence[str], shown: Sequence[Row], total: int, numeric: Sequence[str]) -> str:
    """A table in a window of its own, with a field to search it."""
    if not shown:
        return ""
    more = and_more(total - len(shown), which="; see the JSON of the comparison")
    search = '<p><label>Show only rows that mention <input type="search" placeholder="pod, node or class"></label></p>'
    return f'{search}<div class="window">{html_table(titles, shown, numeric)}</div>{more}'
