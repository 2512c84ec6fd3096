"""The findings of a shadow as a file, by the ending of its name: JSON, Markdown, or a page that works offline."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from bayplan.report.answers.html import html
from bayplan.report.answers.markdown import markdown
from bayplan.report.html_page import PAGE_ROWS_MAX, write_page
from bayplan.report.json_output import write_json
from bayplan.report.shadow.parts import Plain, shadow_parts

_TITLE = "bayplan compared with kube-scheduler"


def write_shadow_report(found: Plain, path: str | Path) -> None:
    """`.json`, `.md`, else HTML."""
    write_page(_written(found, Path(path).suffix), path)


def _written(found: Plain, ending: str) -> str:
    if ending == ".json":
        text = StringIO()
        write_json(found, text)
        return text.getvalue()
    if ending == ".md":
        return markdown(_TITLE, shadow_parts(found, PAGE_ROWS_MAX))
    return shadow_page(found)


def shadow_page(found: Plain) -> str:
    """The page as text."""
    return html(_TITLE, shadow_parts(found, PAGE_ROWS_MAX))
