"""The findings of a shadow as a file: JSON for programs, else one HTML page that works offline."""

from __future__ import annotations

from html import escape
from io import StringIO
from pathlib import Path

from bayplan.report.html_page import PAGE_ROWS_MAX, filled, page_file, write_page
from bayplan.report.json_output import write_json
from bayplan.report.shadow.sections import Plain, Section, answer, sections
from bayplan.report.simulation.preemption_list import html_table


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
    body = "\n".join(map(_section, sections(found, PAGE_ROWS_MAX)))
    return filled(
        page_file("shadow.html"),
        {
            "style": page_file("page.css"),
            "answer": escape(answer(found)),
            "facts": escape(f"{found['startedAt']} to {found['endedAt']}, {found['decisions']:,} decisions of bayplan"),
            "sections": body,
        },
    )


def _section(section: Section) -> str:
    said = f"<p>{escape(section.sentence)}</p>" if section.sentence else ""
    shown = html_table(section.titles, section.rows, section.numeric)
    return f"<section><h2>{escape(section.title)}</h2>{said}{shown}</section>"
