"""`-o` of `bayplan simulate`, and where its files go: a table, JSON, or a directory of Parquet files.

Checks before the run that files can be written, as a run may take minutes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from bayplan.analysis.simulation.results.arrow import ArrowMissingError, require_arrow
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.cli.options import note
from bayplan.model.errors import Fault, InvalidObject
from bayplan.report.simulation.parquet import write_parquet

TABLE, JSON, PARQUET = "table", "json", "parquet"
FOLDER = "simulation"

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


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

    def write_parquet(self, result: SimulationResult) -> None:
        write_parquet(result.to_arrow(), self.folder)
        note(f"tables written to {self.folder}")


def simulation_output_option(function: CommandT) -> CommandT:
    return click.option(
        "-o",
        "--output",
        default=TABLE,
        show_default=True,
        metavar="table|json|parquet[=DIR]",
        callback=_parse,
        help=f"Output format: a summary, all results as JSON, or Parquet files in DIR (default: {FOLDER}).",
    )(function)


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


def bad_option(option: str, message: str) -> InvalidObject:
    """What is wrong with an option's value, reported like any other bad input."""
    return InvalidObject([Fault("", "", option, message)])


def _parse(ctx: click.Context, parameter: click.Parameter, value: str) -> Output:
    kind, has_folder, folder = value.partition("=")
    if kind in (TABLE, JSON) and not has_folder:
        return Output(kind)
    if kind == PARQUET and bool(has_folder) == bool(folder):
        return Output(kind, folder or FOLDER)
    raise click.BadParameter(f"{value!r}: expected table, json, parquet or parquet=DIR", ctx, parameter)
