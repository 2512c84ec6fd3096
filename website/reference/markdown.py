"""Pieces of Markdown: tables, code, docstrings. Text becomes text: nothing in it is taken for markup of a table."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, and an empty one before and after it."""
    yield ""
    yield _row(titles)
    yield _row(["---"] * len(titles))
    yield from map(_row, rows)
    yield ""


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"


def code(text: object) -> str:
    """In the type of code; nothing for nothing."""
    return f"`{text}`" if str(text) else ""


def prose(text: str) -> str:
    """Plain text in a cell or a paragraph: `<` and `*` are themselves."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def docstring(thing: object) -> Iterator[str]:
    """What it says about itself, or nothing; a list of arguments becomes a list."""
    for line in (inspect.getdoc(thing) or "").splitlines():
        name, colon, meaning = line.strip().partition(": ")
        if line.startswith("    ") and colon and name.isidentifier():
            yield f"- `{name}`: {meaning}"
        elif line.strip() == "Args:":
            yield "Arguments:"
            yield ""
        else:
            yield line.strip()
    yield ""
