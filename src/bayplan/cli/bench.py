"""`bayplan bench`: how many decisions per second this machine makes, on built-in workloads.

Each workload runs in its own process. `--scale` measures how the cost of a decision grows with nodes and running pods,
and draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

import click

from bayplan.analysis.bench.isolation import measure_apart
from bayplan.analysis.bench.machine import HostFacts, this_machine
from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.scaling import (
    NODE_COUNTS,
    PODS_BY_DEFAULT,
    ScalePoint,
    growths,
    measure_scaling,
)
from bayplan.analysis.bench.workloads import USUAL, WORKLOADS
from bayplan.cli.options import note, own_kubernetes_version_option
from bayplan.cli.output import format_option, write_parts
from bayplan.config.releases import KubernetesRelease, release_named
from bayplan.report.bench import bench_parts
from bayplan.report.json_output import tagged, write_json
from bayplan.report.scaling_plot import write_plots

ON_REQUEST = tuple(name for name in WORKLOADS if name not in USUAL)
_PLOT_BY_DEFAULT = "bayplan-scaling"


@click.command("bench", epilog="Exit codes: 0 done; 2 bad usage, or a measurement failed.")
@click.option(
    "--workload",
    "workloads",
    metavar="W",
    multiple=True,
    type=click.Choice(list(WORKLOADS)),
    help=f"Workload to run: {', '.join(WORKLOADS)}. Default: all but {', '.join(ON_REQUEST)}. Can be repeated.",
)
@click.option(
    "--nodes",
    "node_counts",
    metavar="N",
    multiple=True,
    type=click.IntRange(min=1),
    help="Number of nodes. The default depends on the workload: mostly 5000. Can be repeated.",
)
@click.option(
    "--pods",
    metavar="M",
    type=click.IntRange(min=1),
    help="Number of pods to schedule. The default depends on the workload.",
)
@click.option("--scale", is_flag=True, help="Measure and plot how the cost grows with nodes and running pods.")
@own_kubernetes_version_option("Whose scheduler decides")
@format_option()
@click.option(
    "--output-file",
    "out",
    metavar="FILE",
    help="Also write the JSON to FILE. With --scale: FILE.json, FILE.html and FILE.png.",
)
def command(
    workloads: tuple[str, ...],
    node_counts: tuple[int, ...],
    pods: int | None,
    scale: bool,
    kubernetes_version: str,
    output: str,
    out: str | None,
) -> None:
    """Measure scheduling decisions per second on this machine, on one thread, with all nodes evaluated."""
    release = release_named(kubernetes_version)
    try:
        if scale:
            _bench_scaling(workloads, node_counts, pods, release, output, Path(out or _PLOT_BY_DEFAULT))
        else:
            _bench(workloads, node_counts, pods, release, output, out)
    except CalledProcessError as error:
        raise click.ClickException(f"a measurement failed with exit code {error.returncode}") from error


def _bench(
    workloads: tuple[str, ...],
    node_counts: tuple[int, ...],
    pods: int | None,
    release: KubernetesRelease,
    output: str,
    out: str | None,
) -> None:
    found = list(_measured(workloads or USUAL, node_counts, pods, release))
    _show(this_machine(), release, found, output, Path(out) if out else None)


def _show(
    machine: HostFacts, release: KubernetesRelease, found: Sequence[Measurement], output: str, out: Path | None
) -> None:
    answer = document(machine, release, found)
    if out:
        with out.open("w", encoding="utf-8") as stream:
            write_json(answer, stream)
    write_parts("bayplan bench", bench_parts(machine, release.version, found, WORKLOADS), answer, output=output)


def document(machine: HostFacts, release: KubernetesRelease, measurements: Iterable[Measurement]) -> dict[str, Any]:
    """The result as JSON."""
    targets = {workload.name: workload.target for workload in WORKLOADS.values() if workload.target}
    measured = [measurement.to_dict() for measurement in measurements]
    made_on = {"machine": machine.to_dict(), "kubernetesVersion": release.version}
    return tagged("benchmark", {**made_on, "targets": targets, "measurements": measured})


def _measured(
    workloads: Sequence[str], node_counts: Sequence[int], pods: int | None, release: KubernetesRelease
) -> Iterator[Measurement]:
    for given in node_counts or (None,):
        for workload in workloads:
            node_count = given or WORKLOADS[workload].node_count
            note(f"{workload}, {node_count:,} nodes")
            yield measure_apart(workload, node_count, pods or WORKLOADS[workload].count, release)


def _bench_scaling(
    workloads: tuple[str, ...],
    node_counts: tuple[int, ...],
    pods: int | None,
    release: KubernetesRelease,
    output: str,
    out: Path,
) -> None:
    machine = this_machine()
    if find_spec("matplotlib") is None:
        raise click.UsageError("--scale needs matplotlib: pip install 'bayplan[plot]'")
    points: list[ScalePoint] = []
    chosen = workloads or USUAL
    for point in measure_scaling(chosen, pods or PODS_BY_DEFAULT, release, node_counts or NODE_COUNTS):
        found = point.measured
        note(f"{found.workload}, {found.nodes:,} nodes, {found.running:,} pods running: {found.p50_us:,.0f} µs")
        points.append(point)
    html, png, plain = (out.with_name(out.name + ending) for ending in (".html", ".png", ".json"))
    for growth in growths(points):
        note(f"{growth.workload}: {growth.nodes:,.0f} × the nodes, {growth.cost:,.1f} × the cost of a decision")
    write_plots(points, machine, html, png)
    _show(machine, release, [point.measured for point in points], output, plain)
    note(f"plots written to {html} and {png}")
