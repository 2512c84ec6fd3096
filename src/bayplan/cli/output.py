"""How a command writes its answer: the formats of `-o`, and the page of `--report`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import click
import msgspec

from bayplan.cli.options import Callback, note
from bayplan.report.answers.html import html
from bayplan.report.answers.markdown import markdown
from bayplan.report.answers.parts import Part
from bayplan.report.answers.terminal import terminal_parts
from bayplan.report.html_page import write_page
from bayplan.report.json_output import write_document
from bayplan.report.terminal import show

FORMATS = ("table", "json", "yaml", "markdown", "html")
#: For a command whose answer is a list of objects: their names, as kubectl prints and takes them.
NAMES = "name"


def format_option(*more_formats: str) -> Callable[[Callback], Callback]:
    """`-o`, for a command whose answer is made of parts."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice([*FORMATS, *more_formats]),
        default=FORMATS[0],
        show_default=True,
        help="Output format.",
    )


def write_parts(
    title: str,
    parts: Iterable[Part],
    document: Mapping[str, Any] | msgspec.Struct,
    *,
    output: str,
    report: str | None = None,
    details: bool = True,
    names: Iterable[str] = (),
    page: Callable[[], str] | None = None,
) -> None:
    """The answer on standard output, in the format that was asked for, and the report if one is wanted.

    `page` makes the HTML where it is not made of the parts alone.
    """
    shown = list(parts)
    make_page = page if page is not None else partial(html, title, shown)
    if report is not None:
        write_page(make_page(), report)
        note(f"report written to {report}")
    match output:
        case "json" | "yaml":
            write_document(document, output, sys.stdout)
        case "markdown":
            sys.stdout.write(markdown(title, shown))
        case "html":
            sys.stdout.write(make_page())
        case "name":
            sys.stdout.writelines(f"{name}\n" for name in names)
        case _:
            show(terminal_parts(shown, details=details), sys.stdout)
