"""`bayplan manual`: the manual page, made of what the commands say about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from bayplan import __version__
from bayplan.cli.main import COMMANDS, cli

_INDENTED = "\b"


@click.command("manual", epilog="Exit codes: 0 done; 2 bad usage.")
def command() -> None:
    """Print the manual page: bayplan manual | man -l -"""
    click.echo("\n".join(manual_page()))


def manual_page() -> Iterator[str]:
    """The lines of bayplan(1), for man."""
    context = click.Context(cli, info_name="bayplan", **cli.context_settings)
    yield f'.TH BAYPLAN 1 "" "bayplan {__version__}" "User Commands"'
    yield from (".SH NAME", "bayplan \\- the Kubernetes scheduler as a tool")
    yield from (".SH SYNOPSIS", ".B bayplan", r".I command", "[options]")
    yield ".SH DESCRIPTION"
    yield from _paragraphs(cli.help or "")
    yield from (".SH COMMANDS",)
    for name in COMMANDS:
        found = cli.get_command(context, name)
        assert found is not None, "each of them has a module"
        yield from _command(name, found, context)
    yield ".SH EXIT STATUS"
    yield from _paragraphs(cli.epilog or "")
    yield ".SH ENVIRONMENT"
    for variable, meaning in _ENVIRONMENT.items():
        yield from (".TP", f".B {variable}", _roff(meaning))


_ENVIRONMENT = {
    "KUBECONFIG": "Kubeconfig files of the cluster to read, unless files or --kubeconfig name another. "
    "Default: ~/.kube/config.",
    "NO_COLOR": "If set, output has no colors.",
    "COLUMNS": "Width of the output.",
    "BAYPLAN_LISTEN": "Where bayplan up listens, unless --listen says otherwise.",
    "BAYPLAN_TRACEBACK": "If set, an unexpected error shows its traceback.",
}


def _command(name: str, found: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(found, info_name=name, parent=parent)
    pieces = " ".join(found.collect_usage_pieces(context))
    yield f".SS bayplan {_roff(name)} {_roff(pieces)}"
    yield from _paragraphs(found.help or "")
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            yield from (".TP", f".B {_roff(record[0])}", _roff(record[1]))
    if found.epilog:
        yield ".PP"
        yield _roff(found.epilog)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines = [line.strip() for line in paragraph.strip().splitlines()]
        yield ".PP"
        if lines[0] == _INDENTED:
            yield from (".nf", *map(_roff, lines[1:]), ".fi")
        else:
            yield _roff(" ".join(lines))


def _roff(text: str) -> str:
    """Text that man prints as it is: a backslash, a hyphen or a dot in front would mean something."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
