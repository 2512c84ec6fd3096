"""Runs side by side as one HTML file that works offline: the answer first, then figures, plots and changed pods.

Takes the runs (for the plots) and their comparison (for everything else). The same data gives the
same bytes. Long tables are cut, and say so; the JSON of the comparison holds all.
"""

from __future__ import annotations

from markupsafe import Markup

from bayplan.analysis.simulation.results.differences import ComparedRuns, Comparison
from bayplan.report.answers.html import element
from bayplan.report.comparison import rows
from bayplan.report.comparison.figures import look_of, runs_over_time, waits_by_class
from bayplan.report.comparison.parts import facts
from bayplan.report.html_page import PAGE_ROWS_MAX, document
from bayplan.report.markup import joined, tag
from bayplan.report.simulation.preemption_list import and_more, html_legend
from bayplan.report.words import listed

_MARKS = "A circle is the median, a diamond p90, a square p99; the line ends at the longest wait."


def comparison_page(compared: ComparedRuns) -> str:
    """The page as text."""
    runs, comparison = compared.runs, compared.comparison
    body = joined(
        tag(
            "header",
            tag("h1", "What differs between these runs"),
            _answer(comparison),
            _legend(comparison),
            tag("div", element(rows.figures(comparison)), class_="figures"),
        ),
        tag("section", tag("h2", "Utilization and queue over time"), runs_over_time(runs, comparison)),
        tag(
            "section",
            tag("h2", "Waiting time by priority class"),
            tag("p", _MARKS),
            waits_by_class(comparison),
            tag("div", element(rows.classes(comparison)), class_="figures grouped"),
        ),
        map(_section, rows.sections(comparison, PAGE_ROWS_MAX // max(len(runs) - 1, 1))),
    )
    return document(f"{listed(rows.names(comparison))} compared", body, style="plots.css", script="comparison.js")


def _answer(comparison: Comparison) -> Markup:
    return joined(
        (tag("p", warning, class_="partial") for warning in comparison.warnings),
        (tag("p", answer, class_="answer") for answer in rows.answers(comparison)),
        tag("p", facts(comparison), class_="facts"),
    )


def _legend(comparison: Comparison) -> Markup:
    """The color and configuration of each run."""
    return html_legend(
        (look_of(place), joined(tag("b", name), f" configuration {run.configs}, wake-ups {run.wakeups}"))
        for place, (name, run) in enumerate(zip(rows.names(comparison), comparison.runs, strict=True))
    )


def _section(section: rows.Section) -> Markup:
    """The table is in a window of its own, with a field to search it."""
    head = [tag("h2", section.title), tag("p", section.sentence)]
    if not section.table.rows:
        return tag("section", head)
    more = and_more(section.total - len(section.table.rows), which="; see the JSON of the comparison")
    field = tag("input", type="search", placeholder="pod, node or class")
    search = tag("p", tag("label", "Show only rows that mention ", field))
    return tag("section", head, search, tag("div", element(section.table), class_="window"), more)
