"""`bayplan compare`: simulation results side by side."""

from __future__ import annotations

import click

from bayplan.analysis.simulation.results.comparison import compare, short_names
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.run_files import read_runs
from bayplan.cli.options import report_option
from bayplan.cli.output import format_option
from bayplan.cli.output_files import check_file
from bayplan.cli.simulation_output import show_compared
from bayplan.model.errors import Fault, InvalidObject


@click.command("compare", epilog="Exit codes: 0 done; 2 bad input or usage.")
@click.argument("files", metavar="RUN.json...", nargs=-1, required=True)
@report_option
@format_option()
def command(files: tuple[str, ...], report: str | None, output: str) -> None:
    """Compare results of `bayplan simulate -o json` with the first one.

    Shows the figures side by side, waiting times by priority class, pods that were placed on a different node or at a
    different time, and preemptions that happened in only one run. Warns if seeds or inputs differ.
    """
    check_file("--report", report)
    compared = _compared(files)
    show_compared(compared, compared.comparison, output, report)


def _compared(files: tuple[str, ...]) -> ComparedRuns:
    by_file = [(name, read_runs(path)) for name, path in zip(short_names(files), files, strict=True)]
    named = [
        (name if len(runs) == 1 else called if len(by_file) == 1 else f"{name}: {called}", run)
        for name, runs in by_file
        for called, run in zip(short_names(run.configs for run in runs), runs, strict=True)
    ]
    if len(named) < 2:
        raise InvalidObject([Fault(files[0], "", "", "contains only one run; add another file to compare it with")])
    return compare(*(run for _, run in named), names=[name for name, _ in named])
