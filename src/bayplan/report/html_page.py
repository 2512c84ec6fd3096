"""One HTML file that works offline: its style, its content and, for plots, a script, all inside.

Knows nothing about what a page shows. The content security policy forbids a page to load anything, and to run any
script or apply any style but its own, which it knows by their hashes. A file is written completely or not at all.
"""

from __future__ import annotations

import os
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from bayplan.report.markup import NOTHING, tag

#: Rows of a table that a page shows; a browser copes with more, a reader does not.
PAGE_ROWS_MAX = 400


def write_page(page: str, path: Path | str) -> None:
    """The file gets its name when it is complete. Of several processes that write it, the last one wins."""
    target = Path(path)
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        unfinished.write_text(page, encoding="utf-8", newline="\n")
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def document(title: str, body: Markup, *, style: str = "page.css", script: str | None = None) -> str:
    """A whole page; `style` and `script` name files of `page_templates`."""
    styles = _own_file("colors.css") + _own_file("page.css") + ("" if style == "page.css" else _own_file(style))
    code = "" if script is None else _own_file("plots.js") + _own_file(script)
    policy = [
        "default-src 'none'",
        f"style-src {_hash(styles)}",
        *([f"script-src {_hash(code)}"] if code else []),
        "img-src data:",
        "form-action 'none'",
        "base-uri 'none'",
    ]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content="; ".join(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(styles)),
    )
    scripted = tag("script", Markup(code)) if code else NOTHING
    page = tag(
        "html", "\n", head, "\n", tag("body", "\n", tag("main", "\n", body, "\n"), "\n", scripted), "\n", lang="en"
    )
    return f"<!DOCTYPE html>\n{page}\n"


def _own_file(name: str) -> str:
    """Written by us, not by users: these alone go into a page as they are."""
    return (resources.files("bayplan.report") / "page_templates" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
