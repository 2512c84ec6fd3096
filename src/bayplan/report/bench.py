"""Measurements as tables: for a terminal, and as Markdown for a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.workloads import Workload
from bayplan.report.terminal import table

COLUMNS = (
    "workload",
    "nodes",
    "running",
    "pods",
    "decisions/s",
    "per cpu s",
    "target",
    "p50 µs",
    "p99 µs",
    "peak MiB",
    "calibration",
    "ratio",
)
LEGEND = (
    "All nodes evaluated, one thread. `per cpu s` counts CPU time only; other programs affect it less. "
    "`calibration` is iterations per second of a fixed array loop, measured in the same run; `ratio` is decisions per "
    "thousand iterations. Targets are for 5,000 nodes, unless the workload's name says otherwise."
)


def measurement_table(measurements: Iterable[Measurement], workloads: Mapping[str, Workload]) -> Table:
    return table(*COLUMNS, rows=[_cells(measured, workloads) for measured in measurements], numeric=COLUMNS[1:])


def measurement_markdown(measurements: Iterable[Measurement], workloads: Mapping[str, Workload]) -> str:
    return "\n".join(_lines(COLUMNS, [_cells(measured, workloads) for measured in measurements]))


def _lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *("---:" for _ in head[1:])]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


def _cells(measured: Measurement, workloads: Mapping[str, Workload]) -> tuple[str, ...]:
    workload = workloads[measured.workload]
    has_target = workload.target and measured.nodes == workload.node_count
    return (
        measured.workload,
        f"{measured.nodes:,}",
        f"{measured.running:,}",
        f"{measured.pods:,}",
        f"{measured.decisions_per_second:,.0f}",
        f"{measured.decisions_per_cpu_second:,.0f}",
        f"{workload.target:,}" if has_target else "",
        f"{measured.p50_us:,.0f}",
        f"{measured.p99_us:,.0f}",
        f"{measured.peak_mib:,.0f}",
        f"{measured.calibration:,.0f}",
        f"{measured.ratio:,.1f}",
    )
