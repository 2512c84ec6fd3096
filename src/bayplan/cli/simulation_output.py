"""Where the results of `bayplan simulate` and `bayplan compare` go: a table, JSON, Parquet files, an HTML report.

Checks before the run that files can be written, as a run may take minutes.
"""

from __future__ import annotations

import os
from functools import partial

import click
import msgspec

from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.libraries import LibraryMissingError, require
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.cli.options import bad_option, note
from bayplan.cli.output import write_parts
from bayplan.cli.output_files import check_folder_of
from bayplan.report.comparison.page import comparison_page
from bayplan.report.comparison.parts import comparison_parts
from bayplan.report.hidden_characters import visible
from bayplan.report.simulation.page import run_page
from bayplan.report.simulation.parquet import write_parquet
from bayplan.report.simulation.parts import simulation_parts


def check_parquet(folder: str | None) -> None:
    """Raises InvalidObject if tables cannot be written there."""
    if folder is None:
        return
    try:
        require("pyarrow")
    except LibraryMissingError as error:
        raise bad_option(_PARQUET, str(error)) from error
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise bad_option(_PARQUET, f"{folder} is not a directory")
    check_folder_of(_PARQUET, folder)


_PARQUET = "--parquet"
parquet_option = click.option(_PARQUET, metavar="DIR", help="Also write all results as Parquet files.")


def show_result(result: SimulationResult, output: str, report: str | None, folder: str | None) -> None:
    """On standard output and, if asked for, as a report and as tables in a folder."""
    if folder is not None:
        write_parquet(result.to_arrow(), folder)
        note(f"tables written to {folder}")
    run = result.run
    write_parts(
        "bayplan simulate", simulation_parts(run), run, output=output, report=report, page=partial(run_page, run)
    )


def show_compared(compared: ComparedRuns, document: msgspec.Struct, output: str, report: str | None) -> None:
    """Where only programs read the answer, warnings also go to standard error."""
    if output in ("json", "yaml"):
        for warning in compared.warnings:
            click.echo(f"warning: {visible(warning)}", err=True)
    write_parts(
        "bayplan compare",
        comparison_parts(compared.comparison),
        document,
        output=output,
        report=report,
        page=partial(comparison_page, compared),
    )
