"""Where the results of `bayplan simulate` and `bayplan compare` go: a table, JSON, Parquet files, an HTML report.

Checks before the run that files can be written, as a run may take minutes.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from bayplan.analysis.simulation.results.arrow import ArrowMissingError, require_arrow
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.cli.options import bad_option, note
from bayplan.report.comparison.tables import comparison_parts
from bayplan.report.json_output import write_json
from bayplan.report.simulation.parquet import write_parquet
from bayplan.report.simulation.tables import simulation_parts
from bayplan.report.terminal import show
from bayplan.report.writing import write_report

TABLE, JSON, PARQUET = "table", "json", "parquet"
FOLDER = "simulation"


@dataclass(frozen=True, slots=True)
class Output:
    """The output format; `folder` is only for Parquet."""

    kind: str
    folder: str = ""

    def check(self) -> None:
        """Raises InvalidObject if the output cannot be written."""
        if self.kind != PARQUET:
            return
        try:
            require_arrow()
        except ArrowMissingError as error:
            raise bad_option("-o", str(error)) from error
        if os.path.exists(self.folder) and not os.path.isdir(self.folder):
            raise bad_option("-o", f"{self.folder} is not a directory")
        _check_folder_of("-o", self.folder)

    def show(self, result: SimulationResult) -> None:
        if self.kind == PARQUET:
            write_parquet(result.to_arrow(), self.folder)
            note(f"tables written to {self.folder}")
        elif self.kind == JSON:
            write_json(result.run, sys.stdout)
        else:
            show(simulation_parts(result.run), sys.stdout)


def show_compared(compared: ComparedRuns, document: msgspec.Struct | None) -> None:
    """As JSON if there is a document for it; warnings then also go to users who do not read the JSON."""
    if document is None:
        show(comparison_parts(compared.comparison), sys.stdout)
        return
    for warning in compared.warnings:
        click.echo(f"warning: {warning}", err=True)
    write_json(document, sys.stdout)


def write_report_to(path: str | None, outcome: SimulationResult | ComparedRuns) -> None:
    """Nothing without a path."""
    if path is not None:
        write_report(outcome, path)
        note(f"report written to {path}")


def check_file(option: str, path: str | None) -> None:
    """Raises InvalidObject if this file cannot be written."""
    if path is None:
        return
    if os.path.isdir(path):
        raise bad_option(option, f"{path} is a directory")
    _check_folder_of(option, path)


def _check_folder_of(option: str, path: str) -> None:
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise bad_option(option, f"{path}: no such directory: {Path(path).parent}")
    if not os.access(folder, os.W_OK):
        raise bad_option(option, f"{path}: directory {Path(path).parent} is not writable")


def _parse(ctx: click.Context, parameter: click.Parameter, value: str) -> Output:
    kind, has_folder, folder = value.partition("=")
    if kind in (TABLE, JSON) and not has_folder:
        return Output(kind)
    if kind == PARQUET and bool(has_folder) == bool(folder):
        return Output(kind, folder or FOLDER)
    raise click.BadParameter(f"{value!r}: expected table, json, parquet or parquet=DIR", ctx, parameter)


simulation_output_option = click.option(
    "-o",
    "--output",
    default=TABLE,
    show_default=True,
    metavar="table|json|parquet[=DIR]",
    callback=_parse,
    help=f"Output format: a summary, all results as JSON, or Parquet files in DIR (default: {FOLDER}).",
)
