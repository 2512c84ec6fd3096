"""A day of arrivals of virtual machines in Azure, as pods: one file of the trace with bounds for each lifetime.

Columns: `arrival_s`, `cores`, `memory_gib`, `duration_min_s` and `duration_max_s` (a machine runs for the middle of
the two), `censored` (1: it was still running when the recording ended, so it never ends here). Other columns are
ignored. This trace has no nodes, priorities or names.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from bayplan.analysis.simulation.inputs.csv_rows import CsvRow, read_rows, requiring
from bayplan.analysis.simulation.inputs.recorded_trace import Pattern, RecordedArrival, Recording, pod_spec

_COLUMNS: Final = requiring("arrival_s", "cores", "memory_gib", "duration_min_s", "duration_max_s", "censored")
_GIB: Final = 2**30


def read_azure(path: Path) -> Recording:
    """The trace in a file. Raises InvalidObject."""
    recording = Recording()
    for row in read_rows(path, _COLUMNS):
        arrival, run_seconds = row.seconds("arrival_s"), _run_seconds(row)
        name = f"vm-{len(recording.arrivals):06}"
        pattern = recording.pattern((row.text("cores"), row.text("memory_gib")), partial(_new_pattern, row))
        recording.arrivals.append(RecordedArrival(arrival, run_seconds, name, pattern))
    return recording


def _run_seconds(row: CsvRow) -> float | None:
    shortest, longest = row.seconds("duration_min_s"), row.seconds("duration_max_s")
    if longest < shortest:
        row.reject("duration_max_s", f"{longest:.0f} is less than duration_min_s, {shortest:.0f}")
    return None if row.whole("censored", most=1) else (shortest + longest) / 2


def _new_pattern(row: CsvRow) -> Pattern:
    cpu_milli, memory_bytes = round(row.number("cores") * 1000), round(row.number("memory_gib") * _GIB)
    return Pattern(pod_spec({"cpu": f"{cpu_milli}m", "memory": str(memory_bytes)}))
