"""`bayplan sweep`: one story under many settings, each with many seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

import click

from bayplan.analysis.simulation.results.libraries import LibraryMissingError
from bayplan.analysis.sweeping.bounds import Bound, read_bounds
from bayplan.analysis.sweeping.preparing import Preparation
from bayplan.analysis.sweeping.ray_engine import RayMissingError
from bayplan.analysis.sweeping.run_store import RunStore
from bayplan.analysis.sweeping.sweep_file import read_sweep
from bayplan.analysis.sweeping.sweep_result import SweepResult
from bayplan.analysis.sweeping.sweeping import ENGINES, Engine, do_sweep, engine_named
from bayplan.cli.main import EXIT_INTERRUPTED, EXIT_NO, EXIT_YES
from bayplan.cli.options import bad_option, note, report_option
from bayplan.cli.output import format_option, write_parts
from bayplan.cli.output_files import check_file, check_folder_of
from bayplan.cli.simulation_output import show_result
from bayplan.cli.sweep_progress import sweep_progress
from bayplan.model.near_matches import did_you_mean, near
from bayplan.report.hidden_characters import visible
from bayplan.report.sweep.page import sweep_page
from bayplan.report.sweep.parts import number_text, point_name, sweep_parts


@click.command(
    "sweep",
    epilog="Exit codes: 0 done; 1 a --fail-on bound was met, or every run failed; 2 bad input or usage; "
    "130 interrupted.",
)
@click.argument("file", metavar="SWEEP.yaml")
@click.option("--out", metavar="DIR", help="Directory for the results, as Parquet files; kept whatever happens.")
@click.option("--resume", is_flag=True, help="Do only the runs that --out does not have, or that failed.")
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True, help="Who does the runs.")
@click.option("--processes", type=click.IntRange(1), help="Processes of engine local. Default: one for each CPU.")
@click.option("--address", help="Address of the Ray cluster. Default: a new one on this machine.")
@click.option("--run", "run_name", metavar="RUN", help="Do this run again, and show it as simulate would.")
@click.option(
    "--fail-on",
    metavar="BOUND",
    multiple=True,
    help="Exit with code 1 if an interval is beyond a bound, such as 'waiting.critical.p99.high > 30s' or "
    "'difference.pods.preempted.low > 0'. Can be repeated.",
)
@report_option
@format_option()
def command(
    file: str,
    out: str | None,
    resume: bool,
    engine: str,
    processes: int | None,
    address: str | None,
    run_name: str | None,
    fail_on: tuple[str, ...],
    report: str | None,
    output: str,
) -> int:
    """Simulate one story under many settings, each with many seeds, and say which differences are real.

    The file names the cluster, the timeline or trace, and the axes: configurations, fields of a configuration, plugin
    weights and arguments, feature gates, versions, nodes, timelines and seeds. Ctrl-C keeps everything that is done.
    """
    check_file("--report", report)
    bounds = read_bounds(fail_on)
    if resume and out is None:
        raise click.UsageError("--resume needs --out.")
    given = read_sweep(file)
    preparation = Preparation(given.base, given.design, file)
    _note_gaps(preparation)
    if run_name is not None:
        return _show_run(preparation, run_name, output, report)
    runner = _engine(engine, processes, address)
    store = _store(out, resume=resume)
    try:
        with sweep_progress() as progress:
            result = do_sweep(preparation, runner, store, given.measures, progress)
    except KeyboardInterrupt:
        _note_kept(out, "interrupted")
        return EXIT_INTERRUPTED
    except OSError:
        _note_kept(out, "not finished")
        raise
    _note_unknown(given.measures, result)
    return _show(result, bounds, output, report)


def _note_kept(out: str | None, why: str) -> None:
    if out is not None:
        note(f"{why}; the runs that are done are in {out}: go on with --resume")


def _note_gaps(preparation: Preparation) -> None:
    """What is missing in the input or in recordings concerns every run of them, and is said once."""
    for text in sorted(preparation.version_notes):
        note(text)
    for life in preparation.story.recordings.values():
        for text in life.notes:
            note(f"{life.path}: {text}" if life.path not in text else text)


def _note_unknown(measures: Sequence[str], result: SweepResult) -> None:
    for name in measures if result.figures else ():
        if name not in result.figures:
            note(f"measures: no run has a figure {name}{did_you_mean(near(name, result.figures))}")


def _engine(name: str, processes: int | None, address: str | None) -> Engine:
    try:
        return engine_named(name, processes, address)
    except RayMissingError as error:
        raise bad_option("--engine", str(error)) from error


def _store(out: str | None, *, resume: bool) -> RunStore | None:
    if out is None:
        return None
    if os.path.exists(out) and not os.path.isdir(out):
        raise bad_option("--out", f"{out} is not a directory")
    check_folder_of("--out", out)
    try:
        return RunStore(out, resume=resume)
    except LibraryMissingError as error:
        raise bad_option("--out", str(error)) from error


def _show(result: SweepResult, bounds: Sequence[Bound], output: str, report: str | None) -> int:
    summary = result.summary
    met = [
        f"{bound.text}: {point_name(summary, point)} has {number_text(bound.figure, value)}"
        for bound in bounds
        for point, value in bound.met_by(summary)
    ]
    page = partial(_page, result)
    write_parts("bayplan sweep", sweep_parts(summary), summary, output=output, report=report, page=page)
    for why in met:
        click.echo(f"failed: {visible(why)}", err=True)
    return EXIT_NO if met or summary.failed == summary.runs else EXIT_YES


def _page(result: SweepResult) -> str:
    return sweep_page(result.summary, result.worst_run())


def _show_run(preparation: Preparation, name: str, output: str, report: str | None) -> int:
    if name not in preparation.names:
        raise bad_option("--run", f"no run {name} in this sweep{did_you_mean(near(name, preparation.names))}")
    result = SweepResult(preparation, {}).simulate(preparation.names.index(name))
    show_result(result, output, report, None)
    return EXIT_YES
