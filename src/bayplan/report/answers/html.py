"""An answer as one HTML page without scripts, which opens offline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from bayplan.report.answers.parts import (
    Bar,
    Bars,
    Cell,
    Details,
    Heading,
    Next,
    Part,
    Sentence,
    Snippet,
    Table,
    Tone,
    cell,
)
from bayplan.report.answers.tables import table_of
from bayplan.report.html_page import document
from bayplan.report.markup import NOTHING, joined, tag

#: A notebook has its own colors; only what would be unreadable gets a style.
_NOTEBOOK_STYLE = (
    ".bayplan .answer{font-weight:600} .bayplan .number{text-align:right} .bayplan .track{height:12px;width:12em} "
    ".bayplan .bars{display:grid;grid-template-columns:max-content 12em 1fr;gap:2px 12px;align-items:center}"
)


def html(title: str, parts: Iterable[Part]) -> str:
    """The whole page."""
    body = [element(part, is_answer=number == 0) for number, part in enumerate(parts)]
    return answer_page(title, body)


def fragment(parts: Iterable[Part]) -> str:
    """The parts for somebody else's page, such as a notebook."""
    body = [element(part, is_answer=number == 0) for number, part in enumerate(parts)]
    return tag("div", tag("style", Markup(_NOTEBOOK_STYLE)), Markup("\n").join(body), class_="bayplan")


def answer_page(title: str, elements: Iterable[Markup]) -> str:
    """A page in the style of all answers around its elements."""
    return document(title, joined(tag("h1", title), "\n", Markup("\n").join(elements)), style="answer.css")


def element(part: Part, *, is_answer: bool = False) -> Markup:
    """One part of a page."""
    match part:
        case Sentence(text, tone):
            return tag("p", text, class_=f"{'answer ' if is_answer else ''}{tone.value}") if text else NOTHING
        case Heading(text):
            return tag("h3", text)
        case Table():
            return _table(part)
        case Bars():
            return tag("div", (_bar(bar, part.share(bar)) for bar in part.rows), class_="bars")
        case Snippet(text):
            return tag("pre", text)
        case Next(command):
            return joined(tag("p", "Next:"), tag("pre", command))
        case Details(parts):
            return Markup("\n").join(map(element, parts))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], numeric: Sequence[str] = ()) -> Markup:
    """A table of any values, for pages that are more than an answer."""
    return _table(table_of(columns, rows, numeric))


def _table(part: Table) -> Markup:
    alignment = ["number" if column in part.numeric else None for column in part.columns]
    head = [tag("th", _lines(column), class_=how) for column, how in zip(part.columns, alignment, strict=True)]
    rows = [tag("tr", _cells(row, alignment)) for row in part.rows]
    return tag("div", tag("table", tag("thead", tag("tr", head)), tag("tbody", rows)), class_="scroll")


def _cells(row: Iterable[str | Cell], alignment: Iterable[str | None]) -> list[Markup]:
    return [tag("td", _span(cell(each)), class_=how) for each, how in zip(row, alignment, strict=True)]


def _span(content: Cell) -> Markup:
    lines = _lines(content.text)
    return lines if content.tone is Tone.PLAIN else tag("span", lines, class_=content.tone.value)


def _lines(text: str) -> Markup:
    return tag("br").join(text.split("\n"))


def _bar(bar: Bar, share: float) -> Markup:
    filled = tag("rect", class_=bar.tone.value, width=f"{share:.2%}", height="100%")
    return joined(tag("span", bar.label), tag("svg", filled, class_="track", aria_hidden="true"), tag("span", bar.text))
