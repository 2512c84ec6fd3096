"""An answer as one HTML page without scripts, which opens offline."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from bayplan.report.answers.parts import Bar, Bars, Cell, Code, Details, Heading, Next, Part, Sentence, Table, cell
from bayplan.report.html_page import filled, page_file


def html(title: str, parts: Iterable[Part]) -> str:
    """The whole page."""
    body = [element(part, is_answer=number == 0) for number, part in enumerate(parts)]
    return answer_page(title, "\n".join(body))


def answer_page(title: str, body: str) -> str:
    """A page in the style of all answers around a body of elements."""
    return filled(
        page_file("answer.html"),
        {
            "title": escape(title),
            "style": page_file("page.css") + page_file("answer.css"),
            "heading": escape(title),
            "body": body,
        },
    )


def element(part: Part, *, is_answer: bool = False) -> str:
    """One part of a page."""
    match part:
        case Sentence(text, tone):
            return f'<p class="{"answer " if is_answer else ""}{tone.value}">{escape(text)}</p>' if text else ""
        case Heading(text):
            return f"<h3>{escape(text)}</h3>"
        case Table():
            return _table(part)
        case Bars():
            return f'<div class="bars">{"".join(_bar(bar, part.share(bar)) for bar in part.rows)}</div>'
        case Code(text):
            return f"<pre>{escape(text)}</pre>"
        case Next(command):
            return f"<p>Next:</p><pre>{escape(command)}</pre>"
        case Details(parts):
            return "\n".join(map(element, parts))


def _table(part: Table) -> str:
    alignment = [' class="number"' if column in part.numeric else "" for column in part.columns]
    head = "".join(f"<th{how}>{_lines(column)}</th>" for column, how in zip(part.columns, alignment, strict=True))
    rows = "".join(f"<tr>{_cells(row, alignment)}</tr>" for row in part.rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _cells(row: Iterable[str | Cell], alignment: Iterable[str]) -> str:
    return "".join(f"<td{how}>{_span(cell(each))}</td>" for each, how in zip(row, alignment, strict=True))


def _span(content: Cell) -> str:
    return f'<span class="{content.tone.value}">{_lines(content.text)}</span>'


def _lines(text: str) -> str:
    return escape(text).replace("\n", "<br>")


def _bar(bar: Bar, share: float) -> str:
    return (
        f'<span>{escape(bar.label)}</span><span class="track"><i class="{bar.tone.value}" style="width:{share:.2%}">'
        f"</i></span><span>{escape(bar.text)}</span>"
    )
