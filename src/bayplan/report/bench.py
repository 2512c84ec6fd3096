"""Measured decisions per second, and what they were measured on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from bayplan.analysis.bench.machine import HostFacts
from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.workloads import Workload
from bayplan.report.answers.parts import Part, Sentence, Table, Tone
from bayplan.report.answers.tables import table_of
from bayplan.report.words import counted

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
    "All nodes evaluated, one thread. Per cpu s: counts CPU time only; other programs affect it less. Calibration: "
    "iterations per second of a fixed array loop, measured in the same run. Ratio: decisions per thousand iterations. "
    "Targets are for 5,000 nodes, unless the workload's name says otherwise."
)


def bench_parts(
    machine: HostFacts, kubernetes_version: str, measurements: Sequence[Measurement], workloads: Mapping[str, Workload]
) -> Iterator[Part]:
    """The range of the measurements comes first: it is the answer."""
    yield Sentence(_headline(measurements))
    yield measurement_table(measurements, workloads)
    yield Sentence(
        f"{machine.processor}, {counted(machine.cores, 'core')}, {machine.software}; decisions of v{kubernetes_version}"
    )
    yield Sentence(LEGEND, Tone.FAINT)


def measurement_table(measurements: Iterable[Measurement], workloads: Mapping[str, Workload]) -> Table:
    return table_of(COLUMNS, [_cells(measured, workloads) for measured in measurements], COLUMNS[1:])


def _headline(measurements: Sequence[Measurement]) -> str:
    slowest = min(measurements, key=_speed)
    fastest = max(measurements, key=_speed)
    if len(measurements) == 1:
        return f"{_speed(fastest):,.0f} decisions per second: {_named(fastest)}."
    span = f"{_speed(slowest):,.0f} ({_named(slowest)}) to {_speed(fastest):,.0f} ({_named(fastest)})"
    return f"{span} decisions per second."


def _speed(measured: Measurement) -> float:
    return measured.decisions_per_second


def _named(measured: Measurement) -> str:
    return f"{measured.workload} on {counted(measured.nodes, 'node')}"


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
