"""The findings of a shadow as a file: JSON for programs, else one HTML page that works offline."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from markupsafe import Markup

from bayplan.report.html_page import PAGE_ROWS_MAX, document, write_page
from bayplan.report.json_output import write_json
from bayplan.report.markup import joined, tag
from bayplan.report.shadow.sections import Plain, Section, answer, sections
from bayplan.report.simulation.preemption_list import html_table

_TITLE = "bayplan compared with kube-scheduler"


def write_shadow_report(found: Plain, path: str | Path) -> None:
    """By the ending of the name: `.json`, else a page."""
    if Path(path).suffix == ".json":
        text = StringIO()
        write_json(found, text)
        write_page(text.getvalue(), path)
    else:
        write_page(shadow_page(found), path)


def shadow_page(found: Plain) -> str:
    """The page as text."""
    facts = f"{found['startedAt']} to {found['endedAt']}, {found['decisions']:,} decisions of bayplan"
    header = tag("header", tag("h1", _TITLE), tag("p", answer(found), class_="answer"), tag("p", facts, class_="facts"))
    return document(_TITLE, joined(header, map(_section, sections(found, PAGE_ROWS_MAX))))


def _section(section: Section) -> Markup:
    said = tag("p", section.sentence) if section.sentence else None
    return tag("section", tag("h2", section.title), said, html_table(section.titles, section.rows, section.numeric))
