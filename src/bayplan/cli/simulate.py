"""`bayplan simulate`: a cluster over time, with its controllers, priorities and budgets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import click

from bayplan.analysis.cluster import Cluster
from bayplan.analysis.gates import FailCondition, parse_gates
from bayplan.analysis.simulation.inputs.commands import PlannedCommand
from bayplan.analysis.simulation.inputs.node_templates import nodes_like
from bayplan.analysis.simulation.inputs.timeline import load_timeline
from bayplan.analysis.simulation.results.comparison import compare, short_names
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.analysis.simulation.running import RECORDS_MAX, Options, Simulation
from bayplan.cli.input_notes import note_gaps
from bayplan.cli.main import EXIT_INTERRUPTED, EXPECTED
from bayplan.cli.options import (
    CommandWithFiles,
    bad_option,
    call_extenders_option,
    check_gates,
    check_span,
    fail_on_option,
    feature_gates_option,
    files_option,
    kubernetes_version_option,
    note,
    note_extenders,
    note_skipped,
    report_option,
)
from bayplan.cli.output import format_option
from bayplan.cli.output_files import check_file
from bayplan.cli.safety_options import safety_given, safety_options
from bayplan.cli.simulation_gates import KINDS, judge
from bayplan.cli.simulation_output import (
    check_parquet,
    parquet_option,
    show_compared,
    show_result,
)
from bayplan.cli.simulation_progress import progress_bar
from bayplan.cli.simulation_traces import Brought, given_to_play, recording_options, trace_options
from bayplan.cli.sources import Source, live_options
from bayplan.config.loading import load_configuration
from bayplan.config.registry import build_profiles
from bayplan.core.framework.requeue import Wakeups
from bayplan.core.preemption.safety import UPSTREAM
from bayplan.model.groups import PodGroup
from bayplan.model.node import Node
from bayplan.model.reading import ReadResult
from bayplan.model.yaml_documents import parse_yaml
from bayplan.worlds.journal import JournalWriter

DEFAULT = "default"

#: Makes a journal that starts with this head.
JournalOpener: TypeAlias = Callable[[dict[str, object]], JournalWriter]


@click.command(
    "simulate",
    cls=CommandWithFiles,
    epilog="Exit codes: 0 done; 1 a --fail-on condition was met; 2 bad input or usage; 130 interrupted.",
)
@files_option
@live_options
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
    help="Timeline of changes to the cluster (the guide to simulate describes it), or a recording: simkube:FILE.",
)
@trace_options
@recording_options
@click.option(
    "--config",
    "configs",
    metavar="FILE",
    multiple=True,
    help="KubeSchedulerConfiguration (v1) to use. Repeat it to compare runs; the word "
    f"{DEFAULT} means kube-scheduler's defaults.",
)
@call_extenders_option
@kubernetes_version_option
@feature_gates_option
@click.option(
    "--wakeups",
    type=click.Choice([wakeups.value for wakeups in Wakeups]),
    help="Which changes requeue rejected pods: those that kube-scheduler reacts to, or all that may help. "
    "Default: the configuration's, else upstream.",
)
@safety_options(UPSTREAM)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed. The same seed gives the same run.")
@click.option(
    "--until",
    callback=check_span,
    metavar="TIME",
    help="How long to simulate, such as 90s, 24h or 2d. Default: one hour past the last planned change, or "
    "the end of the recording.",
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
@report_option
@fail_on_option(KINDS)
@format_option()
@parquet_option
def command(
    files: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    templates: tuple[str, ...],
    timeline: str | None,
    configs: tuple[str, ...],
    call_extenders: bool,
    wakeups: str | None,
    kubernetes_version: str | None,
    feature_gates: str,
    seed: int,
    until: int | None,
    records: int,
    journal: str | None,
    report: str | None,
    fail_on: tuple[str, ...],
    output: str,
    parquet: str | None,
    **others: Any,
) -> int:
    """Simulate a cluster over time: pods start, end and are evicted, controllers recreate them, nodes fail.

    Takes manifests and dumps, and optionally a timeline of changes, a trace of arriving pods or a recording of a
    cluster. Shows which pods were placed, which had to wait, and which were preempted by which pod and why. Ctrl-C ends
    the run early and shows the results so far. With several --config options, runs the same story under each and
    compares the runs.
    """
    check_parquet(parquet)
    check_file("--report", report)
    check_file("--journal", journal)
    sources = [None if config == DEFAULT else config for config in configs or (DEFAULT,)]
    _check_single_run(sources, journal, parquet)
    safety, played = safety_given(others)
    brought = given_to_play(**played)
    source = Source(files, kubeconfig, context)
    # Nodes, a trace or a recording can be all there is.
    given = ReadResult() if (templates or any(brought)) and not (files or source.names_cluster) else source.read()
    cluster = _load_cluster(given, templates, brought, kubernetes_version)
    _check_configurations(sources, feature_gates, cluster)
    plans = load_timeline(timeline) if timeline else []
    gates = parse_gates(fail_on, cluster, KINDS)
    common = Options(
        seed=seed,
        until_ns=until,
        records_max=records,
        wakeups=Wakeups(wakeups) if wakeups else None,
        safety=safety,
        feature_gates=feature_gates,
        call_extenders=call_extenders,
    )
    runs = [replace(common, config=source, config_name=source or DEFAULT) for source in sources]
    with _journal_file(journal, sources[0]) as open_journal:
        results = _run_each(cluster, plans, runs, brought, open_journal)
    if len(runs) > 1:
        return _show_several(results, gates, output, report)
    return _show_one(results[0], gates, output, report, parquet)


def _check_single_run(sources: Sequence[str | None], journal: str | None, parquet: str | None) -> None:
    """Raises InvalidObject for options that several runs cannot have."""
    if len(sources) > 1 and journal is not None:
        raise bad_option("--journal", "works with a single run: give --config only once")
    if len(sources) > 1 and parquet is not None:
        raise bad_option("--parquet", "works with a single run: give --config only once, or use -o json")


def _run_each(
    cluster: Cluster,
    plans: Sequence[PlannedCommand],
    runs: Iterable[Options],
    brought: Brought,
    open_journal: JournalOpener | None,
) -> list[SimulationResult]:
    """One after another, each in its own world; an interrupt ends the current run, and the rest are not started."""
    results: list[SimulationResult] = []
    for options in runs:
        if not options.call_extenders:
            note_extenders(options.config, options.feature_gates, cluster.release)
    arrivals = brought.trace.arrivals if brought.trace is not None else None
    for options in runs:
        simulation = Simulation(cluster, plans, options, arrivals, open_journal, brought.recorded)
        with progress_bar() as progress:
            results.append(simulation.run(progress))
        if results[-1].interrupted:
            break
    if cluster.version_note:
        note(cluster.version_note)
    return results


def _check_configurations(sources: Sequence[str | None], feature_gates: str, cluster: Cluster) -> None:
    """Raises InvalidObject. A fault in the last one is better known before the first has run."""
    check_gates(feature_gates, cluster.release, with_groups=True)
    gates = load_configuration(None, feature_gates, release=cluster.release, with_groups=True).gates
    if not gates.generic_workload and any(isinstance(obj, PodGroup) for obj in cluster.objects):
        note("PodGroups have no effect without the gate GenericWorkload: their pods are scheduled one by one")
    for source in sources if len(sources) > 1 else ():
        build_profiles(load_configuration(source, feature_gates, release=cluster.release, with_groups=True))


def _show_one(
    result: SimulationResult, gates: Sequence[FailCondition], output: str, report: str | None, parquet: str | None
) -> int:
    """The result, and the exit code."""
    show_result(result, output, report, parquet)
    return judge(result, gates)


def _show_several(
    results: Sequence[SimulationResult], gates: Sequence[FailCondition], output: str, report: str | None
) -> int:
    """The comparison, and the exit code."""
    if len(results) < 2:
        note("interrupted in the first run: nothing to compare")
        return EXIT_INTERRUPTED
    names = short_names(result.run.configs for result in results)
    compared = compare(*results, names=names)
    show_compared(compared, compared, output, report)
    return max(judge(result, gates, name) for name, result in zip(names, results, strict=True))


def _load_cluster(
    given: ReadResult, templates: tuple[str, ...], brought: Brought, kubernetes_version: str | None
) -> Cluster:
    if not given.objects and not templates and not any(brought):
        raise click.UsageError("There is nothing to simulate: the input has no objects.")
    recorded_version, (trace, recorded) = given.kubernetes_version, brought
    there = [*given.objects, *(() if recorded is None else recorded.objects)]
    taken = [obj.metadata.name for obj in there if isinstance(obj, Node)]
    objects = [*given.objects, *nodes_like(templates, taken)]
    if recorded is not None:
        objects = recorded.joined_to(objects)
        recorded_version = recorded_version or recorded.kubernetes_version
    if trace is not None:
        objects = trace.joined_to(objects)
    cluster = Cluster(
        objects,
        given.skipped,
        given.sources,
        is_whole=given.is_whole or recorded is not None,
        kubernetes_version=kubernetes_version,
        recorded_version=recorded_version,
    )
    note_skipped(cluster.skipped)
    note_gaps(cluster.gaps)
    return cluster


def _config_content(path: str | None) -> Any:
    """As data, so that the journal can be replayed without the file."""
    return None if path is None else next(iter(parse_yaml(Path(path).read_bytes())))


@contextmanager
def _journal_file(path: str | None, config: str | None) -> Iterator[JournalOpener | None]:
    """A file that gets its name only when the run is over: an incomplete journal remains only if there is a bug."""
    if path is None:
        yield None
        return
    unfinished = f"{path}.part"
    try:
        with open(unfinished, "w", encoding="utf-8") as stream:
            yield lambda head: JournalWriter(stream, {**head, "config": _config_content(config)})
        os.replace(unfinished, path)
    except BaseException as error:
        if isinstance(error, Exception) and not isinstance(error, EXPECTED):
            error.add_note(f"the journal up to that point is in {unfinished}")
        else:
            Path(unfinished).unlink(missing_ok=True)
        raise
