"""`bayplan replay FILE`: feed the events of a journal to a new scheduler, and compare its decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from bayplan.model.errors import Fault, InvalidObject
from bayplan.report.words import counted

_DIFFERENCES_SHOWN = 5


@click.command(short_help="Replay a journal and report decisions that differ.")
@click.argument("file", type=click.Path())
@click.pass_context
def command(ctx: click.Context, file: str) -> None:
    """Replay the events of a journal in a new scheduler and compare its decisions with the recorded ones.

    Exit codes: 0 all decisions are the same; 1 some differ; 2 FILE is not a journal.
    """
    from bayplan.worlds.journal import JournalError, read_head, replay, scheduler_for  # noqa: PLC0415

    try:
        with open(file, encoding="utf-8") as lines:
            head = read_head(lines)
            lines_read = _CountedLines(lines)
            scheduler = scheduler_for(head)
            differences = list(replay(lines_read, scheduler))
    except OSError as error:
        raise InvalidObject([Fault(file, "", "", error.strerror or "cannot be read")]) from error
    except UnicodeDecodeError as error:
        raise InvalidObject([Fault(file, "", "", "is not a text file")]) from error
    except JournalError as error:
        raise InvalidObject([Fault(file, "", "", str(error))]) from error
    decisions, wakeups = counted(lines_read.decisions, "decision"), f"Wake-ups: {scheduler.wakeups.value}."
    if not differences:
        click.echo(f"{decisions}, all as recorded. {wakeups}")
        return
    for difference in differences[:_DIFFERENCES_SHOWN]:
        click.echo(f"line {difference.line}\n  recorded {difference.expected}\n  now      {difference.got}")
    click.echo(f"{len(differences)} of {decisions} differ. {wakeups}")
    ctx.exit(1)


class _CountedLines:
    """Lines, counting those that contain a decision."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.decisions = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.decisions += '"out":' in line
            yield line
