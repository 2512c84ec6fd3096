"""The HTML report of whatever was simulated: one run, or several compared. Needs the extra `bayplan[report]`."""

from __future__ import annotations

from pathlib import Path

from bayplan.analysis.simulation.results.differences import ComparedRuns
from bayplan.analysis.simulation.results.result import SimulationResult
from bayplan.report.comparison.page import write_comparison
from bayplan.report.simulation.page import write_run


def write_report(outcome: SimulationResult | ComparedRuns, path: str | Path) -> None:
    """Write the page to a file."""
    if isinstance(outcome, SimulationResult):
        write_run(outcome.run, path)
    else:
        write_comparison(outcome.runs, outcome.comparison, path)
