"""Where the results of `bayplan simulate` and `bayplan compare` go: a table, JSON, Parquet files, an HTML report.

Checks before the run that files can be written, as a run may take minutes.
"""

from __future__ import annotations

import os
import sys

import click
import msgspec

from bayplan.analysis.simulation.results.arrow import ArrowMissingError, require_arrow
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.cli.options import bad_option, note
from bayplan.cli.output_files import check_folder_of
from bayplan.report.comparison.tables import comparison_parts
from bayplan.report.json_output import write_document
from bayplan.report.simulation.parquet import write_parquet
from bayplan.report.simulation.tables import simulation_parts
from bayplan.report.terminal import show
from bayplan.report.writing import write_report

TABLE = "table"


def check_parquet(folder: str | None) -> None:
    """Raises InvalidObject if tables cannot be written there."""
    if folder is None:
        return
    try:
        require_arrow()
    except ArrowMissingError as error:
        raise bad_option(_PARQUET, str(error)) from error
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise bad_option(_PARQUET, f"{folder} is not a directory")
    check_folder_of(_PARQUET, folder)


def show_result(result: SimulationResult, output: str, folder: str | None) -> None:
    """On standard output and, if asked for, as tables in a folder."""
    if folder is not None:
        write_parquet(result.to_arrow(), folder)
        note(f"tables written to {folder}")
    if output == TABLE:
        show(simulation_parts(result.run), sys.stdout)
    else:
        write_document(result.run, output, sys.stdout)


_PARQUET = "--parquet"
parquet_option = click.option(_PARQUET, metavar="DIR", help="Also write all results as Parquet files.")


def show_compared(compared: ComparedRuns, document: msgspec.Struct, output: str) -> None:
    """A table, or the document; warnings then also go to users who do not read it."""
    if output == TABLE:
        show(comparison_parts(compared.comparison), sys.stdout)
        return
    for warning in compared.warnings:
        click.echo(f"warning: {warning}", err=True)
    write_document(document, output, sys.stdout)


def write_report_to(path: str | None, outcome: SimulationResult | ComparedRuns) -> None:
    """Nothing without a path."""
    if path is not None:
        write_report(outcome, path)
        note(f"report written to {path}")
