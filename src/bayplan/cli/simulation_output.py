"""`-o` of `bayplan simulate`, and where its files go: a table to read, JSON, or a folder of Parquet files.

Everything that can be known to go wrong with a file to be written is found before the run, as that may take minutes.
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
    """In which form the result is wanted; `folder` is for Parquet alone."""

    kind: str
    folder: str = ""

    def check(self) -> None:
        """Raises InvalidObject if it will not be possible."""
        if self.kind != PARQUET:
            return
        try:
            require_arrow()
        except ArrowMissingError as error:
            raise bad_option("-o", str(error)) from error
        if os.path.exists(self.folder) and not os.path.isdir(self.folder):
            raise bad_option("-o", f"{self.folder} is not a folder")
        _check_folder_of("-o", self.folder)

    def write_parquet(self, result: SimulationResult) -> None:
        write_parquet(result.to_arrow(), self.folder)
        note(f"the tables are in {self.folder}")


def simulation_output_option(function: CommandT) -> CommandT:
    return click.option(
        "-o",
        "--output",
        default=TABLE,
        show_default=True,
        metavar="table|json|parquet[=DIR]",
        callback=_parse,
        help=f"A summary to read, JSON with everything, or Parquet files in a folder ({FOLDER} if none is named).",
    )(function)


def check_file(option: str, path: str | None) -> None:
    """Raises InvalidObject if no file of this name can be written."""
    if path is None:
        return
    if os.path.isdir(path):
        raise bad_option(option, f"{path} is a folder")
    _check_folder_of(option, path)


def _check_folder_of(option: str, path: str) -> None:
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise bad_option(option, f"{path}: there is no folder {Path(path).parent}")
    if not os.access(folder, os.W_OK):
        raise bad_option(option, f"{path}: the folder {Path(path).parent} cannot be written to")


def bad_option(option: str, message: str) -> InvalidObject:
    """What is wrong with an option's value, as any other bad input is told."""
    return InvalidObject([Fault("", "", option, message)])


def _parse(ctx: click.Context, parameter: click.Parameter, value: str) -> Output:
    kind, has_folder, folder = value.partition("=")
    if kind in (TABLE, JSON) and not has_folder:
        return Output(kind)
    if kind == PARQUET and bool(has_folder) == bool(folder):
        return Output(kind, folder or FOLDER)
    raise click.BadParameter(f"{value!r}: expected table, json, parquet or parquet=DIR", ctx, parameter)
