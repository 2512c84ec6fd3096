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
from bayplan.analysis.simulation.node_templates import nodes_like
from bayplan.analysis.simulation.result import SimulationResult
from bayplan.analysis.simulation.running import RECORDS_MAX, Options, Simulation
from bayplan.analysis.simulation.timeline import load_timeline
from bayplan.analysis.simulation.traces import Trace, load_trace
from bayplan.cli.main import EXIT_NO, EXIT_YES
from bayplan.cli.options import CommandWithFiles, config_option, note_skipped, output_option
from bayplan.cli.simulation_gates import Gate, gates_option
from bayplan.cli.simulation_progress import progress_bar
from bayplan.config.durations import parse_duration
from bayplan.model.errors import Fault, InvalidObject
from bayplan.model.kinds import Object
from bayplan.model.reading import ReadResult, read
from bayplan.model.yaml_documents import parse_yaml
from bayplan.report.json_output import write_json
from bayplan.report.simulation_tables import simulation_parts
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
    epilog="Exit codes: 0 done; 1 what --fail-on names has happened; 2 bad input or usage.",
)
@click.option(
    "-f", "--file", "files", metavar="FILES", multiple=True, help="YAML or JSON files and folders; - is standard input."
)
@click.option("--nodes", "templates", metavar="FILE=N", multiple=True, help="Add N nodes like each one in the file.")
@click.option("--timeline", metavar="FILE", help="What is done to the cluster and when; see docs/guide/simulate.md.")
@click.option("--trace", "spec", metavar="SPEC", help="Pods to come: openb:DIR, csv:FILE or azure:FILE.")
@click.option("--shrink", type=float, default=1.0, help="Keep this share of the trace's arrivals.")
@click.option("--stretch", type=float, default=1.0, help="Multiply the trace's times by this.")
@click.option("--repeat", type=int, default=1, help="Play the trace so often.")
@click.option("--no-departures", is_flag=True, help="Pods of the trace never end.")
@click.option("--trace-nodes", type=int, help="Take so many of the trace's nodes.")
@config_option
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
@output_option
def command(
    files: tuple[str, ...],
    templates: tuple[str, ...],
    timeline: str | None,
    config: str | None,
    seed: int,
    until: int | None,
    records: int,
    journal: str | None,
    report: str | None,
    gates: tuple[Gate, ...],
    output: str,
    **trace_options: Any,
) -> int:
    """Run a cluster through time: pods start, end and are evicted, controllers recreate them, nodes fail.

    Takes manifests and dumps, and optionally a timeline of what is done when, or a trace of pods to come. Shows who
    was placed, who waited, who had to make room for whom and why. Ctrl-C ends the run early with what there is.
    """
    write_report = _report_writer() if report else None
    trace = _load_trace(trace_options)
    cluster = _load_cluster(files, templates, trace)
    plans = load_timeline(timeline) if timeline else []
    for gate in gates:
        gate.check(cluster)
    options = Options(config, config or "default", seed, until, records)
    arrivals = trace.arrivals if trace is not None else None
    with _journal_file(journal) as stream:

        def open_journal(head: dict[str, object]) -> JournalWriter:
            assert stream is not None
            return JournalWriter(stream, {**head, "config": _config_content(config)})

        simulation = Simulation(cluster, plans, options, arrivals, open_journal if stream is not None else None)
        with progress_bar() as progress:
            result = simulation.run(progress)
    plain = result.to_dict()
    if write_report is not None:
        write_report(plain, report)
        click.echo(f"note: the report is in {report}", err=True)
    if output == "json":
        write_json(plain, sys.stdout)
    else:
        show(simulation_parts(plain), sys.stdout)
    return _judge(result, gates)


def _judge(result: SimulationResult, gates: tuple[Gate, ...]) -> int:
    failures = [why for gate in gates if (why := gate.broken_by(result))]
    for why in failures:
        click.echo(f"failed: {why}", err=True)
    return EXIT_NO if failures else EXIT_YES


def _load_trace(options: dict[str, Any]) -> Trace | None:
    if options["spec"] is None:
        return None
    return load_trace(
        options["spec"],
        shrink=options["shrink"],
        stretch=options["stretch"],
        repeat=options["repeat"],
        departures=not options["no_departures"],
        nodes=options["trace_nodes"],
    )


def _load_cluster(files: tuple[str, ...], templates: tuple[str, ...], trace: Trace | None) -> Cluster:
    if not files and trace is None:
        raise click.UsageError("Missing option '-f' / '--file' or '--trace': there is nothing to simulate.")
    given = read(files) if files else ReadResult()
    objects = [*given.objects, *(node for spec in templates for node in nodes_like(spec))]
    if trace is not None:
        named = {(type(one).__name__, one.metadata.name) for one in objects}
        brought: list[Object] = [*trace.classes, *trace.nodes]
        objects = [*objects, *(one for one in brought if (type(one).__name__, one.metadata.name) not in named)]
        trace.check_classes([name for kind, name in named if kind == "PriorityClass"])
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


def _report_writer() -> Any:
    try:
        from bayplan.report.simulation_html import require_plotly, write_report  # noqa: PLC0415

        require_plotly()  # now, and not when the run is over
    except ImportError as error:
        what = f"a report needs the extra bayplan[report] ({error})"
        raise InvalidObject([Fault("", "", "--report", what)]) from error
    return write_report
