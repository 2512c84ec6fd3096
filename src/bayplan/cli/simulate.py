"""`bayplan simulate`: a cluster over time, with its controllers, priorities and budgets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.analysis.simulation.inputs.traces import Trace
from bayplan.analysis.simulation.running import RECORDS_MAX, Options, Simulation
from bayplan.cli.main import EXPECTED
from bayplan.cli.options import CommandWithFiles, note_skipped
from bayplan.cli.simulation_gates import Gate, gates_option, judge
from bayplan.cli.simulation_output import JSON, PARQUET, Output, check_file, simulation_output_option
from bayplan.cli.simulation_progress import progress_bar
from bayplan.cli.simulation_runs import (
    DEFAULT,
    check_several,
    configs_option,
    require_report,
    run_each,
    show_compared,
)
from bayplan.cli.simulation_traces import given_trace, trace_options
from bayplan.model.durations import parse_duration
from bayplan.model.node import Node
from bayplan.model.reading import ReadResult, read
from bayplan.model.yaml_documents import parse_yaml
from bayplan.report.json_output import write_json
from bayplan.report.simulation.tables import simulation_parts
from bayplan.report.terminal import show
from bayplan.report.writing import write_report
from bayplan.worlds.journal import JournalWriter


def _duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        found = int(parse_duration(value))
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error
    if found <= 0:
        raise click.BadParameter("must be greater than 0", ctx, parameter)
    return found


@click.command(
    "simulate",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 done; 1 a --fail-on condition was met; 2 bad input or usage; 130 interrupted.",
)
@click.option(
    "-f",
    "--file",
    "files",
    metavar="FILES",
    multiple=True,
    help="YAML or JSON files or directories; - is standard input.",
)
@click.option(
    "--nodes",
    "templates",
    metavar="FILE=N|8cpu,32Gi=N",
    multiple=True,
    help="Add N copies of each node in the file, or N plain nodes. Can be repeated.",
)
@click.option(
    "--timeline",
    metavar="FILE",
    help="Timeline of changes to the cluster (see docs/guide/simulate.md), or a recording: simkube:FILE.",
)
@trace_options
@configs_option
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed. The same seed gives the same run.")
@click.option(
    "--until",
    callback=_duration,
    metavar="TIME",
    help="How long to simulate, such as 90s or 24h. Default: one hour past the last planned change.",
)
@click.option(
    "--records",
    type=click.IntRange(min=0),
    default=RECORDS_MAX,
    show_default=True,
    help="Number of preemptions to keep with all candidates.",
)
@click.option(
    "--journal", metavar="FILE", help="Write the scheduler's input and decisions to FILE, for bayplan replay."
)
@click.option("--report", metavar="FILE", help="Write an HTML report.")
@gates_option
@simulation_output_option
def command(
    files: tuple[str, ...],
    templates: tuple[str, ...],
    timeline: str | None,
    configs: list[str | None],
    seed: int,
    until: int | None,
    records: int,
    journal: str | None,
    report: str | None,
    gates: tuple[Gate, ...],
    output: Output,
    **played: Any,
) -> int:
    """Simulate a cluster over time: pods start, end and are evicted, controllers recreate them, nodes fail.

    Takes manifests and dumps, and optionally a timeline of changes or a trace of arriving pods. Shows which pods were
    placed, which had to wait, and which were preempted by which pod and why. Ctrl-C ends the run early and shows the
    results so far. With several --config options, runs the same story under each and compares the runs.
    """
    if report:
        require_report()
    output.check()
    check_file("--report", report)
    check_file("--journal", journal)
    check_several(configs, journal, output)
    trace = given_trace(played)
    cluster = _load_cluster(files, templates, trace)
    plans = load_timeline(timeline) if timeline else []
    for gate in gates:
        gate.check(cluster)
    runs = [Options(config, config or DEFAULT, seed, until, records) for config in configs]
    arrivals = trace.arrivals if trace is not None else None
    if len(runs) > 1:
        return show_compared(run_each(cluster, plans, runs, arrivals), gates, output, report)
    (options,) = runs
    with _journal_file(journal) as stream:

        def open_journal(head: dict[str, object]) -> JournalWriter:
            assert stream is not None
            return JournalWriter(stream, {**head, "config": _config_content(configs[0])})

        simulation = Simulation(cluster, plans, options, arrivals, open_journal if stream is not None else None)
        with progress_bar() as progress:
            result = simulation.run(progress)
    if report:
        write_report(result, report)
        click.echo(f"note: report written to {report}", err=True)
    if output.kind == PARQUET:
        output.write_parquet(result)
    elif output.kind == JSON:
        write_json(result.run, sys.stdout)
    else:
        show(simulation_parts(result.run), sys.stdout)
    return judge(result, gates)


def _load_cluster(files: tuple[str, ...], templates: tuple[str, ...], trace: Trace | None) -> Cluster:
    if not files and not templates and trace is None:
        raise click.UsageError("Missing option '-f' / '--file', '--nodes' or '--trace': there is nothing to simulate.")
    given = read(files) if files else ReadResult()
    taken = [obj.metadata.name for obj in given.objects if isinstance(obj, Node)]
    objects = [*given.objects, *nodes_like(templates, taken)]
    if trace is not None:
        objects = trace.joined_to(objects)
    cluster = Cluster(objects, given.skipped)
    note_skipped(cluster.skipped)
    return cluster


def _config_content(path: str | None) -> Any:
    """As data, so that the journal can be replayed without the file."""
    return None if path is None else next(iter(parse_yaml(Path(path).read_bytes())))


@contextmanager
def _journal_file(path: str | None) -> Iterator[TextIO | None]:
    """A file that gets its name only when the run is over: nobody finds half a journal, unless there is a bug."""
    if path is None:
        yield None
        return
    unfinished = f"{path}.part"
    try:
        with open(unfinished, "w", encoding="utf-8") as stream:
            yield stream
        os.replace(unfinished, path)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, EXPECTED):
            error.add_note(f"the journal of what happened until then is in {unfinished}")
        else:
            Path(unfinished).unlink(missing_ok=True)
        raise
