"""`bayplan simulate`: a cluster through time, with its controllers, priorities and budgets."""

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
from bayplan.worlds.journal import JournalWriter


def _duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    try:
        found = int(parse_duration(value))
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, parameter) from error
    if found <= 0:
        raise click.BadParameter("must be above 0", ctx, parameter)
    return found


@click.command(
    "simulate",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 done; 1 what --fail-on names has happened; 2 bad input or usage; 130 interrupted.",
)
@click.option(
    "-f", "--file", "files", metavar="FILES", multiple=True, help="YAML or JSON files and folders; - is standard input."
)
@click.option("--nodes", "templates", metavar="FILE=N", multiple=True, help="Add N nodes like each one in the file.")
@click.option(
    "--timeline",
    metavar="FILE",
    help="What is done to the cluster and when (see docs/guide/simulate.md), or a recording: simkube:FILE.",
)
@trace_options
@configs_option
@click.option("--seed", type=int, default=0, show_default=True, help="The same seed gives the same run.")
@click.option(
    "--until",
    callback=_duration,
    metavar="TIME",
    help="How long, as 90s or 24h; an hour beyond the last thing planned.",
)
@click.option(
    "--records",
    type=click.IntRange(min=0),
    default=RECORDS_MAX,
    show_default=True,
    help="Of how many preemptions to keep all that was tried.",
)
@click.option("--journal", metavar="FILE", help="Write all that went into and came out of the scheduler, for replay.")
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
    """Run a cluster through time: pods start, end and are evicted, controllers recreate them, nodes fail.

    Takes manifests and dumps, and optionally a timeline of what is done when, or a trace of pods to come. Shows who
    was placed, who waited, who had to make room for whom and why. Ctrl-C ends the run early with what there is.
    With several --config the same story is run under each, and the runs are compared.
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
    plain = result.to_dict()
    if report:
        result.report(report)
        click.echo(f"note: the report is in {report}", err=True)
    if output.kind == PARQUET:
        output.write_parquet(result)
    elif output.kind == JSON:
        write_json(plain, sys.stdout)
    else:
        show(simulation_parts(plain), sys.stdout)
    return judge(result, gates)


def _load_cluster(files: tuple[str, ...], templates: tuple[str, ...], trace: Trace | None) -> Cluster:
    if not files and not templates and trace is None:
        raise click.UsageError("Missing option '-f' / '--file', '--nodes' or '--trace': there is nothing to simulate.")
    given = read(files) if files else ReadResult()
    taken = [one.metadata.name for one in given.objects if isinstance(one, Node)]
    objects = [*given.objects, *nodes_like(templates, taken)]
    if trace is not None:
        objects = trace.joined_to(objects)
    cluster = Cluster(objects, given.skipped)
    note_skipped(cluster.skipped)
    return cluster


def _config_content(path: str | None) -> Any:
    """As data, so that the journal is good without the file."""
    return None if path is None else next(iter(parse_yaml(Path(path).read_bytes())))


@contextmanager
def _journal_file(path: str | None) -> Iterator[TextIO | None]:
    """A file that takes its name only when the run is over: nobody shall find half a journal."""
    if path is None:
        yield None
        return
    unfinished = f"{path}.part"
    try:
        with open(unfinished, "w", encoding="utf-8") as stream:
            yield stream
        os.replace(unfinished, path)
    finally:
        Path(unfinished).unlink(missing_ok=True)
