"""`bayplan replay FILES`: feed the events of a journal to a new scheduler, and compare its decisions."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bayplan.cli.main import EXIT_BUG, TRACEBACK
from bayplan.model.errors import Fault, InvalidObject
from bayplan.report.hidden_characters import visible
from bayplan.report.words import counted

if TYPE_CHECKING:
    from bayplan.worlds.journal import Bug, Divergence, Player

_DIFFERENCES_SHOWN = 5


@click.command(
    "replay",
    epilog="Exit codes: 0 all decisions are the same; 1 some differ; 2 FILE is not a journal, or bad usage; 3 the new "
    "scheduler met a bug, as the one did that wrote the journal.",
)
@click.argument("path", metavar="FILE|DIR", type=click.Path())
@click.pass_context
def command(ctx: click.Context, path: str) -> None:
    """Replay the events of a journal in a new scheduler and compare its decisions with the recorded ones.

    The files of a directory are replayed in order: each continues the previous one, and replay stops at a gap.
    """
    replayed = _Replayed()
    for file in _files(path):
        replayed.add(file)
    decisions, wakeups = counted(replayed.decisions, "decision"), f"Wake-ups: {replayed.wakeups}."
    for file, bug in replayed.bugs[:_DIFFERENCES_SHOWN]:
        click.echo(f"{file}: line {bug.line}: a bug: {bug.about}: {visible(_described(bug.error))}", err=True)
    if not replayed.differences:
        click.echo(f"{decisions}, all as recorded. {wakeups}")
        ctx.exit(EXIT_BUG if replayed.bugs else 0)
    for file, difference in replayed.differences[:_DIFFERENCES_SHOWN]:
        where = f"{file}: " if file != path else ""
        click.echo(
            visible(f"{where}line {difference.line}\n  recorded {difference.expected}\n  now      {difference.got}")
        )
    click.echo(f"{len(replayed.differences)} of {decisions} differ. {wakeups}")
    ctx.exit(1)


def _described(error: Exception) -> str:
    """With the traceback where it is asked for."""
    if os.environ.get(TRACEBACK):
        return "".join(traceback.format_exception(error)).rstrip()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} (at {frame.filename}:{frame.lineno})"


def _files(path: str) -> Sequence[str]:
    if not Path(path).is_dir():
        return [path]
    from bayplan.worlds.live_journal import journal_files  # noqa: PLC0415

    files = [str(file) for file in journal_files(Path(path))]
    if not files:
        raise InvalidObject([Fault(path, "", "", "there is no journal in this directory")])
    return files


class _Replayed:
    """What became of the files so far."""

    def __init__(self) -> None:
        self.decisions = 0
        self.differences: list[tuple[str, Divergence]] = []
        self.bugs: list[tuple[str, Bug]] = []
        self.wakeups = ""
        self._player: Player | None = None
        self._next_part = 0

    def add(self, file: str) -> None:
        from bayplan.worlds.journal import JournalError  # noqa: PLC0415

        try:
            self._play(file)
        except OSError as error:
            raise InvalidObject([Fault(file, "", "", error.strerror or "cannot be read")]) from error
        except UnicodeDecodeError as error:
            raise InvalidObject([Fault(file, "", "", "is not a text file")]) from error
        except JournalError as error:
            raise InvalidObject([Fault(file, "", "", str(error))]) from error

    def _play(self, file: str) -> None:
        from bayplan.worlds.journal import Player, read_head, scheduler_for  # noqa: PLC0415

        with open(file, encoding="utf-8") as lines:
            head = read_head(lines)
            part = head.get("part", 1)
            if self._player is None or part == 1 or part != self._next_part:
                self._player = Player(scheduler_for(head))
            self._next_part = part + 1
            lines_read = _CountedLines(lines)
            known = len(self._player.bugs)
            self.differences += [(file, difference) for difference in self._player.play(lines_read)]
            self.bugs += [(file, bug) for bug in self._player.bugs[known:]]
        self.decisions += lines_read.decisions
        self.wakeups = self._player.scheduler.wakeups.value


class _CountedLines:
    """Lines, counting those that contain a decision."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.decisions = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.decisions += '"out":' in line
            yield line
