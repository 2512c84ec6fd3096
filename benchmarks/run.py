"""The whole set of workloads: writes benchmarks/results.json, and the tables in docs/benchmarks.md.

Run by `make bench`. It takes some minutes; a machine that does nothing else meanwhile gives figures worth keeping. The
largest workload, *million*, is part of it: two minutes and 1.5 GiB.
"""

from __future__ import annotations

import sys
from pathlib import Path

import public_call

from bayplan.analysis.bench.isolation import measure_apart
from bayplan.analysis.bench.machine import HostFacts, this_machine
from bayplan.analysis.bench.measure import Measurement
from bayplan.analysis.bench.workloads import USUAL, WORKLOADS
from bayplan.cli.bench import document
from bayplan.config.releases import DEFAULT_RELEASE
from bayplan.report.answers.markdown import block
from bayplan.report.bench import LEGEND, measurement_table
from bayplan.report.json_output import write_json

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results.json"
PAGE = ROOT / "docs" / "benchmarks.md"
RESULTS_IN_PAGE = ("<!-- results: written by make bench -->\n", "<!-- end of results -->\n")
PUBLIC_CALL_IN_PAGE = ("<!-- public call: written by make bench -->\n", "<!-- end of public call -->\n")

#: Nodes, and the workloads measured with this many.
SET = {
    500: USUAL,
    5_000: USUAL,
    50_000: ("basic", "mixed"),
    100_000: ("mixed-100k",),
    1_000_000: ("million",),
}


def main() -> None:
    machine = this_machine()
    found = []
    for node_count, workloads in SET.items():
        for workload in workloads:
            measured = measure_apart(workload, node_count, WORKLOADS[workload].count, DEFAULT_RELEASE)
            print(
                f"{workload}, {node_count:,} nodes: {measured.decisions_per_second:,.0f} decisions/s", file=sys.stderr
            )
            found.append(measured)
    with RESULTS.open("w", encoding="utf-8") as stream:
        write_json(document(machine, DEFAULT_RELEASE, found), stream)
    page = replaced(PAGE.read_text(encoding="utf-8"), RESULTS_IN_PAGE, results_text(machine, found))
    calls = [public_call.measure_apart(workload) for workload in public_call.MEASURED]
    page = replaced(page, PUBLIC_CALL_IN_PAGE, public_call.markdown(calls))
    PAGE.write_text(page, encoding="utf-8")
    for workload in public_call.too_slow(calls):
        print(f"{workload}: Cluster.place is below {public_call.SHARE_MIN:.0%} of the bench", file=sys.stderr)


def replaced(page: str, marks: tuple[str, str], text: str) -> str:
    """The page with other text between the marks."""
    begin, end = marks
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{text}\n\n{end}{after}"


def results_text(machine: HostFacts, measurements: list[Measurement]) -> str:
    measured_on = (
        f"Measured on {machine.date}: {machine.processor}, {machine.cores} cores, {machine.memory_gib:g} GiB, "
        f"{machine.software}. Load in the minute before: {machine.load:g}; figures taken "
        "while others want the cores are too low."
    )
    table = block(measurement_table(measurements, WORKLOADS))
    return f"{measured_on}\n\n{table}\n\n{LEGEND}"


if __name__ == "__main__":
    main()
