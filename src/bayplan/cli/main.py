"""The `bayplan` command: finds the subcommand, and turns everything that can go wrong into a message and an exit code.

Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 3 a bug, 130 interrupted. A bug is any exception that no
user can cause, broken invariants included: one line asks for a report, with a traceback only where BAYPLAN_TRACEBACK is
set. A note on the exception says where to find more. Imports nothing heavy: commands are loaded
when they are called.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from signal import SIGINT, SIGPIPE
from typing import Any

import click

from bayplan import __version__
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.near_matches import near
from bayplan.report.hidden_characters import visible

EXIT_YES, EXIT_NO, EXIT_BAD_INPUT, EXIT_BUG = 0, 1, 2, 3
_KILLED_BY = 128  # what a shell adds to the number of the signal that ended a program
EXIT_INTERRUPTED = _KILLED_BY + SIGINT
_FAULTS_MAX = 20
_LINE_MAX = 900
TRACEBACK = "BAYPLAN_TRACEBACK"

#: What a user can cause; anything else that a command raises is a bug.
EXPECTED = (InvalidObject, click.ClickException, OSError)

#: Command -> what it does, in one line. The module of the same name in this package has a `command`.
COMMANDS = {
    "explain": "Explain where a pod fits, why not elsewhere, and which pods it would preempt.",
    "place": "Place the pending pods one by one, evicting only where necessary.",
    "whatif": "Compare a cluster with and without a change: pods placed, evicted or pending.",
    "drain": "Find out whether nodes can be drained: where pods go, and what blocks it.",
    "defrag": "Find the fewest pods to move so that a large one fits.",
    "consolidate": "Find the nodes that can be given back.",
    "exposure": "Find out what could evict a pod, and which workloads are most exposed.",
    "fix": "Find the smallest changes that would let a pending pod run.",
    "capacity": "Count how many more pods of a kind fit, where, and what runs out first.",
    "plan": "Find the cheapest nodes of a catalog that hold pods.",
    "audit": "Find problems before they hurt, including the failure of any node.",
    "upgrade": "Find out what another version of Kubernetes changes: pods, settings, metrics.",
    "simulate": "Simulate a cluster over time: which pods run, wait or get preempted.",
    "sweep": "Simulate one story under many settings and seeds: which differences are real.",
    "dump": "Write a live cluster to a file, optionally anonymized.",
    "record": "Record what happens in a live cluster, for simulate to play again.",
    "compare": "Compare simulation results: what changed, and for which pods.",
    "run": "Run as the scheduler of a Kubernetes cluster.",
    "up": "Run a cluster in this process, for kubectl and a browser.",
    "mcp": "Let assistants ask about a cluster, over the Model Context Protocol.",
    "demo": "Watch preemption happen on a small built-in cluster.",
    "replay": "Replay a journal and report decisions that differ.",
    "bench": "Measure scheduling decisions per second on this machine.",
    "rbac": "Print the read-only permissions that questions about a live cluster need.",
    "completion": "Print a script that lets a shell complete commands, pods and nodes.",
    "manual": "Print the manual page.",
    "version": "Show the version, and which kube-scheduler it decides like.",
}


class LazyGroup(click.Group):
    """A group that imports a command's module only to run that command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"bayplan.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name in COMMANDS or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        close = near(name, COMMANDS)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise click.UsageError(f"No such command {name!r}.{hint}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Handled here because click would exit with 1, which means no.
            _abandon_stdout()
            return _KILLED_BY + SIGPIPE

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 3 a bug in bayplan or in a plugin "
    f"({TRACEBACK}=1 shows where), 130 interrupted.",
)
@click.version_option(__version__, "-V", "--version", prog_name="bayplan", message="%(prog)s %(version)s")
def cli() -> None:
    """The Kubernetes scheduler as a tool: which pod goes where, which pods it evicts, and why.

    Reads the current cluster, or manifests and dumps (-f), makes the same decisions as kube-scheduler, and changes
    nothing. To get started: bayplan demo
    """


def main() -> None:
    """The entry point: never returns."""
    _open_missing_streams()
    sys.exit(run(sys.argv[1:]))


def _open_missing_streams() -> None:
    """Without standard streams, as services are started, nothing is read, and what is written goes nowhere.

    In the order of their numbers, or the next file that is opened would get one of them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends


def run(arguments: Sequence[str]) -> int:
    """Run one command; gives the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not end the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        outcome = cli.main(args=list(arguments), prog_name="bayplan", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else EXIT_YES
    except InvalidObject as error:
        return _bad_input(error.faults)
    except click.ClickException as error:
        error.show()
        return EXIT_BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _bad_input([Fault("", "", "", f"{where}{error.strerror or error}")])
    except Exception as error:
        return _bug(error)


def _bad_input(faults: Sequence[Fault]) -> int:
    for fault in faults[:_FAULTS_MAX]:
        line = " ".join(str(fault).split())
        if len(line) > _LINE_MAX:  # a value of megabytes; what is wrong with it is at the end
            line = f"{line[: _LINE_MAX // 2]} … {line[-_LINE_MAX // 2 :]}"
        click.echo(f"error: {visible(line)}", err=True)
    if len(faults) > _FAULTS_MAX:
        click.echo(f"error: and {len(faults) - _FAULTS_MAX:,} more", err=True)
    return EXIT_BAD_INPUT


def _bug(error: Exception) -> int:
    """Everything that a report needs in one line: what was raised, where, and what a command has noted."""
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = visible(" ".join(f"{type(error).__name__}: {error}".removesuffix(": ").split()))
    notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    click.echo(
        f"error: unexpected {what} (at {frame.filename}:{frame.lineno}). This is a bug: please report it with the "
        f"input and this line{notes}. {TRACEBACK}=1 shows the traceback.",
        err=True,
    )
    return EXIT_BUG


def _abandon_stdout() -> None:
    """The reader is gone; without this the interpreter would complain while it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
