"""Runs side by side as one HTML file that works offline: the answer first, then figures, plots and changed pods.

Takes the runs (for the plots) and their comparison (for everything else). The same data gives the
same bytes. Long tables are cut, and say so; the JSON of the comparison holds all. Needs the extra `report`.
"""

from __future__ import annotations

from html import escape

from bayplan.analysis.simulation.results.differences import ComparedRuns, Comparison
from bayplan.report.comparison import rows
from bayplan.report.comparison.figures import colour_of, runs_over_time, waits_by_class
from bayplan.report.durations import duration_text
from bayplan.report.html_page import PAGE_ROWS_MAX, filled, framed, page_file, require_plotly
from bayplan.report.simulation.preemption_list import and_more, html_legend, html_table
from bayplan.report.words import counted, listed


def comparison_page(compared: ComparedRuns) -> str:
    """The page as text."""
    runs, comparison = compared.runs, compared.comparison
    require_plotly()  # without it all else would be in vain
    figures = {"over-time": runs_over_time(runs, comparison), "waiting": waits_by_class(comparison)}
    body = filled(
        page_file("comparison.html"),
        {
            "answer": _answer(comparison),
            "legend": _legend(comparison),
            "figures_table": f'<div class="figures">{_table(rows.figures(comparison))}</div>',
            "classes": f'<div class="figures grouped">{_table(rows.classes(comparison))}</div>',
            "differences": "\n".join(map(_section, rows.sections(comparison, PAGE_ROWS_MAX))),
        },
    )
    return framed(f"{listed(rows.names(comparison))} compared", body, figures, "comparison.js")


def _answer(comparison: Comparison) -> str:
    warnings = "".join(f'<p class="partial">{escape(warning)}</p>' for warning in comparison.warnings)
    said = "".join(f'<p class="answer">{escape(answer)}</p>' for answer in rows.answers(comparison))
    base = comparison.runs[0]
    facts = f"{duration_text(base.seconds)} on {counted(base.nodes, 'node')}, seed {base.seed}"
    return f'{warnings}{said}<p class="facts">{escape(facts)}</p>'


def _legend(comparison: Comparison) -> str:
    """The color and configuration of each run."""
    return html_legend(
        (colour_of(place), f"<b>{escape(name)}</b> configuration {escape(run.configs)}, wake-ups {run.wakeups}")
        for place, (name, run) in enumerate(zip(rows.names(comparison), comparison.runs, strict=True))
    )


def _section(section: rows.Section) -> str:
    """The table is in a window of its own, with a field to search it."""
    head = f"<section><h2>{escape(section.title)}</h2><p>{escape(section.sentence)}</p>"
    if not section.grid.rows:
        return f"{head}</section>"
    more = and_more(section.total - len(section.grid.rows), which="; see the JSON of the comparison")
    search = '<p><label>Show only rows that mention <input type="search" placeholder="pod, node or class"></label></p>'
    return f'{head}{search}<div class="window">{_table(section.grid)}</div>{more}</section>'


def _table(grid: rows.Grid) -> str:
    return html_table(grid.titles, grid.rows, grid.numeric)
