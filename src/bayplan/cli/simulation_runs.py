"""The same story under several configurations: what happens if `--config` is repeated.

Runs one simulation after another, each in its own world, and compares them with the first. Anything that can be
checked up front is checked before the first run starts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.commands import Plan
from bayplan.analysis.simulation.inputs.traces import Arrivals
from bayplan.analysis.simulation.results.comparison import compare, short_names
from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import Options, Simulation
from bayplan.cli.main import EXIT_INTERRUPTED
from bayplan.cli.options import feature_gates_option, note
from bayplan.cli.simulation_gates import Gate, judge
from bayplan.cli.simulation_output import JSON, PARQUET, Output, bad_option
from bayplan.cli.simulation_progress import progress_bar
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.report.comparison.tables import comparison_parts
from bayplan.report.json_output import write_json
from bayplan.report.terminal import show
from bayplan.report.writing import write_report

DEFAULT = "default"

CommandT = TypeVar("CommandT", bound=Callable[..., Any])


def configs_option(function: CommandT) -> CommandT:
    return click.option(
        "--config",
        "configs",
        metavar="FILE",
        multiple=True,
        callback=_sources,
        help="KubeSchedulerConfiguration (v1) to use. Repeat it to compare runs; the word "
        f"{DEFAULT} means kube-scheduler's defaults.",
    )(feature_gates_option(function))


def _sources(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> list[str | None]:  # noqa: ARG001
    """Files, None for the default; always at least one."""
    return [None if value == DEFAULT else value for value in values or (DEFAULT,)]


def check_several(configs: Sequence[str | None], journal: str | None, output: Output) -> None:
    """Raises InvalidObject for options that need a single run, and for an invalid configuration."""
    if len(configs) == 1:
        return
    if journal is not None:
        raise bad_option("--journal", "works with a single run: give --config only once")
    if output.kind == PARQUET:
        raise bad_option("-o", "parquet works with a single run: give --config only once, or use -o json")
    for config in configs:
        build_profiles(load_configuration(config))


def run_each(
    cluster: Cluster, plans: Sequence[Plan], runs: Iterable[Options], arrivals: Arrivals | None
) -> list[SimulationResult]:
    """One after another; an interrupt ends the current run, and the rest are not started."""
    results: list[SimulationResult] = []
    for options in runs:
        with progress_bar() as progress:
            results.append(Simulation(cluster, plans, options, arrivals).run(progress))
        if results[-1].interrupted:
            break
    return results


def show_compared(
    results: Sequence[SimulationResult], gates: tuple[Gate, ...], output: Output, report: str | None
) -> int:
    """The comparison, and the exit code."""
    if len(results) < 2:
        note("interrupted in the first run: nothing to compare")
        return EXIT_INTERRUPTED
    names = short_names(result.run.configs for result in results)
    compared = compare(*results, names=names)
    write_comparison_report(compared, report)
    if output.kind == JSON:
        warn(compared)
        write_json(compared, sys.stdout)
    else:
        show(comparison_parts(compared.comparison), sys.stdout)
    return max(judge(result, gates, name) for name, result in zip(names, results, strict=True))


def require_report() -> None:
    """Raises InvalidObject if this installation cannot write reports."""
    from bayplan.report.html_page import PlotlyMissingError, require_plotly  # noqa: PLC0415

    try:
        require_plotly()
    except PlotlyMissingError as error:
        raise bad_option("--report", str(error)) from error


def write_comparison_report(compared: ComparedRuns, path: str | None) -> None:
    """Nothing without a path."""
    if path is not None:
        write_report(compared, path)
        note(f"report written to {path}")


def warn(compared: ComparedRuns) -> None:
    """To standard error, for users who do not read the JSON."""
    for warning in compared.warnings:
        click.echo(f"warning: {warning}", err=True)
