"""Every command with every option, from what click knows: the text of `--help` as a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from bayplan.cli.main import COMMANDS, cli
from website.reference.markdown import code, prose, table

#: In front of a paragraph that click leaves as it is.
_VERBATIM = "\b"


def page() -> str:
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    yield from ("# Commands", "", prose(_paragraph(cli.epilog or "")), "")
    context = click.Context(cli, info_name="bayplan", **cli.context_settings)
    yield from table(("Command", ""), ((f"[`{name}`](#{name})", prose(COMMANDS[name])) for name in COMMANDS))
    for name in COMMANDS:
        found = cli.get_command(context, name)
        assert found is not None, "each of them has a module"
        yield from _command(name, found, context)


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent)
    yield from (f"## {name}", "")
    yield from ("```text", f"bayplan {name} {' '.join(command.collect_usage_pieces(context))}", "```", "")
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        yield from _help(paragraph)
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    described = [record for record in records if record and record[1]]
    yield from table(("Option", ""), ((code(names), prose(text)) for names, text in described))
    if command.epilog:
        yield from (prose(_paragraph(command.epilog)), "")


def _help(paragraph: str) -> Iterator[str]:
    lines = [line.strip() for line in paragraph.strip().splitlines()]
    if lines and lines[0] == _VERBATIM:
        yield from ("```text", *lines[1:], "```", "")
    else:
        yield from (prose(_paragraph(paragraph)), "")


def _paragraph(text: str) -> str:
    return " ".join(text.split())
