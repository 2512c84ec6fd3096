"""An answer as plain data, for a page that draws the parts itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.report.answers.parts import Bar, Bars, Cell, Details, Heading, Next, Part, Sentence, Snippet, Table, cell


def plain_parts(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Each part as a map; `part` says which one it is."""
    return [_plain(part) for part in parts]


def _plain(part: Part) -> dict[str, Any]:
    match part:
        case Sentence(text, tone):
            return {"part": "sentence", "text": text, "tone": tone.value}
        case Heading(text):
            return {"part": "heading", "text": text}
        case Table():
            columns = [{"title": title, "numeric": title in part.numeric} for title in part.columns]
            return {"part": "table", "columns": columns, "rows": [[_cell(each) for each in row] for row in part.rows]}
        case Bars():
            return {"part": "bars", "rows": [_bar(bar, part.share(bar)) for bar in part.rows]}
        case Snippet(text, language):
            return {"part": "code", "text": text, "language": language}
        case Next(command):
            return {"part": "next", "command": command}
        case Details(inner):
            return {"part": "details", "parts": plain_parts(inner)}


def _cell(content: str | Cell) -> dict[str, str]:
    shown = cell(content)
    return {"text": shown.text, "tone": shown.tone.value}


def _bar(bar: Bar, share: float) -> dict[str, Any]:
    return {"label": bar.label, "share": share, "text": bar.text, "tone": bar.tone.value}
