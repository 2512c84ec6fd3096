"""One HTML file that works offline, from a template, parts that are filled in, and plots' data with plotly.js itself.

Knows nothing about what a page shows. Templates are in `page_templates`; their content security policy forbids a page
to load anything. A file is written completely or not at all. Needs plotly (the extra `report`) for its JavaScript
only; figures are plain data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from html import escape
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

#: Rows of a table that a page shows; a browser copes with more, a reader does not.
PAGE_ROWS_MAX = 1_000


class PlotlyMissingError(ImportError):
    """The report cannot be drawn in this installation."""

    def __init__(self) -> None:
        super().__init__("the HTML report needs plotly: pip install 'bayplan[report]'")


def require_plotly() -> None:
    """PlotlyMissingError now rather than after a long run."""
    if find_spec("plotly") is None:
        raise PlotlyMissingError


def write_page(page: str, path: Path | str) -> None:
    """The file gets its name when it is complete. Of several processes that write it, the last one wins."""
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _plotly_script() -> str:
    """plotly.js; PlotlyMissingError without the extra."""
    try:
        offline = import_module("plotly.offline")
    except ModuleNotFoundError as missing:
        raise PlotlyMissingError from missing
    return str(offline.get_plotlyjs())


def page_file(name: str) -> str:
    return (resources.files("bayplan.report") / "page_templates" / name).read_text(encoding="utf-8")


def framed(title: str, body: str, figures: Mapping[str, Any], script: str) -> str:
    """A whole page around the body; `script` names the file that draws the figures."""
    return filled(
        page_file("frame.html"),
        {
            "title": escape(title),
            "style": page_file("page.css"),
            "body": body,
            "figures": _as_script_data(figures),
            "plotly": _plotly_script(),
            "script": page_file("plots.js") + page_file(script),
        },
    )


def filled(template: str, parts: dict[str, str]) -> str:
    """Each `{{name}}` once. What is filled in is not interpreted again: text of users cannot name another part."""
    pieces = template.split("{{")
    done = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        done += [parts.pop(name), rest]
    assert not parts, f"the page has no place for {sorted(parts)}"
    return "".join(done)


def _as_script_data(figures: Mapping[str, Any]) -> str:
    """JSON that cannot end the `<script>` around it, whatever names say."""
    plain = json.dumps(figures, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
