"""An answer as GitHub-flavored Markdown, for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bayplan.report.answers.parts import Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, Tone, cell

_MARKS = {Tone.PLAIN: "", Tone.GOOD: "✅ ", Tone.WARN: "⚠️ ", Tone.BAD: "❌ ", Tone.FAINT: ""}
_BAR_WIDTH = 20
#: What would be markup in running text. An underscore inside a word is not.
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w))")
_FENCE = "```"


def markdown(title: str, parts: Iterable[Part]) -> str:
    """The whole answer under a title, with an empty line between blocks."""
    blocks = [f"### {_escaped(title)}"]
    blocks += [block(part, is_answer=number == 0) for number, part in enumerate(parts)]
    return "\n\n".join(each for each in blocks if each) + "\n"


def block(part: Part, *, is_answer: bool = False) -> str:
    """One part; empty if it has nothing to show."""
    match part:
        case Sentence(text, tone):
            plain = f"**{_escaped(text)}**" if is_answer and text else _escaped(text)
            return _MARKS[tone] + plain
        case Heading(text):
            return f"#### {_escaped(text)}"
        case Table():
            return _table(part)
        case Bars():
            return _fenced(_bars(part), "text")
        case Snippet(text, language):
            return _fenced(text.rstrip("\n"), language)
        case Next(command):
            return f"Next:\n\n{_fenced(command, 'sh')}"
        case Details(parts):
            return _details(parts)


def _details(parts: Sequence[Part]) -> str:
    """Folded; GitHub renders what is inside as Markdown only between empty lines."""
    inside = [each for part in parts if (each := block(part))]
    return "\n\n".join(["<details>\n<summary>Details</summary>", *inside, "</details>"]) if inside else ""


def _table(part: Table) -> str:
    rules = ["---:" if column in part.numeric else "---" for column in part.columns]
    lines = [_row([_lines(column) for column in part.columns]), _row(rules)]
    lines += [_row(_cells([cell(each) for each in row])) for row in part.rows]
    return "\n".join(lines)


def _cells(row: Sequence[Cell]) -> list[str]:
    """A row of one tone is marked once."""
    texts = [_lines(each.text) for each in row]
    tones = {each.tone for each in row}
    if len(tones) == 1 < len(row):
        return [_MARKS[tones.pop()] + texts[0], *texts[1:]]
    return [_MARKS[each.tone] + text for each, text in zip(row, texts, strict=True)]


def _lines(text: str) -> str:
    return _escaped(text).replace("\n", "<br>")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _bars(part: Bars) -> str:
    width = max((len(bar.label) for bar in part.rows), default=0)
    return "\n".join(
        f"{bar.label:<{width}}  {'█' * round(part.share(bar) * _BAR_WIDTH):<{_BAR_WIDTH}}  {bar.text}".rstrip()
        for bar in part.rows
    )


def _fenced(text: str, language: str) -> str:
    """A fence longer than any in the text."""
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
